"""Task by task: means over rounds in which a task came up, and over tasks."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from ffml.compare import summarise_tasks, task_means

NAN = float("nan")


def judged(*rounds, label="a", data="adult"):
    """Rounds of a stream of 6: (seed, round, task, DP / ceiling, validation rows)."""
    return pd.DataFrame(
        {
            "label": label,
            "data": data,
            "validation": 0.5,
            "seed": seed,
            "round": t,
            "rounds": 6,
            "task": task,
            "n_validation": rows,
            "dp_of_ceiling": dp,
            "eo_of_ceiling": dp,
            "balanced_accuracy": 0.7,
            "accuracy": 0.8,
        }
        for seed, t, task, dp, rows in rounds
    )


def test_a_task_is_the_mean_of_its_judged_rounds_and_counts_once():
    frame = judged(
        (0, 4, "x", 0.1, 99),  # too early
        (0, 5, "x", 0.8, 60),
        (1, 5, "x", 1.0, 80),
        (1, 6, "y", 0.5, 50),
        (3, 5, "y", NAN, 50),  # one decision for everybody
        (2, 6, "y", 0.1, 49),  # too few rows
        (2, 5, "z", NAN, 70),
        (3, 6, "z", 0.9, 70),
        (4, 6, "never", NAN, 70),
    )
    means = task_means(frame).set_index("task")
    assert means["dp_of_ceiling"].to_dict() == pytest.approx(
        {"x": 0.9, "y": 0.5, "z": 0.9, "never": NAN}, nan_ok=True
    )
    assert means["rounds"].to_dict() == {"x": 2, "y": 1, "z": 1, "never": 0}
    assert means.loc["x", "n_validation"] == 70
    [row] = summarise_tasks(task_means(frame)).to_dict("records")
    tasks = np.array([0.9, 0.5, 0.9])
    low, high = stats.t.interval(0.95, 2, tasks.mean(), stats.sem(tasks))
    assert (row["tasks"], row["mean"]) == (3, pytest.approx(tasks.mean()))
    assert (row["low"], row["high"]) == pytest.approx((low, high))
    assert (row["least_even"], row["least"], row["rounds"]) == ("y", 0.5, 1)


def test_methods_and_data_sets_are_apart_and_in_their_order():
    frames = [
        judged((0, 5, "x", 0.8, 60), (0, 6, "y", 0.9, 60), label="z", data="crime"),
        judged((0, 5, "x", 0.7, 60), label="b", data="crime"),
        judged((0, 5, "x", NAN, 60), label="b", data="adult"),
    ]
    table = summarise_tasks(task_means(pd.concat(frames, ignore_index=True)))
    assert list(zip(table["label"], table["least"], strict=True)) == [("z", 0.8), ("b", 0.7)]
    assert np.isnan(table["high"].iloc[1])  # a single task
    nothing = summarise_tasks(task_means(frames[2]))
    assert nothing.empty and "least_even" in nothing
