"""Which settings can be tuned, read from the signatures of the run and of the method."""

from dataclasses import fields
from typing import Any, get_args, get_type_hints

from ffml.base import FFMLError
from ffml.checks import one_of
from ffml.experiment import RunConfig, method_defaults
from ffml.methods import METHODS

# What decides how settings are measured must be the same for all of them.
MEASURING = {
    "data": "give it as DATA",
    "method": "use --method",
    "seed": "use --seeds",
    "rounds": "use --rounds",
    "validation_fraction": "use --set",
    "augment_to": "use --set",
    "judge_from": "the middle third of the rounds judges",
    "judge_min_rows": "use --min-validation",
}
_NESTED = ("data_options", "method_settings", "model_settings")


def tunable_settings(method: str) -> tuple[str, ...]:
    """Name the settings of a run with this method that may differ between the settings tried.

    >>> {"inner_lr", "bounds", "model", "hidden"} <= set(tunable_settings("ffml"))
    True
    """
    own = [f.name for f in fields(RunConfig) if f.name not in (*MEASURING, *_NESTED)]
    return tuple(dict.fromkeys([*own, "hidden", *method_defaults(method)]))


def number_settings(method: str) -> frozenset[str]:
    """Name those that are numbers, so that one compiled program takes any value of them.

    All others (words, flags, counts) change the program.

    >>> sorted(number_settings("twp") - {"bounds", "noise_allowance", "temperature"})
    ['l2', 'lr', 'penalty', 'positive_weight', 'radius']
    """
    hints = get_type_hints(RunConfig) | get_type_hints(one_of("method", method, METHODS))
    return frozenset(name for name in tunable_settings(method) if _is_number(hints.get(name)))


def check_name(name: str, method: str) -> None:
    """Refuse what cannot be tuned."""
    if name in MEASURING:
        raise FFMLError(f"'{name}' is the same for all settings tried; {MEASURING[name]}")
    one_of(f"setting of {method}", name, dict.fromkeys(tunable_settings(method)))


def _is_number(hint: Any) -> bool:
    """Tell ``float``, ``float | None`` and ``tuple[float, ...]`` from all others."""
    return hint is float or float in get_args(hint)
