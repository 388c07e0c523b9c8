"""Refits with other classifiers than the logistic regression: the libraries as oracles."""

import json
import pickle
from pathlib import Path

import jax
import numpy as np
import pytest
from conftest import random_task
from fairlearn import reductions
from playing import Player
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits
from xgboost import XGBClassifier

from ffml import FairMetaClassifier
from ffml.base import FFMLError
from ffml.features import forest
from ffml.features.forest import Forest
from ffml.methods import fairlearn_dp, refit
from ffml.methods._refit import support_rows, task_rows
from ffml.online.judge import support_batch
from ffml.online.loop import Loop
from ffml.online.memory import MemorySettings, bounded
from ffml.problem.classification import fair_classification
from ffml.problem.models import linear
from ffml.problem.notions import demographic_parity
from ffml.recipe.config import configure_run
from ffml.wrappers import evened

EIGHT_TREES = {
    "n_estimators": 8,
    "learning_rate": 0.2,
    "tree_method": "hist",
    "grow_policy": "lossguide",
    "max_leaves": 15,
    "max_depth": 7,
    "min_child_weight": 2,
    "reg_lambda": 2,
    "max_bin": 1024,
}
TREE = DecisionTreeClassifier(max_depth=3, random_state=0)


@pytest.fixture(autouse=True)
def few_trees(monkeypatch):
    monkeypatch.setattr(forest, "FITTED_TREES", 8)


@pytest.fixture
def problem(schema):
    return fair_classification(schema, linear(), demographic_parity(0.02))


def met(learner, schema, rows=(300, 200)):
    """Reveal a task of which some rows are kept; return the state, the next support and all rows.

    Features have a product in them that no linear model sees.
    """
    first, second = (crossed(random_task(i, n, schema)) for i, n in enumerate(rows))
    kept = kept_rows(first, schema, 200)
    state, _ = learner.update(None, learner.init(jax.random.key(0)), kept, None)
    support = support_batch(second, schema, np.arange(100), 20, np.random.default_rng(0))
    parts = zip(task_rows(kept), support_rows(support), strict=True)
    return state, support, [np.concatenate(part) for part in parts]


def kept_rows(task, schema, rows):
    return bounded(task, schema, rows, np.random.default_rng(0))


def crossed(task):
    return task._replace(y=(task.x[:, 1] * task.x[:, 2] + 0.3 * task.x[:, 0] > 0.1).astype(int))


def even(y, times, positive_weight):
    """Weigh rows so that both labels count the same, times what their errors cost."""
    cost = 2 / (1 + positive_weight) * np.array([1.0, positive_weight])
    return times * (cost * times.sum() / (2 * np.bincount(y, times)))[y]


class Even(XGBClassifier):
    """XGBoost on features as they are; weights are 1 on average."""

    def fit(self, x, y, sample_weight):
        weight = sample_weight / sample_weight[sample_weight > 0].mean()
        self.set_params(base_score=np.average(y, weights=weight))
        return super().fit(x, y, sample_weight=weight)


class EvenLabels(Even):
    """The same, where both labels count the same."""

    def fit(self, x, y, sample_weight):
        return super().fit(x, y, sample_weight=even(y, sample_weight, 1.0))


@pytest.mark.parametrize("positive_weight", [1.0, 3.0])
@pytest.mark.parametrize("classifier", ["boosting", TREE], ids=["boosting", "given"])
def test_a_refit_is_the_classifier_on_weighted_rows(schema, problem, classifier, positive_weight):
    learner = refit(problem._replace(positive_weight=positive_weight), classifier=classifier)
    state, support, (x, y, _, times) = met(learner, schema)
    assert times.max() > 1  # kept rows that stand for others
    oracle = clone(TREE)
    if classifier == "boosting":
        oracle = Even(**EIGHT_TREES)
    x = x.astype(float)
    with threadpool_limits(1):
        oracle.fit(x, y, sample_weight=even(y, times, positive_weight))
    logits = learner.predict(learner.adapt(state, support), x).logits
    expected = oracle.predict_proba(x)[:, 1].clip(1e-6, 1 - 1e-6)
    np.testing.assert_allclose(1 / (1 + np.exp(-logits)), expected, atol=1e-6)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # fairlearn's own, of pandas
def test_fairlearn_over_boosting_is_a_direct_fit_kept_as_arrays(schema, problem):
    learner = fairlearn_dp(problem, classifier="boosting", max_iter=3, derandomize="majority")
    state, support, (x, y, s, times) = met(learner, schema)
    x, y, s = (np.repeat(part, times, axis=0) for part in (x.astype(float), y, s))
    oracle = reductions.ExponentiatedGradient(
        EvenLabels(**EIGHT_TREES),
        reductions.DemographicParity(difference_bound=0.01),
        max_iter=3,
    )
    with threadpool_limits(1):
        oracle.fit(x, y, sensitive_features=s[:, 0])
    mixture = learner.adapt(state, support)
    assert len(mixture.members) > 1 and all(type(m) is Forest for m in mixture.members)
    assert all(type(leaf) is np.ndarray for leaf in jax.tree.leaves(mixture))
    expected = oracle._pmf_predict(x)[:, 1].clip(1e-3, 1 - 1e-3)
    logits = learner.predict(mixture, x).logits
    np.testing.assert_allclose(1 / (1 + np.exp(-logits)), expected, atol=1e-6)


@pytest.mark.parametrize("method", [refit, fairlearn_dp])
@pytest.mark.parametrize("classifier", ["boosting", TREE], ids=["boosting", "given"])
def test_rows_of_one_label_decide_it_and_no_rows_decide_0(schema, problem, method, classifier):
    learner = method(problem, classifier=classifier)
    task = random_task(1, 60, schema)
    nobody = support_batch(task, schema, np.arange(0), 10, np.random.default_rng(0))
    for label in (None, 0, 1):
        state = learner.init(jax.random.key(0))
        if label is not None:
            same = task._replace(y=np.full(60, label))
            state, _ = learner.update(None, state, kept_rows(same, schema, 64), None)
        decided = learner.predict(learner.adapt(state, nobody), task.x).logits > 0
        assert (decided == bool(label)).all()


@pytest.mark.parametrize("classifier", ["boosting", GaussianNB()], ids=["boosting", "given"])
def test_evened_keeps_the_gap_asked_for_with_any_classifier(schema, problem, classifier):
    def gap(method, seed):
        memory = MemorySettings(tasks_per_round=4, rows_per_task=256)
        loop = Player(Loop(problem, method(problem), schema, shots=20, memory_settings=memory))
        rounds = [loop.step(random_task(seed + i, 600, schema, bias=1.5)) for i in range(6)]
        tables = sum(r.tables["sex"] for r in rounds[2:])  # [group, label, decision]
        men, women = tables[:, :, 1].sum(1) / tables.sum((1, 2))
        return women - men

    def plain(problem):
        return refit(problem, classifier=classifier)

    assert gap(plain, 0) > 0.3
    gaps = [gap(evened(plain, shots=20), seed) for seed in (0, 100, 200)]
    assert abs(np.mean(gaps)) < 0.08  # chance alone gives 0.02


# -- the estimator, in memory ----------------------------------------------------------------------


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    sex, town = rng.choice(["f", "m"], 600), np.repeat(["a", "b", "c"], 200)
    x = rng.normal(size=(600, 3)) + np.outer(sex == "m", [1, 0, 0])
    return x, x @ [1, 1, 0] + 0.3 * rng.normal(size=600) > 0.5, sex, town


def test_the_estimator_takes_one_of_the_callers_own(data):
    x, y, sex, town = data
    own = GaussianNB(var_smoothing=1e-3)
    model = FairMetaClassifier("refit", wrappers=("evened",), settings={"classifier": own})
    fitted = clone(model).fit(x, y, sensitive_features=sex, tasks=town)
    assert not hasattr(own, "classes_")  # each fit is of a copy
    adapted = fitted.adapt(x[:80], y[:80], sensitive_features=sex[:80], unlabelled=x)
    decided = adapted.predict(x)
    assert abs(decided[sex == "m"].mean() - decided[sex == "f"].mean()) < 0.2
    assert (fitted.predict(x) == y).mean() > 0.7
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(adapted)).predict(x), decided)


def test_changing_the_callers_estimator_later_changes_nothing(data):
    x, y, sex, town = data
    own = DecisionTreeClassifier(max_depth=2, random_state=0)
    model = FairMetaClassifier("refit", wrappers=(), settings={"classifier": own})
    model.fit(x, y, sensitive_features=sex, tasks=town)
    own.set_params(max_depth=20)
    logits = model.adapt(x[:80], y[:80], sensitive_features=sex[:80]).decision_function(x)
    assert len(np.unique(logits)) <= 4


# -- what is refused, and what files hold ----------------------------------------------------------


@pytest.mark.parametrize(
    ("classifier", "message"),
    [
        ("bosting", "unknown classifier 'bosting'; did you mean 'boosting'?"),
        (3, "classifier must be logistic or boosting, or an estimator object with fit and "),
        (LogisticRegression, "classifier must be logistic or boosting, or an estimator object"),
        (SVC(), "estimator object with fit and predict_proba, got SVC()"),
        (make_pipeline(TREE), "the classifier Pipeline takes no sample_weight in fit, with which"),
    ],
)
def test_bad_classifiers_are_refused(problem, classifier, message):
    for method in (refit, fairlearn_dp):
        with pytest.raises(FFMLError) as caught:
            method(problem, classifier=classifier)
        assert message in str(caught.value) and "\n" not in str(caught.value)


def test_a_setting_of_the_logistic_regression_is_no_setting_of_others(problem):
    with pytest.raises(FFMLError, match=r"^inverse_l2 is a setting of the classifier logistic; "):
        refit(problem, classifier="boosting", inverse_l2=0.1)


def test_a_classifier_that_fails_says_on_how_many_rows(schema, problem):
    class Choosy(GaussianNB):
        def fit(self, X, y, sample_weight=None):
            raise ValueError("need\nmore")

    learner = refit(problem, classifier=Choosy())
    with pytest.raises(FFMLError, match=r"^the classifier Choosy cannot be fitted to \d+ rows"):
        learner.adapt(*met(learner, schema)[:2])


def test_an_estimator_cannot_be_written_to_a_file():
    config = configure_run("synthetic", {"method": "refit", "classifier": TREE})
    with pytest.raises(FFMLError) as caught:
        config.to_json()
    assert str(caught.value).startswith(
        "classifier is a DecisionTreeClassifier object, which no file can hold; name one"
    )


def test_a_boosted_refit_on_the_command_line(run_main, tmp_path):
    """It runs and goes on from its checkpoint, no file holds code, and predict is refused."""
    (tmp_path / "t.csv").write_text(
        "age,sex,y,town\n"
        + "".join(f"{i % 50},{'FM'[i % 2]},{(i * 7) % 3 // 2},{i // 40}\n" for i in range(160))
    )
    roles = ["--label", "y", "--sensitive", "sex", "--task", "town"]
    start = ["run", "t.csv", *roles, "--method", "refit", "--set", "classifier=boosting", "--quiet"]
    code, _, err = run_main(*start, "--with", "evened", "--set", "rounds=3", "--out", "run")
    assert code == 0, err
    written = json.loads(Path("run/config.json").read_text())
    assert written["settings"]["classifier"] == "boosting"
    for path in Path("run").rglob("*"):
        assert not path.is_file() or path.suffix not in (".pkl", ".joblib")
        assert not path.is_file() or b"xgboost" not in path.read_bytes()
    code, _, err = run_main("predict", "run", "t.csv", "--out", "d.csv")
    assert code == 2 and "the method 'refit' refits on all rows it has seen" in err
    code, _, err = run_main(*start[:-1], "--set", "classifier=bosting", "--out", "other")
    assert code == 2 and "did you mean 'boosting'" in err and not Path("other").exists()
