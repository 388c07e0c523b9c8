"""The application: runs, their endpoints, their pages, and what operations look at."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from functools import partial
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
from ffml.service._alarms import Alarms
from ffml.service._endpoints import ENDPOINTS, Endpoint
from ffml.service._guard import Limits, Rates, admit, allowed, problem
from ffml.service._metrics import Meter, exposition, run_samples
from ffml.service._openapi import ALIVE, READY, document
from ffml.service._page import PAGES, Streams
from ffml.service._served import Served
from ffml.service._watch import Watch
from ffml.store import Away

__all__ = ["Limits", "create_app"]

Answer = Callable[[Request], Awaitable[Response]]


def create_app(
    runs: Mapping[str, str],
    limits: Limits | None = None,
    promote: str | None = None,
    webhook: str | None = None,
    local: bool = True,
) -> Starlette:
    """Make the application.

    Args:
        runs: a name in the address -> a folder or a database.
        limits: what a request may be.
        promote: the rule by which versions come to decide, see `ffml.Run.promote_by`; None leaves
            the rule of each run.
        webhook: an address that is told of alarms.
        local: only this machine can reach the service, and may ask about a run without tokens.
    """
    limits, meter = limits or Limits(), Meter()
    served = {name: Served(name, at, promote) for name, at in runs.items()}
    alarms = Alarms(served, webhook)

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
        *(Route(one.path, _answer(one), methods=[one.method]) for one in ENDPOINTS),
        *(Route(path, _constant(value)) for path, (value, _) in ALIVE.items()),
        Route(READY, _ready),
        Route("/openapi.json", _described),
        *(Route(path, page) for path, page in PAGES.items()),
        Route("/metrics", _metrics(meter)),
    ]
    paths = {route.endpoint: route.path for route in routes}
    app = Starlette(
        routes=routes,
        lifespan=lifespan,
        middleware=[Middleware(Watch, meter=meter, paths=paths, runs=served)],
        exception_handlers={HTTPException: problem, FFMLError: problem},
    )
    app.state.runs, app.state.limits, app.state.rates = served, limits, Rates(limits.rate)
    app.state.streams, app.state.local = Streams(), local
    app.router.redirect_slashes = False  # it would lead to whatever host who asks has named
    return app


def _answer(one: Endpoint) -> Answer:
    async def answer(request: Request) -> Response:
        served, who = await admit(request, one.scope)
        if strange := [name for name in request.query_params if name not in one.query]:
            there = ", ".join(one.query) or "none"
            raise FFMLError(f"no parameter {strange[0][:60]!r}; there are: {there}")
        limits = request.app.state.limits
        try:
            async with asyncio.timeout(limits.learning if one.learns else 2 * limits.seconds):
                said = await one.handler(request, served, who)
        except TimeoutError:
            words = "it takes longer than a request may; ask again, it may be done by then"
            raise HTTPException(503, words, {"Retry-After": "5"}) from None
        return JSONResponse(said if one.keyed else plain(said))

    return answer


def _metrics(meter: Meter) -> Answer:
    """Show the runs that who asks may read; refuse who may read none."""

    async def answer(request: Request) -> Response:
        shown = [meter.samples()]
        for one in await allowed(request):
            make = partial(run_samples, one.name)
            shown.append((await run_in_threadpool(one.kept.of, make, "metrics"))[0])
        kind = "text/plain; version=0.0.4; charset=utf-8"
        return PlainTextResponse(exposition(shown), media_type=kind)

    return answer


async def _described(request: Request) -> Response:
    """Describe the runs of which who asks has a token."""
    return JSONResponse(document({one.name: one.columns for one in await allowed(request, "")}))


async def _ready(request: Request) -> Response:
    """Say that all runs can be asked, as the protocol wants it; look once a second."""
    try:
        for served in request.app.state.runs.values():
            await served.tokens()
    except Away:
        words = "the database of a run is away; ask again"
        raise HTTPException(503, words, {"Retry-After": "5"}) from None
    return JSONResponse({"ready": True})


def _constant(value: dict[str, Any]) -> Answer:
    async def answer(_: Request) -> Response:
        return JSONResponse(value)

    return answer
