"""Facts about the people decided about: counted, without intervals."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ffml.base import SensitiveColumn
from ffml.metrics._gaps import NOTIONS
from ffml.metrics._judgement import judge
from ffml.metrics.labels import label_shares, why_unmeasured
from ffml.metrics.rates import accuracy, balanced_accuracy, divide, labelled

MIN_PEOPLE = 30  # a smaller group is too small to tell: it is named, and not compared


class Groups(NamedTuple):
    """The groups of a column that a notion compares."""

    column: str
    tables: np.ndarray  # (T, k, labels, 2)
    names: tuple[str, ...]
    small: tuple[str, ...]  # groups that are too small to tell
    few: np.ndarray  # (T, number of these, labels, 2)


def needs_labels(notion: str) -> bool:
    """Tell whether a notion compares people of one label."""
    return NOTIONS[notion] != (None,)


def compared_groups(
    tables: np.ndarray, column: SensitiveColumn, notion: str = "demographic-parity"
) -> Groups:
    """Leave out groups that are too small to tell, unless fewer than two would stay."""
    counts = tables.sum((0, 3))  # (k, labels)
    people = np.min([counts.sum(1) if y is None else counts[:, y] for y in NOTIONS[notion]], axis=0)
    present, large = counts.any(1), people >= MIN_PEOPLE
    kept = np.flatnonzero(large if large.sum() > 1 else present)
    small = [i for i in np.flatnonzero(present) if i not in kept]
    names, others = (tuple(column.groups[i] for i in some) for some in (kept, small))
    return Groups(column.name, tables[:, kept], names, others, tables[:, small])


def people_facts(tables: np.ndarray, why: str = "") -> dict[str, Any]:
    """Count everybody, and say how often decisions were right unless that cannot be measured."""
    pooled, shares = tables.sum(0), label_shares(tables)
    known = labelled(pooled)
    return {
        "people": shares.people,
        "labelled": shares.labelled,
        "labels": shares._asdict(),
        "unmeasured": why,
        "rounds": len(tables),
        "accuracy": np.nan if why else float(accuracy(pooled)),
        "balanced_accuracy": np.nan if why else float(balanced_accuracy(pooled)),
        "positive_share": share(pooled[..., 1], pooled),
        "label_share": np.nan if why else share(known[:, 1], known),
        "constant_accuracy": np.nan if why else share(_commoner(known), known),
        "wrong": {
            "positive": np.nan if why else share(known[:, 0, 1], known),
            "negative": np.nan if why else share(known[:, 1, 0], known),
        },
    }


def _commoner(known: np.ndarray) -> np.ndarray:
    """Return the counts of the commoner label: whom the best constant decision is right about."""
    return known[:, int(known[:, 1].sum() > known[:, 0].sum())]


def group_facts(
    tables: np.ndarray, column: str, names: Sequence[str], notion: str
) -> list[dict[str, Any]]:
    """Return the facts of a notion, one for each label it compares; none if it needs labels."""
    if needs_labels(notion) and why_unmeasured(tables):
        return []
    return [fact(tables.sum(0), column, names, label) for label in NOTIONS[notion]]


def fact(table: np.ndarray, column: str, names: Sequence[str], label: int | None) -> dict[str, Any]:
    """Count each group's people and positive decisions; the largest gap and the smallest ratio.

    >>> found = fact(np.array([[[60, 40]], [[40, 60]]]), "sex", ["F", "M"], None)
    >>> found["highest"], found["lowest"], round(found["gap"], 3), round(found["ratio"], 3)
    ('M', 'F', 0.2, 0.667)
    """
    counts = table.sum(1) if label is None else table[:, label]
    people, rates = counts.sum(1), divide(counts[:, 1], counts.sum(1))
    known = np.flatnonzero(people)
    order = known[np.argsort(rates[known], kind="stable")]
    low, high = (rates[order[0]], rates[order[-1]]) if len(order) > 1 else (np.nan, np.nan)
    return {
        "column": column,
        "label": label,
        "groups": [
            {"group": name, "people": int(n), "positives": int(chosen), "rate": float(rate)}
            for name, n, chosen, rate in zip(names, people, counts[:, 1], rates, strict=True)
        ],
        "highest": names[order[-1]] if len(order) > 1 else "",
        "lowest": names[order[0]] if len(order) > 1 else "",
        "gap": float(high - low),
        "ratio": float(divide(np.float64(low), np.float64(high))),
    }


def pooled_metrics(tables: np.ndarray, column: SensitiveColumn) -> dict[str, float]:
    """Judge all rounds as if they were one: ratios and gap of the groups that are compared."""
    values = judge(tables.sum(0), column.groups).values
    for notion, metrics in (("demographic-parity", ("dp", "disc")), ("equalized-odds", ("eo",))):
        groups = compared_groups(tables, column, notion)
        if groups.small:
            found = judge(groups.tables.sum(0), groups.names).values
            values |= {name: value for name, value in found.items() if name.startswith(metrics)}
    return values


def compared_share(tables: np.ndarray) -> float:
    """Return the share of people whose task has people of several groups."""
    people = tables.sum((2, 3))  # (T, k)
    meet = (people > 0).sum(1) > 1
    return float(people[meet].sum() / max(people.sum(), 1))


def share(some: np.ndarray, everybody: np.ndarray) -> float:
    """Return what part of everybody some are; NaN of nobody."""
    return float(some.sum() / everybody.sum()) if everybody.any() else float("nan")
