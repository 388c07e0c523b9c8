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
            "if there is none, the same among those that fall short of the two (both shortfalls "
            "added) by at most one standard error more than the setting that does so by least. A "
            "ratio that is undefined in all rounds counts as 0."
        )


def summarise_settings(frame: pd.DataFrame) -> pd.DataFrame:
    """Average over a seed's rounds, then over seeds.

    Args:
        frame: of `ChunkStore.load`.

    Returns:
        One row per setting (the index): the mean over seeds of each of `METRICS`, under ``…_se``
        its standard error (NaN for a single seed), and how many ``seeds`` and ``rounds`` judged.
    """
    by_seed = frame.groupby(["setting", "seed"])[list(METRICS)].mean().groupby(level="setting")
    errors = by_seed.sem().add_suffix("_se")
    columns = [name for metric in METRICS for name in (metric, f"{metric}_se")]
    table = pd.concat([by_seed.mean(), errors], axis=1)[columns]
    by_setting = frame.groupby("setting")
    return table.assign(seeds=by_setting["seed"].nunique(), rounds=by_setting.size())


def ranked(summary: pd.DataFrame, rule: Rule) -> pd.DataFrame:
    """Put the settings in the rule's order; the first one is chosen.

    Args:
        summary: of `summarise_settings`.
        rule: what is asked.

    Returns:
        The same rows with ``shortfall``, 0 where both targets are reached, and ``as_fair``: whether
        it cannot be told from the least one (the one-standard-error rule). Those come first, the
        most accurate before the others; the rest by their shortfalls.
    """
    targets = {"dp_of_ceiling": rule.target_dp, "eo_of_ceiling": rule.target_eo}
    short = np.stack([np.maximum(target - _known(summary[n]), 0) for n, target in targets.items()])
    errors = np.stack([_known(summary[f"{name}_se"]) for name in targets])
    shortfall = short.sum(0)
    fairest = shortfall.argmin()
    error = np.linalg.norm(errors[short[:, fairest] > 0, fairest])
    as_fair = shortfall <= shortfall[fairest] + error
    accuracy = summary["balanced_accuracy"].to_numpy(float)
    order = np.lexsort((-accuracy, np.where(as_fair, 0, shortfall)))
    return summary.assign(shortfall=shortfall, as_fair=as_fair).iloc[order]


def _known(values: pd.Series) -> np.ndarray:
    """Take what is undefined for 0."""
    return values.fillna(0).to_numpy(float)


def pareto_optimal(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Mark the points that no other one beats in one number without losing in the other.

    >>> pareto_optimal(np.array([1.0, 2.0, 2.0, 3.0, np.nan]), np.array([3.0, 2.0, 1.0, 0.0, 9.0]))
    array([ True,  True, False,  True, False])
    """
    at_least = (first >= first[:, None]) & (second >= second[:, None])  # [i, j]: j as good as i
    beaten = at_least & ((first > first[:, None]) | (second > second[:, None]))
    return ~beaten.any(1) & np.isfinite(first) & np.isfinite(second)
