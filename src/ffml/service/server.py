"""The service as processes: one, or several on one address, each with an application of its own.

A process listens, says where, and ends its open pages when told to stop.
"""

import json
import logging
import os
import socket
import sys
from collections.abc import Callable, Mapping
from types import FrameType
from typing import Any

import uvicorn
from starlette.applications import Starlette

from ffml.base import FFMLError
from ffml.runtime import configure
from ffml.service._protocol import Protocol
from ffml.service.app import Limits, create_app

PATIENCE = 10  # seconds that requests have to end in
MOST_CONNECTIONS = 1000  # at once; more get 503
SETTINGS: dict[str, Any] = {
    "access_log": False,
    "log_level": "warning",
    "server_header": False,
    "ws": "none",
    "http": Protocol,
    "limit_concurrency": MOST_CONNECTIONS,
    "timeout_graceful_shutdown": PATIENCE,
}
SERVED = "FFML_SERVICE"  # the environment's variable by which workers know what to serve


class Server(uvicorn.Server):
    """Serves an application on one address, in this process."""

    def __init__(self, app: Starlette, host: str, port: int, ready: Callable[[str], None]) -> None:
        """Take the address at once.

        Args:
            app: see `ffml.service.app.create_app`.
            host: where to listen.
            port: 0 takes a free one.
            ready: is told the address once requests are answered.
        """
        super().__init__(uvicorn.Config(app, **SETTINGS))
        self._streams, self._ready = app.state.streams, ready
        self._socket = _bound(host, port)
        self.address = _address(host, self._socket.getsockname()[1])

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to answer."""
        await super().startup(sockets or [self._socket])
        if self.started:
            self._ready(self.address)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop: streams of open pages would never end by themselves."""
        self._streams.close()
        super().handle_exit(sig, frame)


def serve_by_workers(
    app: Mapping[str, Any], host: str, port: int, workers: int, ready: Callable[[str], None]
) -> None:
    """Serve what `create_app` makes of these arguments by several processes, for ever.

    One that dies is replaced.
    """
    os.environ[SERVED] = json.dumps(app)
    with _bound(host, port) as free:  # or it is said in our words
        port = free.getsockname()[1]
    ready(_address(host, port))
    name = f"{__name__}:application"
    uvicorn.run(name, factory=True, host=host, port=port, workers=workers, **SETTINGS)


def application() -> Starlette:
    """Make a worker's application, in its own process."""
    set_up()
    given = json.loads(os.environ[SERVED])
    return create_app(**given | {"limits": Limits(*given["limits"])})


def set_up() -> None:
    """Prepare a process that serves: one device, and log lines as they are."""
    configure(devices=1)
    logging.basicConfig(stream=sys.stderr, format="%(message)s")
    logging.getLogger("ffml.service").setLevel(logging.INFO)


def _address(host: str, port: int) -> str:
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _bound(host: str, port: int) -> socket.socket:
    """Take an address."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # By name: asyncio sends small answers at once only where the protocol is said to be TCP.
    bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
    except (OSError, OverflowError) as error:
        bound.close()
        why = getattr(error, "strerror", "ports are numbers from 0 to 65535")
        raise FFMLError(
            f"cannot listen on {host}, port {port} ({why}); choose another --port"
        ) from None
    return bound
