"""Which settings can be tuned, and which of them are numbers."""

from collections.abc import Mapping
from typing import Any, get_args

from ffml.base import FFMLError
from ffml.border import one_of

# What decides how settings are measured must be the same for all of them.
MEASURING = {
    "data": "give it as DATA",
    "data_options": "give it with DATA",
    "method": "use --method",
    "seed": "use --seeds",
    "rounds": "use --set rounds=N",
    "min_ratio": "use --set",
    "validation_fraction": "use --set",
    "augment_to": "use --set",
    "judge_from": "the middle third of the rounds judges",
    "judge_min_rows": "use --min-validation",
}


def number_settings(kinds: Mapping[str, Any]) -> frozenset[str]:
    """Name the settings that are numbers, so that one compiled program takes any value of them.

    All others (words, flags, counts) change the program.

    Args:
        kinds: of `ffml.studies.compare.known_kinds`.

    >>> sorted(number_settings({"lr": float, "radius": float | None, "num_steps": int}))
    ['lr', 'radius']
    >>> sorted(number_settings({"max_gap": tuple[float, ...] | None, "judge_from": float}))
    ['max_gap']
    """
    return frozenset(n for n, kind in kinds.items() if n not in MEASURING and _is_number(kind))


def check_name(name: str, kinds: Mapping[str, Any], method: str) -> None:
    """Refuse what cannot be tuned."""
    if name in MEASURING:
        raise FFMLError(f"'{name}' is the same for all settings tried; {MEASURING[name]}")
    one_of(f"setting of {method}", name, {n: n for n in kinds if n not in MEASURING})


def _is_number(kind: Any) -> bool:
    """Tell ``float``, ``tuple[float, ...]`` and either ``| None`` from all others."""
    return kind is float or any(map(_is_number, get_args(kind)))
