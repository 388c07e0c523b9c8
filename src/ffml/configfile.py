"""A run's settings from a JSON file: flat settings, or the config.json that a run left."""

import json
from pathlib import Path
from typing import Any

from ffml.base import FFMLError

# Parts of `RunConfig` that hold settings of others; a file may also give those flat.
NESTED = ("method_settings", "model_settings")


def read_config(path: Path) -> dict[str, Any]:
    """Read settings as `ffml.experiment.configure_run` takes them, and perhaps ``data``.

    Raises:
        FFMLError: the file cannot be read, is no JSON, or holds no object.
    """
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise FFMLError(f"there is no file {path}; give --config a JSON file") from None
    except (OSError, ValueError) as error:
        raise FFMLError(f"{path} is not JSON ({error}); give --config a JSON file") from None
    if not isinstance(found, dict):
        raise FFMLError(f"{path} holds no settings; it must be an object such as {{'seed': 1}}")
    settings = found["run"] if isinstance(found.get("run"), dict) else found
    for part in NESTED:
        settings = settings | settings.get(part, {})
    return {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in settings.items()
        if name not in NESTED
    }
