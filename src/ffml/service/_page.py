"""The page that people look at: an empty frame, parts that its script brings, and their streams.

The frame needs no token, for nothing of a run is in it. Parts are HTML made here, where whatever
came from data is escaped; the policy of the page allows no script and no style but its own files.
Streams tell an open page that its run has changed, and carry no word of the run itself.
"""

import asyncio
import datetime
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from importlib import resources
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from ffml.report import charts
from ffml.service._guard import admit, allowed, authorise
from ffml.service._look import long_look, short_look
from ffml.store import Away

if TYPE_CHECKING:
    from ffml.runs import Run
    from ffml.service._served import Served

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
SHARE = 0.1  # of the time, at most, that one open page makes the service draw
MOST_STREAMS = 32
LONGEST = 600.0  # seconds of a stream; the page asks again, with its token
STILL_THERE = 15.0  # seconds of silence after which a stream says that it is still there
STEP = 0.5  # seconds between looks at whether all is to end
ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16">'
    '<path d="M2 11h12M2 5h12" stroke="#0072b2" stroke-width="3"/></svg>'
)


async def home(request: Request) -> Response:
    """Answer with the frame of the list of runs."""
    return await frame(request)


async def frame(request: Request) -> Response:
    """Answer with the frame, of one run or of the list of runs."""
    runs, name = request.app.state.runs, request.path_params.get("run", "")
    some = [runs[name]] if name in runs else [*runs.values()]
    at = f"/runs/{quote(name, safe='')}/page" if name else "/page"
    values = {
        "name": name,
        "parts": f"{at}/parts" if name else f"{at}/runs",
        "changes": f"{at}/changes",
        "closed": any([await _closed(one) for one in some]),
    }
    return _html(TEMPLATES["page.html"].render(values))


async def cards(request: Request) -> Response:
    """Answer with the runs that who asks may read, each with its answer."""
    shown, states = [], []
    for one in await allowed(request):
        card, state = await run_in_threadpool(one.kept.of, short_look, "card")
        at = f"/runs/{quote(one.name, safe='')}/page"
        shown.append(card | {"name": one.name, "at": at})
        states.append(state)
    return _html(TEMPLATES["runs.html"].render(cards=shown), *states)


async def parts(request: Request) -> Response:
    """Answer with all parts of a run's page."""
    served, _ = await admit(request, "read")
    ids = await _is_admin(request, served)
    asked = {name: value for name, value in request.query_params.items() if value}

    def draw(run: "Run") -> str:
        look = long_look(run, served.columns, asked, ids)
        look["pictures"] = [Markup(picture) for picture in look["pictures"]]
        look["days"]["picture"] = Markup(look["days"]["picture"])
        return TEMPLATES["run.html"].render(look | {"name": served.name})

    key = (datetime.date.today(), ids, *sorted(asked.items()))
    return _html(*await run_in_threadpool(served.kept.of, draw, *key))


async def changes(request: Request) -> Response:
    """Answer with a stream that tells when a run has changed."""
    return _stream(request, [(await admit(request, "read"))[0]])


async def list_changes(request: Request) -> Response:
    """Answer with a stream that tells when one of the runs has changed."""
    return _stream(request, await allowed(request))


class Streams:
    """The open streams of a service: at most so many, and all end when the service does."""

    def __init__(self, most: int = MOST_STREAMS) -> None:
        self.most, self.open = most, 0
        self._closing = False

    def close(self) -> None:
        """End all streams within a second. May be called from a signal's handler."""
        self._closing = True

    def response(self, state: Callable[[], str], pause: Callable[[], float]) -> StreamingResponse:
        """Answer with server-sent events: the state, whenever it is another.

        Args:
            state: reads what changes with the run, such as the ledger's newest hash.
            pause: how many seconds to wait before the next look, 1 or more.
        """
        if self.open >= self.most:
            headers = {"Retry-After": "10"}
            raise HTTPException(503, f"{self.most} pages are open already; close one", headers)
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        return _Counted(self, self._events(state, pause), 200, headers, "text/event-stream")

    async def _events(
        self, state: Callable[[], str], pause: Callable[[], float]
    ) -> AsyncIterator[str]:
        began = said_at = time.monotonic()
        said = ""
        while not self._closing and time.monotonic() - began < LONGEST:
            try:
                now = await run_in_threadpool(state)
            except Away:  # the page asks again, and is told
                return
            if now != said:
                said, said_at = now, time.monotonic()
                yield f"data: {json.dumps(now)}\n\n"
            elif time.monotonic() - said_at > STILL_THERE:
                said_at = time.monotonic()
                yield ": still there\n\n"
            await self._wait(max(1.0, pause()))

    async def _wait(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while not self._closing and (left := end - time.monotonic()) > 0:
            await asyncio.sleep(min(STEP, left))


class _Counted(StreamingResponse):
    """A stream that counts from the moment it is allowed, so that a crowd at once finds no gap."""

    def __init__(self, streams: Streams, *given: Any) -> None:
        super().__init__(*given)
        self._streams = streams

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._streams.open += 1
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._streams.open -= 1


def _stream(request: Request, some: list["Served"]) -> Response:
    """Tell the newest hash of each ledger, whenever one is another."""

    def state() -> str:
        return " ".join(one.run.store.head for one in some)

    def pause() -> float:
        return sum(one.kept.seconds for one in some) / SHARE

    return request.app.state.streams.response(state, pause)


async def _closed(served: "Served") -> bool:
    """Tell whether a run asks for a token; if its database is away, later requests say so."""
    try:
        return bool(await served.tokens())
    except Away:
        return False


async def _is_admin(request: Request, served: "Served") -> bool:
    try:
        await authorise(request, served, "admin")
    except HTTPException:
        return False
    return True


def _html(text: str, *states: str) -> Response:
    headers = HEADERS | {"X-FFML-State": " ".join(states)}
    return Response(text, 200, headers, "text/html; charset=utf-8")


def _read(name: str) -> str:
    return resources.files("ffml.service").joinpath(name).read_text(encoding="utf-8")


def _file(text: str, kind: str) -> Callable[[Request], Awaitable[Response]]:
    async def answer(_: Request) -> Response:
        return Response(text, 200, HEADERS, f"{kind}; charset=utf-8")

    return answer


_JINJA = Environment(
    autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
)
TEMPLATES = {
    name: _JINJA.from_string(_read(name)) for name in ("page.html", "runs.html", "run.html")
}
FILES = {
    "/page/page.css": (charts.STYLE + _read("page.css"), "text/css"),
    "/page/page.js": (charts.SCRIPT + _read("page.js"), "text/javascript"),
    "/page/icon.svg": (ICON, "image/svg+xml"),
}
PAGES: dict[str, Any] = {
    "/": home,
    "/page/runs": cards,
    "/page/changes": list_changes,
    "/runs/{run}/page": frame,
    "/runs/{run}/page/parts": parts,
    "/runs/{run}/page/changes": changes,
    **{path: _file(*file) for path, file in FILES.items()},
}
