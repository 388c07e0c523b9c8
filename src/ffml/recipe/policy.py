"""The policy: who is decided favourably. One value behind ``approve``, ``cost``, ``threshold``."""

from collections.abc import Mapping
from typing import Any

from ffml.base import FFMLError

DEFAULT_POLICY = "labels"  # as many positive decisions as favourable labels are expected
PAPERS_POLICY = "balanced"  # of studies too, which compare balanced accuracy
OPTIONS = ("approve", "cost", "threshold")
WORDS = ("labels", "accuracy", "balanced")


def policy_of(given: Mapping[str, Any]) -> str | None:
    """Return the one policy that options ask for; None where they ask for none.

    >>> policy_of({"approve": 0.8}), policy_of({"threshold": "balanced", "cost": None})
    ('approve=0.8', 'balanced')
    """
    asked = {name: given[name] for name in OPTIONS if given.get(name) is not None}
    if len(asked) > 1:
        names = " and ".join(asked)
        raise FFMLError(f"{names} are ways to say the same: who is approved; give one of them")
    for name, value in asked.items():
        if name == "threshold" and value in WORDS:
            return str(value)
        number = f"{_number(name, value):g}"
        return number if name == "threshold" else f"{name}={number}"
    return None


def options_of(policy: str | None) -> dict[str, Any]:
    """Return the options that ask for a policy.

    >>> options_of("cost=5"), options_of("0.3")
    ({'cost': 5.0}, {'threshold': 0.3})
    """
    if policy is None:
        return {}
    name, _, number = policy.partition("=")
    if number:
        return {name: float(number)}
    return {"threshold": policy if policy in WORDS else float(policy)}


def with_policy(saved: Mapping[str, Any]) -> Mapping[str, Any]:
    """Give a saved run its policy; before 0.4 it was a setting of evened, balanced by default."""
    recipe = saved.get("recipe")
    if "policy" in saved or not isinstance(recipe, Mapping):
        return saved
    wrappers, settings = recipe.get("wrappers"), recipe.get("settings") or {}
    if "evened" not in (wrappers or ()) or not isinstance(settings, Mapping):
        return saved  # what is of another kind is refused later
    settings = dict(settings)
    policy = settings.pop("evened.threshold", PAPERS_POLICY)
    said = str(policy).replace("rate=", "approve=")
    return {**saved, "policy": said, "recipe": {**recipe, "settings": settings}}


def _number(name: str, value: Any) -> float:
    """Read a share, a cost or a probability."""
    example = {
        "approve": "a share between 0 and 1, such as 0.8 for 80 of 100",
        "cost": "a number above 0: what a wrong refusal costs, in wrong approvals",
        "threshold": f"{', '.join(WORDS)}, or a probability between 0 and 1",
    }[name]
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = -1.0
    if not 0 < number < (float("inf") if name == "cost" else 1):
        raise FFMLError(f"{name} takes {example}; got {value}")
    return number
