"""What people read: all metrics of a table in one row, and why some are undefined."""

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ffml.base import FFMLError
from ffml.metrics._noise import bootstrap_intervals, noise_ceilings
from ffml.metrics.labels import why_unmeasured
from ffml.metrics.rates import (
    LABEL_WORDS,
    METRICS,
    accuracy,
    collapsed,
    divide,
    false_positive_rates,
    has_rows,
    labelled,
    selection_rates,
    true_positive_rates,
)

# The columns beside a metric, and why one can be undefined while the metric itself is not.
_BESIDE = {
    "_low": "undefined in more than half of the resamples",
    "_high": "undefined in more than half of the resamples",
    "_ceiling": "",  # defined whenever the metric is
    "_of_ceiling": "the ceiling is 0: too few favourable decisions",
}
# Which ratio says in which of several columns a metric is worst; any column will do for the rest.
_DECIDED_BY = {"dp": "dp", "disc": "dp", "eo": "eo", "eo_negatives": "eo", "eo_positives": "eo"}


class Judgement(NamedTuple):
    """Numbers by column, and why the undefined ones are NaN.

    The reason that a metric is undefined also covers its interval and its ceiling.
    """

    values: dict[str, float]
    undefined: dict[str, str]


def undefined_reasons(
    table: np.ndarray, group_names: Sequence[str] | None = None
) -> dict[str, str]:
    """Say in a few words why a metric is undefined; defined metrics are not in the answer.

    >>> undefined_reasons(np.array([[[3, 1], [0, 0]], [[2, 0], [1, 1]]]), ["F", "M"])["eo"]
    'group F has no rows with the favourable label'
    """
    names = _names(table, group_names)
    if not table.any():
        return dict.fromkeys([*METRICS, "collapsed"], "no rows")
    incomparable = ""
    if has_rows(table).sum() < 2:
        incomparable = "only one group has rows"
    elif collapsed(table):
        incomparable = ("only" if table[..., 1].any() else "no") + " favourable decisions"
    unknown = why_unmeasured(table)
    why = unknown or incomparable
    negatives, positives = (why or _odds_reason(labelled(table), names, y) for y in (0, 1))
    absent = [f"no rows with the {LABEL_WORDS[y]}" for y in (0, 1) if not table[:, y].any()]
    reasons = {
        "dp": incomparable,
        "eo": _join([negatives, positives]),
        "eo_negatives": negatives,
        "eo_positives": positives,
        "disc": incomparable,
        "accuracy": unknown,
        "balanced_accuracy": unknown or _join(absent),
    }
    return {name: reason for name, reason in reasons.items() if reason}


def judge(table: np.ndarray, group_names: Sequence[str] | None = None) -> Judgement:
    """Return every metric with its interval and ceiling: one row of the results.

    ``dp_of_ceiling`` is dp / dp_ceiling: about 1 if noise explains all that dp lacks.

    >>> judgement = judge(np.array([[[30, 10], [10, 10]], [[20, 10], [5, 15]]]))
    >>> {name: round(judgement.values[name], 1) for name in ("dp", "dp_ceiling", "dp_of_ceiling")}
    {'dp': 0.7, 'dp_ceiling': 0.8, 'dp_of_ceiling': 0.8}
    """
    undefined = undefined_reasons(table, group_names)
    intervals, ceilings = bootstrap_intervals(table), noise_ceilings(table)
    values: dict[str, float] = {}
    for name, metric in METRICS.items():
        values[name] = np.nan if name in undefined else float(metric(table))
        if name in intervals:
            ends = (np.nan, np.nan) if name in undefined else intervals[name]
            values[f"{name}_low"], values[f"{name}_high"] = ends
        if name in ceilings:
            values[f"{name}_ceiling"] = np.nan if name in undefined else ceilings[name]
            ceiling = np.float64(values[f"{name}_ceiling"])
            values[f"{name}_of_ceiling"] = float(divide(values[name], ceiling))
    values["collapsed"] = float(collapsed(table)) if table.any() else np.nan
    beside = {
        name + suffix: reason
        for name in METRICS
        for suffix, reason in _BESIDE.items()
        if name not in undefined and np.isnan(values.get(name + suffix, 0.0))
    }
    return Judgement(values, undefined | beside)


def worst(judgements: Sequence[Judgement]) -> Judgement:
    """Combine the judgements of several sensitive columns of the same rows.

    A ratio, with its interval and ceiling, comes from the column where it is furthest below its
    ceiling: the lowest ratio would be that of the column with the smallest groups. ``disc`` is of
    the column of ``dp``; ``eo_negatives`` and ``eo_positives`` are of that of ``eo``. So ``dp`` and
    ``eo`` may speak of different columns.
    Columns where a metric is undefined do not take part; it is undefined only if it is so in all.
    """
    if not judgements:
        raise FFMLError("worst needs at least one judgement: judge one sensitive column first")
    values: dict[str, float] = {}
    undefined: dict[str, str] = {}
    for name in METRICS:
        defined = [judgement for judgement in judgements if name not in judgement.undefined]
        if not defined:
            undefined[name] = _join([judgement.undefined[name] for judgement in judgements])
        chosen = min(defined or judgements, key=partial(_above_ceiling, name))
        for column in (name, *(name + suffix for suffix in _BESIDE)):
            if column in chosen.values:
                values[column] = chosen.values[column]
            if column in chosen.undefined:
                undefined.setdefault(column, chosen.undefined[column])
    values["collapsed"] = judgements[0].values["collapsed"]  # the same rows, the same decisions
    undefined |= {k: why for k, why in judgements[0].undefined.items() if k == "collapsed"}
    return Judgement(values, undefined)


def _above_ceiling(name: str, judgement: Judgement) -> tuple[float, float]:
    """Return how far the ratio that decides is above its ceiling, and the metric itself."""
    ratio = _DECIDED_BY.get(name)
    if ratio is None or ratio in judgement.undefined:
        return np.inf, judgement.values[name]
    return judgement.values[ratio] - judgement.values[f"{ratio}_ceiling"], judgement.values[name]


def group_rows(table: np.ndarray, group_names: Sequence[str] | None = None) -> list[dict[str, Any]]:
    """Return one record for each group, NaN where a rate is undefined.

    ``n`` and ``n_selected`` are of everybody, ``n_labelled`` and the rest of those with a label.

    >>> group_rows(np.array([[[3, 1], [0, 4]]]), ["F"])
    [{'group': 'F', 'n': 8, 'n_selected': 5, 'n_labelled': 8, 'n_label_1': 4,
      'n_selected_label_0': 1, 'n_selected_label_1': 4, 'selection_rate': 0.625,
      'true_positive_rate': 1.0, 'false_positive_rate': 0.25, 'accuracy': 0.875}]
    """
    known = labelled(table)
    rates = known * (np.nan if why_unmeasured(table) else 1)
    columns = {
        "group": _names(table, group_names),
        "n": table.sum((-2, -1)).tolist(),
        "n_selected": table[..., 1].sum(-1).tolist(),
        "n_labelled": known.sum((-2, -1)).tolist(),
        "n_label_1": known[:, 1].sum(-1).tolist(),
        "n_selected_label_0": known[:, 0, 1].tolist(),
        "n_selected_label_1": known[:, 1, 1].tolist(),
        "selection_rate": selection_rates(table).tolist(),
        "true_positive_rate": true_positive_rates(rates).tolist(),
        "false_positive_rate": false_positive_rates(rates).tolist(),
        "accuracy": accuracy(rates[:, None]).tolist(),
    }
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _odds_reason(table: np.ndarray, names: Sequence[str], label: int) -> str:
    """Say why the groups of ``table`` cannot be compared on this label; empty if they can."""
    cells = table[:, label]
    if not cells.any():
        return f"no rows with the {LABEL_WORDS[label]}"
    missing = [
        name
        for name, counted, cell in zip(names, has_rows(table), cells, strict=True)
        if counted and not cell.any()
    ]
    if missing:
        subject = (
            f"group {missing[0]} has" if len(missing) == 1 else f"groups {', '.join(missing)} have"
        )
        return f"{subject} no rows with the {LABEL_WORDS[label]}"
    among = f"rows with the {LABEL_WORDS[label]}"
    return "" if cells[:, 1].any() else f"no favourable decisions among {among}"


def _join(reasons: Sequence[str]) -> str:
    return "; ".join(reason for reason in dict.fromkeys(reasons) if reason)


def _names(table: np.ndarray, group_names: Sequence[str] | None) -> list[str]:
    names = [str(code) for code in range(len(table))] if group_names is None else list(group_names)
    if len(names) != len(table):
        raise FFMLError(f"group_names must name all {len(table)} groups, got {names}")
    return names
