"""Group metrics, their noise ceilings and their intervals, all from one small table.

Every metric of DEFINITIONS, "Metrics", is a function of the counts
``table[group, label, decision]`` of shape ``(k, 2, 2)``. A permutation of the groups turns them
into hypergeometric counts and a resample of the rows into multinomial counts, so ceilings and
intervals never touch a row, and the tables of several rounds can be added to pool them.

The functions that return arrays work over leading axes ``(..., k, 2, 2)``. What cannot be measured
is NaN, never silently 0 or 1:

- A group counts once it has a row. Groups without any are ignored if two others have rows.
- A model with one decision for all judged rows ("collapsed") has no ratio and no discrimination:
  an average must not reward a model that decides nothing.
- An equalized-odds ratio needs rows with that label from *every* group that counts. To leave out
  the group that cannot be measured would only raise the ratio, and hide whom it says nothing of.
- A ratio of 0 to 0 is undefined, such as false-positive rates when there is no false positive.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ffml.base import Array, FFMLError

_SEED = 0  # draws are part of the definition: the same table always gives the same numbers

# The columns beside a metric, and why one can be undefined while the metric itself is not.
_BESIDE = {
    "_low": "undefined in more than half of the resamples",
    "_high": "undefined in more than half of the resamples",
    "_ceiling": "",  # defined whenever the metric is
    "_of_ceiling": "the ceiling is 0: too few positive decisions",
}


class Judgement(NamedTuple):
    """Numbers by column, and why the undefined ones are NaN.

    The reason that a metric is undefined also covers its interval and its ceiling.
    """

    values: dict[str, float]
    undefined: dict[str, str]


def contingency_table(
    labels: Array, decisions: Array, groups: Array, num_groups: int
) -> np.ndarray:
    """Count rows by group, label and decision: ``(num_groups, 2, 2)`` integers.

    >>> contingency_table([0, 1, 1], [0, 1, 0], [0, 0, 1], num_groups=2).tolist()
    [[[1, 0], [0, 1]], [[0, 0], [1, 0]]]
    """
    labels, decisions, groups = np.asarray(labels), np.asarray(decisions), np.asarray(groups)
    if not (labels.ndim == 1 and labels.shape == decisions.shape == groups.shape):
        raise FFMLError(
            "labels, decisions and groups must be flat and of one length, got shapes "
            f"{labels.shape}, {decisions.shape}, {groups.shape}: pass one value per row"
        )
    for name, codes, size, remedy in (
        ("labels", labels, 2, "code the favourable outcome as 1, the other as 0"),
        ("decisions", decisions, 2, "threshold the logits with logits > 0"),
        ("groups", groups, num_groups, "use the codes of SensitiveColumn.groups"),
    ):
        known = np.isin(codes, np.arange(size))
        if not known.all():
            raise FFMLError(f"{name} must be codes 0..{size - 1}, got {codes[~known][0]}: {remedy}")
    cells = (groups.astype(int) * 2 + labels.astype(int)) * 2 + decisions.astype(int)
    return np.bincount(cells, minlength=4 * num_groups).reshape(num_groups, 2, 2)


# -- metrics: (..., k, 2, 2) -> numbers ------------------------------------------------------


def selection_rates(table: np.ndarray) -> np.ndarray:
    """P(decision = 1 | group), ``(..., k)``; NaN for a group without rows."""
    return _divide(table[..., 1].sum(-1), table.sum((-2, -1)))


def true_positive_rates(table: np.ndarray) -> np.ndarray:
    """P(decision = 1 | label = 1, group), ``(..., k)``; NaN for an empty cell."""
    return _divide(table[..., 1, 1], table[..., 1, :].sum(-1))


def false_positive_rates(table: np.ndarray) -> np.ndarray:
    """P(decision = 1 | label = 0, group), ``(..., k)``; NaN for an empty cell."""
    return _divide(table[..., 0, 1], table[..., 0, :].sum(-1))


def demographic_parity_ratio(table: np.ndarray) -> np.ndarray:
    """Return the lowest selection rate over the highest: min(r, 1/r) for two groups.

    >>> table = np.array([[[30, 10], [10, 10]], [[20, 10], [5, 15]]])
    >>> selection_rates(table).round(3).tolist()
    [0.333, 0.5]
    >>> round(float(demographic_parity_ratio(table)), 3)
    0.667
    """
    low, high = _extremes(selection_rates(table), _has_rows(table))
    return np.where(_comparable(table), _divide(low, high), np.nan)[()]


def equalized_odds_ratios(table: np.ndarray) -> np.ndarray:
    """Return the same ratio among the rows with label 0 and with label 1, ``(..., 2)``."""
    rates = _divide(table[..., 1], table.sum(-1))  # (..., k, label)
    low, high = _extremes(rates.swapaxes(-1, -2), _has_rows(table)[..., None, :])
    return np.where(_comparable(table)[..., None], _divide(low, high), np.nan)


def equalized_odds_ratio(table: np.ndarray) -> np.ndarray:
    """Return the smaller of the two equalized-odds ratios; NaN if either is undefined."""
    return equalized_odds_ratios(table).min(-1)


def discrimination(table: np.ndarray) -> np.ndarray:
    """Return the highest selection rate minus the lowest."""
    low, high = _extremes(selection_rates(table), _has_rows(table))
    return np.where(_comparable(table), high - low, np.nan)[()]


def accuracy(table: np.ndarray) -> np.ndarray:
    """Return the share of rows whose decision is their label."""
    return _divide((table[..., 0, 0] + table[..., 1, 1]).sum(-1), table.sum((-3, -2, -1)))


def balanced_accuracy(table: np.ndarray) -> np.ndarray:
    """Return the mean over both labels of the share decided correctly; NaN if a label is absent."""
    pooled = table.sum(-3)
    return _divide(pooled.diagonal(axis1=-2, axis2=-1), pooled.sum(-1)).mean(-1)


def collapsed(table: np.ndarray) -> np.ndarray:
    """Tell whether there are rows and all of them got the same decision."""
    decisions = table.sum((-3, -2))
    return (decisions > 0).sum(-1) == 1


METRICS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "dp": demographic_parity_ratio,
    "eo": equalized_odds_ratio,
    "eo_negatives": lambda table: equalized_odds_ratios(table)[..., 0],
    "eo_positives": lambda table: equalized_odds_ratios(table)[..., 1],
    "disc": discrimination,
    "accuracy": accuracy,
    "balanced_accuracy": balanced_accuracy,
}


def _divide(numerator: Array, denominator: Array) -> Any:
    """Divide, with NaN (and no warning) where the denominator is 0 or NaN."""
    undefined = np.full_like(denominator, np.nan, dtype=float)
    return np.divide(numerator, denominator, out=undefined, where=denominator > 0)[()]


def _has_rows(table: np.ndarray) -> np.ndarray:
    return table.sum((-2, -1)) > 0


def _comparable(table: np.ndarray) -> np.ndarray:
    return (_has_rows(table).sum(-1) >= 2) & ~collapsed(table)


def _extremes(rates: np.ndarray, counted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Lowest and highest rate of the counted groups; NaN if one of theirs is."""
    low = rates.min(-1, where=counted, initial=1.0)
    return low, rates.max(-1, where=counted, initial=0.0)


# -- how much is noise -----------------------------------------------------------------------


def noise_ceilings(table: np.ndarray, num_draws: int = 1000) -> dict[str, float]:
    """Return what ``dp`` and ``eo`` would be if decisions did not depend on the group.

    The mean over random permutations of the groups (within each label for ``eo``) of the metric of
    the same decisions: a perfectly fair model does not reach 1 on few rows.

    >>> table = np.array([[[14, 6], [6, 14]], [[14, 6], [6, 14]]])  # equal rates: dp is 1
    >>> [round(noise_ceilings(copies * table)["dp"], 1) for copies in (1, 1000)]
    [0.8, 1.0]
    """
    _check_draws(num_draws)
    rng = np.random.default_rng(_SEED)
    rows, selected = table.sum(-1), table[..., 1]  # (k, 2), by group and label

    def permute(sizes: np.ndarray, num_selected: int) -> np.ndarray:
        """Deal the positive decisions out to groups of these sizes: (k, 2, num_draws)."""
        chosen = rng.multivariate_hypergeometric(sizes, num_selected, size=num_draws).T
        return np.stack([sizes[:, None] - chosen, chosen], axis=1)

    any_label = permute(rows.sum(-1), int(selected.sum()))[:, None]
    by_label = np.stack([permute(rows[:, y], int(selected[:, y].sum())) for y in (0, 1)], axis=1)
    # A permutation leaves unchanged whether these are defined: all draws are NaN, or none is.
    return {
        "dp": float(demographic_parity_ratio(_draws_first(any_label)).mean()),
        "eo": float(equalized_odds_ratio(_draws_first(by_label)).mean()),
    }


def bootstrap_intervals(
    table: np.ndarray, level: float = 0.95, num_draws: int = 1000
) -> dict[str, tuple[float, float]]:
    """Return percentile intervals over resamples of the rows.

    A resample without one of the table's groups compares other groups: it is undefined for the
    fairness metrics. Undefined resamples are left out; if they are more than half, so is the
    interval. Noise only ever lowers a ratio near 1 (see `noise_ceilings`), so that the interval of
    a ratio can end below the ratio itself.

    >>> intervals = bootstrap_intervals(np.array([[[30, 10], [10, 10]], [[20, 10], [5, 15]]]))
    >>> [round(end, 1) for end in intervals["accuracy"]]
    [0.6, 0.8]
    """
    _check_draws(num_draws)
    if not 0 < level < 1:
        raise FFMLError(f"level must lie between 0 and 1, got {level}: use 0.95 for 95 %")
    shares = table.ravel() / max(table.sum(), 1)
    flat = np.random.default_rng(_SEED).multinomial(table.sum(), shares, size=num_draws)
    draws = _draws_first(flat.T.reshape(*table.shape, num_draws))
    same_groups = (_has_rows(draws) == _has_rows(table)).all(-1)
    tails = ((1 - level) / 2, (1 + level) / 2)
    intervals = {}
    for name in ("dp", "eo", "disc", "accuracy", "balanced_accuracy"):
        values = METRICS[name](draws)
        defined = values[~np.isnan(values) & (same_groups | name.endswith("accuracy"))]
        enough = 2 * defined.size >= num_draws
        low, high = np.quantile(defined, tails) if enough else (np.nan, np.nan)
        intervals[name] = (float(low), float(high))
    return intervals


def _draws_first(counts: np.ndarray) -> np.ndarray:
    """Move the last axis to the front, but not in memory, where sums over the others are fast."""
    return np.moveaxis(np.ascontiguousarray(counts), -1, 0)


def _check_draws(num_draws: int) -> None:
    if num_draws < 1:
        raise FFMLError(f"num_draws must be >= 1, got {num_draws}")


# -- what people read ------------------------------------------------------------------------


def undefined_reasons(
    table: np.ndarray, group_names: Sequence[str] | None = None
) -> dict[str, str]:
    """Say in a few words why a metric is undefined; defined metrics are not in the answer.

    >>> undefined_reasons(np.array([[[3, 1], [0, 0]], [[2, 0], [1, 1]]]), ["F", "M"])
    {'eo': 'group F has no rows with label 1', 'eo_positives': 'group F has no rows with label 1'}
    """
    names = _names(table, group_names)
    if not table.any():
        return dict.fromkeys([*METRICS, "collapsed"], "no rows")
    incomparable = ""
    if _has_rows(table).sum() < 2:
        incomparable = "only one group has rows"
    elif collapsed(table):
        incomparable = ("only" if table[..., 1].any() else "no") + " positive decisions"
    negatives, positives = (incomparable or _odds_reason(table, names, y) for y in (0, 1))
    absent = [f"no rows with label {y}" for y in (0, 1) if not table[:, y].any()]
    reasons = {
        "dp": incomparable,
        "eo": _join([negatives, positives]),
        "eo_negatives": negatives,
        "eo_positives": positives,
        "disc": incomparable,
        "balanced_accuracy": _join(absent),
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
        values[name] = float(metric(table))
        if name in intervals:
            values[f"{name}_low"], values[f"{name}_high"] = intervals[name]
        if name in ceilings:
            values[f"{name}_ceiling"] = ceilings[name]
            values[f"{name}_of_ceiling"] = float(_divide(values[name], np.float64(ceilings[name])))
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

    Each metric, with its interval and ceiling, comes from the column where it is worst: the lowest
    ratio, the highest discrimination. So ``dp`` and ``eo`` may speak of different columns.
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
        candidates = defined or list(judgements)
        pick = np.argmax if name == "disc" else np.argmin
        chosen = candidates[int(pick([judgement.values[name] for judgement in candidates]))]
        for column in (name, *(name + suffix for suffix in _BESIDE)):
            if column in chosen.values:
                values[column] = chosen.values[column]
            if column in chosen.undefined:
                undefined.setdefault(column, chosen.undefined[column])
    values["collapsed"] = judgements[0].values["collapsed"]  # the same rows, the same decisions
    undefined |= {k: why for k, why in judgements[0].undefined.items() if k == "collapsed"}
    return Judgement(values, undefined)


def group_rows(table: np.ndarray, group_names: Sequence[str] | None = None) -> list[dict[str, Any]]:
    """Return one record for each group, NaN where a rate is undefined.

    >>> group_rows(np.array([[[3, 1], [0, 4]]]), ["F"])
    [{'group': 'F', 'n': 8, 'n_label_1': 4, 'n_selected': 5, 'selection_rate': 0.625,
      'true_positive_rate': 1.0, 'false_positive_rate': 0.25, 'accuracy': 0.875}]
    """
    columns = {
        "group": _names(table, group_names),
        "n": table.sum((-2, -1)).tolist(),
        "n_label_1": table[:, 1].sum(-1).tolist(),
        "n_selected": table[..., 1].sum(-1).tolist(),
        "selection_rate": selection_rates(table).tolist(),
        "true_positive_rate": true_positive_rates(table).tolist(),
        "false_positive_rate": false_positive_rates(table).tolist(),
        "accuracy": accuracy(table[:, None]).tolist(),
    }
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _odds_reason(table: np.ndarray, names: Sequence[str], label: int) -> str:
    """Say why the groups of ``table`` cannot be compared on this label; empty if they can."""
    cells = table[:, label]
    if not cells.any():
        return f"no rows with label {label}"
    missing = [
        name
        for name, counted, cell in zip(names, _has_rows(table), cells, strict=True)
        if counted and not cell.any()
    ]
    if missing:
        subject = (
            f"group {missing[0]} has" if len(missing) == 1 else f"groups {', '.join(missing)} have"
        )
        return f"{subject} no rows with label {label}"
    return "" if cells[:, 1].any() else f"no positive decisions among rows with label {label}"


def _join(reasons: Sequence[str]) -> str:
    return "; ".join(reason for reason in dict.fromkeys(reasons) if reason)


def _names(table: np.ndarray, group_names: Sequence[str] | None) -> list[str]:
    names = [str(code) for code in range(len(table))] if group_names is None else list(group_names)
    if len(names) != len(table):
        raise FFMLError(f"group_names must name all {len(table)} groups, got {names}")
    return names
