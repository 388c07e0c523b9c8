"""JSON as it is kept: one text for one value, so that it can be hashed."""

import json
import math
import re
from collections.abc import Sequence
from typing import Any

from ffml.base import FFMLError

_SURROGATE = re.compile("[\ud800-\udfff]")


def encode(value: Any) -> str:
    """Write a value as JSON, keys in order. NaN and infinities become null; so read null as NaN.

    >>> encode({"b": float("nan"), "a": [1, 0.5]})
    '{"a":[1,0.5],"b":null}'
    """
    try:
        text = _dumps(value)
    except ValueError:
        text = _dumps(_finite(value))
    return plain(text)


def decode(text: str) -> Any:
    """Read what `encode` wrote."""
    return json.loads(text)


def plain(text: str) -> str:
    """Return a text that both databases can keep; others are refused."""
    if "\0" in text or not (text.isascii() or _SURROGATE.search(text) is None):
        raise FFMLError(f"{text[:40]!r} holds characters that are no text; remove them")
    return text


def refuse_no_text(texts: Sequence[str]) -> None:
    """Refuse texts that the databases cannot keep; one look at all of them is quick."""
    try:
        plain("".join(texts))
    except FFMLError:
        for text in texts:
            plain(text)


def _dumps(value: Any) -> str:
    return json.dumps(
        *(value,),
        sort_keys=True,
        ensure_ascii=False,
        allow_nan=False,
        separators=(",", ":"),
        default=lambda array: array.tolist(),
    )


def _finite(value: Any) -> Any:
    if hasattr(value, "tolist"):  # NumPy's arrays and numbers
        value = value.tolist()
    if isinstance(value, dict):
        return {key: _finite(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
