"""Groups that are known when people are decided about, at every door."""

import html
import json
import sqlite3
from contextlib import closing
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from fairlearn.postprocessing import ThresholdOptimizer
from sklearn.linear_model import LogisticRegression

import ffml
from ffml.base import FFMLError, Ratio
from ffml.estimator import FairMetaClassifier
from ffml.metrics.phrases import percent
from ffml.report.answer import details
from ffml.runs._newest import newest_people
from ffml.wrappers.by_group import decide_by_group

FEATURES = ["income", "debt"]
ROLES = {"label": "repaid", "sensitive": "sex", "task": "month", "wrappers": ("evened",)}
ROLES["threshold"] = "balanced"


def people(seed, rows=4000):
    """Two features tell labels and hardly anything of the group, whose label rates differ."""
    rng = np.random.default_rng(seed)
    sex = rng.integers(2, size=rows)
    repaid = rng.random(rows) < np.where(sex, 0.65, 0.4)
    x = rng.normal(size=(rows, 2)) + repaid[:, None] * [1.0, 0.6]
    return pd.DataFrame(x, columns=FEATURES).assign(
        repaid=repaid.astype(int),
        sex=np.where(sex, "man", "woman"),
        month=np.sort(rng.integers(8, size=rows)),
    )


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    return [
        ffml.run(
            people(0), **ROLES, max_gap=0.02, decide_with_groups=known, out=folder / str(known)
        )
        for known in (False, True)
    ]


def rates_and_accuracy(frame, positive):
    by_sex = frame.assign(positive=positive).groupby("sex").positive.mean()
    of_label = [(positive == y)[frame.repaid == y].mean() for y in (0, 1)]
    return by_sex.to_numpy(), float(np.mean(of_label))


def test_rates_and_accuracy_are_those_of_fairlearns_threshold_optimizer(runs):
    new = people(1, 8000)
    decided = runs[1].decide(new.drop(columns="repaid"))
    ours = rates_and_accuracy(new, decided.decision.to_numpy())
    seen = people(0)
    oracle = ThresholdOptimizer(
        estimator=LogisticRegression(),
        constraints="demographic_parity",
        objective="balanced_accuracy_score",
        predict_method="predict_proba",
    ).fit(seen[FEATURES], seen.repaid, sensitive_features=seen.sex)
    theirs = oracle.predict(new[FEATURES], sensitive_features=new.sex, random_state=0)
    theirs = rates_and_accuracy(new, theirs)
    assert np.ptp(ours[0]) < 0.05 and np.ptp(theirs[0]) < 0.05
    assert ours[0] == pytest.approx(theirs[0], abs=0.06)
    assert ours[1] == pytest.approx(theirs[1], abs=0.015)


def test_blindness_costs_what_thresholds_by_group_do_not(runs):
    blind, known = (run.rounds["balanced_accuracy"][3:].mean() for run in runs)
    assert known > blind + 0.02


def newest(run):
    """Read everybody decided about by plain SQL."""
    query = "select groups, probability, decision, unpriced, label from people where decision >= 0"
    with closing(sqlite3.connect(run.folder / "run.db")) as ledger:
        frame = pd.read_sql(query, ledger)
    return frame.assign(sex=frame.groups.map(lambda text: json.loads(text)["sex"]))


def test_the_answer_says_what_blindness_costs(runs):
    """What it says of thresholds by group is what a run that knows groups comes to."""
    blind, known = (run.summary() for run in runs)
    assert known["blindness"] is None and known["answer"]["extremes"] is None
    people, found = newest(runs[0]), blind["blindness"]
    assert found["people"] == len(people)
    assert found["accuracy"] == pytest.approx((people.decision == people.label).mean())
    assert found["accuracy_by_group"] == pytest.approx(known["answer"]["accuracy"], abs=0.02)
    said = f"accuracy would have been {found['accuracy_by_group']:.3f} and not"
    assert said in " ".join(details(blind))


def test_people_decided_about_before_anything_was_learned_tell_nothing():
    """Thresholds of probabilities would refuse them all, whoever they are."""
    tasks = [np.full(4, 0.5), np.array([0.2, 0.9, 0.4])]

    ledger = SimpleNamespace(
        rounds=lambda: [SimpleNamespace(round=0), SimpleNamespace(round=1)],
        decisions=lambda task, columns: dict.fromkeys(columns, tasks[task]),
    )
    assert newest_people(ledger)["probability"].tolist() == [0.2, 0.9, 0.4]


def test_the_answer_says_how_extreme_decisions_are(runs):
    people, found = newest(runs[0]), runs[0].answer["extremes"]
    towards = people[(people.decision == 1) & (people.unpriced == 0)].probability
    away = people[(people.decision == 0) & (people.unpriced == 1)].probability
    assert found["lowest_approved"] == towards.min() < 0.1
    assert found["highest_refused"] == away.max() > 0.9
    assert found["approved_below"] == (towards < found["low"]).sum() > 0
    assert found["refused_above"] == (away > found["high"]).sum() > 0
    said = f"somebody with a probability of {percent(towards.min())} was decided 'repaid'"
    blind, known = (" ".join(details(run.summary())) for run in runs)
    assert said in blind and "To keep the gap" not in known
    runs[0].write_views()
    assert said in html.unescape((runs[0].folder / "report.html").read_text())


@pytest.mark.parametrize("bound", [0.1, Ratio(0.8)])
def test_no_thresholds_by_group_do_better(bound):
    """Against all pairs of thresholds that approve as many and keep the bound."""
    rng = np.random.default_rng(0)
    sex = rng.integers(2, size=60)
    p = rng.random(60) ** np.where(sex, 0.5, 2.0)
    found = decide_by_group(p, [sex], bound, 0.5)

    def kept(rates):
        low, high = sorted(rates)
        return low >= 0.8 * high - 1e-9 if isinstance(bound, Ratio) else high - low <= 0.1 + 1e-9

    best = 0.0
    for first in [-1.0, *p[sex == 0]]:
        for second in [-1.0, *p[sex == 1]]:
            positive = p > np.where(sex, second, first)
            if positive.sum() == 30 and kept([positive[sex == g].mean() for g in (0, 1)]):
                best = max(best, p[positive].sum())
    assert kept([found[sex == g].mean() for g in (0, 1)]) and abs(found.sum() - 30) <= 1
    assert p[found == 1].sum() >= best - 1.0  # at most one person fewer


def test_later_tasks_and_files_of_people_go_by_groups_too(runs, tmp_path, run_main):
    """`update` and `predict` of a run that knows groups; report and card say that it does."""
    run = ffml.run(people(0, 1200), **ROLES, decide_with_groups=True, out=tmp_path / "run")
    later = people(3, 900).assign(month=9)
    assert len(run.update(later)) == 1
    rates = newest(run).tail(450).groupby("sex").decision.mean()
    assert np.ptp(rates) < 0.12
    new = people(4, 900).drop(columns="repaid")
    new.to_csv(tmp_path / "new.csv", index=False)
    words = ("predict", run.folder, tmp_path / "new.csv", "--out", tmp_path / "out.csv")
    assert run_main(*words)[0] == 0
    said = pd.read_csv(tmp_path / "out.csv").decision
    np.testing.assert_array_equal(said, run.decide(new, record=False).decision)
    moved = new.assign(sex=np.where(new.sex == "man", "woman", "man"))
    assert (run.decide(moved, record=False).decision != said).any()
    run.write_views()
    for view in ("report.html", "model_card.md"):
        assert "each group has a threshold of its own" in (run.folder / view).read_text()


def test_people_alone_and_together_and_by_the_classifier_get_the_same_decision(runs):
    new = people(2, 40)[[*FEATURES, "sex", "month"]]
    together = runs[1].decide(new)
    model = FairMetaClassifier.from_run(runs[1].store.name)
    said = model.predict(new[FEATURES], sensitive_features=new.sex)
    np.testing.assert_array_equal(said, together.decision)


def test_who_does_not_say_a_group_is_told_the_remedy(runs):
    new = people(2, 10)
    with pytest.raises(FFMLError, match=r"no column 'sex'.*decide_with_groups"):
        runs[1].decide(new[FEATURES])
    model = FairMetaClassifier.from_run(runs[1].store.name)
    with pytest.raises(FFMLError, match=r"pass sensitive_features"):
        model.predict(new[FEATURES])


def test_it_is_refused_where_it_would_do_nothing():
    with pytest.raises(FFMLError, match=r"add the wrapper evened"):
        ffml.run(people(0, 80), **ROLES | {"wrappers": ()}, decide_with_groups=True)
    with pytest.raises(FFMLError, match=r"leave out intersect"):
        both = people(0, 80).assign(town=["a", "b"] * 40)
        roles = ROLES | {"sensitive": ("sex", "town"), "intersect": True}
        ffml.run(both, **roles, decide_with_groups=True)
