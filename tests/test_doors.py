"""The same person gets the same decision through every door, byte for byte."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from inside import run_inside

import ffml
from ffml import scoring
from ffml.base import FFMLError
from ffml.estimator import FairMetaClassifier

FEATURES = ["age", "income", "job"]
ROLES = {"label": "approved", "positive": "yes", "sensitive": "sex", "task": "month"}
SMALL = {"shots": 10, "tasks_per_round": 3, "rows_per_task": 64}
QUICK = {"num_outer_steps": 2, "inner.num_steps": 1}
RECIPES = {
    "default": ({}, ("F", "M"), True),
    "mlp": (
        {"method": "ffml", "model": "mlp", "model.hidden": (4,), **SMALL, **QUICK},
        ("F", "M"),
        False,
    ),
    "three": (
        {"method": "ffml-exact", "wrappers": ("evened",), **SMALL},
        ("a", "b", "c"),
        False,
    ),
}


def people(rows, months, seed, groups):
    rng = np.random.default_rng(seed)
    sex = rng.choice(groups, rows)
    income = rng.normal(50, 10, rows) + 5 * (sex == groups[-1])
    return pd.DataFrame(
        {
            "applicant": [f"{seed}-{i}" for i in range(rows)],
            "month": np.sort(rng.choice(months, rows)),
            "age": rng.integers(18, 70, rows),
            "income": income.round(1),
            "job": rng.choice(["office", "shop", "farm"], rows),
            "sex": sex,
            "approved": np.where(income + rng.normal(0, 5, rows) > 52, "yes", "no"),
        }
    )


class Doors:
    """A run, people who come next, and what is decided about them."""

    def __init__(self, folder, settings, groups, has_ids):
        self.folder, self.at = folder, folder / "run"
        self.past = past = people(300, ["2024-01", "2024-02", "2024-03"], 0, groups)
        self.next = people(2000, ["2024-04"], 1, groups)
        names = {"id": "applicant"} if has_ids else {"drop": "applicant"}
        self.run = ffml.run(past, out=self.at, **ROLES, **names, **settings)
        self.run.write_views()
        self.unlabelled = self.next.drop(columns="approved")
        self.expected = self.run.decide(self.unlabelled, record=False)
        self.unlabelled.to_csv(folder / "next.csv", index=False)
        self.unlabelled.to_parquet(folder / "next.parquet")

    def assert_same(self, probability, decision, rows=slice(None)):
        expected = self.expected.iloc[rows]
        same = np.asarray(expected.probability, np.float32).tobytes()
        assert np.ascontiguousarray(probability, np.float32).tobytes() == same
        np.testing.assert_array_equal(decision, expected.decision)


@pytest.fixture(scope="module", params=RECIPES)
def doors(request, tmp_path_factory):
    doors = Doors(tmp_path_factory.mktemp(request.param), *RECIPES[request.param])
    yield doors
    doors.run.close()


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_decide_in_batches(doors, size):
    most = {1: 30, 7: 140, 1000: 2000}[size]
    parts = [
        doors.run.decide(doors.unlabelled.iloc[first : first + size], record=False)
        for first in range(0, most, size)
    ]
    found = pd.concat(parts)
    doors.assert_same(found.probability, found.decision, slice(0, most))


@pytest.mark.parametrize("table", ["next.csv", "next.parquet"])
@pytest.mark.parametrize("model", ["run", "run/model.safetensors"])
def test_predict(doors, table, model):
    run_inside(doors.folder, "predict", model, table, "--out", "said.parquet")
    found = pd.read_parquet(doors.folder / "said.parquet")
    doors.assert_same(found.probability, found.decision)
    assert found.probability.dtype == np.float32


def test_the_classifier(doors):
    model = FairMetaClassifier.from_run(doors.at)
    table = doors.next[FEATURES]
    decision = model.predict(table) == "yes"
    doors.assert_same(model.predict_proba(table)[:, 1], decision)
    alone = table.iloc[[1500]]
    doors.assert_same(model.predict_proba(alone)[:, 1], model.predict(alone) == "yes", [1500])


def test_scoring(doors):
    scorer = scoring.prepare(doors.at)
    rows = pa.Table.from_pandas(doors.unlabelled, preserve_index=False)
    found = pa.Table.from_batches(scoring.score(scorer, rows.to_batches(max_chunksize=300)))
    doors.assert_same(found["probability"].to_numpy(), found["decision"].to_numpy())


def test_a_task_that_comes_whole_is_priced_as_update_prices_it(doors, tmp_path):
    """By --together, by `decide(together=True)` and by the update itself."""
    together = doors.run.decide(doors.unlabelled, record=False, together=True)
    run_inside(doors.folder, "predict", "run", "next.csv", "--together", "--out", "t.parquet")
    found = pd.read_parquet(doors.folder / "t.parquet")
    pd.testing.assert_frame_equal(
        found[["probability", "decision"]].astype(float),
        together[["probability", "decision"]].astype(float),
        check_exact=True,
    )
    FairMetaClassifier.from_run(doors.at).save(tmp_path / "copy")
    with ffml.open(tmp_path / "copy").store as store:
        run = ffml.runs.Run(store)
        run.update(doors.next.assign(approved=None))
        decided = run.decisions
        assert run.verify().sound
    decided = decided[decided.task == "2024-04"]
    assert len(decided) == len(together)
    np.testing.assert_array_equal(decided.decision, together.decision)
    np.testing.assert_array_equal(decided.probability.astype(np.float32), together.probability)


def test_labelled_rows_are_adapted_to_alike(doors):
    support = doors.next.iloc[:60]
    support.to_csv(doors.folder / "support.csv", index=False)
    found = doors.run.decide(doors.unlabelled, record=False, support=support)
    run_inside(
        *(doors.folder, "predict", "run", "next.csv"),
        *("--support", "support.csv", "--out", "s.parquet"),
    )
    said = pd.read_parquet(doors.folder / "s.parquet")
    model = FairMetaClassifier.from_run(doors.at).adapt(
        support[FEATURES], support.approved, sensitive_features=support.sex
    )
    for other in (said.probability, model.predict_proba(doors.next[FEATURES])[:, 1]):
        np.testing.assert_array_equal(other, found.probability)
    np.testing.assert_array_equal(said.decision, found.decision)


def test_a_version_that_was_rolled_back_to_decides_at_every_door(doors):
    run, table = doors.run, doors.next[FEATURES]
    run_inside(doors.folder, "promote", "run", "--back")  # writes the model's file
    try:
        expected = run.decide(doors.unlabelled, record=False)
        assert set(expected.version) == {run.store.version_number - 1}
        assert (expected.probability != doors.expected.probability).any()
        for model in ("run", "run/model.safetensors"):
            run_inside(doors.folder, "predict", model, "next.parquet", "--out", "b.parquet")
            found = pd.read_parquet(doors.folder / "b.parquet")
            np.testing.assert_array_equal(found.probability, expected.probability)
            np.testing.assert_array_equal(found.decision, expected.decision)
        classifier = FairMetaClassifier.from_run(doors.at)
        said = classifier.predict_proba(table)[:, 1].astype(np.float32)
        np.testing.assert_array_equal(said, expected.probability)
        with pytest.raises(FFMLError, match="is the newest, from which its stream goes on"):
            classifier.partial_fit(table, doors.next.approved, sensitive_features=doors.next.sex)
    finally:
        run_inside(doors.folder, "promote", "run")


def test_who_was_decided_about_in_a_whole_task_keeps_that_decision(doors):
    """By `decide`; `predict` and ``record=False`` say what the model would decide now."""
    kept = doors.run.decisions
    kept = kept[(kept.task == "2024-03") & kept.decision.notna()].set_index("id")
    if not kept.index.isin(doors.past.applicant).all():
        pytest.skip("rows without ids")
    there = doors.past[doors.past.applicant.isin(kept.index)].drop(columns="approved")
    events = len(doors.run.store.events())
    said = doors.run.decide(there).set_index("id")
    np.testing.assert_array_equal(said.decision, kept.decision[said.index])
    assert len(doors.run.store.events()) == events
    there.to_csv(doors.folder / "there.csv", index=False)
    run_inside(doors.folder, "predict", "run", "there.csv", "--out", "now.parquet")
    now = doors.run.decide(there, record=False)
    found = pd.read_parquet(doors.folder / "now.parquet")
    np.testing.assert_array_equal(found.decision, now.decision)
    np.testing.assert_array_equal(found.probability, now.probability)


def test_recorded_decisions_are_those_that_were_said(doors):
    """The last one: the ledger has people of another task then."""
    found = doors.run.decide(doors.unlabelled)
    doors.assert_same(found.probability, found.decision)
    kept = doors.run.decisions
    kept = kept[kept.task == "2024-04"]
    assert sorted(kept.probability.astype(np.float32)) == sorted(doors.expected.probability)
    again = doors.run.decide(doors.unlabelled.sample(frac=1, random_state=0)).sort_values("id")
    assert again.probability.tolist() == found.sort_values("id").probability.tolist()
    assert len(doors.run.decisions) == 2150 and doors.run.verify().sound  # half of 300 supported
