"""From the numbers of each round to the few that a table prints."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

Round = Mapping[str, float | None]
Rounds = TypeVar("Rounds", Sequence[Any], np.ndarray)


def last_third(rounds: Rounds) -> Rounds:
    """Return the rounds t > 2T/3 of T.

    >>> last_third([1, 2, 3, 4, 5, 6, 7])
    [5, 6, 7]
    """
    return rounds[2 * len(rounds) // 3 :]


def summarise(rounds: Sequence[Round]) -> dict[str, Any]:
    """Average every column over all rounds, and over the last third of them.

    Args:
        rounds: the values of rounds 1 … T (`ffml.metrics.Judgement.values`, ``loss``, ``dbc``,
            ``n_validation``, …). NaN, None and a missing column all mean "undefined".

    Returns:
        ``{"all": summary, "last_third": summary}``, ready for JSON. A summary holds
        ``num_rounds`` and, under ``columns``, for each column its mean and sample standard
        deviation over the rounds where it is defined, and how many rounds those are. What cannot
        be computed (a mean of nothing, a deviation of one value, an infinite loss) is None.
        The mean of an interval's ends is their typical place, not an interval of the mean.

    >>> summary = summarise([{"dp": 0.8}, {"dp": 0.6}, {"dp": float("nan")}])
    >>> {name: round(value, 2) for name, value in summary["all"]["columns"]["dp"].items()}
    {'mean': 0.7, 'std': 0.14, 'defined': 2, 'undefined': 1}
    >>> summary["last_third"]["columns"]["dp"]["mean"] is None
    True
    """
    names = list(dict.fromkeys(name for values in rounds for name in values))
    return {
        part: _summary(some, names)
        for part, some in (("all", rounds), ("last_third", last_third(rounds)))
    }


def _summary(rounds: Sequence[Round], names: Sequence[str]) -> dict[str, Any]:
    columns = {name: _column([values.get(name) for values in rounds]) for name in names}
    return {"num_rounds": len(rounds), "columns": columns}


def _column(values: Sequence[float | None]) -> dict[str, float | int | None]:
    numbers = np.array(values, dtype=float)  # None becomes NaN
    defined = numbers[~np.isnan(numbers)]
    with np.errstate(invalid="ignore", over="ignore"):  # an infinite loss has no deviation
        mean = defined.mean() if defined.size >= 1 else np.nan
        deviation = defined.std(ddof=1) if defined.size >= 2 else np.nan
    return {
        "mean": _or_none(mean),
        "std": _or_none(deviation),
        "defined": int(defined.size),
        "undefined": int(numbers.size - defined.size),
    }


def _or_none(number: float) -> float | None:
    """Return a float that JSON can hold."""
    return float(number) if np.isfinite(number) else None
