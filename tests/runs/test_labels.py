"""Labels that come later: as if they had been there in replay, safe, and never contradicted."""

import json
import shutil
from contextlib import suppress

import pandas as pd
import pytest
from faults import Disk, Killed
from ffml.runs.generations import newest_generation
from months import MONTHS, OPTIONS, hurry_too, run, write_months
from workshop import exact

import ffml
from ffml.base import FFMLError

APRIL, MAY = MONTHS[3:]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The tables, and runs over all months and over the first three: labels come a month late."""
    folder = tmp_path_factory.mktemp("months")
    write_months(folder)
    late = ["--set", "label_delay=1", "--set", "data.id=applicant"]
    with pytest.MonkeyPatch.context() as patch:
        hurry_too(patch)
        for table, out in (("all.csv", "whole"), ("begun.csv", "begun")):
            run(folder / table, *late, *OPTIONS, "--out", folder / out)
    return folder


@pytest.fixture(autouse=True)
def in_a_hurry(monkeypatch):
    hurry_too(monkeypatch)


@pytest.fixture
def begun(folder, tmp_path):
    shutil.copytree(folder / "begun", tmp_path / "run")
    return tmp_path / "run"


@pytest.fixture(scope="module")
def month(folder):
    return {name: pd.read_csv(folder / f"{name}.csv") for name in MONTHS}


def outcome(run_dir):
    """All but the files that say when labels came."""
    document, arrays = newest_generation(run_dir).contents
    summary = json.loads((run_dir / "summary.json").read_text())
    del summary["seconds"]
    tables = [(run_dir / name).read_bytes() for name in ("rounds.csv", "groups.csv")]
    return tables, exact(arrays), document["memory"], summary, document["waiting"]


def unlabelled(table):
    return table.drop(columns="approved")


def labels(table):
    return table[["applicant", "approved"]]


def test_late_labels_are_those_of_the_replay(folder, begun, month):
    """Decide about April, then May, then hear of April, then of May: as with label_delay=1."""
    (april,) = ffml.update(begun, unlabelled(month[APRIL]))
    assert april.n_unlabelled == 60 and april.undefined["eo"] == "no labels yet"
    assert april.tables["sex"][:, 2].sum() == 60 and "dp" not in april.undefined
    ffml.update(begun, unlabelled(month[MAY]))
    assert ffml.label(begun, labels(month[APRIL].sample(frac=1, random_state=0)))[2] == (APRIL,)
    assert ffml.label(begun, labels(month[MAY])[30:]) == (30, 0, ())
    found = json.loads((begun / "summary.json").read_text())["answer"]
    assert found["people"] - found["labelled"] == 30
    assert f"30 of {found['people']} people have no label yet" in (
        begun / "model_card.md"
    ).read_text().replace("\\", "").replace("\n", " ")
    assert ffml.label(begun, labels(month[MAY])) == (30, 30, ())  # learned from after round 6
    assert outcome(begun) == outcome(folder / "whole")


def test_nothing_is_learned_before_its_label_could_be_known(folder):
    """Of round t, the labels of round t - 1 are the last that the decision knows."""
    changed = pd.read_csv(folder / "all.csv")
    flipped = changed.approved.map({"yes": "no", "no": "yes"})
    changed["approved"] = changed.approved.where(changed.month < APRIL, flipped)
    changed.to_csv(folder / "changed.csv", index=False)
    late = ["--set", "label_delay=1", "--set", "data.id=applicant"]
    run(folder / "changed.csv", *late, *OPTIONS, "--out", folder / "changed")
    for month in (APRIL, MAY):
        one, other = (
            pd.read_parquet(
                folder / out / "decisions" / f"round-{MONTHS.index(month) + 1:06d}.parquet"
            )
            for out in ("whole", "changed")
        )
        assert (one.probability == other.probability).all()
        assert (one.label != other.label).all()


def test_decisions_are_kept(folder):
    kept = pd.read_parquet(folder / "whole" / "decisions")
    assert len(kept) == 300 and kept.id.is_unique
    assert set(kept["group:sex"]) == {"F", "M"}
    assert ((kept.probability > 0.5) == kept.decision).all()


def test_the_same_labels_twice_and_what_is_refused(begun, month):
    ffml.update(begun, unlabelled(month[APRIL]))
    april = labels(month[APRIL])
    assert ffml.label(begun, april[:20]) == (20, 0, ())
    assert ffml.label(begun, april[:20]) == (0, 20, ())
    before = {p: p.read_bytes() for p in sorted(begun.rglob("*")) if p.is_file()}
    wrong = april[:1].assign(approved={"yes": "no", "no": "yes"}[april.approved.iloc[0]])
    strangers = april.assign(applicant=april.applicant + 10_000)
    for data, message in (
        (wrong, "the past has changed: id '180' has label"),
        (pd.concat([april[20:30], april[25:26].assign(approved="maybe")]), "more than two values"),
        (strangers, "nothing was decided about id '10180' and 59 others"),
        (april.drop(columns="applicant"), "no id column 'applicant'"),
        (april.drop(columns="approved"), "no label column 'approved'"),
    ):
        with pytest.raises(FFMLError, match=message):
            ffml.label(begun, data)
        assert {p: p.read_bytes() for p in sorted(begun.rglob("*")) if p.is_file()} == before
    assert ffml.label(begun, labels(month[MONTHS[0]])) == (0, 60, ())  # learned from long ago
    with pytest.raises(FFMLError, match="has '180' twice in task '2024-05'"):
        ffml.update(begun, month[MAY].assign(applicant=180))


def test_an_id_that_comes_again_needs_its_task(begun, month):
    ffml.update(begun, unlabelled(month[APRIL]))
    again = month[MAY].assign(applicant=month[APRIL].applicant.to_numpy())
    ffml.update(begun, unlabelled(again))
    with pytest.raises(FFMLError, match="'180' is in several tasks \\(2024-04, 2024-05\\)"):
        ffml.label(begun, labels(again))
    assert ffml.label(begun, again[["applicant", "month", "approved"]]).new == 60


def test_labels_of_the_approved_only_are_noticed(begun, month, run_main):
    ffml.update(begun, unlabelled(month[APRIL]))
    kept = pd.read_parquet(begun / "decisions" / "round-000004.parquet")
    approved = kept.id[kept.decision].astype(int)
    some = labels(month[APRIL])[month[APRIL].applicant.isin(approved)]
    some.to_csv(begun.parent / "some.csv", index=False)
    assert "labels of 60 people are not there yet" in run_main("check", begun, "--max-gap", "1")[1]
    code, out, _ = run_main("label", begun, begun.parent / "some.csv")
    found = json.loads((begun / "summary.json").read_text())["answer"]
    assert code == 0 and f"{len(some)} new labels, 0 known before" in out
    shares = found["labels"]
    assert shares["if_positive"] == 1 and shares["if_negative"] == 0 and shares["selective"]
    assert "Labels came for 100 % of those approved and 0 % of the others" in " ".join(out.split())
    assert found["accuracy"] is None and "accuracy cannot be measured" in out


def test_a_pilot_of_labels_supports_the_decision_about_the_others(folder, tmp_path, month):
    run(folder / "begun.csv", "--drop", "applicant", *OPTIONS, "--out", tmp_path / "run")
    april = month[APRIL].copy()
    april.loc[april.index[20:], "approved"] = None
    (record,) = ffml.update(tmp_path / "run", april, id="applicant")
    assert record.n_support > 0 and record.n_unlabelled == 40
    kept = pd.read_parquet(tmp_path / "run" / "decisions")
    assert kept.decision.isna().sum() == 20
    assert ffml.label(tmp_path / "run", labels(month[APRIL])[20:]) == (40, 0, (APRIL,))


@pytest.mark.parametrize("mode", ["kill", "power"])
def test_a_kill_at_any_operation_loses_nothing(mode, folder, begun, month, tmp_path):
    def work(run_dir):
        ffml.update(run_dir, unlabelled(month[APRIL]))
        ffml.update(run_dir, unlabelled(month[MAY]))
        ffml.label(run_dir, labels(month[APRIL]))
        ffml.label(run_dir, labels(month[MAY]))

    at, killed = 0, tmp_path / "killed"
    while True:
        at += {"kill": 9, "power": 13}[mode]
        shutil.copytree(begun, killed)
        with pytest.MonkeyPatch.context() as patch:
            disk = Disk(patch, mode, at, seed=at)
            with suppress(Killed):
                work(killed)
        work(killed)
        assert outcome(killed) == outcome(folder / "whole"), at
        shutil.rmtree(killed)
        if not disk.dead:
            break
    assert at > 80
