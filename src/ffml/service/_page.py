"""The page that people look at: an empty frame, parts that its script brings, and their streams.

The frame needs no token, for nothing of a run is in it. Parts are HTML made here, where whatever
came from data is escaped; the policy of the page allows no script and no style but its own files.
"""

import datetime
import threading
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from importlib import resources
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ffml.report import charts
from ffml.service._guard import Rates, authorise
from ffml.service._live import Streams
from ffml.service._look import long_look, short_look
from ffml.service.tokens import tokens_of

if TYPE_CHECKING:
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
MOST_KEPT = 64  # parts of pages that are kept until their run changes
SHARE = 0.1  # of the time, at most, that one open page makes the service draw
ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16">'
    '<path d="M2 11h12M2 5h12" stroke="#0072b2" stroke-width="3"/></svg>'
)


class Pages:
    """The pages of the runs that are served."""

    def __init__(self, runs: Mapping[str, "Served"], rates: Rates) -> None:
        self._runs, self._rates = runs, rates
        self.streams, self._drawn = Streams(), {name: Drawn() for name in runs}

    def close(self) -> None:
        """End all streams, so that the service can stop."""
        self.streams.close()

    @property
    def routes(self) -> list[Route]:
        """Where the pages are."""
        files = {name: _file(*file) for name, file in FILES.items()}
        own: dict[str, Callable[[Request], Awaitable[Response]]] = {
            "/": self._frame,
            "/page/runs": self._list,
            "/page/changes": self._list_changes,
            "/runs/{run}/page": self._frame,
            "/runs/{run}/page/parts": self._parts,
            "/runs/{run}/page/changes": self._changes,
        }
        return [Route(path, handler) for path, handler in (own | files).items()]

    async def _frame(self, request: Request) -> Response:
        name = request.path_params.get("run", "")
        some = [self._runs[name]] if name in self._runs else [*self._runs.values()]
        closed = await run_in_threadpool(lambda: any(tokens_of(one.run.store) for one in some))
        at = f"/runs/{quote(name, safe='')}/page" if name else "/page"
        parts = f"{at}/parts" if name else f"{at}/runs"
        said = {"name": name, "parts": parts, "changes": f"{at}/changes", "closed": closed}
        return _html(TEMPLATES["page.html"].render(said))

    async def _list(self, request: Request) -> Response:
        some = await self._readable(request)
        cards = [await run_in_threadpool(self._drawn[one.name].of, one, _card) for one in some]
        states = (state for _, state in cards)
        return _html(TEMPLATES["runs.html"].render(cards=[card for card, _ in cards]), *states)

    async def _parts(self, request: Request) -> Response:
        served = await self._allowed(request)
        ids = await run_in_threadpool(_is_admin, request, served)
        asked = {k: v for k, v in request.query_params.items() if v}

        def draw(one: "Served") -> str:
            look = long_look(one.run, one.columns, asked, ids)
            look["pictures"] = [Markup(picture) for picture in look["pictures"]]
            look["days"]["picture"] = Markup(look["days"]["picture"])
            return TEMPLATES["run.html"].render(look | {"name": one.name})

        key = (*sorted(asked.items()), ids)
        return _html(*await run_in_threadpool(self._drawn[served.name].of, served, draw, *key))

    async def _changes(self, request: Request) -> Response:
        return self._stream([await self._allowed(request)])

    async def _list_changes(self, request: Request) -> Response:
        return self._stream(await self._readable(request))

    def _stream(self, some: list["Served"]) -> Response:
        def pause() -> float:
            return sum(self._drawn[one.name].seconds for one in some) / SHARE

        return self.streams.response(lambda: _state(some), pause)

    async def _allowed(self, request: Request) -> "Served":
        """Find the run that is asked for, by who may read it."""
        served = self._runs.get(request.path_params["run"])
        if served is None:
            raise HTTPException(404, "no such run; the first page lists those there are")
        self._rates.take(await run_in_threadpool(authorise, request, served, "read"))
        return served

    async def _readable(self, request: Request) -> list["Served"]:
        """Find the runs that who asks may read; refuse who may read none."""
        some, refusal = [], None
        for served in self._runs.values():
            try:
                who = await run_in_threadpool(authorise, request, served, "read")
                some.append(served)
            except HTTPException as error:
                refusal = error
        if not some and refusal is not None:
            raise refusal
        self._rates.take(who)
        return some


class Drawn:
    """Parts of a run that were drawn, kept until it changes: who looks too shares one drawing."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Any, tuple[Any, str]] = OrderedDict()
        self._turn = threading.Lock()
        self.seconds = 0.0  # that the slowest of the parts in use took

    def of(self, served: "Served", draw: Callable[["Served"], Any], *key: Any) -> tuple[Any, str]:
        """Return what is drawn, and the ledger's newest hash at that moment."""
        place = (draw.__name__, datetime.date.today(), *key)
        with self._turn:
            head = served.run.store.head
            if place not in self._kept or self._kept[place][1] != head:
                began = time.perf_counter()
                with served.run.store.snapshot():
                    self._kept[place] = draw(served), served.run.store.head
                self.seconds = max(0.9 * self.seconds, time.perf_counter() - began)
            self._kept.move_to_end(place)
            while len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)
            return self._kept[place]


def _card(served: "Served") -> dict[str, Any]:
    at = f"/runs/{quote(served.name, safe='')}/page"
    return short_look(served.run) | {"name": served.name, "at": at}


def _state(some: list["Served"]) -> str:
    """Return what changes whenever one of the runs does: a primary key's last row each."""
    return " ".join(one.run.store.head for one in some)


def _is_admin(request: Request, served: "Served") -> bool:
    try:
        authorise(request, served, "admin")
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
