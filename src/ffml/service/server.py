"""The service as a process: it listens, says where, and ends its open pages when told to stop."""

import socket
from collections.abc import Callable
from types import FrameType
from typing import Any

import uvicorn
from starlette.applications import Starlette

from ffml.base import FFMLError

PATIENCE = 10  # seconds that requests have to end in


class Server(uvicorn.Server):
    """Serves an application on one address."""

    def __init__(self, app: Starlette, host: str, port: int, ready: Callable[[str], None]) -> None:
        """Take the address at once.

        Args:
            app: see `ffml.service.app.create_app`.
            host: where to listen.
            port: 0 takes a free one.
            ready: is told the address once requests are answered.
        """
        quiet: dict[str, Any] = {"access_log": False, "log_level": "warning"}
        super().__init__(uvicorn.Config(app, timeout_graceful_shutdown=PATIENCE, **quiet))
        self._pages, self._ready = app.state.pages, ready
        self._socket = _bound(host, port)
        shown = f"[{host}]" if ":" in host else host
        self.address = f"http://{shown}:{self._socket.getsockname()[1]}"

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to answer."""
        await super().startup(sockets or [self._socket])
        if self.started:
            self._ready(self.address)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop: streams of open pages would never end by themselves."""
        self._pages.close()
        super().handle_exit(sig, frame)


def _bound(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
    except OSError as error:
        bound.close()
        raise FFMLError(
            f"cannot listen on {host}, port {port} ({error.strerror}); choose another --port"
        ) from None
    return bound
