"""Methods at the same fairness: the accuracy of one, and of another on its trade-off curve."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from ffml.compare._summary import MIN_VALIDATION, by_seed_means

RESAMPLES = 2000
INTERVAL = (2.5, 97.5)  # per cent


def at_equal_fairness(
    frame: pd.DataFrame,
    method: str | None = None,
    fairness: str = "dp_of_ceiling",
    accuracy: str = "balanced_accuracy",
    min_validation: Mapping[str, int] | int = MIN_VALIDATION,
    part: str = "last_third",
) -> pd.DataFrame:
    """Compare a method with others where they are as fair as it is.

    A method that was run with several settings (variants) has a trade-off curve: from the most
    accurate variant to the fairest, along the straight lines that no variant is above. (It is a
    little too good, as the best of several noisy means is.) Each variant of ``method`` is compared
    with the point of such a curve that is as fair. A variant less fair than the whole curve is
    compared with its most accurate point; one that is fairer, with its fairest, and ``reached`` is
    False.

    Args:
        frame: of `Store.load`.
        method: whose variants are compared; by default the method of the first row.
        fairness: the metric that is to be equal.
        accuracy: the metric that is compared.
        min_validation: as in `summarise_results`.
        part: as in `summarise_results`.

    Returns:
        One row per data set, validation share, other method with at least two variants, and variant
        of ``method``: its ``label``, its mean ``fairness`` and ``accuracy``, the ``other`` method,
        its ``other_accuracy`` there, the ``difference`` in accuracy (the method's minus the
        other's), ``low`` and ``high`` of its 95 % interval (percentiles of a bootstrap over the
        seeds that variant and curve share), and ``reached``.
    """
    method = method or str(frame["method"].iloc[0])
    method_of = dict(zip(frame["label"], frame["method"], strict=True))
    means, _ = by_seed_means(frame, min_validation, part)
    place = ["data", "validation"]
    groups: Any = means[[fairness, accuracy]].groupby(level=place, sort=False)
    rows = [
        {"data": data, "validation": validation, **row}
        for (data, validation), found in groups
        for row in _comparisons(found.droplevel(place), method, method_of)
    ]
    columns = [*place, "label", "other", "fairness", "accuracy", "other_accuracy"]
    return pd.DataFrame(rows, columns=[*columns, "difference", "low", "high", "reached"])


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
                compared = [points[label], *(points[name] for name in curve)]
                yield {"label": label, "other": other, **_compared(compared)}


def _compared(points: list[pd.DataFrame]) -> dict[str, object]:
    """Compare the first of some points, (fairness, accuracy) by seed, with the others' curve."""
    seeds = sorted(set.intersection(*(set(rows.index) for rows in points)))
    values = np.stack([rows.loc[seeds].to_numpy(float) for rows in points])  # (points, seeds, 2)
    own, *curve = _means(values)
    there = _accuracy_at(own[0], curve)
    low = high = np.nan
    if len(seeds) > 1 and np.isfinite([*own, there]).all():
        draws = np.random.default_rng(0).integers(len(seeds), size=(RESAMPLES, len(seeds)))
        resampled = np.moveaxis(_means(values[:, draws].swapaxes(1, 2)), 1, 0)
        differences = [own[1] - _accuracy_at(own[0], curve) for own, *curve in resampled]
        low, high = np.nanpercentile(differences, INTERVAL)
    return {
        "fairness": own[0],
        "accuracy": own[1],
        "other_accuracy": there,
        "difference": own[1] - there,
        "low": low,
        "high": high,
        "reached": any(point[0] >= own[0] for point in curve),
    }


def _means(values: np.ndarray) -> np.ndarray:
    """Average over seeds, the second axis, what is defined."""
    defined = np.isfinite(values)
    count = defined.sum(1)
    total = np.where(defined, values, 0).sum(1)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def _accuracy_at(fairness: float, points: Sequence[np.ndarray]) -> float:
    """Read the trade-off curve of some points (fairness, accuracy) off."""
    defined = [tuple(point) for point in points if np.isfinite(point).all()]
    if not defined:
        return np.nan
    curve = [max(defined, key=lambda point: (point[1], point[0]))]
    while fairer := [point for point in defined if point[0] > curve[-1][0]]:
        x, y = curve[-1]
        curve.append(max(fairer, key=lambda point: (point[1] - y) / (point[0] - x)))
    return float(np.interp(fairness, [x for x, _ in curve], [y for _, y in curve]))
