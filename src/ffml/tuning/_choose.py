"""From judged rounds to one setting: means and errors over seeds, and the rule that chooses."""

from typing import NamedTuple

import numpy as np
import pandas as pd

METRICS = ("dp_of_ceiling", "eo_of_ceiling", "balanced_accuracy", "collapsed")


class Rule(NamedTuple):
    """Which setting is chosen: fair enough first, then accurate."""

    target_dp: float = 0.99
    target_eo: float = 0.97

    def __str__(self) -> str:
        return (
            f"Among the settings whose mean DP/ceiling is at least {self.target_dp:g} and mean "
            f"EO/ceiling at least {self.target_eo:g}, the one with the greatest balanced accuracy; "
            "if there is none, the same among those that cannot be told from the one that falls "
            "short of the two (both shortfalls added) by least: what they fall short by more is "
            "at most one standard error of that difference, seed by seed. A ratio that is "
            "undefined in all rounds counts as 0."
        )


def summarise_settings(frame: pd.DataFrame) -> pd.DataFrame:
    """Average over a seed's rounds, then over seeds.

    Args:
        frame: of `ChunkStore.load`.

    Returns:
        One row per setting (the index): the mean over seeds of each of `METRICS`, under ``…_se``
        its standard error (NaN for a single seed), and how many ``seeds`` and ``rounds`` judged.
    """
    by_seed = _by_seed(frame).groupby(level="setting")
    errors = by_seed.sem().add_suffix("_se")
    columns = [name for metric in METRICS for name in (metric, f"{metric}_se")]
    table = pd.concat([by_seed.mean(), errors], axis=1)[columns]
    by_setting = frame.groupby("setting")
    return table.assign(seeds=by_setting["seed"].nunique(), rounds=by_setting.size())


def ranked(frame: pd.DataFrame, rule: Rule) -> pd.DataFrame:
    """Put the settings in the rule's order; the first one is chosen.

    Settings share tasks, splits and draws, so that most of the noise of a seed is in all of them.
    Whether two can be told apart is a question of their difference, seed by seed.

    Args:
        frame: of `ChunkStore.load`.
        rule: what is asked.

    Returns:
        The rows of `summarise_settings` with ``shortfall``, 0 where both targets are reached;
        ``behind_se``, the standard error over seeds of how much greater it is than the least one;
        and ``as_fair``: whether it is greater by that much at most, or, if a setting reaches both
        targets, whether this one does. Those come first, the most accurate before the others; the
        rest by their shortfalls.
    """
    summary = summarise_settings(frame)
    by_seed = _by_seed(frame)[["dp_of_ceiling", "eo_of_ceiling"]].unstack("seed").loc[summary.index]
    ratios = by_seed.to_numpy(float).reshape(len(summary), 2, -1)  # setting, metric, seed
    known = np.isfinite(ratios)
    means = np.where(known, ratios, 0).sum(-1) / np.maximum(known.sum(-1), 1)
    short = np.maximum(np.array(rule) - means, 0)
    shortfall = short.sum(-1)
    fairest = shortfall.argmin()
    # How each seed moves a shortfall: where a mean reaches its target, seeds do not matter.
    moves = (np.where(known, means[..., None] - ratios, 0) * (short > 0)[..., None]).sum(1)
    num_seeds = ratios.shape[-1]
    error = (moves - moves[fairest]).std(-1, ddof=min(1, num_seeds - 1)) / np.sqrt(num_seeds)
    as_fair = shortfall - shortfall[fairest] <= (error if shortfall[fairest] > 0 else 0)
    accuracy = summary["balanced_accuracy"].to_numpy(float)
    order = np.lexsort((-accuracy, np.where(as_fair, 0, shortfall)))
    return summary.assign(shortfall=shortfall, behind_se=error, as_fair=as_fair).iloc[order]


def _by_seed(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.groupby(["setting", "seed"])[list(METRICS)].mean()


def pareto_optimal(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Mark the points that no other one beats in one number without losing in the other.

    >>> pareto_optimal(np.array([1.0, 2.0, 2.0, 3.0, np.nan]), np.array([3.0, 2.0, 1.0, 0.0, 9.0]))
    array([ True,  True, False,  True, False])
    """
    at_least = (first >= first[:, None]) & (second >= second[:, None])  # [i, j]: j as good as i
    beaten = at_least & ((first > first[:, None]) | (second > second[:, None]))
    return ~beaten.any(1) & np.isfinite(first) & np.isfinite(second)
