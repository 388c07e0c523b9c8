"""From judged rounds to one setting: means and errors over seeds, and the rule that chooses."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from ffml.studies._evenness import evenness, root

# `dp_of_ceiling` and `eo_of_ceiling` are a seed's mean ratio divided by its mean ceiling.
METRICS = ("dp_of_ceiling", "eo_of_ceiling", "balanced_accuracy", "collapsed")
RATIOS = ["dp_of_ceiling", "eo_of_ceiling"]  # that a rule has targets for
DRAWS = 4000  # of as many seeds as there are, with replacement; always the same


class Rule(NamedTuple):
    """Which setting is chosen: fair enough first, then accurate."""

    target_dp: float = 0.99
    target_eo: float = 0.97

    def __str__(self) -> str:
        return (
            f"Among the settings whose DP/ceiling is at least {self.target_dp:g} and EO/ceiling at "
            f"least {self.target_eo:g} (means over seeds of mean ratio divided by mean ceiling), "
            "the one with the greatest balanced accuracy; if there is none, the same among those "
            "that cannot be told from the one that falls short of the two (both shortfalls added) "
            "by least: what they fall short by more is at most one standard error of that "
            "difference, seed by seed. A ratio that is undefined in all rounds counts as 0."
        )


def summarise_settings(frame: pd.DataFrame) -> pd.DataFrame:
    """Sum up a seed's rounds, then average over seeds.

    Returns:
        One row per setting (the index): the mean over seeds of each of `METRICS`, under ``…_se``
        its standard error (NaN for a single seed), ``typical_gap`` and ``long_run_gap`` as in
        `ffml.studies.compare.summarise_results` (NaN in older results), how many ``seeds``
        and ``rounds`` judged, and in how many of these ``dp_rounds`` and ``eo_rounds`` the ratios
        were defined.
    """
    values, counts = _by_seed(frame)
    gaps = values.groupby(level="setting")[["squared_gap", "long_run_gap"]].mean()
    by_seed = values[list(METRICS)].groupby(level="setting")
    errors = by_seed.sem().add_suffix("_se")
    columns = [name for metric in METRICS for name in (metric, f"{metric}_se")]
    table = pd.concat([by_seed.mean(), errors], axis=1)[columns]
    by_setting, defined = frame.groupby("setting"), counts.groupby(level="setting").sum()
    return table.assign(
        typical_gap=root(gaps["squared_gap"]),
        long_run_gap=gaps["long_run_gap"],
        seeds=by_setting["seed"].nunique(),
        rounds=by_setting.size(),
        dp_rounds=defined["dp_of_ceiling"],
        eo_rounds=defined["eo_of_ceiling"],
    )


def ranked(frame: pd.DataFrame, rule: Rule) -> pd.DataFrame:
    """Put the settings in the rule's order; the first one is chosen.

    Settings share tasks, splits and draws, so that most of the noise of a seed is in all of them.
    Whether two can be told apart is a question of their difference, seed by seed.

    Returns:
        The rows of `summarise_settings` with ``shortfall``, 0 where both targets are reached;
        ``behind_se``, the standard error of how much greater it is than the least one, by the
        bootstrap over seeds (NaN for a single one); and ``as_fair``: whether it is greater by that
        much at most, or, if a setting reaches both targets, whether this one does. Those come
        first, the most accurate before the others; the rest by their shortfalls.
    """
    summary = summarise_settings(frame)
    by_seed = _by_seed(frame)[0][RATIOS].unstack("seed").loc[summary.index]
    ratios = by_seed.to_numpy(float).reshape(len(summary), len(RATIOS), -1)
    ratios = np.where(np.isfinite(ratios).any(-1, keepdims=True), ratios, 0)
    num_seeds = ratios.shape[-1]
    shortfall = _shortfall(ratios, np.ones((num_seeds, 1)), rule)[:, 0]
    fairest = shortfall.argmin()
    drawn = np.random.default_rng(0).multinomial(num_seeds, [1 / num_seeds] * num_seeds, DRAWS).T
    drawn_shortfall = _shortfall(ratios, drawn, rule)
    behind = drawn_shortfall - drawn_shortfall[fairest]
    error = np.nanstd(behind, axis=-1) * np.sqrt(num_seeds / max(num_seeds - 1, 1))
    as_fair = shortfall - shortfall[fairest] <= (error if shortfall[fairest] > 0 else 0)
    accuracy = summary["balanced_accuracy"].to_numpy(float)
    order = np.lexsort((-accuracy, np.where(as_fair, 0, shortfall)))
    table = summary.assign(shortfall=shortfall, as_fair=as_fair)
    return table.assign(behind_se=error if num_seeds > 1 else np.nan).iloc[order]


def _shortfall(ratios: np.ndarray, times: np.ndarray, rule: Rule) -> np.ndarray:
    """Add up what mean ratios ``(settings, RATIOS, seeds)`` miss of their targets.

    ``times`` ``(seeds, draws)`` says how often a seed counts in a draw. Returns ``(settings,
    draws)``, NaN where a draw has no seed with a ratio.
    """
    known = np.isfinite(ratios)
    with np.errstate(invalid="ignore"):
        means = (np.where(known, ratios, 0) @ times) / (known @ times)
    return np.maximum(np.array(rule)[:, None] - means, 0).sum(1)


def _by_seed(frame: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Sum up each seed's rounds; also return in how many of them its ratios were defined."""
    even, counts, _ = evenness(frame, ["setting"], ["setting", "seed"])
    means = frame.groupby(["setting", "seed"])[["balanced_accuracy", "collapsed"]].mean()
    return means.join(even), counts
