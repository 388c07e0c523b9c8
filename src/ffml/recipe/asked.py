"""What is asked of decisions: notions and their bounds. Needs no JAX, so that an audit does not."""

from collections.abc import Mapping, Sequence
from typing import Any

from ffml.base import FFMLError, Ratio
from ffml.metrics.phrases import asked_words

Bounds = tuple[tuple[str, float | Ratio], ...]  # notions, each with its bound


def asked_bounds(
    notions: Sequence[str],
    max_gap: Sequence[float] | None,
    min_ratio: Sequence[float] | None = None,
) -> Bounds:
    """Pair notions with their bounds; one bound is for all of them, None for none.

    >>> asked_bounds(["demographic-parity", "equal-opportunity"], [0.05])
    (('demographic-parity', 0.05), ('equal-opportunity', 0.05))
    >>> asked_bounds(["demographic-parity"], None, [0.8])
    (('demographic-parity', Ratio(least=0.8)),)
    """
    name, given = ("max_gap", max_gap) if min_ratio is None else ("min_ratio", min_ratio)
    if given is None:
        return ()
    _refuse_count(name, given, notions)
    values = given if len(given) == len(notions) else [*given] * len(notions)
    bounds = values if min_ratio is None else map(Ratio, values)
    return tuple(zip(notions, bounds, strict=True))


def aimed_bounds(
    notions: Sequence[str],
    max_gap: Sequence[float] | None,
    min_ratio: Sequence[float] | None = None,
    aim: Sequence[float] | None = None,
) -> Bounds:
    """Pair notions with what is learned for: ``aim`` in the place of the bound that is kept.

    >>> aimed_bounds(["demographic-parity"], [0.05], aim=[0.03])
    (('demographic-parity', 0.03),)
    """
    if aim is None:
        return asked_bounds(notions, max_gap, min_ratio)
    if max_gap is min_ratio is None:
        raise FFMLError("aim says how to keep a bound; give max_gap or min_ratio as well")
    _refuse_count("aim", aim, notions)
    return asked_bounds(notions, aim if min_ratio is None else None, min_ratio and aim)


def asked_in(config: Mapping[str, Any]) -> Bounds:
    """Return what the run of a config.json was asked for."""
    return asked_bounds(*_given(config))


def aimed_in(config: Mapping[str, Any]) -> Bounds:
    """Return what the run of a config.json learns for; earlier ones say nothing of an aim."""
    return aimed_bounds(*_given(config), config.get("aim"))


def asked_phrases(config: Mapping[str, Any]) -> list[str]:
    """Name what was asked for, and what is aimed at where that is less.

    >>> config = {"notions": ["demographic-parity"], "max_gap": [0.05], "min_ratio": None}
    >>> asked_phrases(config | {"aim": [0.02]})
    ['demographic parity within 5 points (aiming for 2 points)']
    """
    aimed = dict(aimed_in(config))
    return [asked_words(notion, bound, aimed[notion]) for notion, bound in asked_in(config)]


def _given(config: Mapping[str, Any]) -> tuple[Any, Any, Any]:
    return config.get("notions") or (), config.get("max_gap"), config.get("min_ratio")


def _refuse_count(name: str, given: Sequence[float], notions: Sequence[str]) -> None:
    if len(given) not in (1, len(notions)):
        each = f", or one for each of the {len(notions)} notions" if len(notions) > 1 else ""
        raise FFMLError(f"give one {name}{each}; got {len(given)}")
