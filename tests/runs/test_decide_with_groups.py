"""Groups that are known when people are decided about, at every door."""

import numpy as np
import pandas as pd
import pytest
from fairlearn.postprocessing import ThresholdOptimizer
from sklearn.linear_model import LogisticRegression

import ffml
from ffml.base import FFMLError
from ffml.estimator import FairMetaClassifier

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
