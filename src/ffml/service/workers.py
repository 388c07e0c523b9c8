"""Several processes on one address, each with an application of its own, for PostgreSQL."""

import json
import os
from collections.abc import Callable
from typing import Any

import uvicorn
from starlette.applications import Starlette

from ffml.service._guard import Limits
from ffml.service.app import create_app
from ffml.service.server import SETTINGS, address, bound, set_up

SETTING = "FFML_SERVICE"  # the environment's variable by which workers know what to serve


def application() -> Starlette:
    """Make a worker's application, in its own process."""
    said = json.loads(os.environ[SETTING])
    set_up()
    return create_app(said["runs"], Limits(**said["limits"]), said["promote"], said["webhook"])


def serve(
    said: dict[str, Any], host: str, port: int, workers: int, ready: Callable[[str], None]
) -> None:
    """Serve by several processes; one that dies is replaced."""
    os.environ[SETTING] = json.dumps(said)
    with bound(host, port) as free:  # or it is said in our words
        port = free.getsockname()[1]
    ready(address(host, port))
    name = "ffml.service.workers:application"
    uvicorn.run(name, factory=True, host=host, port=port, workers=workers, **SETTINGS)
