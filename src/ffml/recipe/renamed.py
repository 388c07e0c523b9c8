"""Names that were others in earlier versions: files and commands of those still work."""

from collections.abc import Mapping
from typing import Any

# Names of 0.1 and 0.2: settings of a run, and entries of its config.json.
RENAMED = {
    "constraints": "notions",
    "bounds": "max_gap",
    "constraint": "notions",
    "bound": "max_gap",
    "evened.threshold": "policy",
}
METHODS = {"leader": "ffml-exact"}
_NOTIONS = ("constraints", "constraint")


def todays_method(name: str) -> str:
    """Return the name that a method has today.

    >>> todays_method("leader"), todays_method("refit")
    ('ffml-exact', 'refit')
    """
    return METHODS.get(name, name)


def todays_names(saved: Mapping[str, Any]) -> dict[str, Any]:
    """Give settings that a file holds under earlier names the names they have today.

    No notion used to mean that nothing was asked for, which a ``max_gap`` of None says today.

    >>> todays_names({"bounds": (0.1,), "seed": 1})
    {'max_gap': (0.1,), 'seed': 1}
    >>> todays_names({"constraints": (), "bounds": (0.02,)})
    {'max_gap': None}
    """
    named = {RENAMED.get(name, name): value for name, value in saved.items()}
    if any(name in saved and saved[name] in ((), [], None) for name in _NOTIONS):
        del named["notions"]
        named["max_gap"] = None
    return named
