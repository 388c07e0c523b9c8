"""The application: each endpoint reads what came, calls one method of `Run`, shows the result."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ffml.base import FFMLError
from ffml.recipe.plain import plain
from ffml.runs import open_run
from ffml.service import _learner, _read
from ffml.service._decider import Decider
from ffml.service._guard import Limits, Rates, authorise, problem, read_json, watched
from ffml.service._page import Pages
from ffml.service._people import columns_of, people_table, table, tensor_table


class Served:
    """A run behind its door."""

    def __init__(self, name: str, address: str) -> None:
        self.name, self.run = name, open_run(address)
        self.columns = columns_of(self.run)
        self.decider, self.learner = Decider(self.run), _learner.Learner(address)

    def close(self) -> None:
        """Finish what has begun, then close the ledger."""
        self.decider.close()
        self.learner.close()
        self.run.close()

    def shown(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Say a decision in the user's words."""
        return {
            **{"id": row["id"], "task": row["task"], "decision_id": row["number"]},
            "decision": self.columns.word(row["decision"]),
            **{"favourable": bool(row["decision"]), "probability": row["probability"]},
            "version": row["version"],
        }


Handler = Callable[[Request, Served], Awaitable[Any]]


def create_app(runs: Mapping[str, str], limits: Limits | None = None) -> Starlette:
    """Make the application over runs: a name in the address -> a folder or a database."""
    limits = limits or Limits()
    rates, served = Rates(limits.rate), {name: Served(name, at) for name, at in runs.items()}
    pages = Pages(served, rates)

    def endpoint(scope: str, handler: Handler) -> Callable[[Request], Awaitable[Response]]:
        async def answer(request: Request) -> Response:
            one = served.get(request.path_params["run"])
            if one is None:
                raise HTTPException(404, f"no such run; there are {', '.join(served)}")
            who = await run_in_threadpool(authorise, request, one, scope)
            rates.take(who)
            return JSONResponse(plain(await handler(request, one)))

        return answer

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        for one in served.values():
            one.close()

    methods = {"decide": "POST", "label": "POST", "read": "GET", "admin": "POST"}
    routes = [
        Route(path, endpoint(scope, handler), methods=["POST" if "infer" in path else verb])
        for path, (scope, handler) in ENDPOINTS.items()
        for verb in [methods[scope]]
    ]
    routes += [Route(path, _constant(value)) for path, value in ALIVE.items()]
    app = Starlette(
        routes=routes + pages.routes,
        lifespan=lifespan,
        middleware=[Middleware(BaseHTTPMiddleware, dispatch=watched)],
        exception_handlers={HTTPException: problem, FFMLError: problem},
    )
    app.state.runs, app.state.limits, app.state.pages = served, limits, pages
    return app


async def decide(request: Request, served: Served) -> Any:
    """Decide about one person, or a list of ``people``."""
    body = await _body(request, ("person", "people", "task"))
    rows = body.get("people", [body["person"]] if "person" in body else None)
    task = _text(body, "task")
    people = people_table(_listed(request, rows, "people"), served.columns)
    said = await served.decider.decide(people, task, bool(served.columns.id))
    shown = [served.shown(row) for row in said]
    return {"decisions": shown} if "people" in body else shown[0]


async def labels(request: Request, served: Served) -> Any:
    """Bring labels of people decided about: ``labels`` with id, label and perhaps task."""
    body = await _body(request, ("labels", "correct"))
    rows, columns = _listed(request, body.get("labels"), "labels"), served.columns
    if not all(isinstance(row, dict) and {"id", "label"} <= {*row} for row in rows) or not rows:
        raise FFMLError("labels is a list of objects with id and label, and task if ids come again")
    values = {columns.id or "id": [str(row["id"]) for row in rows]}
    values[columns.label] = [str(row["label"]) for row in rows]
    if columns.task and all("task" in row for row in rows):
        values[columns.task] = [str(row["task"]) for row in rows]
    correct = body.get("correct", False) is True
    return await served.learner.call(_learner.label, table(values), columns.id or "id", correct)


async def adapt(request: Request, served: Served) -> Any:
    """Decide about ``people`` of a ``task`` after adapting to its labelled rows, ``support``."""
    body = await _body(request, ("people", "support", "task"))
    people = people_table(_listed(request, body.get("people"), "people"), served.columns)
    rows = _listed(request, body.get("support"), "support")
    if not rows or not all(isinstance(row, dict) for row in rows):
        raise FFMLError("support is a list of labelled people of the same population")
    names = list(dict.fromkeys(str(name) for row in rows for name in row))
    support = table({name: [row.get(name) for row in rows] for name in names})
    said = await served.learner.call(_learner.adapt, people, support, _text(body, "task"))
    return {"decisions": [served.shown(row) for row in said]}


async def forget(request: Request, served: Served) -> Any:
    """Take a person's ``id`` and features out of the ledger, in all tasks or in one."""
    body = await _body(request, ("id", "task"))
    id, task = _text(body, "id"), _text(body, "task")
    if id is None:
        raise FFMLError("say who is to be forgotten: id")
    number = await served.learner.call(_learner.forget, id, [task] if task else None)
    return {"forgotten": number}


async def infer(request: Request, served: Served) -> Any:
    """Decide about tensors of the Open Inference Protocol, one a column."""
    _refuse_other_version(request, served)
    body = await read_json(request, request.app.state.limits)
    people = tensor_table(_listed(request, body.get("inputs"), "inputs"), served.columns)
    _few_enough(request, len(people))
    rows = await served.decider.decide(people, None, bool(served.columns.id))
    kinds = (("id", "BYTES"), ("probability", "FP32"), ("decision", "INT64"))
    outputs = [
        {"name": n, "datatype": kind, "shape": [len(rows)], "data": [row[n] for row in rows]}
        for n, kind in kinds
    ]
    reply = {"model_name": served.name, "model_version": str(rows[0]["version"])}
    return reply | ({"id": str(body["id"])} if "id" in body else {}) | {"outputs": outputs}


async def model(request: Request, served: Served) -> Any:
    """Say what the run takes and gives, in the words of the Open Inference Protocol."""
    _refuse_other_version(request, served)
    return _read.model(served.name, served.run, served.columns)


async def ready(request: Request, served: Served) -> Any:
    """Say that the run can decide."""
    _refuse_other_version(request, served)
    return {"ready": True, "name": served.name}


def _reading(function: Callable[..., Any]) -> Handler:
    async def handler(request: Request, served: Served) -> Any:
        return await run_in_threadpool(function, served.run, dict(request.query_params))

    return handler


ENDPOINTS: dict[str, tuple[str, Handler]] = {
    "/runs/{run}/decide": ("decide", decide),
    "/runs/{run}/labels": ("label", labels),
    "/runs/{run}/adapt": ("decide", adapt),
    "/runs/{run}/forget": ("admin", forget),
    "/runs/{run}/fairness": ("read", _reading(_read.fairness)),
    "/runs/{run}/rounds": ("read", _reading(_read.rounds)),
    "/runs/{run}/versions": ("read", _reading(_read.versions)),
    "/runs/{run}/events": ("read", _reading(_read.events)),
    "/v2/models/{run}": ("read", model),
    "/v2/models/{run}/ready": ("read", ready),
    "/v2/models/{run}/infer": ("decide", infer),
    "/v2/models/{run}/versions/{version}": ("read", model),
    "/v2/models/{run}/versions/{version}/ready": ("read", ready),
    "/v2/models/{run}/versions/{version}/infer": ("decide", infer),
}
ALIVE: dict[str, dict[str, Any]] = {
    "/v2": {"name": "ffml", "version": "2", "extensions": []},
    "/v2/health/live": {"live": True},
    "/v2/health/ready": {"ready": True},
}


def _constant(value: dict[str, Any]) -> Callable[[Request], Awaitable[Response]]:
    async def answer(_: Request) -> Response:
        return JSONResponse(value)

    return answer


async def _body(request: Request, names: tuple[str, ...]) -> dict[str, Any]:
    body = await read_json(request, request.app.state.limits)
    if strange := [name for name in body if name not in names]:
        raise FFMLError(f"no field {strange[0][:60]!r}; there are {', '.join(names)}")
    return body


def _listed(request: Request, rows: Any, name: str) -> list[Any]:
    if not isinstance(rows, list):
        raise FFMLError(f"{name} is missing or no list; see docs/service.md")
    _few_enough(request, len(rows))
    return rows


def _few_enough(request: Request, number: int) -> None:
    if number > (most := request.app.state.limits.people):
        raise HTTPException(413, f"a request has at most {most:,} rows; send several")


def _text(body: Mapping[str, Any], name: str) -> str | None:
    value = body.get(name)
    if value is not None and (not isinstance(value, str) or not value):
        raise FFMLError(f"{name} is a text, or left out")
    return value


def _refuse_other_version(request: Request, served: Served) -> None:
    wanted, current = request.path_params.get("version"), served.run.store.version_number
    if wanted is not None and wanted != str(current):
        raise HTTPException(404, f"version {current} decides; others cannot be asked")
