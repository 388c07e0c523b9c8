"""How much of a metric is noise: what chance alone would show, and intervals."""

import numpy as np

from ffml.base import FFMLError
from ffml.metrics._intervals import TAIL
from ffml.metrics.rates import (
    METRICS,
    demographic_parity_ratio,
    equalized_odds_ratio,
    has_rows,
)

_SEED = 0  # draws are part of the definition: the same table always gives the same numbers


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


def bootstrap_intervals(table: np.ndarray, num_draws: int = 1000) -> dict[str, tuple[float, float]]:
    """Return 95 % percentile intervals over resamples of the rows.

    A resample without one of the table's groups compares other groups: it is undefined for the
    fairness metrics. Undefined resamples are left out; if they are more than half, so is the
    interval. Noise only ever lowers a ratio near 1 (see `noise_ceilings`), so that the interval of
    a ratio can end below the ratio itself.

    >>> intervals = bootstrap_intervals(np.array([[[30, 10], [10, 10]], [[20, 10], [5, 15]]]))
    >>> [round(end, 1) for end in intervals["accuracy"]]
    [0.6, 0.8]
    """
    _check_draws(num_draws)
    shares = table.ravel() / max(table.sum(), 1)
    flat = np.random.default_rng(_SEED).multinomial(table.sum(), shares, size=num_draws)
    draws = _draws_first(flat.T.reshape(*table.shape, num_draws))
    same_groups = (has_rows(draws) == has_rows(table)).all(-1)
    intervals = {}
    for name in ("dp", "eo", "disc", "accuracy", "balanced_accuracy"):
        values = METRICS[name](draws)
        defined = values[~np.isnan(values) & (same_groups | name.endswith("accuracy"))]
        enough = 2 * defined.size >= num_draws
        low, high = np.quantile(defined, (TAIL, 1 - TAIL)) if enough else (np.nan, np.nan)
        intervals[name] = (float(low), float(high))
    return intervals


def _draws_first(counts: np.ndarray) -> np.ndarray:
    """Move the last axis to the front, but not in memory, where sums over the others are fast."""
    return np.moveaxis(np.ascontiguousarray(counts), -1, 0)


def _check_draws(num_draws: int) -> None:
    if num_draws < 1:
        raise FFMLError(f"num_draws must be >= 1, got {num_draws}")
