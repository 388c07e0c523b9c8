"""What is asked of decisions: notions and their bounds. Needs no JAX, so that an audit does not."""

from collections.abc import Sequence

from ffml.base import FFMLError, Ratio


def asked_bounds(
    notions: Sequence[str],
    max_gap: Sequence[float] | None,
    min_ratio: Sequence[float] | None = None,
) -> tuple[tuple[str, float | Ratio], ...]:
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
    found = values if min_ratio is None else map(Ratio, values)
    return tuple(zip(notions, found, strict=True))


def aimed_bounds(
    notions: Sequence[str],
    max_gap: Sequence[float] | None,
    min_ratio: Sequence[float] | None = None,
    aim: Sequence[float] | None = None,
) -> tuple[tuple[str, float | Ratio], ...]:
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


def _refuse_count(name: str, given: Sequence[float], notions: Sequence[str]) -> None:
    if len(given) not in (1, len(notions)):
        each = f", or one for each of the {len(notions)} notions" if len(notions) > 1 else ""
        raise FFMLError(f"give one {name}{each}; got {len(given)}")
