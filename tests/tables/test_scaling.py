"""Numbers at their own scale: a column may be shifted and stretched as one likes."""

import json

import numpy as np
import pytest

from ffml.tables import Preprocessor
from ffml.tables.scaling import RunningScaler

INCOME = np.random.default_rng(0).normal(30_000, 9_000, 2_000).round(2)
MOVES = {
    "as it is": (0.0, 1.0),
    "1.7e9 added": (1.7e9, 1.0),
    "1e12 taken off": (-1e12, 1.0),
    "in units of 1e-25": (0.0, 1e25),
    "in units of 1e25": (0.0, 1e-25),
    "both": (1e9, 1e20),
}


def in_single_precision(preprocessor, values):
    """Encode a column, keep it in single precision as trees do, and standardise it."""
    x = preprocessor.transform({"income": values}).astype(np.float32)
    return RunningScaler.empty(preprocessor.scaled).update(x).transform(x)[:, 0]


@pytest.mark.parametrize("move", MOVES)
def test_single_precision_tells_people_apart_at_any_scale(move):
    offset, factor = MOVES[move]
    moved = (INCOME + offset) * factor
    expected = (INCOME - INCOME.mean()) / INCOME.std()
    found = in_single_precision(Preprocessor.fit({"income": moved}), moved)
    assert np.abs(found - expected).max() < 1e-3


def test_ordinary_columns_are_taken_as_they_are():
    for values in (INCOME, np.arange(100.0), np.full(5, 2024.0), np.array([0, 0, 0, 1e6])):
        assert Preprocessor.fit({"income": values}).transform({"income": values})[
            :, 0
        ].tolist() == (values.tolist())


def test_only_the_first_task_says_how_far_off_a_column_is():
    later = np.append(INCOME + 1.7e9, [0.0, 5.0])
    tasks = np.append(np.zeros(len(INCOME), int), [1, 1])
    assert (
        Preprocessor.fit({"income": later}, tasks).columns
        == Preprocessor.fit({"income": INCOME + 1.7e9}).columns
    )


def test_json_keeps_the_move_and_says_nothing_of_ordinary_columns():
    far = Preprocessor.fit({"income": INCOME + 1.7e9, "age": INCOME})
    saved = json.loads(json.dumps(far.to_json()))
    assert set(saved["columns"][0]) == {"kind", "name", "median", "offset"}
    assert set(saved["columns"][1]) == {"kind", "name", "median"}
    assert Preprocessor.from_json(saved) == far
    assert far.columns[0].as_written(far.columns[0].encode(pa_column())) == pytest.approx(1.7e9)


def pa_column():
    import pyarrow as pa

    return pa.array([1.7e9])
