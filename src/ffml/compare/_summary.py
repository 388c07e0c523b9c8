"""From rounds to the few numbers of a table: means over rounds, then over seeds."""

import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from ffml.checks import one_of

# With fewer validation rows a ratio is mostly noise. Crime's tasks have 46 communities on average,
# half of them judge: there, 10 is what leaves most rounds in.
ENOUGH_ROWS = 50
MIN_VALIDATION: Mapping[str, int] = {"crime": 10}

PARTS: dict[str, Callable[[pd.DataFrame], pd.Series]] = {
    "all": lambda frame: frame["round"] > 0,
    "last_third": lambda frame: 3 * frame["round"] > 2 * frame["rounds"],
    "last": lambda frame: frame["round"] == frame["rounds"],
}
GROUP = ["label", "data", "validation"]
_SKIPPED = re.compile(":|_low$|_high$")  # of constraints; ends of a single round's interval
_NO_METRIC = {
    *(*GROUP, "method", "seed", "round", "rounds", "task", "undefined"),
    *("n_rows", "n_support", "n_validation", "iterations", "seconds"),
}


def enough_rows(data: str, min_validation: Mapping[str, int] | int = MIN_VALIDATION) -> int:
    """Return how many validation rows a round of a data set needs to count.

    >>> enough_rows("adult"), enough_rows("crime"), enough_rows("crime", 30)
    (50, 10, 30)
    """
    if isinstance(min_validation, int):
        return min_validation
    return min_validation.get(data, ENOUGH_ROWS)


def summarise_results(
    frame: pd.DataFrame,
    min_validation: Mapping[str, int] | int = MIN_VALIDATION,
    part: str = "last_third",
) -> pd.DataFrame:
    """Average each metric over a seed's judged rounds, then over the seeds.

    Args:
        frame: of `Store.load`.
        min_validation: leave out rounds judged on fewer rows: a number, or one by data set, where
            50 is the default.
        part: "last_third" (rounds t with 3t > 2T), "all" rounds, or the "last" one.

    Returns:
        One row per label, data, validation share and metric: ``mean``, ``std`` over seeds (sample
        standard deviation), ``low`` and ``high`` of the mean's 95 % t-interval, ``seeds`` and
        ``rounds`` with a defined value. What is undefined is NaN: a metric without a defined
        round, the spread of a single seed. ``seconds`` is a seed's total over all of its rounds.
    """
    means, counts = by_seed_means(frame, min_validation, part)
    rounds = counts.groupby(level=GROUP, sort=False).sum()
    table = _over_seeds(means, rounds=rounds)
    return table[[*GROUP, "metric", "mean", "std", "low", "high", "seeds", "rounds"]].astype(
        {"seeds": int, "rounds": int}
    )


def paired_differences(
    frame: pd.DataFrame,
    reference: str | None = None,
    min_validation: Mapping[str, int] | int = MIN_VALIDATION,
    part: str = "last_third",
) -> pd.DataFrame:
    """Subtract one method's mean from those of the others, seed by seed.

    Methods that share a seed share tasks, order and splits, and so most of the noise: their
    difference is known better than either number.

    Args:
        frame: of `Store.load`.
        reference: the label that the others are compared with; by default the first one.
        min_validation: as in `summarise_results`.
        part: as in `summarise_results`.

    Returns:
        One row per other label, data, validation share and metric: ``mean`` of (other - reference)
        over the seeds in which both are defined, ``std``, ``low``, ``high`` and ``seeds``.
    """
    labels = list(dict.fromkeys(frame["label"]))
    chosen = one_of("label", reference or labels[0], {label: label for label in labels})
    means, _ = by_seed_means(frame, min_validation, part)
    others = means.drop(index=chosen, level="label")
    beside = means.xs(chosen, level="label").reindex(others.index.droplevel("label"))
    with np.errstate(invalid="ignore"):  # infinite losses
        table = _over_seeds(others - beside.to_numpy())
    columns = [*GROUP, "metric", "mean", "std", "low", "high", "seeds"]
    return table[columns].astype({"seeds": int})


def judged_rounds(
    frame: pd.DataFrame, min_validation: Mapping[str, int] | int, part: str
) -> pd.Series:
    """Mark the rounds of a part that were judged on enough rows."""
    least = frame["data"].map(lambda data: enough_rows(data, min_validation))
    return (frame["n_validation"] >= least.clip(lower=1)) & one_of("part", part, PARTS)(frame)


def by_seed_means(
    frame: pd.DataFrame, min_validation: Mapping[str, int] | int, part: str
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Average each metric over a seed's judged rounds; also return how many rounds that were."""
    judged = judged_rounds(frame, min_validation, part)
    metrics = [name for name in frame if name not in _NO_METRIC and not _SKIPPED.search(str(name))]
    values = frame[metrics].astype(float).where(judged)  # what is not judged is undefined
    seeds = [frame[name] for name in (*GROUP, "seed")]
    by_seed = values.groupby(seeds, sort=False)
    means = by_seed.mean().assign(seconds=frame["seconds"].groupby(seeds, sort=False).sum())
    counts = by_seed.count().assign(seconds=frame["round"].groupby(seeds, sort=False).count())
    return means, counts


def _over_seeds(means: pd.DataFrame, **more: pd.DataFrame) -> pd.DataFrame:
    """Average over seeds, with the 95 % t-interval of the mean."""
    grouped = means.groupby(level=GROUP, sort=False)
    with np.errstate(invalid="ignore"):  # an infinite loss has no deviation
        parts = {"mean": grouped.mean(), "std": grouped.std(), "seeds": grouped.count()} | more
    table = pd.concat(
        {k: v.rename_axis(columns="metric").stack() for k, v in parts.items()}, axis=1
    )
    half = half_width(table["std"], table["seeds"])
    return table.assign(low=table["mean"] - half, high=table["mean"] + half).reset_index()


def half_width(deviation: Any, seeds: Any) -> Any:
    """Return half of the width of a mean's 95 % t-interval, from the deviation over seeds."""
    from scipy.stats import t

    return t.ppf(0.975, seeds - 1) * deviation / np.sqrt(seeds)
