"""Endpoints: each reads what came, calls one method of `Run`, and returns plain values."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request

from ffml.base import FFMLError
from ffml.service import _fairness, _learner, _read
from ffml.service._guard import authorise, read_json, request_key
from ffml.service._people import people_table, table, tensor_table
from ffml.service._served import Served

Handler = Callable[[Request, Served, str], Awaitable[Any]]


async def decide(request: Request, served: Served, who: str) -> Any:
    """Decide about one person, or a list of people, and write it to the ledger."""
    body = await _body(request, ("person", "people", "task"))
    if ("person" in body) == ("people" in body):
        raise FFMLError("give one person, or a list of people")
    rows = body["people"] if "people" in body else [body["person"]]
    task, key = _text(body, "task"), request_key(request, who)
    people = people_table(_listed(request, rows, "people"), served.columns)
    said = await served.decider.decide(people, task, bool(served.columns.id), key)
    shown = served.rows(said)
    return {"decisions": shown} if "people" in body else shown[0]


async def labels(request: Request, served: Served, who: str) -> Any:
    """Bring labels of people decided about, by id or decision_id, and learn what is due."""
    body = await _body(request, ("labels", "correct"))
    rows, columns = _listed(request, body.get("labels"), "labels"), served.columns
    by = next((n for n in ("decision_id", "id") if rows and _all_have(rows, n, "label")), None)
    if by is None:
        raise FFMLError(
            "labels is a list of objects, all with label and id, or all with label and "
            "decision_id; with a task too where ids come again"
        )
    name = "number" if by == "decision_id" else columns.id or "id"
    values = {name: [_word(row, by) for row in rows]}
    values[columns.label] = [_word(row, "label") for row in rows]
    if by == "id" and columns.task and all("task" in row for row in rows):
        values[columns.task] = [_word(row, "task") for row in rows]
    if not isinstance(correct := body.get("correct", False), bool):
        raise FFMLError("correct is true or false")
    said = await served.learner.call(_learner.label, table(values), name, correct)
    await served.decider.refresh()
    return said


async def adapt(request: Request, served: Served, who: str) -> Any:
    """Decide about people of a named task after adapting to its labelled rows."""
    body = await _body(request, ("people", "support", "task"))
    people = people_table(_listed(request, body.get("people"), "people"), served.columns)
    rows = _listed(request, body.get("support"), "support")
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
    task, key = _text(body, "task"), request_key(request, who)
    said = await served.learner.call(_learner.adapt, people, support, task, key)
    return {"decisions": served.rows(said)}


async def forget(request: Request, served: Served, who: str) -> Any:
    """Take a person's id and features out of the ledger, in all tasks or in one."""
    body = await _body(request, ("id", "task"))
    id, task = _text(body, "id"), _text(body, "task")
    if id is None:
        raise FFMLError("say who is to be forgotten: id")
    number = await served.learner.call(_learner.forget, id, [task] if task else None)
    return {"forgotten": number}


async def promote(request: Request, served: Served, who: str) -> Any:
    """Let a version decide from now on; ``newest``: always the one that was learned last."""
    wanted = request.path_params["version"]
    number = None if wanted == "newest" else _number(wanted)
    await run_in_threadpool(served.run.promote, number)
    return {"deciding": await served.decider.refresh()}


async def roll_back(request: Request, served: Served, who: str) -> Any:
    """Let the version decide that can and came before the one that does."""
    await run_in_threadpool(served.run.roll_back)
    return {"deciding": await served.decider.refresh()}


async def infer(request: Request, served: Served, who: str) -> Any:
    """Decide about tensors of the Open Inference Protocol, one a column, and write it.

    Another version than the one that decides says what it would; nothing is written, and the token
    needs the scope read too.
    """
    number = await _version(request, served)
    if number is not None:
        authorise(request, served, "read")
    body = await read_json(request, request.app.state.limits)
    people = tensor_table(_listed(request, body.get("inputs"), "inputs"), served.columns)
    _few_enough(request, len(people))
    if number is None:
        key = request_key(request, who)
        said = await served.decider.decide(people, None, bool(served.columns.id), key)
    else:
        said = await run_in_threadpool(
            lambda: served.run.decide(people, record=False, version=number)
        )
    shown = served.shown(said)
    values = shown | {"label": shown["decision"], "decision": [*map(int, shown["favourable"])]}
    outputs = [
        {"name": n, "datatype": kind, "shape": [len(said)], "data": values[n]}
        for n, kind in _read.OUTPUTS
    ]
    reply = {"model_name": served.name, "model_version": str(shown["version"][0])}
    reply |= {"id": str(body["id"])[:255]} if "id" in body else {}
    return reply | {"parameters": {"recorded": number is None}, "outputs": outputs}


async def columns(request: Request, served: Served, who: str) -> Any:
    """Name the columns that a person has, and the words of its label."""
    own = served.columns
    return {
        **{"inputs": own.inputs, "sensitive": [*own.sensitive], "id": own.id, "task": own.task},
        **{"label": own.label, "labels": own.labels},
    }


async def model(request: Request, served: Served, who: str) -> Any:
    """Say what the run takes and gives, in the words of the Open Inference Protocol."""
    await _version(request, served)
    return await run_in_threadpool(_read.model, served.name, served.run, served.columns)


async def ready(request: Request, served: Served, who: str) -> Any:
    """Say that the run, or one of its versions, can decide."""
    await _version(request, served)
    return {"ready": True, "name": served.name}


def _reading(function: Callable[..., Any]) -> Handler:
    async def handler(request: Request, served: Served, who: str) -> Any:
        return await run_in_threadpool(function, served.run, dict(request.query_params))

    handler.__doc__ = function.__doc__
    return handler


fairness, check = _reading(_fairness.fairness), _reading(_read.check)
rounds, versions, events = (_reading(f) for f in (_read.rounds, _read.versions, _read.events))


async def _body(request: Request, names: tuple[str, ...]) -> dict[str, Any]:
    body = await read_json(request, request.app.state.limits)
    if strange := [name for name in body if name not in names]:
        raise FFMLError(f"no field {strange[0][:60]!r}; there are {', '.join(names)}")
    return body


def _listed(request: Request, rows: Any, name: str) -> list[Any]:
    if not isinstance(rows, list):
        raise FFMLError(f"{name} is missing or no list; see /openapi.json")
    _few_enough(request, len(rows))
    return rows


def _few_enough(request: Request, number: int) -> None:
    if number > (most := request.app.state.limits.people):
        raise HTTPException(413, f"a request has at most {most:,} rows; send several")


def _all_have(rows: list[Any], *names: str) -> bool:
    return all(isinstance(row, dict) and {*names} <= {*row} for row in rows)


def _word(row: Mapping[str, Any], name: str) -> str:
    value = row[name]
    if not isinstance(value, str | int | float) or value == "":
        raise FFMLError(f"{name} of a label is a text or a number")
    return str(value)


def _text(body: Mapping[str, Any], name: str) -> str | None:
    value = body.get(name)
    if value is not None and (not isinstance(value, str) or not value):
        raise FFMLError(f"{name} is a text, or left out")
    return value


def _number(text: str) -> int:
    if not text.isdecimal() or len(text) > 18:
        raise HTTPException(404, "a version is a number, as /versions lists them, or newest")
    return int(text)


async def _version(request: Request, served: Served) -> int | None:
    """Return the version in the path if it is another than the one that decides."""
    if "version" not in request.path_params:
        return None
    wanted = _number(request.path_params["version"])
    if wanted == served.decider.version:
        return None
    kept = await run_in_threadpool(lambda: [v.number for v in served.run.versions if v.kept])
    if wanted not in kept:
        there = ", ".join(map(str, kept))
        raise HTTPException(404, f"version {wanted} has no state; there are {there}")
    return wanted
