"""Task by task: who is treated how, and how far the tasks are apart."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from ffml.compare._summary import GROUP, MIN_VALIDATION, half_width, judged_rounds
from ffml.compare._tables import DIFFERENCES

METRICS = list(DIFFERENCES.values())


def task_means(
    frame: pd.DataFrame,
    min_validation: Mapping[str, int] | int = MIN_VALIDATION,
    part: str = "last_third",
) -> pd.DataFrame:
    """Average over a task's judged rounds, whatever the seed.

    Args:
        frame: of `Store.load`.
        min_validation: as in `summarise_results`.
        part: as in `summarise_results`.

    Returns:
        One row per label, data, validation share and task that was judged: in how many ``rounds``
        DP is defined, the mean of ``n_validation``, and the means of `METRICS`, NaN where no round
        defines them.
    """
    judged = frame[judged_rounds(frame, min_validation, part)]
    tasks = judged.groupby([*GROUP, "task"], sort=False)
    means = tasks[["n_validation", *METRICS]].mean()
    means.insert(0, "rounds", tasks["dp_of_ceiling"].count())
    return means.reset_index()


def summarise_tasks(means: pd.DataFrame) -> pd.DataFrame:
    """Average DP / ceiling over tasks, each counted once, and name the least even one.

    Seeds reorder the same tasks, so an interval over seeds is about these tasks; this one is about
    the mean of tasks of their kind. A single task can be far outside.

    Args:
        means: of `task_means`.

    Returns:
        One row per label, data and validation share: ``tasks`` in which DP is defined, ``mean``,
        ``low`` and ``high`` of its 95 % t-interval over tasks, the ``least_even`` task, its DP /
        ceiling as ``least`` and in how many ``rounds`` that was measured.
    """
    known = means.dropna(subset="dp_of_ceiling", ignore_index=True)
    groups = known.groupby(GROUP, sort=False)
    ratio = groups["dp_of_ceiling"]
    lowest = known.loc[ratio.idxmin()].set_index(GROUP)
    with np.errstate(invalid="ignore"):  # a single task has no deviation
        half = half_width(ratio.std(), ratio.size())
    table = pd.DataFrame(
        {
            "tasks": ratio.size(),
            "mean": ratio.mean(),
            "low": ratio.mean() - half,
            "high": ratio.mean() + half,
            "least_even": lowest["task"],
            "least": lowest["dp_of_ceiling"],
            "rounds": lowest["rounds"],
        }
    )
    return table.reset_index()
