"""The application: runs, their endpoints, their pages, and what operations look at."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from ffml.base import FFMLError
from ffml.recipe.plain import plain
from ffml.service import _openapi
from ffml.service._alarms import Alarms
from ffml.service._guard import Limits, Rates, authorise, problem
from ffml.service._metrics import Meter, exposition, run_samples
from ffml.service._page import Pages
from ffml.service._routes import ENDPOINTS, Endpoint
from ffml.service._served import Served
from ffml.service._watch import Watch

__all__ = ["Limits", "Served", "create_app"]

ALIVE: dict[str, dict[str, Any]] = {
    "/v2": {"name": "ffml", "version": "2", "extensions": []},
    "/v2/health/live": {"live": True},
    "/v2/health/ready": {"ready": True},
}
Answer = Callable[[Request], Awaitable[Response]]


def create_app(
    runs: Mapping[str, str],
    limits: Limits | None = None,
    promote: str | None = None,
    webhook: str | None = None,
) -> Starlette:
    """Make the application.

    Args:
        runs: a name in the address -> a folder or a database.
        limits: what a request may be.
        promote: the rule by which versions come to decide, see `ffml.Run.promote_by`; None leaves
            the rule of each run.
        webhook: an address that is told of alarms.
    """
    limits, meter = limits or Limits(), Meter()
    served = {name: Served(name, at, promote) for name, at in runs.items()}
    rates, alarms = Rates(limits.rate), Alarms(served, webhook)
    pages = Pages(served, rates)

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        watching = asyncio.create_task(alarms.watch())
        yield
        watching.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await watching
        for one in served.values():
            await run_in_threadpool(one.close)

    routes = [
        Route(one.path, _answer(one, served, limits, rates), methods=[one.method])
        for one in ENDPOINTS
    ]
    described = _openapi.document({name: one.columns for name, one in served.items()})
    constants = ALIVE | {"/openapi.json": described}
    routes += [Route(path, _constant(value)) for path, value in constants.items()]
    routes += [Route("/metrics", _metrics(served, rates, meter)), *pages.routes]
    paths = {route.endpoint: route.path for route in routes}
    app = Starlette(
        routes=routes,
        lifespan=lifespan,
        middleware=[Middleware(Watch, meter=meter, paths=paths, runs=served)],
        exception_handlers={HTTPException: problem, FFMLError: problem},
    )
    app.state.runs, app.state.limits, app.state.pages = served, limits, pages
    return app


def _answer(one: Endpoint, served: Mapping[str, Served], limits: Limits, rates: Rates) -> Answer:
    seconds = limits.learning if one.learns else 2 * limits.seconds

    async def answer(request: Request) -> Response:
        run = _found(request, served)
        if run.knows_tokens:
            who = authorise(request, run, one.scope)
        else:
            who = await run_in_threadpool(authorise, request, run, one.scope)
        rates.take(who)
        try:
            async with asyncio.timeout(seconds):
                said = await one.handler(request, run, who)
        except TimeoutError:
            words = "it takes longer than a request may; ask again, it may be done by then"
            raise HTTPException(503, words, {"Retry-After": "5"}) from None
        return JSONResponse(said if one.keyed else plain(said))

    return answer


def _found(request: Request, served: Mapping[str, Served]) -> Served:
    one = served.get(request.path_params["run"])
    if one is None:
        raise HTTPException(404, "no such run; /openapi.json names those there are")
    return one


def _metrics(served: Mapping[str, Served], rates: Rates, meter: Meter) -> Answer:
    """Show the runs that who asks may read; refuse who may read none."""
    kept: dict[str, tuple[str, Any]] = {}  # run -> the ledger's newest hash, and its samples

    def samples(one: Served) -> Any:
        head = one.run.store.head
        if one.name not in kept or kept[one.name][0] != head:
            kept[one.name] = head, run_samples(one.name, one.run)
        return kept[one.name][1]

    def text(request: Request) -> str:
        shown, refusal = [], None
        for one in served.values():
            try:
                rates.take(authorise(request, one, "read"))
                shown.append(samples(one))
            except HTTPException as error:
                refusal = error
        if refusal is not None and not shown:
            raise refusal
        return exposition([meter.samples(), *shown])

    async def answer(request: Request) -> Response:
        kind = "text/plain; version=0.0.4; charset=utf-8"
        return PlainTextResponse(await run_in_threadpool(text, request), media_type=kind)

    return answer


def _constant(value: dict[str, Any]) -> Answer:
    async def answer(_: Request) -> Response:
        return JSONResponse(value)

    return answer
