"""Compute a function once for the same arguments: runs that differ in the asked gap learn alike."""

import hashlib
import pickle
from collections.abc import Callable
from functools import wraps
from importlib import import_module
from typing import Any

# Where most of a run's time goes. None of it depends on the gap that is asked for.
SLOW = (
    ("ffml.features.boosted", "fit_forests"),
    ("ffml.features.boosted", "forest_logits"),
    ("ffml.features.boosted", "forests_logits"),
    ("ffml.wrappers._evened", "learn_membership"),
    ("ffml.methods.classifiers", "fit_forest"),
    ("ffml.methods.classifiers", "fit_logistic"),
    ("ffml.methods._ffml_exact", "curvature"),
    ("ffml.methods._ffml_exact", "minimised"),
)


def once(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that remembers its results by what its arguments hold.

    >>> calls = []
    >>> double = once(lambda x: calls.append(x) or 2 * x)
    >>> double(3), double(3), len(calls)
    (6, 6, 1)
    """
    results: dict[bytes, Any] = {}

    @wraps(function)
    def remembered(*arguments: Any, **named: Any) -> Any:
        digest = hashlib.blake2b(pickle.dumps((arguments, named), 5), digest_size=16).digest()
        if digest not in results:
            results[digest] = function(*arguments, **named)
        return results[digest]

    remembered.forget = results.clear  # type: ignore[attr-defined]
    return remembered


def learn_once() -> None:
    """Replace what is slow in this process; forget what an earlier stream left behind."""
    for path, name in SLOW:
        owner = import_module(path)
        function = getattr(owner, name)
        if hasattr(function, "forget"):
            function.forget()
        else:
            setattr(owner, name, once(function))
