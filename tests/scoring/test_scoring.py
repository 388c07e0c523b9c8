"""Decisions where the rows are: those of ``ffml predict``, however rows are cut and sent."""

import pickle
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest
from inside import run_inside
from loans import ROLES, write_loans
from quick import QUICK, SMALL

from ffml import scoring
from ffml.base import FFMLError, Prediction
from ffml.online.blocks import BLOCK, predict_rows
from ffml.scoring.model import load_model, preprocessor_of
from ffml.scoring.table import needed_columns
from ffml.tables import open_table

OWN = ["--drop", "applicant", *QUICK, *SMALL, "-q"]


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    """Two runs: one whose θ decides alone, one whose prices are found on people."""
    folder = tmp_path_factory.mktemp("learned")
    table = write_loans(folder / "loans.csv")
    for name, more in (("plain", []), ("evened", ["--with", "evened"])):
        run_inside(folder, "run", table, *ROLES, *OWN, *more, "--out", folder / name)
    return folder


def rows_of(table):
    [batch] = open_table(table).batches(open_table(table).columns)
    return batch


@pytest.mark.parametrize("name", ["plain", "evened"])
def test_batches_of_any_size_and_order_give_the_bytes_of_predict(name, learned, run_main, tmp_path):
    table = learned / "loans.csv"
    out = ["--together", "--out", "d.parquet"]
    code, _, err = run_main("predict", learned / name, table, *out)
    assert code == 0, err
    expected = rows_of(tmp_path / "d.parquet")
    scorer = pickle.loads(pickle.dumps(scoring.prepare(learned / name, people=table)))
    rows, rng = rows_of(table), np.random.default_rng(0)
    order = rng.permutation(len(rows))
    cuts = np.sort(rng.choice(np.arange(1, len(rows)), 5, replace=False))
    batches = [rows.take(pa.array(part)) for part in np.split(order, cuts)]
    found = list(scoring.score(scorer, batches, keep=["applicant"]))
    assert [len(batch) for batch in found] == [len(batch) for batch in batches]
    joined = pa.Table.from_batches(found)
    assert joined["applicant"].to_pylist() == rows.column("applicant").take(order).to_pylist()
    for column in ("probability", "decision"):
        same = expected.column(column).to_numpy()[order]
        assert joined[column].to_numpy().tobytes() == same.tobytes()


def test_a_probability_does_not_depend_on_the_batch():
    """Matrix products of other sizes round otherwise, so that blocks have one size."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(BLOCK + 700, 27)).astype(np.float32)
    weights = rng.normal(size=(27, 3)).astype(np.float32)

    def probability(rows):
        return predict_rows(lambda x: Prediction(*(x @ weights).T), rows).probability

    whole = probability(x)
    for start, stop in ((0, 1), (5, 12), (3, 66), (100, BLOCK + 150), (BLOCK, len(x))):
        assert np.array_equal(probability(x[start:stop]), whole[start:stop])


def test_workers_need_no_jax_where_parameters_decide(learned, tmp_path):
    path = tmp_path / "scorer"
    path.write_bytes(pickle.dumps(scoring.prepare(learned / "plain")))
    probe = f"""
import pickle, sys
from ffml import scoring
from ffml.tables import open_table
source = open_table({str(learned / "loans.csv")!r})
scorer = pickle.loads(open({str(path)!r}, "rb").read())
[batch] = scoring.score(scorer, source.batches(source.columns))
assert len(batch) == 240 and "jax" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", probe], check=True)


def test_refusals(learned):
    with pytest.raises(FFMLError, match="nowhere does not exist; give a run's folder"):
        scoring.prepare("nowhere")
    preprocessor = preprocessor_of(load_model(learned / "plain" / "model.safetensors"))
    for columns, keep, message in (
        (["age", "income"], [], "the frame has no column 'job', which the model needs"),
        (preprocessor.names, ["name"], "the frame has no column 'name' to keep"),
    ):
        with pytest.raises(FFMLError, match=message):
            needed_columns(preprocessor, columns, keep, "the frame")
