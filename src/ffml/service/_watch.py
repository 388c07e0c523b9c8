"""Every request has a number, a line in the log, and a place in the histogram of latencies."""

import json
import logging
import time
import traceback
import uuid
from collections.abc import Mapping
from typing import Any

from starlette.datastructures import MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ffml.service._metrics import Meter
from ffml.service._traces import traced

LOG = logging.getLogger("ffml.service")


class Watch:
    """Logs one line a request, with no word of what was sent; counts what `/metrics` shows."""

    def __init__(
        self, app: ASGIApp, meter: Meter, paths: Mapping[Any, str], runs: Mapping[str, Any]
    ) -> None:
        """Take the application.

        Args:
            app: answers.
            meter: counts.
            paths: the pattern of each endpoint's path, which is logged in place of what was asked.
            runs: names that are logged; others are words of who asks.
        """
        self.app, self.meter, self.paths, self.runs = app, meter, paths, runs

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        number, began, status = uuid.uuid4().hex, time.perf_counter(), 0

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message)["x-request-id"] = number
            await send(message)

        failed = {}
        with traced(scope) as note:
            try:
                await self.app(scope, receive, answer)
            except Exception as error:  # its message may repeat what was sent: it is not logged
                failed = {"error": type(error).__name__, "at": _place(error)}
                if not status:
                    said = f"something went wrong here, not with the request; see {number}"
                    await JSONResponse({"error": said}, 500)(scope, receive, answer)
            seconds = time.perf_counter() - began
            path = self.paths.get(scope.get("endpoint"), "")
            run = scope.get("path_params", {}).get("run", "")
            line = {
                "request": number,
                "method": scope["method"][:10],
                "path": path,
                "run": run if run in self.runs else "",
                "status": status,
                "ms": round(1e3 * seconds, 2),
            }
            version = self.runs[run].decider.version if run in self.runs else None
            note(line | failed, version)
        self.meter.count(path, status, seconds)
        LOG.log(logging.ERROR if failed else logging.INFO, json.dumps(line | failed))


def _place(error: Exception) -> str:
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{frame.filename.rpartition('/')[2]}:{frame.lineno} {frame.name}"
