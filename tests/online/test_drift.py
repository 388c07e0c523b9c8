"""Inputs that change along a stream are noticed; inputs that do not change are not."""

import numpy as np
import pandas as pd
import pytest

from ffml.datasets import load
from ffml.online.arrays import watch_arrays, watch_from
from ffml.online.drift import InputWatch
from ffml.tables import Preprocessor, table_stream

ROWS = 300


def people(seed=0, rows=ROWS):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "income": rng.lognormal(3, 1, rows),
            "gain": np.where(rng.random(rows) < 0.08, rng.lognormal(8, 1.5, rows), 0.0),
            "balance": rng.normal(0, 5, rows),
            "job": rng.choice(["cook", "nurse", "smith", "tailor"], rows, p=[0.5, 0.3, 0.19, 0.01]),
            "sex": rng.choice(["F", "M"], rows),
            "y": rng.integers(0, 2, rows),
        }
    )


def drifts(frames, folder):
    """Play tables as tasks of one stream; return what was noticed in each."""
    named = [frame.assign(month=f"2024-{i + 1:02}") for i, frame in enumerate(frames)]
    pd.concat(named).to_csv(folder / "t.csv", index=False)
    stream = table_stream(folder / "t.csv", label="y", sensitive="sex", task="month")
    watch, found = InputWatch.of(stream.preprocessor), []
    for task in stream.tasks():
        found.append([f"{column}: {text}" for column, text in watch.compare(task)])
        watch = watch.update(task)
    return found


def test_a_unit_that_changes(tmp_path):
    later = people(1)
    later["income"] *= 1000
    smaller = people(2)
    smaller["balance"] /= 100
    found = drifts([people(), later, people(3), smaller], tmp_path)
    assert found[0] == [] and found[1] == ["income: about 1,000 times larger than before"]
    assert found[3] == ["balance: about 100 times smaller than before"]


def test_missing_values(tmp_path):
    later, job = people(1), people(2)
    later.loc[later.index[:60], "income"] = np.nan
    job.loc[job.index[:90], "job"] = None
    assert drifts([people(), later, people(3)], tmp_path) == [
        [],
        ["income: 20% of the values are missing, 0% before"],
        ["income: 0% of the values are missing, 10% before"],
    ]
    assert drifts([people(), job], tmp_path)[1] == [
        "job: '(missing)' is new, in 30% of the rows",
        "job: 30% of the values are missing, 0% before",
    ]


def test_new_categories(tmp_path):
    later = people(1)
    later.loc[later.index[:30], "job"] = "pilot"
    assert drifts([people(), later], tmp_path)[1] == ["job: 'pilot' is new, in 10% of the rows"]
    few = people(1)
    few.loc[few.index[:9], "job"] = "pilot"  # too few to tell
    assert drifts([people(), few], tmp_path)[1] == []
    # After a task of a few rows, what is new says nothing.
    assert drifts([people(rows=20), later], tmp_path)[1] == []


def test_categories_that_the_model_does_not_know():
    fitted = Preprocessor.fit(people()[["job"]])
    watch, job = InputWatch.of(fitted), pd.DataFrame({"job": ["cook"] * 70 + ["pilot"] * 30})
    from ffml.base import Task

    def task(frame):
        n = len(frame)
        return Task("t", fitted.transform(frame), np.zeros(n), np.zeros((n, 1)))

    (found,) = watch.update(task(people()[["job"]])).compare(task(job))
    assert found == ("job", "30% of the rows have values unknown to the model")


def test_quiet_while_nothing_changes(tmp_path):
    sizes = np.random.default_rng(0).integers(20, 400, 60)
    assert not any(drifts([people(i, rows) for i, rows in enumerate(sizes)], tmp_path))


def test_quiet_on_adult(tmp_path):
    """Rows of Adult in random order make tasks that are alike; nothing is said about them."""
    tasks = list(load("adult", seed=0).tasks())
    x = np.concatenate([task.x for task in tasks])
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(x[rng.permutation(len(x))[:9000]]).add_prefix("x")
    fitted = Preprocessor.fit(frame)
    watch, said = InputWatch.of(fitted), []
    for start in range(0, len(frame), 150):
        rows = fitted.transform(frame[start : start + 150])
        task = tasks[0]._replace(x=rows, missing=np.zeros(rows.shape[1]))
        said += watch.compare(task)
        watch = watch.update(task)
    assert said == []


def test_the_watch_survives_a_checkpoint():
    fitted = Preprocessor.fit(people()[["income", "job"]])
    watch = InputWatch.of(fitted)
    assert watch_arrays(None) == {} and watch_from(None, {}) is None
    assert watch_from(watch, {}) is watch  # an older run did not watch
    from ffml.base import FFMLError, Task

    x = fitted.transform(people()[["income", "job"]])
    seen = watch.update(Task("t", x, np.zeros(ROWS), np.zeros((ROWS, 1)), np.array([3, 0])))
    again = watch_from(watch, watch_arrays(seen))
    assert again.columns == seen.columns
    for name in InputWatch._fields[1:]:
        np.testing.assert_array_equal(getattr(again, name), getattr(seen, name))
    with pytest.raises(FFMLError, match="has other input columns than the table"):
        watch_from(InputWatch.of(Preprocessor.fit(people()[["income"]])), watch_arrays(seen))
