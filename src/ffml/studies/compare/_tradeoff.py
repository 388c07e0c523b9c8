"""Methods at the same fairness: the accuracy of one, and of another on its trade-off curve."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from ffml.border import one_of
from ffml.studies._evenness import root
from ffml.studies.compare._summary import by_seed_means, half_width

FAIRNESS = ("typical_gap", "dp_of_ceiling", "eo_of_ceiling", "dp", "eo")
EQUAL, LESS_FAIR, FAIRER = "as fair", "less fair", "fairer"


def at_equal_fairness(
    frame: pd.DataFrame,
    method: str | None = None,
    fairness: str = "typical_gap",
) -> pd.DataFrame:
    """Compare a method with others where they are as fair as it is.

    A method that was run with several settings (variants) has a trade-off curve: from the most
    accurate variant to the fairest, by the straight lines that no variant is above. (It is a little
    too good, as the best of several noisy means is.) Each variant of ``method`` is compared with
    the point of such a curve that is as fair. A variant less fair than the whole curve is compared
    with its most accurate point, one that is fairer with its fairest.

    Seeds are compared one by one: that a variant happened to be fairer in some seed is made good
    for by the curve's slope. What counts are seeds in which all numbers are defined.

    Args:
        frame: of `Store.load`.
        method: whose variants are compared; by default the method of the first row.
        fairness: the metric that is to be equal: typical_gap (of which less is fairer),
            dp_of_ceiling, eo_of_ceiling, dp or eo.

    Returns:
        One row per data set, validation share, other method with at least two variants, and variant
        of ``method``: its ``label``, its mean ``fairness`` and ``accuracy``, the ``other`` method,
        its ``other_accuracy`` there, the ``difference`` in accuracy (the method's minus the
        other's), ``low`` and ``high`` of its 95 % t-interval, the number of ``seeds``, and whether
        the ``curve`` is "as fair" somewhere, "less fair" or "fairer" everywhere.
    """
    one_of("fairness", fairness, dict.fromkeys(FAIRNESS))
    method = method or str(frame["method"].iloc[0])
    method_of = dict(zip(frame["label"], frame["method"], strict=True))
    means, _ = by_seed_means(frame)
    place = ["data", "validation"]
    of_gaps = fairness == "typical_gap"  # gaps are as large as their squares, and those average
    evenness = -means["squared_gap"] if of_gaps else means[fairness]
    points = pd.concat([evenness, means["balanced_accuracy"]], axis=1)
    groups: Any = points.groupby(level=place, sort=False)
    rows = [
        {"data": data, "validation": validation, **row}
        for (data, validation), found in groups
        for row in _comparisons(found.droplevel(place), method, method_of)
    ]
    columns = [*place, "label", "other", "fairness", "accuracy", "other_accuracy", "difference"]
    table = pd.DataFrame(rows, columns=[*columns, "low", "high", "seeds", "curve"])
    return table.assign(fairness=root(-table["fairness"])) if of_gaps else table


def trade_off_curve(points: Sequence[tuple[float, float]]) -> list[int]:
    """Choose among points (fairness, accuracy) those of the curve, the most accurate one first.

    More is fairer; give squared gaps with a minus sign.

    >>> trade_off_curve([(0.5, 0.8), (0.6, 0.9), (0.8, 0.75), (1.0, 0.7)])
    [1, 3]
    """
    curve = [max(range(len(points)), key=lambda i: (points[i][1], points[i][0]))]
    while fairer := [i for i, point in enumerate(points) if point[0] > points[curve[-1]][0]]:
        x, y = points[curve[-1]]
        curve.append(max(fairer, key=lambda i: (points[i][1] - y) / (points[i][0] - x)))
    return curve


def _comparisons(
    means: pd.DataFrame, method: str, method_of: Mapping[str, str]
) -> Iterator[dict[str, object]]:
    """Compare on one data set; ``means`` has one row per label and seed."""
    points = {str(label): rows.droplevel("label") for label, rows in means.groupby(level="label")}
    labels = list(dict.fromkeys(means.index.get_level_values("label")))
    for other in dict.fromkeys(method_of[label] for label in labels):
        curve = [label for label in labels if method_of[label] == other]
        if other == method or len(curve) < 2:
            continue
        for label in labels:
            if method_of[label] == method:
                compared = _compared(points[label], [points[name] for name in curve])
                yield {"label": label, "other": other, **compared}


def _compared(own: pd.DataFrame, others: Sequence[pd.DataFrame]) -> dict[str, object]:
    """Compare (fairness, accuracy) by seed with the curve of others."""
    defined = [rows.dropna() for rows in (own, *others)]
    used = [defined[0], *(rows for rows in defined[1:] if len(rows))]
    seeds = sorted(set.intersection(*(set(rows.index) for rows in used)))
    if len(used) < 2 or not seeds:
        nothing = ("fairness", "accuracy", "other_accuracy", "difference", "low", "high")
        return dict.fromkeys(nothing, np.nan) | {"seeds": 0, "curve": ""}
    values = np.stack([rows.loc[seeds].to_numpy(float) for rows in used])  # (1 + points, seeds, 2)
    mean, *points = ((float(x), float(y)) for x, y in values.mean(1))
    weights, slope, place = _point_of_curve(mean[0], points)
    ahead = values[0] - np.tensordot(weights, values[1:], 1)  # (seeds, 2) of the curve's point
    differences = ahead[:, 1] - slope * ahead[:, 0]
    difference = float(differences.mean())
    spread = float(differences.std(ddof=1)) if len(seeds) > 1 else np.nan
    half = float(half_width(spread, len(seeds)))
    return {
        "fairness": mean[0],
        "accuracy": mean[1],
        "other_accuracy": mean[1] - difference,
        "difference": difference,
        "low": difference - half,
        "high": difference + half,
        "seeds": len(seeds),
        "curve": place,
    }


def _point_of_curve(
    fairness: float, points: Sequence[tuple[float, float]]
) -> tuple[np.ndarray, float, str]:
    """Find the point of a curve that is as fair: a mean of points, and the slope there.

    Nothing is fairer than a ratio of 1: beyond it, a curve that gets so far is as fair.
    """
    curve = trade_off_curve(points)
    x, weights, slope = [points[i][0] for i in curve], np.zeros(len(points)), 0.0
    if fairness <= x[0]:
        weights[curve[0]] = 1
        return weights, slope, EQUAL if fairness == x[0] else FAIRER
    if fairness >= x[-1]:
        weights[curve[-1]] = 1
        return weights, slope, EQUAL if x[-1] >= min(fairness, 1) else LESS_FAIR
    right = int(np.searchsorted(x, fairness))
    (x0, y0), (x1, y1) = points[curve[right - 1]], points[curve[right]]
    share = (fairness - x0) / (x1 - x0)
    weights[curve[right - 1]], weights[curve[right]] = 1 - share, share
    return weights, (y1 - y0) / (x1 - x0), EQUAL
