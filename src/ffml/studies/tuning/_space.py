"""What to try: values of each setting, all combinations of them or random draws between them."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, get_args

import numpy as np

from ffml.base import FFMLError
from ffml.border import at_least, one_of

Axes = Mapping[str, Sequence[Any]]  # setting -> values

_PAPER_STEPS = (*(m * 10.0**e for e in range(-4, 3) for m in (1, 5)), 1000.0)


@dataclass(frozen=True)
class Space:
    """Values to try by setting, and the preset that all other settings come from.

    Args:
        summary: what it is, in a few words.
        preset: see `ffml.recipe.presets`.
        axes: values by setting; those that a recipe does not have are left out.
        draws: so many random draws unless asked otherwise; None tries all combinations.
    """

    summary: str
    preset: str
    axes: Axes
    draws: int | None = None


SPACES: dict[str, Space] = {
    "default": Space(
        summary="a modest grid around the package's defaults",
        preset="default",
        axes={
            "max_gap": ((0.0,), (0.02,), (0.05,)),
            "notion.temperature": (0.5, 1.0),
            "problem.l2": (0.0, 1e-3, 1e-2),
            "inner.lr": (0.03, 0.1, 0.3),
            "damping": (0.02, 0.2),
            "lr": (0.03, 0.1, 0.3),
            "penalty": (1.0, 3.0, 10.0),
            "exponent": (0.5, 0.7),
            "gradient_bound": (1.0, 3.0),
            "inverse_l2": (0.1, 1.0, 10.0),
        },
    ),
    # Appendix "Experiment details": the lists of η₁, η₂ and λ₁; of δ it prints 50 and 60 only.
    "paper": Space(
        summary="the paper's ranges, drawn from at random",
        preset="paper",
        axes={
            "inner.lr": _PAPER_STEPS,
            "outer_lr": _PAPER_STEPS,
            "initial_multiplier": tuple(10.0**e for e in range(-4, 5)),
            "damping": (40.0, 50.0, 60.0),
            "lr": _PAPER_STEPS,
        },
        draws=64,
    ),
}


def space_axes(space: str, kinds: Mapping[str, Any]) -> dict[str, Sequence[Any]]:
    """Return the part of a named space that a recipe has.

    >>> list(space_axes("paper", {"lr": float, "radius": float}))
    ['lr']
    """
    axes = one_of("space", space, SPACES).axes
    return {name: values for name, values in axes.items() if name in kinds}


def grid_settings(axes: Axes) -> list[dict[str, Any]]:
    """Combine every value with every other (the last setting changes fastest).

    >>> grid_settings({"problem.l2": (0.0, 0.1), "model": ("linear",)})
    [{'problem.l2': 0.0, 'model': 'linear'}, {'problem.l2': 0.1, 'model': 'linear'}]
    """
    _check_axes(axes)
    return [dict(zip(axes, values, strict=True)) for values in product(*axes.values())]


def draw_settings(
    axes: Axes, count: int, kinds: Mapping[str, Any], seed: int = 0
) -> list[dict[str, Any]]:
    """Draw settings at random; more draws begin with the same ones.

    A number is drawn log-uniformly between the smallest and the greatest positive value of its
    axis, to three digits; 0, None and what is no number are drawn as they are, as often as any
    other value of the axis.

    Args:
        axes: values by setting.
        count: how many settings to draw.
        kinds: of `ffml.studies.compare.known_kinds`.
        seed: another one draws others.

    >>> [s["inner.lr"] for s in draw_settings({"inner.lr": (0.01, 1.0)}, 2, {"inner.lr": float})]
    [0.0346, 0.13]
    """
    _check_axes(axes)
    at_least(1, random=count)
    numbers = number_settings(kinds)
    drawn = []
    for i in range(count):
        rng = np.random.default_rng([seed, i])
        drawn.append({name: _draw(rng, axis, name in numbers) for name, axis in axes.items()})
    return drawn


def _check_axes(axes: Axes) -> None:
    if not axes:
        raise FFMLError("there is nothing to try; give values such as --grid max_gap=0.01,0.05")
    for name, values in axes.items():
        if not len(values):
            raise FFMLError(f"'{name}' has no values to try; give at least one")


def _draw(rng: np.random.Generator, axis: Sequence[Any], is_number: bool) -> Any:
    value = axis[int(rng.integers(len(axis)))]
    if not is_number:
        return value
    if isinstance(value, tuple):  # of gaps, one for each notion
        alike = [v for v in axis if isinstance(v, tuple) and len(v) == len(value)]
        return tuple(
            _between(rng, part, column)
            for part, column in zip(value, zip(*alike, strict=True), strict=True)
        )
    return _between(rng, value, axis)


def _between(rng: np.random.Generator, value: Any, axis: Sequence[Any]) -> Any:
    if not value or not value > 0:
        return value
    positive = [v for v in axis if v is not None and v > 0]
    low, high = math.log(min(positive)), math.log(max(positive))
    return float(f"{math.exp(rng.uniform(low, high)):.3g}")


# What decides how settings are measured must be the same for all of them.
MEASURING = {
    "data": "give it as DATA",
    "data_options": "give it with DATA",
    "method": "use --method",
    "seed": "use --seeds",
    "rounds": "use --set rounds=N",
    "min_ratio": "use --set",
    "aim": "use --set",
    "validation_fraction": "use --set",
    "augment_to": "use --set",
    "judge_from": "the middle third of the rounds judges",
    "judge_min_rows": "use --min-validation",
}


def number_settings(kinds: Mapping[str, Any]) -> frozenset[str]:
    """Name the settings that are numbers, so that one compiled program takes any value of them.

    All others (words, flags, counts) change the program.

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
