"""Task by task: who is treated how, and how far the tasks are apart."""

import numpy as np
import pandas as pd

from ffml.studies._evenness import evenness, root
from ffml.studies.compare._summary import GROUP, half_width, judged_rounds


def task_means(frame: pd.DataFrame) -> pd.DataFrame:
    """Sum up a task's judged rounds of the last third, whatever the seed.

    Returns:
        One row per label, data, validation share and task that was judged: in how many ``rounds``
        its typical gap could be measured, the ``comparison`` with the largest one, the means of
        ``n_validation`` and of the accuracies, ``squared_gap`` (whose root is the typical gap; 0 if
        it is negative), and the others of `summarise_results`, NaN where no round defines them.
    """
    judged = frame[judged_rounds(frame)]
    place = [*GROUP, "task"]
    even, rounds, compared = evenness(judged, place, place)
    tasks = judged.groupby(place, sort=False)
    means = tasks[["n_validation", "balanced_accuracy", "accuracy"]].mean()
    table = pd.concat([means, even], axis=1)
    table.insert(0, "comparison", compared)
    table.insert(0, "rounds", rounds["squared_gap"])
    return table.reset_index()


def summarise_tasks(means: pd.DataFrame) -> pd.DataFrame:
    """Average the squared gaps of tasks, each counted once, and name the least even one.

    Seeds reorder the same tasks, so an interval over seeds is about these tasks; this one is about
    the mean of tasks of their kind. A single task can be far outside.

    Returns:
        One row per label, data and validation share: ``tasks`` whose gap could be measured, the
        ``typical_gap`` with ``low`` and ``high`` of its 95 % t-interval over tasks, the
        ``least_even`` task, its typical gap as ``largest``, in how many ``rounds`` that was
        measured, and its ``long_run_gap``.
    """
    known = means.dropna(subset="squared_gap", ignore_index=True)
    groups = known.groupby(GROUP, sort=False)
    square = groups["squared_gap"]
    worst = known.loc[square.idxmax()].set_index(GROUP)
    with np.errstate(invalid="ignore"):  # a single task has no deviation
        half = half_width(square.std(), square.size())
    table = pd.DataFrame(
        {
            "tasks": square.size(),
            "typical_gap": root(square.mean()),
            "low": root(square.mean() - half),
            "high": root(square.mean() + half),
            "least_even": worst["task"],
            "largest": root(worst["squared_gap"]),
            "long_run_gap": worst["long_run_gap"],
            "rounds": worst["rounds"],
        }
    )
    return table.reset_index()
