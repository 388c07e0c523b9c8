"""What every request passes: its size, who asks, how often; and what is said of it."""

import json
import logging
import time
import uuid
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from ffml.base import FFMLError
from ffml.service.tokens import allows, holder, tokens_of

if TYPE_CHECKING:
    from ffml.service.app import Served

LOG = logging.getLogger("ffml.service")
LOCAL = ("127.0.0.1", "localhost", "[::1]")


class Limits(NamedTuple):
    """What one request may be."""

    body: int = 16_000_000  # bytes
    people: int = 10_000
    rate: float | None = None  # requests a second by one token


class Rates:
    """How many requests each token has left: a second's worth at once, then by the second."""

    def __init__(self, rate: float | None) -> None:
        self._rate, self._left = rate, dict[str, tuple[float, float]]()

    def take(self, who: str) -> None:
        """Count a request; refuse one too many."""
        if self._rate is None:
            return
        now, most = time.monotonic(), max(self._rate, 1.0)
        left, at = self._left.get(who, (most, now))
        left = min(most, left + (now - at) * self._rate)
        if left < 1:
            raise HTTPException(429, "too many requests; wait a second", {"Retry-After": "1"})
        self._left[who] = (left - 1, now)


def authorise(request: Request, served: "Served", scope: str) -> str:
    """Return the name of who asks; refuse who may not."""
    rows = tokens_of(served.run.store)
    if not rows:  # served on loopback only: no other site's page may ask through a browser
        if request.headers.get("host", "").rpartition(":")[0] not in LOCAL and (
            request.headers.get("host") not in LOCAL
        ):
            raise HTTPException(403, "without a token only this machine may ask, by its own name")
        return ""
    kind, _, token = request.headers.get("authorization", "").partition(" ")
    row = holder(rows, token) if kind.lower() == "bearer" else None
    if row is None:
        headers = {"WWW-Authenticate": "Bearer"}
        raise HTTPException(401, "send Authorization: Bearer TOKEN; see 'ffml token'", headers)
    if not allows(row, scope):
        raise HTTPException(403, f"this token has no scope {scope!r}; make one that has it")
    return row["name"]


async def read_json(request: Request, limits: Limits) -> dict[str, Any]:
    """Read a JSON object, within the limits."""
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise HTTPException(415, "send JSON with Content-Type: application/json")
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > limits.body:
            raise HTTPException(413, f"a request has at most {limits.body:,} bytes; send fewer")
    try:
        value = json.loads(body, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise HTTPException(400, "the body is not JSON; send an object") from None
    if not isinstance(value, dict):
        raise HTTPException(400, "the body is not a JSON object; see /openapi.json")
    return value


async def watched(request: Request, call: Callable[[Request], Awaitable[Response]]) -> Response:
    """Answer a request with its number, and log one line without a word of what was sent."""
    number, began = uuid.uuid4().hex, time.perf_counter()
    try:
        response = await call(request)
    except Exception:
        LOG.exception(json.dumps({"request": number, "status": 500}))
        response = JSONResponse({"error": f"something went wrong; request {number}"}, 500)
    route = request.scope.get("route")
    line = {"request": number, "method": request.method, "path": getattr(route, "path", "")}
    line |= {"run": request.path_params.get("run", "") if route else ""}
    line |= {"status": response.status_code, "ms": round(1e3 * (time.perf_counter() - began), 2)}
    LOG.info(json.dumps(line))
    response.headers["x-request-id"] = number
    return response


def problem(request: Request, error: Exception) -> Response:
    """Say in one line what was wrong."""
    if isinstance(error, HTTPException):
        return JSONResponse({"error": error.detail}, error.status_code, dict(error.headers or {}))
    return JSONResponse({"error": _without_places(request, str(error))}, 400)


def _without_places(request: Request, words: str) -> str:
    """Name the run instead of where it is kept."""
    served = request.app.state.runs.get(request.path_params.get("run", ""))
    return words.replace(served.run.store.name, served.name) if served else words


def _no_constant(name: str) -> None:
    raise ValueError(name)


ERRORS = (HTTPException, FFMLError)
