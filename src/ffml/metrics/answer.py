"""What a run came to: the rates of the groups, the gap asked for and got, and whether it was kept.

It is made from the counts of the judged rounds, and summary.json holds it for the terminal, the
report and the model card.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ffml import metrics
from ffml.base import Ratio, SensitiveColumn
from ffml.metrics import NOTIONS, GapStatistics, RatioStatistics
from ffml.metrics.promise import (
    UNCLEAR,
    VERDICTS,
    verdict_at_least,
    verdict_at_most,
    worst_verdict,
)
from ffml.metrics.summary import last_third

Tables = Mapping[str, np.ndarray]  # sensitive column -> counts (T, k, 2, 2) of all rounds
Bound = float | Ratio | None  # the largest gap, or the least ratio; None: none was asked for
Asked = Sequence[tuple[str, Bound]]  # notions with their bounds

_RATES = {
    None: metrics.selection_rates,
    0: metrics.false_positive_rates,
    1: metrics.true_positive_rates,
}


def answer(tables: Tables, columns: Sequence[SensitiveColumn], asked: Asked) -> dict[str, Any]:
    """Answer for all rounds, and for the last third of them.

    Args:
        tables: counts of all rounds by column, all 0 in a round that was not judged.
        columns: their names and groups.
        asked: notions with their bounds. One whose gap is not between rates of decisions (such as
            dbc) has no verdict; if there is no other, demographic parity is shown.

    Returns:
        ``{"all": part, "last_third": part, "of_scores": […]}``, the last with the notions that have
        no verdict. A part says which rounds and how many people it is about, accuracy and shares
        over these people, and for each notion in ``notions`` the verdict and, column by column, the
        rates of the groups, their largest gaps and their smallest ratio.
    """
    shown = [(n, bound) for n, bound in asked if n in NOTIONS] or [("demographic-parity", None)]
    num_rounds = len(next(iter(tables.values())))
    recent = {name: last_third(counts) for name, counts in tables.items()}
    return {
        "all": _part(tables, columns, shown, 1, num_rounds),
        "last_third": _part(
            recent, columns, shown, 1 + num_rounds - len(recent[columns[0].name]), num_rounds
        ),
        "of_scores": [list(one) for one in asked if one[0] not in NOTIONS],
    }


def _part(
    tables: Tables, columns: Sequence[SensitiveColumn], asked: Asked, first: int, last: int
) -> dict[str, Any]:
    pooled = tables[columns[0].name].sum(0)  # every column counts the same people
    return {
        "first_round": first,
        "last_round": last,
        "people": int(pooled.sum()),
        "accuracy": float(metrics.accuracy(pooled)),
        "balanced_accuracy": float(metrics.balanced_accuracy(pooled)),
        "positive_share": _share(pooled[..., 1], pooled),
        "label_share": _share(pooled[:, 1], pooled),
        "notions": [_notion(tables, columns, *one) for one in asked],
    }


def _notion(
    tables: Tables, columns: Sequence[SensitiveColumn], notion: str, bound: Bound
) -> dict[str, Any]:
    found = [_column(tables[column.name], column, notion, bound) for column in columns]
    verdict = None if bound is None else worst_verdict(one["verdict"] for one in found)
    most, least = (None, bound.least) if isinstance(bound, Ratio) else (bound, None)
    return {
        "notion": notion,
        "max_gap": most,
        "min_ratio": least,
        "verdict": verdict,
        "columns": found,
    }


def _column(
    tables: np.ndarray, column: SensitiveColumn, notion: str, bound: Bound
) -> dict[str, Any]:
    tables, names = present_groups(tables, column)
    several = len(names) > 1
    gaps = metrics.gap_statistics(tables, names, notion) if several else []
    ratios = metrics.ratio_statistics(tables, names, notion) if several else []
    why = metrics.undefined_reasons(tables.sum(0), names).get("dp", "")
    most, least = (None, bound.least) if isinstance(bound, Ratio) else (bound, None)
    long_run = _largest([_gap(one, "long_run", most, why) for one in gaps])
    typical = _largest([_gap(one, "typical", most, why) for one in gaps])
    ratio = _smallest([_ratio(one, least, why) for one in ratios])
    decisive = (long_run, typical) if least is None else (ratio,)
    verdicts = [one["verdict"] for one in decisive if one] or [UNCLEAR]
    return {
        "column": column.name,
        "rates": [
            {"label": label, "groups": _group_rates(tables.sum(0), names, label)}
            for label in NOTIONS[notion]
        ],
        "long_run": long_run,
        "typical": typical,
        "ratio": ratio,
        "verdict": None if bound is None else worst_verdict(verdicts),
        "unmeasured": why,
    }


def present_groups(
    tables: np.ndarray, column: SensitiveColumn
) -> tuple[np.ndarray, tuple[str, ...]]:
    """Leave out groups without a single row: nothing can be said of them."""
    present = np.flatnonzero(tables.any((0, 2, 3)))
    if not len(present):
        return tables, tuple(column.groups)
    return tables[:, present], tuple(column.groups[i] for i in present)


def _share(some: np.ndarray, everybody: np.ndarray) -> float:
    return float(some.sum() / everybody.sum()) if everybody.any() else float("nan")


def _gap(found: GapStatistics, kind: str, most: float | None, why: str) -> dict[str, Any]:
    """Write down one gap; one that ``why`` keeps from being measured cannot be told."""
    value, low, high = (getattr(found, f"{kind}{end}") for end in ("", "_low", "_high"))
    rounds = 0 if why else found.rounds
    return {
        "comparison": found.comparison,
        "value": value,
        "low": low,
        "high": high,
        "rounds": found.rounds,
        "verdict": None if most is None else verdict_at_most(most, low, high, rounds),
    }


def _ratio(found: RatioStatistics, least: float | None, why: str) -> dict[str, Any]:
    """Write down one ratio, likewise."""
    ends, rounds = (found.low, found.high), 0 if why else found.rounds
    return {
        "comparison": found.comparison,
        "value": found.ratio,
        "low": found.low,
        "high": found.high,
        "rounds": found.rounds,
        "verdict": None if least is None else verdict_at_least(least, *ends, rounds),
    }


def _largest(gaps: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Return the comparison that answers for all: the worst verdict, then the largest gap."""
    return _worst(gaps, lambda value: -np.nan_to_num(abs(value), nan=-1.0))


def _smallest(ratios: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Return the comparison that answers for all: the worst verdict, then the smallest ratio."""
    return _worst(ratios, lambda value: np.nan_to_num(value, nan=2.0))


def _worst(found: list[dict[str, Any]], order: Callable[[float], float]) -> dict[str, Any] | None:
    def how_good(one: dict[str, Any]) -> tuple[int, float]:
        verdict = 0 if one["verdict"] is None else VERDICTS.index(one["verdict"])
        return verdict, order(one["value"])

    return min(found, key=how_good) if found else None


def _group_rates(
    pooled: np.ndarray, names: Sequence[str], label: int | None
) -> list[dict[str, Any]]:
    people = pooled.sum((1, 2)) if label is None else pooled[:, label].sum(1)
    rates = _RATES[label](pooled).tolist()
    return [
        {"group": name, "rate": rate, "people": int(count)}
        for name, rate, count in zip(names, rates, people, strict=True)
    ]
