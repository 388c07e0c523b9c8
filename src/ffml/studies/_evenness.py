"""How even decisions were over many rounds: gaps in points, and ratios over their ceilings.

A mean over rounds of DP / ceiling flatters: on tasks of 20 rows it is 1.02 for a classifier that
selects 45 % of one group and 67 % of the other. So ratios are divided after they are averaged, and
gaps, from which chance is taken out, stand beside them.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from ffml.metrics import comparisons, long_run_weights, round_gaps, typical_weights
from ffml.metrics.rates import divide

RATIOS = {"dp_of_ceiling": ("dp", "dp_ceiling"), "eo_of_ceiling": ("eo", "eo_ceiling")}
EVENNESS = ("squared_gap", "long_run_gap", *RATIOS)
_GAP, _SQUARE, _ROWS = "gap:", "gap_square:", "gap_rows:"


def gap_columns(
    tables: Mapping[str, np.ndarray], groups: Mapping[str, Sequence[str]]
) -> dict[str, np.ndarray]:
    """Return `RoundGaps` of T rounds as columns, three for any two groups that are compared.

    Both arguments are by sensitive column: ``(T, k, 3, 2)`` counts, and the names of its k groups.

    >>> table = np.array([[[[30, 10], [10, 10]], [[20, 10], [5, 15]]]])
    >>> {name: float(v[0].round(2)) for name, v in gap_columns({"sex": table}, {}).items()}
    {'gap:sex=1': 0.17, 'gap_square:sex=1': 0.02, 'gap_rows:sex=1': 27.27}
    """
    columns = {}
    for column, counts in tables.items():
        names = list(groups.get(column, map(str, range(counts.shape[1]))))
        gaps = round_gaps(counts)
        pairs = [name for name, _, _ in comparisons(len(names), names, "demographic-parity")]
        for i, group in enumerate(names[1:] if len(names) == 2 else pairs):
            for prefix, values in zip((_GAP, _SQUARE, _ROWS), gaps, strict=True):
                columns[f"{prefix}{column}={group}"] = values[:, i]
    return columns


def evenness(
    frame: pd.DataFrame, place: list[str], by: list[str]
) -> tuple[pd.DataFrame, pd.DataFrame, pd.Series]:
    """Sum up rounds by the columns ``by``, such as method, data and seed.

    Where several groups are compared, the gaps are those of the comparison whose typical gap is
    the largest over all rounds of a ``place``, such as method and data.

    Returns:
        `EVENNESS` by ``by``, NaN where undefined; in how many rounds each was defined; and the
        comparison that the gaps are of. ``squared_gap`` is right on average and may be negative:
        average it over seeds or tasks, then take its `root`, the typical gap.
    """
    names = [str(name).removeprefix(_GAP) for name in frame if str(name).startswith(_GAP)]
    rounds = pd.concat([_gaps_of(frame, name, by) for name in names or [""]])
    sizes = _weighted_mean(rounds, "squared_gap", [*place, "comparison"]).fillna(-1.0)
    largest = sizes.groupby(level=place, sort=False).idxmax()
    chosen = pd.Series([key[-1] for key in largest], largest.index, str, "chosen")
    own = rounds.join(chosen, on=place).query("comparison == chosen")
    grouped = own.groupby(by, sort=False)
    values = {name: _weighted_mean(own, name, by) for name in ("squared_gap", "long_run_gap")}
    counts = {name: grouped[name].count() for name in values}
    for name, (metric, ceiling) in RATIOS.items():
        both = frame.reindex(columns=[metric, ceiling]).astype(float)
        sums = both.where(both.notna().all(axis=1)).groupby([frame[n] for n in by], sort=False)
        values[name] = _divided(sums[metric].sum(), sums[ceiling].sum())
        counts[name] = sums[metric].count()
    index = frame.groupby(by, sort=False).size().index
    defined = pd.DataFrame(counts, index).astype(int)
    return pd.DataFrame(values, index), defined, grouped["comparison"].first().reindex(index)


def root(squares: Any) -> Any:
    """Return the gap of a mean squared gap: 0 where chance explains more than all of it."""
    return np.sqrt(np.maximum(squares, 0))


def _gaps_of(frame: pd.DataFrame, name: str, by: list[str]) -> pd.DataFrame:
    """Return the squared and the signed gaps of one comparison by round, with their weights."""
    columns = [_GAP + name, _SQUARE + name, _ROWS + name]
    gap, square, rows = frame.reindex(columns=columns).to_numpy(float).T
    weights = {
        "squared_gap:weight": typical_weights(rows),
        "long_run_gap:weight": long_run_weights(rows),
    }
    gaps: dict[str, Any] = {"comparison": name, "squared_gap": square, "long_run_gap": gap}
    return frame[by].assign(**gaps, **weights)


def _weighted_mean(rounds: pd.DataFrame, name: str, by: list[str]) -> pd.Series:
    weights = rounds[f"{name}:weight"].where(rounds[name].notna(), 0)
    parts = rounds[by].assign(total=rounds[name].fillna(0) * weights, weight=weights)
    sums = parts.groupby(by, sort=False)[["total", "weight"]].sum()
    return _divided(sums["total"], sums["weight"])


def _divided(numerator: pd.Series, denominator: pd.Series) -> pd.Series:
    """Divide; NaN where there is nothing to divide by."""
    return pd.Series(divide(numerator.to_numpy(), denominator.to_numpy()), numerator.index)
