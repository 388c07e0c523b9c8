"""Streams that tell an open page when its run has changed. They carry no word of the run itself."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import StreamingResponse

MOST_STREAMS = 32
LONGEST = 600.0  # seconds; the page asks again, with its token
STILL_THERE = 15.0  # seconds of silence after which a stream says that it is still there
STEP = 0.5  # seconds between looks at whether all is to end

HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


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
        kind = "text/event-stream"
        return StreamingResponse(self._events(state, pause), headers=HEADERS, media_type=kind)

    async def _events(
        self, state: Callable[[], str], pause: Callable[[], float]
    ) -> AsyncIterator[str]:
        self.open += 1
        try:
            began = said_at = time.monotonic()
            said = ""
            while not self._closing and time.monotonic() - began < LONGEST:
                now = await run_in_threadpool(state)
                if now != said:
                    said, said_at = now, time.monotonic()
                    yield f"data: {json.dumps(now)}\n\n"
                elif time.monotonic() - said_at > STILL_THERE:
                    said_at = time.monotonic()
                    yield ": still there\n\n"
                await self._wait(max(1.0, pause()))
        finally:
            self.open -= 1

    async def _wait(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while not self._closing and (left := end - time.monotonic()) > 0:
            await asyncio.sleep(min(STEP, left))
