"""What every request passes: its size, who asks, how often."""

import asyncio
import json
import logging
import re
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from ffml.base import FFMLError
from ffml.service._decider import Crowded
from ffml.service._learner import Stopped
from ffml.service.tokens import allows, holder
from ffml.store import Away, Busy

if TYPE_CHECKING:
    from ffml.service._served import Served

LOG = logging.getLogger("ffml.service")
LOCAL = ("127.0.0.1", "localhost", "[::1]")
MOST_WORDS = 600  # letters of a refusal
MOST_TOKENS = 10_000  # whose rates are remembered
_KEY = re.compile(r"[\x21-\x7e]{1,255}")
_LATER = {"Retry-After": "1"}
_UNKNOWN = {  # Starlette's words -> ours
    "Not Found": "there is nothing at this address; see /openapi.json",
    "Method Not Allowed": "this address takes another method; see /openapi.json",
}


class Limits(NamedTuple):
    """What one request may be."""

    body: int = 16_000_000  # bytes
    people: int = 10_000
    seconds: float = 60.0  # to send a body, and to get a decision or an answer
    learning: float = 600.0  # seconds to learn from labels
    rate: float | None = None  # requests a second by one token


class Rates:
    """How many requests each token has left: a second's worth at once, then by the second."""

    def __init__(self, rate: float | None) -> None:
        self._rate, self._left = rate, dict[tuple[str, str], tuple[float, float]]()

    def take(self, who: tuple[str, str]) -> None:
        """Count a request of a run's token; refuse one too many."""
        if self._rate is None:
            return
        now, most = time.monotonic(), max(self._rate, 1.0)
        left, at = self._left.get(who, (most, now))
        left = min(most, left + (now - at) * self._rate)
        if left < 1:
            raise HTTPException(429, "too many requests; wait a second", _LATER)
        if len(self._left) >= MOST_TOKENS:
            self._left.clear()
        self._left[who] = (left - 1, now)


async def admit(request: Request, scope: str) -> tuple["Served", str]:
    """Return the run that is asked for, and the name of who asks; refuse who may not."""
    served = request.app.state.runs.get(request.path_params["run"])
    if served is None:
        raise HTTPException(404, "no such run; /openapi.json names those there are")
    who = await authorise(request, served, scope)
    request.app.state.rates.take((served.name, who))
    return served, who


async def allowed(request: Request, scope: str = "read") -> list["Served"]:
    """Return the runs that a token may read, or use with another scope; refuse if none.

    A run whose database is away is not among them; the others are.
    """
    some, who = [], ("", "")
    refusal: Exception | None = None
    for served in request.app.state.runs.values():
        try:
            who = served.name, await authorise(request, served, scope)
            some.append(served)
        except (HTTPException, Away) as error:
            refusal = error
    if refusal is not None and not some:
        raise refusal
    request.app.state.rates.take(who)
    return some


async def authorise(request: Request, served: "Served", scope: str) -> str:
    """Return the name of who asks; refuse who may not."""
    rows = await served.tokens()
    if not rows and not request.app.state.local:  # its last token was removed
        raise HTTPException(401, "this run has no token, so nobody may ask; see 'ffml token'")
    if not rows:  # served on loopback only: no other site's page may ask through a browser
        host = request.headers.get("host", "")
        if host.rpartition(":")[0] not in LOCAL and host not in LOCAL:
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


def request_key(request: Request, who: str) -> str | None:
    """Return the key under which a request may come again; it is of one token alone."""
    given = request.headers.getlist("idempotency-key")
    if not given:
        return None
    if len(given) > 1 or not _KEY.fullmatch(given[0]):
        raise HTTPException(400, "Idempotency-Key is one text of 1 to 255 visible ASCII letters")
    return f"{given[0]} of {who}" if who else given[0]


async def read_json(request: Request, fields: tuple[str, ...] = ()) -> dict[str, Any]:
    """Read a JSON object within the limits; where fields are given, it may have no others."""
    limits = request.app.state.limits
    kind = request.headers.get("content-type", "").partition(";")[0].strip()
    if kind.lower() != "application/json":
        raise HTTPException(415, "send JSON with Content-Type: application/json")
    too_large = HTTPException(413, f"a request has at most {limits.body:,} bytes; send fewer")
    if (length := request.headers.get("content-length", "")).isdecimal() and (
        len(length) > 18 or int(length) > limits.body
    ):
        raise too_large
    parts, size = [], 0
    try:
        async with asyncio.timeout(limits.seconds):
            async for part in request.stream():
                parts.append(part)
                if (size := size + len(part)) > limits.body:
                    raise too_large
    except TimeoutError:
        raise HTTPException(408, f"send the whole body within {limits.seconds:g} s") from None
    except ClientDisconnect:
        raise HTTPException(400, "the connection ended before the body did") from None
    try:
        value = _parsed(b"".join(parts))
    except UnicodeEncodeError:
        raise HTTPException(400, "half of a character, such as \\ud800, is no text") from None
    except (ValueError, RecursionError):
        raise HTTPException(400, "the body is not JSON; send an object") from None
    if not isinstance(value, dict):
        raise HTTPException(400, "the body is not a JSON object; see /openapi.json")
    if fields and (strange := [name for name in value if name not in fields]):
        raise FFMLError(f"no field {strange[0][:60]!r}; there are {', '.join(fields)}")
    return value


def few_enough(request: Request, number: int) -> None:
    """Refuse a request about too many people."""
    if number > (most := request.app.state.limits.people):
        raise HTTPException(413, f"a request has at most {most:,} rows; send several")


def problem(request: Request, error: Exception) -> Response:
    """Say in one line what was wrong."""
    if isinstance(error, HTTPException):
        words = _UNKNOWN.get(error.detail, error.detail)
        return JSONResponse({"error": words}, error.status_code, dict(error.headers or {}))
    words = " ".join(str(error).split())
    for served in request.app.state.runs.values():  # name the run instead of where it is kept
        words = words.replace(served.run.store.name, served.name)
    words = _short(words)
    if isinstance(error, Away | Busy | Crowded | Stopped):
        LOG.warning(json.dumps({"run": request.path_params.get("run", ""), "unavailable": words}))
        return JSONResponse({"error": words}, 503, _LATER)
    return JSONResponse({"error": words}, 400)


def _short(words: str) -> str:
    """Leave out the middle of a long line, which repeats what was sent; the remedy ends it."""
    half = MOST_WORDS // 2
    return words if len(words) <= MOST_WORDS else f"{words[:half]} … {words[-half:]}"


def _parsed(body: bytes) -> Any:
    """Parse JSON; a text that cannot be written again is refused."""
    value = json.loads(body, parse_constant=_no_constant)
    if b"\\ud" in body.lower():  # perhaps half of a pair
        json.dumps(value, ensure_ascii=False).encode()
    return value


def _no_constant(name: str) -> None:
    raise ValueError(name)
