"""The service as a process: it listens, says where, and ends its open pages when told to stop."""

import logging
import socket
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import uvicorn
from starlette.applications import Starlette

from ffml.base import FFMLError
from ffml.runtime import configure
from ffml.service._protocol import Protocol

PATIENCE = 10  # seconds that requests have to end in
MOST_CONNECTIONS = 1000  # at once; more get 503
SETTINGS: dict[str, Any] = {
    **{"access_log": False, "log_level": "warning", "server_header": False, "ws": "none"},
    **{"http": Protocol, "limit_concurrency": MOST_CONNECTIONS},
    "timeout_graceful_shutdown": PATIENCE,
}


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
        super().__init__(uvicorn.Config(app, **SETTINGS))
        self._pages, self._ready = app.state.pages, ready
        self._socket = bound(host, port)
        self.address = address(host, self._socket.getsockname()[1])

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to answer."""
        await super().startup(sockets or [self._socket])
        if self.started:
            self._ready(self.address)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop: streams of open pages would never end by themselves."""
        self._pages.close()
        super().handle_exit(sig, frame)


def set_up() -> None:
    """Prepare a process that serves: one device, and log lines as they are."""
    configure(devices=1)
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(message)s")


def address(host: str, port: int) -> str:
    """Write where a service is."""
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def bound(host: str, port: int) -> socket.socket:
    """Take an address."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # By name: asyncio sends small answers at once only where the protocol is said to be TCP.
    bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
    except OSError as error:
        bound.close()
        raise FFMLError(
            f"cannot listen on {host}, port {port} ({error.strerror}); choose another --port"
        ) from None
    return bound
