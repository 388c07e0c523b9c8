"""Task by task: means over rounds in which a task came up, and over tasks."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from ffml.studies.compare import summarise_tasks, task_means

NAN = float("nan")


def judged(*rounds, label="a", data="adult"):
    """Rounds of a stream of 6: (seed, round, task, gap beyond chance, validation rows)."""
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
            "gap:sex=M": -gap,
            "gap_square:sex=M": gap**2,
            "gap_rows:sex=M": 40.0,
            "balanced_accuracy": 0.7,
            "accuracy": 0.8,
        }
        for seed, t, task, gap, rows in rounds
    )


def test_a_task_is_summed_up_over_its_judged_rounds_and_counts_once():
    frame = judged(
        (0, 4, "x", 0.9, 99),  # too early
        (0, 5, "x", 0.1, 60),
        (1, 5, "x", 0.3, 80),
        (1, 6, "y", 0.5, 50),
        (3, 5, "y", NAN, 50),  # one group has no rows
        (2, 6, "y", 0.9, 49),  # too few rows
        (2, 5, "z", NAN, 70),
        (3, 6, "z", 0.1, 70),
        (4, 6, "never", NAN, 70),
    )
    means = task_means(frame).set_index("task")
    squares = {"x": 0.05, "y": 0.25, "z": 0.01, "never": NAN}
    assert means["squared_gap"].to_dict() == pytest.approx(squares, nan_ok=True)
    assert means["long_run_gap"].to_dict() == pytest.approx(
        {"x": -0.2, "y": -0.5, "z": -0.1, "never": NAN}, nan_ok=True
    )
    assert means["rounds"].to_dict() == {"x": 2, "y": 1, "z": 1, "never": 0}
    assert means.loc["x", "n_validation"] == 70
    [row] = summarise_tasks(task_means(frame)).to_dict("records")
    tasks = np.array([0.05, 0.25, 0.01])
    low, high = stats.t.interval(0.95, 2, tasks.mean(), stats.sem(tasks))
    assert (row["tasks"], row["typical_gap"]) == (3, pytest.approx(tasks.mean() ** 0.5))
    assert low < 0 and (row["low"], row["high"]) == pytest.approx((0, high**0.5))
    assert (row["least_even"], row["largest"], row["rounds"]) == ("y", 0.5, 1)
    assert row["long_run_gap"] == -0.5


def test_methods_and_data_sets_are_apart_and_in_their_order():
    frames = [
        judged((0, 5, "x", 0.25, 60), (0, 6, "y", 0.125, 60), label="z", data="crime"),
        judged((0, 5, "x", 0.5, 60), label="b", data="crime"),
        judged((0, 5, "x", NAN, 60), label="b", data="adult"),
    ]
    table = summarise_tasks(task_means(pd.concat(frames, ignore_index=True)))
    assert list(zip(table["label"], table["largest"], strict=True)) == [("z", 0.25), ("b", 0.5)]
    assert np.isnan(table["high"].iloc[1])  # a single task
    nothing = summarise_tasks(task_means(frames[2]))
    assert nothing.empty and "least_even" in nothing
