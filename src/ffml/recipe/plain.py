"""JSON as people read it."""

import json
import math
from typing import Any

import numpy as np


def to_json(value: Any) -> str:
    """Dump JSON as people read it; an undefined number is null."""
    return json.dumps(plain(value), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def plain(value: Any) -> Any:
    """Return a value as JSON would give it back."""
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, (float, np.floating)):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, np.integer):
        return int(value)
    return value if isinstance(value, (str, int, bool, type(None))) else str(value)
