"""From the numbers of each round to the few that a table prints, and to what a column shows."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from ffml.base import SensitiveColumn
from ffml.metrics._statistics import gap_statistics
from ffml.metrics.rates import METRICS

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
        rounds: the values of rounds 1 … T. NaN, None and a missing column all mean "undefined".

    Returns:
        ``{"all": summary, "last_third": summary}``. A summary holds ``num_rounds`` and, under
        ``columns``, for each column its mean and sample standard deviation over the rounds where
        it is defined, and how many rounds those are. What cannot be computed is None. The mean of
        an interval's ends is their typical place, not an interval of the mean.

    >>> summary = summarise([{"dp": 0.8}, {"dp": 0.6}, {"dp": float("nan")}])
    >>> {name: round(value, 2) for name, value in summary["all"]["columns"]["dp"].items()}
    {'mean': 0.7, 'std': 0.14, 'defined': 2, 'undefined': 1}
    >>> summary["last_third"]["columns"]["dp"]["mean"] is None
    True
    """
    names = list(dict.fromkeys(name for values in rounds for name in values))
    return {
        part: {
            "num_rounds": len(some),
            "columns": {name: _average([values.get(name) for values in some]) for name in names},
        }
        for part, some in (("all", rounds), ("last_third", last_third(rounds)))
    }


def _average(values: Sequence[float | None]) -> dict[str, float | int | None]:
    numbers = np.array(values, dtype=float)  # None becomes NaN
    defined = numbers[~np.isnan(numbers)]
    with np.errstate(invalid="ignore", over="ignore"):  # an infinite loss has no deviation
        mean = defined.mean() if defined.size >= 1 else np.nan
        deviation = defined.std(ddof=1) if defined.size >= 2 else np.nan
    return {
        "mean": float(mean) if np.isfinite(mean) else None,
        "std": float(deviation) if np.isfinite(deviation) else None,
        "defined": int(defined.size),
        "undefined": int(numbers.size - defined.size),
    }


def column_summary(
    tables: np.ndarray, ceilings: np.ndarray, column: SensitiveColumn
) -> dict[str, Any]:
    """Return what the rounds show of a column: ratios with their ceilings, and gaps.

    Args:
        tables: counts ``(T, k, 3, 2)`` of all rounds.
        ceilings: noise ceilings of DP and EO ``(T, 2)``.
        column: its name and groups.
    """
    rounds = tables.any((1, 2, 3))
    judged = tables[rounds]
    return {
        "rounds": len(judged),
        **{
            name: _ratio(METRICS[name](judged), expected)
            for name, expected in zip(("dp", "eo"), ceilings[rounds].T, strict=True)
        },
        "gaps": {
            notion: [f._asdict() for f in gap_statistics(judged, column.groups, notion)]
            for notion in ("demographic-parity", "equalized-odds")
        },
    }


def _ratio(values: np.ndarray, ceilings: np.ndarray) -> dict[str, Any]:
    """Average a ratio over the rounds where it is defined, and its ceiling likewise.

    What it reaches of the ceiling is Σ ratio / Σ ceiling: the mean of such quotients flatters
    uneven decisions on small tasks.
    """
    ratio = _average(values.tolist())
    ceiling = _average(np.where(np.isnan(values), np.nan, ceilings).tolist())["mean"]
    share = ratio["mean"] / ceiling if ratio["mean"] is not None and ceiling else None
    return ratio | {"ceiling": ceiling, "of_ceiling": share}


def typical_gap(notion: Mapping[str, Any]) -> float:
    """Return the largest typical gap of an answer's columns."""
    values = [column["typical"]["value"] for column in notion["columns"]]
    return max(values, key=lambda value: np.nan_to_num(np.array(value, float), nan=-1))
