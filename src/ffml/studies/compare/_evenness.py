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

    Args:
        tables: sensitive column -> ``(T, k, 3, 2)`` counts.
        groups: sensitive column -> names of its k groups; numbers if it is not there.

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
    keys = [frame[name] for name in by]
    ratios = {name: _ratio_of_means(frame, *pair, keys) for name, pair in RATIOS.items()}
    names = [str(name).removeprefix(_GAP) for name in frame if str(name).startswith(_GAP)]
    parts = {name: _gaps(frame, name, keys) for name in names or [""]}
    sizes = pd.DataFrame({n: _gaps(frame, n, [frame[p] for p in place])["square"] for n in parts})
    chosen = sizes.fillna(-1.0).idxmax(axis=1)
    index = next(iter(parts.values())).index
    compared = pd.Series(chosen.reindex(_places(index, place)).to_numpy(), index)
    found = pd.concat(parts).loc[list(zip(compared, *_levels(index), strict=True))]
    found.index = index
    values = pd.DataFrame(
        {
            "squared_gap": found["square"],
            "long_run_gap": found["gap"],
            **{name: value for name, (value, _) in ratios.items()},
        }
    )
    counts = pd.DataFrame(
        {
            "squared_gap": found["square_rounds"],
            "long_run_gap": found["gap_rounds"],
            **{name: count for name, (_, count) in ratios.items()},
        }
    )
    return values, counts.astype(int), compared


def root(squares: Any) -> Any:
    """Return the gap of a mean squared gap: 0 where chance explains more than all of it."""
    return np.sqrt(np.maximum(squares, 0))


def _ratio_of_means(
    frame: pd.DataFrame, metric: str, ceiling: str, keys: list[pd.Series]
) -> tuple[pd.Series, pd.Series]:
    """Divide the sum of a metric by that of its ceiling, and count the rounds with both."""
    both = frame.reindex(columns=[metric, ceiling]).astype(float)
    sums = both.where(both.notna().all(axis=1)).groupby(keys, sort=False)
    total = sums.sum()
    return _divided(total[metric], total[ceiling]), sums[metric].count()


def _gaps(frame: pd.DataFrame, name: str, keys: list[pd.Series]) -> pd.DataFrame:
    """Average squared and signed gaps of one comparison, with their weights."""
    columns = [_GAP + name, _SQUARE + name, _ROWS + name]
    gap, square, rows = frame.reindex(columns=columns).to_numpy(float).T
    found = {}
    for kind, values, weights in (
        ("square", square, typical_weights(rows)),
        ("gap", gap, long_run_weights(rows)),
    ):
        known = np.isfinite(values)
        weights = np.where(known, weights, 0)
        parts = {"sum": np.where(known, values, 0) * weights, "weight": weights, "known": known}
        total = pd.DataFrame(parts, frame.index).groupby(keys, sort=False).sum()
        found[kind] = _divided(total["sum"], total["weight"])
        found[f"{kind}_rounds"] = total["known"]
    return pd.DataFrame(found)


def _divided(numerator: pd.Series, denominator: pd.Series) -> pd.Series:
    """Divide; NaN where there is nothing to divide by."""
    return pd.Series(divide(numerator.to_numpy(), denominator.to_numpy()), numerator.index)


def _places(index: pd.Index, place: list[str]) -> pd.Index:
    """Return the ``place`` that each entry of a finer index belongs to."""
    levels = [index.get_level_values(name) for name in place]
    return pd.MultiIndex.from_arrays(levels) if len(levels) > 1 else levels[0]


def _levels(index: pd.Index) -> list[pd.Index]:
    return [index.get_level_values(i) for i in range(index.nlevels)]
