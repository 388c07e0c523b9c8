"""From rounds to the few numbers of a table: means over rounds, then over seeds."""

import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from ffml.border import one_of
from ffml.studies._evenness import EVENNESS, evenness, root

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
    *EVENNESS,  # never averaged over rounds
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

    How even decisions were is no mean over rounds. ``dp_of_ceiling`` and ``eo_of_ceiling`` are a
    seed's mean ratio divided by its mean ceiling. ``typical_gap`` and ``long_run_gap`` are those of
    `ffml.metrics.gap_statistics`, as shares, for the group with the largest typical gap. Squared
    gaps are averaged over seeds before the root is taken, as single seeds are too noisy; the root
    has no ``std``. The long-run gap has a sign: seeds of opposite signs cancel in its mean.

    Args:
        frame: of `Store.load`.
        min_validation: leave out rounds judged on fewer rows: a number, or one by data set, where
            50 is the default.
        part: "last_third" (rounds t with 3t > 2T), "all" rounds, or the "last" one.

    Returns:
        One row per label, data, validation share and metric: ``mean``, ``std`` over seeds (sample
        standard deviation), ``low`` and ``high`` of the mean's 95 % t-interval, ``seeds`` and
        ``rounds`` with a defined value, how many rounds were ``judged``, and the ``comparison``
        that gaps are of, such as "sex=M": its rate minus that of the others. What is undefined is
        NaN: a metric without a defined round, the spread of a single seed. ``seconds`` is a seed's
        total over all of its rounds.
    """
    judged = judged_rounds(frame, min_validation, part)
    means, counts = by_seed_means(frame, judged)
    table = _over_seeds(means, rounds=counts.groupby(level=GROUP, sort=False).sum())
    numbers = judged.groupby([frame[name] for name in GROUP], sort=False).sum().rename("judged")
    compared = evenness(frame[judged], GROUP, GROUP)[2].rename("comparison")
    table = _rooted(table).join(numbers, on=GROUP).join(compared, on=GROUP)
    table = table.fillna({"comparison": ""})
    columns = ["mean", "std", "low", "high", "seeds", "rounds", "judged", "comparison"]
    return table[[*GROUP, "metric", *columns]].astype({"seeds": int, "rounds": int, "judged": int})


def paired_differences(frame: pd.DataFrame, reference: str | None = None) -> pd.DataFrame:
    """Subtract one method's mean from those of the others, seed by seed.

    Methods that share a seed share tasks, order and splits, and so most of the noise: their
    difference is known better than either number.

    Args:
        frame: of `Store.load`.
        reference: the label that the others are compared with; by default the first one.

    Returns:
        One row per other label, data, validation share and metric: ``mean`` of (other - reference)
        over the seeds in which both are defined, ``std``, ``low``, ``high`` and ``seeds``. Whether
        typical gaps differ is a question of the squared ones, seed by seed.
    """
    labels = list(dict.fromkeys(frame["label"]))
    chosen = one_of("label", reference or labels[0], {label: label for label in labels})
    means, _ = by_seed_means(frame)
    others = means.drop(index=chosen, level="label")
    of_chosen = means[means.index.get_level_values("label") == chosen].droplevel("label")
    beside = of_chosen.reindex(others.index.droplevel("label"))
    beside.index = others.index
    with np.errstate(invalid="ignore"):  # infinite losses
        table = _over_seeds(others - beside)
    columns = [*GROUP, "metric", "mean", "std", "low", "high", "seeds"]
    return _rooted_differences(table, others, beside)[columns].astype({"seeds": int})


def judged_rounds(
    frame: pd.DataFrame,
    min_validation: Mapping[str, int] | int = MIN_VALIDATION,
    part: str = "last_third",
) -> pd.Series:
    """Mark the rounds of a part that were judged on enough rows."""
    least = frame["data"].map(lambda data: enough_rows(data, min_validation))
    return (frame["n_validation"] >= least.clip(lower=1)) & one_of("part", part, PARTS)(frame)


def by_seed_means(
    frame: pd.DataFrame, judged: pd.Series | None = None
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Sum up each metric over a seed's judged rounds; also return how many rounds that were."""
    judged = judged_rounds(frame) if judged is None else judged
    metrics = [name for name in frame if name not in _NO_METRIC and not _SKIPPED.search(str(name))]
    values = frame[metrics].astype(float).where(judged)  # what is not judged is undefined
    seeds = [frame[name] for name in (*GROUP, "seed")]
    by_seed = values.groupby(seeds, sort=False)
    means = by_seed.mean().assign(seconds=frame["seconds"].groupby(seeds, sort=False).sum())
    counts = by_seed.count().assign(seconds=frame["round"].groupby(seeds, sort=False).count())
    even, defined, _ = evenness(frame[judged], GROUP, [*GROUP, "seed"])
    defined = defined.reindex(counts.index, fill_value=0)  # a seed may have no judged round
    return means.join(even), counts.join(defined)


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


def _rooted(table: pd.DataFrame) -> pd.DataFrame:
    """Turn squared gaps, averaged over seeds, into typical gaps."""
    squared, ends = table["metric"] == "squared_gap", ["mean", "low", "high"]
    table.loc[squared, ends] = root(table.loc[squared, ends])
    return _renamed(table)


def _rooted_differences(
    table: pd.DataFrame, others: pd.DataFrame, beside: pd.DataFrame
) -> pd.DataFrame:
    """Turn differences of squared gaps into those of gaps: a - b = (√a - √b)(√a + √b)."""
    both = others["squared_gap"].notna() & beside["squared_gap"].notna()
    a, b = (root(m["squared_gap"][both].groupby(level=GROUP).mean()) for m in (others, beside))
    squared, ends = table["metric"] == "squared_gap", ["low", "high"]
    places = pd.MultiIndex.from_frame(table.loc[squared, GROUP])
    total = (a + b).where(a + b > 0).reindex(places).to_numpy()
    table.loc[squared, ends] = table.loc[squared, ends].div(total, axis=0)
    table.loc[squared, "mean"] = (a - b).reindex(places).to_numpy()
    return _renamed(table)


def _renamed(table: pd.DataFrame) -> pd.DataFrame:
    table.loc[table["metric"] == "squared_gap", "std"] = np.nan
    return table.replace({"metric": {"squared_gap": "typical_gap"}})


def half_width(deviation: Any, seeds: Any) -> Any:
    """Return half of the width of a mean's 95 % t-interval, from the deviation over seeds."""
    from scipy.stats import t

    return t.ppf(0.975, seeds - 1) * deviation / np.sqrt(seeds)
