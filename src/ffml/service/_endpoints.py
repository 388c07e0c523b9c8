"""Endpoints: each reads what came, calls one method of `Run`, and returns plain values."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple

import pyarrow as pa
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from ffml.base import FFMLError
from ffml.runs import Run
from ffml.service import _fairness, _inference, _learner, _read
from ffml.service._decider import lists_of
from ffml.service._guard import few_enough, read_json, request_key
from ffml.service._people import LONGEST, people_table, table
from ffml.service._served import Served
from ffml.tables import role_texts

Handler = Callable[[Request, Served, str], Awaitable[Any]]


async def decide(request: Request, served: Served, who: str) -> Any:
    """Decide about one person, or a list of people, and write it to the ledger."""
    body = await read_json(request, ("person", "people", "task"))
    if ("person" in body) == ("people" in body):
        raise FFMLError("give one person, or a list of people")
    rows = _rows(request, body, "people") if "people" in body else [body["person"]]
    task, key = _task(body), request_key(request, who)
    people = people_table(rows, served.columns)
    said = await served.decider.decide(people, task, bool(served.columns.id), key)
    shown = served.rows(said)
    return {"decisions": shown} if "people" in body else shown[0]


async def adapt(request: Request, served: Served, who: str) -> Any:
    """Decide about people of a named task after adapting to its labelled rows."""
    body = await read_json(request, ("people", "support", "task"))
    people = people_table(_rows(request, body, "people"), served.columns)
    rows = _rows(request, body, "support")
    if not rows or not all(isinstance(row, dict) for row in rows):
        raise FFMLError("support is a list of labelled people of the same population")
    names = list(dict.fromkeys(str(name) for row in rows for name in row))
    known = {*served.columns.names, served.columns.label}
    if strange := [name for name in names if name not in known]:
        raise FFMLError(
            f"no column {strange[0][:60]!r} in support; a row has people's columns "
            f"and {served.columns.label}"
        )
    support = table({name: [row.get(name) for row in rows] for name in names})
    task, key = _task(body), request_key(request, who)
    said = await served.learner.call(_learner.adapt, people, support, task, key)
    return {"decisions": served.rows(lists_of(said))}


async def labels(request: Request, served: Served, who: str) -> Any:
    """Bring labels of people decided about, by id or decision_id, and learn what is due."""
    body = await read_json(request, ("labels", "correct"))
    rows, columns = _rows(request, body, "labels"), served.columns
    _refuse_fields(rows)
    if any(isinstance(row, dict) and {"id", "decision_id"} <= {*row} for row in rows):
        raise FFMLError(
            "a label has an id or a decision_id, which may contradict each other; give one"
        )
    by = next((n for n in ("decision_id", "id") if rows and _all_have(rows, n, "label")), None)
    if by is None:
        raise FFMLError(
            "labels is a list of objects, all with label and id, or all with label and "
            "decision_id; with a task too where ids come again"
        )
    name = "number" if by == "decision_id" else columns.id or "id"
    values = {name: [_word(row, by) for row in rows]}
    values[columns.label] = [_word(row, "label") for row in rows]
    if by == "id" and any("task" in row for row in rows):
        if not columns.task or not _all_have(rows, "task"):
            raise FFMLError("give the task of every label, or of none; send others apart")
        values[columns.task] = [_word(row, "task") for row in rows]
    if not isinstance(correct := body.get("correct", False), bool):
        raise FFMLError("correct is true or false")
    said = await served.learner.call(_learner.label, table(values), name, correct)
    await served.decider.refresh()
    return said


async def forget(request: Request, served: Served, who: str) -> Any:
    """Take a person's id and features out of the ledger, in all tasks or in one."""
    body = await read_json(request, ("id", "task"))
    id, tasks = _text(body, "id"), body.get("task")
    if id is None:
        raise FFMLError("say who is to be forgotten: id")
    tasks = [tasks] if isinstance(tasks, str) else tasks
    if tasks is not None and not (
        isinstance(tasks, list) and tasks and all(isinstance(one, str) for one in tasks)
    ):
        raise FFMLError("task is a text or a list of them, or left out")
    number = await served.learner.call(_learner.forget, id, tasks)
    return {"forgotten": number}


async def promote(request: Request, served: Served, who: str) -> Any:
    """Let a version decide from now on; ``newest``: always the one that was learned last."""
    wanted = request.path_params["version"]
    number = None if wanted == "newest" else _inference.version_number(wanted)
    await run_in_threadpool(served.run.promote, number)
    return {"deciding": await served.decider.refresh()}


async def roll_back(request: Request, served: Served, who: str) -> Any:
    """Let the version decide that can and came before the one that does."""
    await run_in_threadpool(served.run.roll_back)
    return {"deciding": await served.decider.refresh()}


async def columns(request: Request, served: Served, who: str) -> Any:
    """Name the columns that a person has, and the words of its label."""
    return served.columns._asdict()


def _reading(function: Callable[[Run, Mapping[str, str]], Any]) -> Handler:
    """Make an endpoint of a function that reads a run."""

    async def handler(request: Request, served: Served, who: str) -> Any:
        return await run_in_threadpool(function, served.run, request.query_params)

    handler.__doc__ = function.__doc__
    return handler


def _rows(request: Request, body: Mapping[str, Any], name: str) -> list[Any]:
    if not isinstance(rows := body.get(name), list):
        raise FFMLError(f"{name} is missing or no list; see /openapi.json")
    few_enough(request, len(rows))
    return rows


def _refuse_fields(rows: list[Any]) -> None:
    """Refuse fields that a label does not have, such as a misspelt ``task``."""
    known = ("id", "decision_id", "label", "task")
    given = {str(name) for row in rows if isinstance(row, dict) for name in row}
    if strange := sorted(given.difference(known)):
        raise FFMLError(f"no field {strange[0][:60]!r} of a label; there are {', '.join(known)}")


def _all_have(rows: list[Any], *names: str) -> bool:
    return all(isinstance(row, dict) and {*names} <= {*row} for row in rows)


def _word(row: Mapping[str, Any], name: str) -> str:
    value = row[name]
    if not isinstance(value, str | int | float) or value == "":
        raise FFMLError(f"{name} of a label is a text or a number")
    if isinstance(value, bool | float):  # as a table's numbers are read: 7.0 is 7
        return role_texts(pa.array([value]), name, "label's")[0].as_py()
    return str(value)


def _text(body: Mapping[str, Any], name: str) -> str | None:
    value = body.get(name)
    if value is not None and (not isinstance(value, str) or not value.strip()):
        raise FFMLError(f"{name} is a text, or left out")
    return value


def _task(body: Mapping[str, Any]) -> str | None:
    task = _text(body, "task")
    if task is not None and len(task) > LONGEST:
        raise FFMLError(f"task has more than {LONGEST} letters; give a shorter name")
    return task


class Endpoint(NamedTuple):
    """A path of a run: what it does, and who may ask it."""

    method: str
    path: str
    scope: str
    handler: Handler
    reply: str  # its schema, see `ffml.service._schemas`
    body: str = ""
    keyed: bool = False  # whether a request may have a key
    learns: bool = False  # whether it may take long
    query: Mapping[str, str] = {}  # parameters of the address, with what they are


_RUN, _MODEL = "/runs/{run}", "/v2/models/{run}"
_PERIOD = {
    "start": "a task, or a time such as 2026-03: from here on; else the newest 400 periods",
    "end": "a task: up to it; or a time: before it",
    "by": "task, hour, day, month or year",
}
_LIMITS = dict.fromkeys(_read.LIMITS, "a number such as 0.05") | {"notion": "of max_gap, min_ratio"}
ENDPOINTS = (
    Endpoint("POST", f"{_RUN}/decide", "decide", decide, "decide", "decide", keyed=True),
    Endpoint("POST", f"{_RUN}/adapt", "decide", adapt, "decisions", "adapt", True, learns=True),
    Endpoint("POST", f"{_RUN}/labels", "label", labels, "labels", "labels", learns=True),
    Endpoint("POST", f"{_RUN}/forget", "admin", forget, "forgotten", "forget", learns=True),
    Endpoint(
        *("GET", f"{_RUN}/fairness", "read", _reading(_fairness.fairness), "fairness"),
        query=_PERIOD,
    ),
    Endpoint("GET", f"{_RUN}/check", "read", _reading(_read.check), "check", query=_LIMITS),
    Endpoint("GET", f"{_RUN}/columns", "", columns, "columns"),
    Endpoint("GET", f"{_RUN}/rounds", "read", _reading(_read.rounds), "rounds"),
    Endpoint(
        *("GET", f"{_RUN}/events", "read", _reading(_read.events), "events"),
        query={"after": "number of an event"},
    ),
    Endpoint("GET", f"{_RUN}/versions", "read", _reading(_read.versions), "versions"),
    Endpoint("POST", f"{_RUN}/versions/roll_back", "admin", roll_back, "deciding"),
    Endpoint("POST", f"{_RUN}/versions/{{version}}/promote", "admin", promote, "deciding"),
    *(
        one
        for at in (_MODEL, f"{_MODEL}/versions/{{version}}")
        for one in (
            Endpoint("GET", at, "read", _inference.model, "model"),
            Endpoint("GET", f"{at}/ready", "read", _inference.ready, "ready"),
            Endpoint("POST", f"{at}/infer", "decide", _inference.infer, "infer", "infer", True),
        )
    ),
)
