"""One state, three faces: what the command line, a function or the classifier began goes on."""

import json
import pickle

import numpy as np
import pandas as pd
import pytest
from loans import ROLES, write_loans
from quick import QUICK, SMALL
from towns import FRAME, SEX, TOWN, X, Y, classifier

import ffml
from ffml.base import FFMLError
from ffml.estimator import FairMetaClassifier
from ffml.store import Store

OPTIONS = [*ROLES, "--drop", "applicant", "--method", "ffml", *QUICK, *SMALL, "--quiet"]
PAGES = ("report.html", "model_card.md")
MONTHS = ["2024-01", "2024-02", "2024-03", "2024-04"]


def features(table):
    return table[["age", "income", "job"]]


def state(folder):
    """What the newest version of a ledger is, to the byte."""
    with Store.open(folder) as store:
        return store.version().checksum


def sound(folder):
    with Store.open(folder) as store:
        found = ffml.runs.Run(store).verify()
    assert found.sound, found.findings
    return found


@pytest.fixture
def loans(tmp_path, run_main):
    """A table of four months, and a run over the first three."""
    table = pd.read_csv(write_loans(tmp_path / "loans.csv"))
    table[table.month < MONTHS[3]].to_csv(tmp_path / "begun.csv", index=False)
    assert run_main("run", "begun.csv", *OPTIONS, "--out", "run")[0] == 0
    return table


def test_the_classifier_goes_on_with_a_run_of_the_command_line(loans, tmp_path, run_main):
    model = FairMetaClassifier.from_run("run")
    assert model.classes_.tolist() == ["no", "yes"] and model.n_rounds_ == 3
    assert model.get_params()["settings"]["num_outer_steps"] == 2
    april = loans[loans.month == MONTHS[3]]
    model.partial_fit(features(april), april.approved, sensitive_features=april.sex, task=MONTHS[3])
    assert model.save("run").name == "report.html"
    assert run_main("run", "loans.csv", *OPTIONS, "--out", "whole")[0] == 0
    assert state("run") == state("whole") and sound("run").decisions == len(loans)
    code, out, _ = run_main("update", "run", "loans.csv")
    assert code == 0 and "nothing new" in out  # the same past, by its fingerprint
    assert run_main("predict", "run", "loans.csv")[0] == 0
    decided = pd.read_csv("decisions.csv")
    again = FairMetaClassifier.from_run("run").predict_proba(features(loans))[:, 1]
    np.testing.assert_array_equal(again, decided.probability.astype(np.float32))


def test_people_unlike_those_learned_from_are_warned_of_once_a_call(loans):
    model = FairMetaClassifier.from_run("run")
    model.predict(features(loans))  # warnings are errors in tests
    later = features(loans).assign(income=loans.income / 100)
    for decide in (
        model.predict,
        pickle.loads(pickle.dumps(model)).predict_proba,
        lambda x: model.adapt(x, loans.approved, sensitive_features=loans.sex),
        lambda x: model.adapt(
            features(loans), loans.approved, sensitive_features=loans.sex, unlabelled=x
        ),
    ):
        with pytest.warns(ffml.InputDriftWarning) as found:
            decide(later)
        assert len(found) == 1 and "income: about 100 times smaller than before" in str(found[0])


def test_the_command_line_goes_on_with_a_classifier(tmp_path, run_main):
    table = FRAME.assign(sex=SEX, task=TOWN, label=Y)
    two = table.task != "Kiel"
    sex, town = pd.Series(SEX, name="sex"), pd.Series(TOWN)
    model = classifier(method="ffml").fit(
        FRAME[two], Y[two], sensitive_features=sex[two], tasks=town[two]
    )
    model.save("run")
    earlier = pickle.loads(pickle.dumps(model))
    table[~two].to_csv("kiel.csv", index=False)
    assert run_main("update", "run", "kiel.csv")[0] == 0
    whole = classifier(method="ffml").fit(
        FRAME[two], Y[two], sensitive_features=sex[two], tasks=town[two]
    )
    whole.partial_fit(FRAME[~two], Y[~two], sensitive_features=sex[~two], task="Kiel")
    found = FairMetaClassifier.from_run("run")
    assert (found.decision_function(FRAME) == whole.decision_function(FRAME)).all()
    assert [r.task for r in found.rounds_] == ["Ulm", "Bonn", "Kiel"]
    assert run_main("check", "run", "--max-gap", "1")[1].startswith("met: 3 rounds are done")
    with pytest.raises(FFMLError, match="holds rounds that this classifier has not seen"):
        earlier.save("run")


def test_report_and_check():
    model = classifier(method="ffml").fit(FRAME, Y, sensitive_features=SEX, tasks=TOWN)
    assert "Ulm" in model.report()
    assert model.check(max_gap=1.0)[0].answer == "met"


def test_saving_again_adds_what_is_new_wherever_it_was_saved(loans, tmp_path):
    """In the run's own folder it goes on, elsewhere it makes a copy; twice changes nothing."""
    model = FairMetaClassifier.from_run("run")
    before = state("run")
    april = loans[loans.month == MONTHS[3]]
    model.partial_fit(features(april), april.approved, sensitive_features=april.sex, task=MONTHS[3])
    model.save("copy")
    assert state("run") == before != state("copy") and sound("copy").decisions == len(loans)
    model.save("run")
    assert state("run") == state("copy")
    events = sound("run").events
    model.save("run")
    assert sound("run").events == events
    found = FairMetaClassifier.from_run("copy")
    assert [r.task for r in found.rounds_] == MONTHS and found.n_rounds_ == 4
    assert found.check(max_gap=1.0)[0].answer == "met"
    stranger = classifier(method="ffml").fit(FRAME, Y, sensitive_features=SEX, tasks=TOWN)
    with pytest.raises(FFMLError, match="holds rounds that this classifier has not seen"):
        stranger.save("run")


def test_labels_that_come_a_round_later(tmp_path):
    """Tasks wait: they are decided, then learned, in the ledger as in the classifier."""
    model = classifier(method="ffml", settings={"label_delay": 1})
    model.fit(FRAME, Y, sensitive_features=SEX, tasks=TOWN)
    model.save(tmp_path / "run")
    with Store.open(tmp_path / "run") as store:
        assert [row.status for row in store.rounds()] == ["learned", "learned", "decided"]
    assert [r.n_validation for r in model.rounds_] == [80, 80, 80]
    found = FairMetaClassifier.from_run(tmp_path / "run")
    assert (found.predict_proba(FRAME) == model.predict_proba(FRAME)).all()
    found.partial_fit(FRAME, Y, sensitive_features=SEX, task="Rome").save(tmp_path / "run")
    with Store.open(tmp_path / "run") as store:
        assert [row.status for row in store.rounds()] == ["learned"] * 3 + ["decided"]
    table = FRAME.assign(sensitive_feature=SEX, label=Y, task=TOWN)
    table = pd.concat([table, table.assign(task="Rome")])
    assert sound(tmp_path / "run").decisions == len(table)
    with Store.open(tmp_path / "run", write=True) as store:
        assert ffml.runs.Run(store).replay(table)


def test_arrays_have_no_names(tmp_path):
    model = classifier(method="ffml").fit(FRAME.to_numpy(), Y, sensitive_features=SEX, tasks=TOWN)
    model.save(tmp_path / "run")
    found = FairMetaClassifier.from_run(tmp_path / "run")
    assert not hasattr(found, "feature_names_in_")
    assert (found.predict(FRAME.to_numpy()) == model.predict(FRAME.to_numpy())).all()
    assert found.get_params() | {"settings": 0} == model.get_params() | {
        "settings": 0,
        "wrappers": found.wrappers,
    }


def test_refusals(loans, tmp_path, run_main):
    model = FairMetaClassifier.from_run("run")
    april = loans[loans.month == MONTHS[3]]
    with pytest.raises(FFMLError, match="'2024-03' was played before"):
        model.partial_fit(
            features(april), april.approved, sensitive_features=april.sex, task=MONTHS[2]
        )
    with Store.open("run", write=True) as store:
        ffml.runs.Run(store).update(april)
    with pytest.raises(FFMLError, match="holds rounds that this classifier has not seen"):
        model.save("run")
    small = ["--set", "data.num_tasks=2", "--set", "rounds=1", "--method", "ffml", *QUICK, *SMALL]
    run_main("run", "synthetic", *small, "--out", "set")
    with pytest.raises(FFMLError, match="learned the data set 'synthetic'"):
        FairMetaClassifier.from_run("set")
    with pytest.raises(FFMLError, match="nowhere holds no run"):
        FairMetaClassifier.from_run("nowhere")


def test_a_ratio_is_asked_for_and_judged_alike_in_all_faces(tmp_path, run_main):
    """Command line, file, classifier and gate; report, card and terminal say it in words."""
    write_loans(tmp_path / "loans.csv")
    options = [*ROLES, "--drop", "applicant", "--with", "none", "--with", "evened"]
    code, out, _ = run_main("run", "loans.csv", *options, "--min-ratio", "0.8", "--out", "run")
    words = "the lowest rate at least 80 % of the highest"
    assert code == 0 and words in " ".join(out.split())
    assert all(words in (tmp_path / "run" / name).read_text() for name in PAGES)
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    assert (config["max_gap"], config["min_ratio"]) == (None, [0.8])
    assert run_main("run", "--config", "run/config.json", "--quiet", "--out", "again")[0] == 0
    rounds = [(tmp_path / name / "rounds.csv").read_bytes() for name in ("run", "again")]
    assert rounds[0] == rounds[1]
    model = FairMetaClassifier.from_run("run")
    assert (model.max_gap, model.min_ratio) == (None, 0.8)
    [same] = (
        FairMetaClassifier(min_ratio=0.8)
        .fit(X, Y, sensitive_features=SEX, tasks=TOWN)
        ._config.asked
    )
    assert same == model._config.asked[0]
    [verdict] = json.loads((tmp_path / "run" / "summary.json").read_text())["answer"]["notions"]
    code, out, _ = run_main("check", "run", "--min-ratio", "0.8")
    assert {"kept": 0, "not kept": 1, "cannot be told yet": 3}[verdict["verdict"]] == code
    assert "(by sex): the lowest rate is" in out and "you asked for 80 %" in out
    assert model.check(min_ratio=0.8)[1].value == verdict["fact"]["ratio"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--min-ratio", "0"], "min_ratio must be above 0 and at most 1, got 0; 0.8 is 80 %"),
        (["--min-ratio", "1.2"], "min_ratio must be above 0 and at most 1, got 1.2; 0.8 is 80 %"),
        (["--min-ratio", "nan"], "setting 'min_ratio' must be finite, got nan"),
        (["--min-ratio", "80 %"], "--min-ratio takes a number such as 0.8, or none, got '80 %'"),
        (
            ["--min-ratio", "0.8", "--max-gap", "0.05"],
            "max_gap and min_ratio are two ways to ask for the same; give one of them",
        ),
        (
            ["--min-ratio", "0.8", "--notion", "dbc"],
            "min_ratio compares rates of decisions, and 'dbc' compares scores; use max_gap, or one "
            "of demographic-parity, equal-opportunity, equalized-odds",
        ),
    ],
)
def test_ratios_that_cannot_be_kept_are_refused(options, message, tmp_path, run_main):
    code, _, err = run_main("run", "synthetic", *options)
    assert (code, err) == (2, f"error: {message}\n") and not list(tmp_path.iterdir())
