"""`FairMetaClassifier` as people meet it: scikit-learn's own checks, and what they cannot know."""

import copy
import os
import pickle
import subprocess
import sys
from dataclasses import fields

import jax
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn
from playing import Player
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import get_scorer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from towns import FRAME, QUICK, SEX, SUPPORT, TOWN, TWO, X, Y, classifier, make_data

import ffml
from ffml.base import FFMLError, Schema
from ffml.estimator import FairMetaClassifier
from ffml.estimator._config import configure, loop_of
from ffml.estimator._inputs import group_codes, random_parts, read_groups, sensitive_columns
from ffml.methods import DEFAULT_METHOD, METHODS
from ffml.online.loop import start
from ffml.problem.models import MODELS
from ffml.problem.notions import CONSTRAINTS
from ffml.recipe.build import build_for, build_loop
from ffml.recipe.config import RunConfig, configure_run
from ffml.recipe.presets import preset
from ffml.recipe.recipes import Recipe, known_settings
from ffml.tables import table_stream
from ffml.tables.scaling import RunningScaler


@pytest.fixture(scope="module")
def fitted():
    return classifier().fit(X, Y, sensitive_features=SEX, tasks=TOWN)


def rounds_without_time(model):
    return [
        {k: v for k, v in vars(r).items() if k not in ("seconds", "task")} for r in model.rounds_
    ]


def assert_same(one, other):
    """Compare two classifiers to the last bit, but for the time they took."""
    pairs = [(one.state_.learner, other.state_.learner), (one.multipliers_, other.multipliers_)]
    pairs += [(rounds_without_time(one), rounds_without_time(other))]
    for a, b in pairs:
        jax.tree.map(np.testing.assert_array_equal, a, b)
    np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X))


# -- scikit-learn's own checks -------------------------------------------------------------------


class Constrained(FairMetaClassifier):
    """Sends the constrained way through the checks: groups and tasks by the number of the row."""

    def fit(self, X, y, *, sensitive_features=None, tasks=None):
        rows = row_numbers(X)
        return super().fit(X, y, sensitive_features=rows % 2, tasks=rows * 3 // len(rows))

    def partial_fit(self, X, y, *, sensitive_features=None, classes=None, groups=None):
        return super().partial_fit(X, y, sensitive_features=row_numbers(X) % 2, classes=classes)


def row_numbers(X):
    return np.arange(X.shape[0] if hasattr(X, "shape") else len(np.asarray(X)))


def expected_failed_checks(estimator):
    """A check that begins to fail, or one that is named here and passes, is an error."""
    asked = isinstance(estimator, Constrained)
    return dict.fromkeys(OF_TEXTS, "which of two texts is favourable must be said") if asked else {}


OF_TEXTS = ("check_classifiers_classes",)
TWP = {"num_steps": 40, "lr": 0.1, "tasks_per_round": 3, "rows_per_task": 64}  # compiles faster


@parametrize_with_checks(
    [classifier(max_gap=None), Constrained(method="twp", wrappers=(), shots=10, settings=TWP)],
    expected_failed_checks=expected_failed_checks,
    xfail_strict=True,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


# -- the stream ----------------------------------------------------------------------------------


def test_tasks_are_played_in_the_order_of_their_first_rows(fitted):
    assert [r.task for r in fitted.rounds_] == ["Ulm", "Bonn", "Kiel"]
    assert [r.n_rows for r in fitted.rounds_] == [80, 80, 80] and fitted.n_rounds_ == 3
    shuffled = np.random.default_rng(1).permutation(len(Y))
    model = classifier().fit(
        X[shuffled], Y[shuffled], sensitive_features=SEX[shuffled], tasks=TOWN[shuffled]
    )
    assert [r.task for r in model.rounds_] == list(dict.fromkeys(TOWN[shuffled]))


def test_fit_is_a_partial_fit_for_every_task(fitted):
    model = classifier()
    for town in dict.fromkeys(TOWN):
        rows = town == TOWN
        model.partial_fit(X[rows], Y[rows], sensitive_features=SEX[rows])
    assert_same(model, fitted)
    assert [r.task for r in model.rounds_] == ["task 1", "task 2", "task 3"]


def test_fit_is_what_a_run_over_the_same_table_does(fitted, tmp_path):
    table = pd.DataFrame(X, columns=["x0", "x1", "x2"]).assign(y=Y, s=SEX, town=TOWN)
    table.to_parquet(tmp_path / "people.parquet")
    stream = table_stream(tmp_path / "people.parquet", label="y", sensitive="s", task="town")
    config = configure_run("people", QUICK | {"method": "ffml", "shots": 10})
    scaler = RunningScaler.empty(stream.preprocessor.scaled)
    loop = build_loop(config, build_for(config, stream.schema), stream.schema)
    loop = Player(loop, start(loop, scaler))
    for task, expected in zip(stream.tasks(), fitted.rounds_, strict=True):
        record = loop.step(task)
        assert record.task == expected.task
        np.testing.assert_array_equal(record.constraint, expected.constraint)
    jax.tree.map(np.testing.assert_array_equal, loop.state.learner, fitted.state_.learner)


@pytest.mark.parametrize("tasks", [None, ["Ulm"] * len(Y)])
def test_data_of_one_task_are_dealt_into_parts_so_that_something_is_learned(tasks):
    model = classifier(max_gap=None).fit(X, Y, tasks=tasks)
    assert [r.task for r in model.rounds_] == ["part 1", "part 2", "part 3", "part 4"]
    assert model.score(X, Y) > 0.8 > 0.6 > max(Y.mean(), 1 - Y.mean())


@pytest.mark.parametrize(("rows", "count"), [(2, 2), (7, 4), (240, 4), (320, 6), (5000, 10)])
def test_parts_share_the_rows_and_the_labels_evenly(rows, count):
    codes = (np.arange(rows) % 3 == 0).astype(int)
    parts = random_parts(codes, seed=0)
    assert len(parts) == count
    np.testing.assert_array_equal(np.sort(np.concatenate([*parts.values()])), np.arange(rows))
    for sizes in ([len(p) for p in parts.values()], [codes[p].sum() for p in parts.values()]):
        assert max(sizes) - min(sizes) <= 1


def test_the_first_task_is_remembered_and_the_second_one_learned_from():
    model = classifier().partial_fit(X, Y, sensitive_features=SEX)
    assert not model.decision_function(X).any()  # a linear model starts from zero
    assert model.partial_fit(X, Y, sensitive_features=SEX).score(X, Y) > 0.7


def test_a_constraint_narrows_the_gap():
    x, y, sex, _ = make_data(1800)
    gaps = []
    for max_gap in (None, 0.02):
        model = classifier(max_gap=max_gap)
        model.fit(x, y, sensitive_features=sex, tasks=np.arange(1800) // 60)
        decisions = model.predict(x)
        gaps.append(decisions[sex == "m"].mean() - decisions[sex == "f"].mean())
    assert gaps[1] < 0.6 * gaps[0]


def test_without_a_constraint_groups_may_be_known_and_are_then_measured():
    blind = classifier(max_gap=None).fit(X, Y, tasks=TOWN)
    aware = classifier(max_gap=None)
    aware.fit(X, Y, tasks=TOWN, sensitive_features=SEX)
    np.testing.assert_array_equal(blind.predict_proba(X), aware.predict_proba(X))
    assert blind.multipliers_ == aware.multipliers_ == {}
    assert np.isnan(blind.rounds_[-1].metrics["disc"])
    assert np.isfinite(aware.rounds_[-1].metrics["disc"])


# -- every entry of every registry ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "wrappers"),
    [*((method, None) for method in METHODS), ("ffml", ["evened"]), ("refit", ["evened"])],
)
def test_every_method_can_be_fitted_adapted_and_pickled(method, wrappers):
    takes = {*known_settings(Recipe(method)), "tasks_per_round", "rows_per_task"}
    quick = QUICK | {"num_steps": 10, "max_iter": 3}
    settings = {name: value for name, value in quick.items() if name in takes}
    model = FairMetaClassifier(method, wrappers=wrappers, shots=10, settings=settings)
    model.fit(X, Y, sensitive_features=SEX, tasks=TOWN)
    adapted = model.adapt(X[SUPPORT], Y[SUPPORT], sensitive_features=SEX[SUPPORT])
    for one in (model, adapted):
        again = pickle.loads(pickle.dumps(one))
        np.testing.assert_array_equal(again.predict_proba(X), one.predict_proba(X))


def test_all_constraints_at_once_have_multipliers_by_name():
    gaps = np.linspace(0.01, 0.1, len(CONSTRAINTS))
    model = classifier(notion=list(CONSTRAINTS), max_gap=gaps)
    model.fit(X, Y, sensitive_features=SEX, tasks=TOWN)
    assert {name.split("[")[0] for name in model.multipliers_} == set(CONSTRAINTS)
    assert all("[sensitive_feature=m" in name for name in model.multipliers_)
    assert all(value >= 0 for value in model.multipliers_.values())


@pytest.mark.parametrize("model", MODELS)
def test_predictions_are_those_of_the_model_with_jax(model):
    settings = {"model.hidden": [4]} if model == "mlp" else {}
    fitted = classifier(model=model, settings=settings)
    fitted.fit(X, Y, sensitive_features=SEX, tasks=TOWN)
    loop = Player(fitted.loop_, fitted.state_)
    said = jax.jit(loop.learner.predict)(loop.pair.params, loop.state.scaler.transform(X))
    np.testing.assert_allclose(fitted.decision_function(X), said.logits, rtol=1e-4, atol=1e-5)


def test_defaults_are_those_of_a_run():
    defaults = {f.name: f.default for f in fields(RunConfig)}
    given = FairMetaClassifier().get_params()
    assert (given.pop("notion"),) == defaults["notions"]
    assert (given.pop("max_gap"),) == defaults["max_gap"]
    assert given.pop("random_state") == defaults["seed"] and given.pop("settings") is None
    assert given.pop("method") == DEFAULT_METHOD and given.pop("model") == Recipe().part("model")
    unset = ("wrappers", "positive", "shots", "approve", "cost", "threshold")
    assert all(given.pop(name) is None for name in unset)
    assert given == {name: defaults[name] for name in given}
    recipe = configure(FairMetaClassifier().get_params()).recipe
    expected = configure_run("synthetic", {}).recipe
    assert recipe.wrappers == expected.wrappers == ("evened", "boosted")
    assert recipe.values() == expected.values()
    assert configure(FairMetaClassifier(wrappers=()).get_params()).recipe.wrappers == ()


# -- adapting ------------------------------------------------------------------------------------


def test_adapting_is_one_step_of_descent_on_a_balanced_support():
    """Eq. 6 by hand: one step of a linear model on 5 rows of each class."""
    model = classifier(max_gap=None).fit(X, Y, tasks=TOWN)
    rows = np.concatenate([np.flatnonzero(Y == 0)[:5], np.flatnonzero(Y == 1)[:5]])
    theta = Player(model.loop_, model.state_).pair.params
    x = model.state_.scaler.update(X[rows]).transform(X)  # what was met of this population
    moved = model.adapt(X[rows], Y[rows]).decision_function(X) - (x @ theta["w"] + theta["b"])
    errors = 1 / (1 + np.exp(-(x[rows] @ theta["w"] + theta["b"]))) - Y[rows]
    default = preset("default", "", "ffml")
    step = default["inner.lr"] * 10 / (10 + default["inner.shrinkage"])
    expected = -step * (x @ (errors @ x[rows] / 10) + errors.mean())
    assert np.abs(expected).max() > 1e-3
    np.testing.assert_allclose(moved, expected, atol=1e-6)


def test_adapting_leaves_the_original_as_it_was(fitted):
    before = pickle.dumps(fitted)
    adapted = fitted.adapt(X[SUPPORT], Y[SUPPORT], sensitive_features=SEX[SUPPORT])
    assert (adapted.decision_function(X) != fitted.decision_function(X)).any()
    adapted.partial_fit(X, Y, sensitive_features=SEX)
    assert pickle.dumps(fitted) == before


def test_an_adapted_one_adapts_and_goes_on_as_the_original_would(fitted):
    support = X[SUPPORT], Y[SUPPORT]
    groups = {"sensitive_features": SEX[SUPPORT]}
    adapted = fitted.adapt(*support, **groups)
    np.testing.assert_array_equal(
        adapted.adapt(*support, **groups).predict_proba(X), adapted.predict_proba(X)
    )
    original = copy.deepcopy(fitted).partial_fit(X, Y, sensitive_features=SEX)
    assert_same(adapted.partial_fit(X, Y, sensitive_features=SEX), original)


def test_features_of_people_to_be_decided_about_even_out_decisions():
    model = classifier(wrappers=["evened"]).fit(X, Y, sensitive_features=SEX, tasks=TOWN)
    others = np.setdiff1d(np.arange(len(X)), SUPPORT)
    support = X[SUPPORT], Y[SUPPORT]

    def gap(**people):
        adapted = model.adapt(*support, sensitive_features=SEX[SUPPORT], **people)
        decided, sex = adapted.predict(X[others]) == adapted.classes_[1], SEX[others]
        return abs(decided[sex == "f"].mean() - decided[sex == "m"].mean())

    plain = classifier(wrappers=())
    plain.fit(X, Y, sensitive_features=SEX, tasks=TOWN)
    decided = plain.adapt(*support, sensitive_features=SEX[SUPPORT]).predict(X[others])
    before = decided[SEX[others] == "f"].mean() - decided[SEX[others] == "m"].mean()
    assert gap(unlabelled=X[others]) < 0.7 * abs(before)
    with pytest.raises(ValueError, match="features"):
        gap(unlabelled=X[others, :1])


def test_a_support_may_lack_a_class_or_a_group(fitted):
    for rows in (np.flatnonzero(Y == 1)[:9], np.flatnonzero(SEX == "f")[:9], [3]):
        adapted = fitted.adapt(X[rows], Y[rows], sensitive_features=SEX[rows])
        assert np.isfinite(adapted.decision_function(X)).all()


# -- the same bytes ------------------------------------------------------------------------------


def test_the_same_random_state_gives_the_same_bytes(fitted):
    def refit(random_state):
        model = classifier(model="mlp", settings={"model.hidden": (4,)}, random_state=random_state)
        return model.fit(X, Y, sensitive_features=SEX, tasks=TOWN)

    assert_same(refit(0), refit(0))
    assert_same(refit(np.random.RandomState(0)), refit(np.random.RandomState(0)))
    for other in (1, None):
        assert (refit(other).predict_proba(X) != refit(0).predict_proba(X)).any()


@pytest.mark.parametrize("copied", [lambda m: pickle.loads(pickle.dumps(m)), copy.deepcopy])
def test_a_copy_goes_on_with_the_same_bytes(copied):
    model = classifier(model="mlp", settings={"model.hidden": (4,)})
    for town in ("Ulm", "Bonn"):
        rows = town == TOWN
        model.partial_fit(X[rows], Y[rows], sensitive_features=SEX[rows])
    other = copied(model)
    for one in (model, other):
        one.partial_fit(
            X[TOWN == "Kiel"], Y[TOWN == "Kiel"], sensitive_features=SEX[TOWN == "Kiel"]
        )
    assert_same(model, other)


def test_equal_classifiers_share_their_compiled_functions(fitted):
    other = classifier(random_state=7).fit(X[:90], Y[:90], sensitive_features=SEX[:90])
    assert other.loop_.learner.update is fitted.loop_.learner.update
    assert other.loop_.update._cache_size() == 1


def test_a_constraint_registered_anew_is_not_mistaken_for_the_old_one(fitted, monkeypatch):
    def problem():
        config = configure(classifier().get_params())
        return loop_of(config, fitted.schema_).problem

    assert problem().constraint_names == ("demographic-parity[sensitive_feature=m]",)
    monkeypatch.setitem(CONSTRAINTS, "demographic-parity", CONSTRAINTS["dbc"])
    assert problem().constraint_names == ("dbc[sensitive_feature=m]",)


def test_fitting_leaves_the_configuration_of_jax_alone():
    before = dict(jax.config.values)
    classifier().fit(X, Y, sensitive_features=SEX)
    assert dict(jax.config.values) == before


# -- predicting ----------------------------------------------------------------------------------


def test_a_row_is_decided_by_itself(fitted):
    whole = fitted.predict_proba(X)
    alone = np.concatenate([fitted.predict_proba(X[[i]]) for i in range(20)])
    np.testing.assert_allclose(alone, whole[:20], rtol=1e-12)
    np.testing.assert_array_equal(fitted.predict(X[::-1]), fitted.predict(X)[::-1])


def test_probabilities_stay_within_range_far_from_the_boundary(fitted):
    far = fitted.predict_proba(np.array([[1e6, 1e6, 0], [-1e6, -1e6, 0]]))
    np.testing.assert_array_equal(far, [[0, 1], [1, 0]])


def test_predicting_needs_neither_a_device_nor_a_compiler(fitted, tmp_path):
    """In a new process: unpickle and predict without starting JAX."""
    (tmp_path / "model.pickle").write_bytes(pickle.dumps(fitted))
    np.save(tmp_path / "x.npy", X)
    code = (
        "import pickle, numpy as np, jax._src.xla_bridge as bridge\n"
        "model = pickle.load(open('model.pickle', 'rb'))\n"
        "np.save('p.npy', model.predict_proba(np.load('x.npy')))\n"
        "assert not bridge.backends_are_initialized()\n"
    )
    run_python(code, tmp_path)
    np.testing.assert_array_equal(np.load(tmp_path / "p.npy"), fitted.predict_proba(X))


def run_python(code, folder):
    path = os.pathsep.join(filter(None, sys.path))
    out = subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=1800,
    )
    assert out.returncode == 0, out.stderr
    return out.stdout


def test_importing_the_package_loads_neither_scikit_learn_nor_jax(tmp_path):
    code = (
        "import sys, ffml\n"
        "assert 'FairMetaClassifier' in ffml.__all__\n"
        "assert not {'sklearn', 'jax', 'pandas'} & set(sys.modules)\n"
        "sys.modules['sklearn.base'] = None\n"
        "try: ffml.FairMetaClassifier\n"
        "except ImportError as error: print(error)\n"
    )
    expected = "FairMetaClassifier needs scikit-learn >= 1.6; pip install 'scikit-learn>=1.6'"
    assert run_python(code, tmp_path).strip() == expected
    assert ffml.FairMetaClassifier is FairMetaClassifier


# -- kinds of input ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "table", [FRAME, pl.DataFrame(FRAME), pa.table(dict(FRAME))], ids=["pandas", "polars", "arrow"]
)
def test_every_kind_of_table_gives_the_same(fitted, table):
    model = classifier().fit(
        table, pl.Series(Y), sensitive_features=pl.Series(SEX), tasks=pl.Series(TOWN)
    )
    assert list(model.feature_names_in_) == ["age", "income", "debt"]
    np.testing.assert_array_equal(model.predict_proba(table), fitted.predict_proba(X))
    np.testing.assert_array_equal(model.predict_proba(FRAME), fitted.predict_proba(X))


def test_categories_and_missing_values():
    frame = FRAME[["age"]].assign(town=TOWN)
    frame.loc[:5, "age"] = np.nan
    model = classifier().fit(frame, Y, sensitive_features=SEX, tasks=TOWN)
    assert model.schema_.features == ("age", "town=Bonn", "town=Kiel", "town=Ulm")
    median = frame["age"][TOWN[0] == TOWN].median()
    assert median != frame["age"].median()
    new = pd.DataFrame({"age": [np.nan, median, 0, 0], "town": ["Ulm", "Ulm", "Rome", "Oslo"]})
    missing, present, unseen, another = model.decision_function(new)
    assert missing == present and unseen == another
    array = X.copy()
    array[0, 0] = np.nan
    assert np.isfinite(classifier(max_gap=None).fit(array, Y).predict_proba(array)).all()


LABELS = {
    "texts": (np.where(Y, "yes", "no"), ["no", "yes"]),
    "booleans": (Y.astype(bool), [False, True]),
    "numbers": (np.where(Y, 5, 2), [2, 5]),
    "pandas": (pd.Series(Y).map({0: "a", 1: "b"}).astype("category"), ["a", "b"]),
    "list": (Y.tolist(), [0, 1]),
}


@pytest.mark.parametrize("kind", LABELS)
def test_labels_may_be_any_two_values(fitted, kind):
    labels, classes = LABELS[kind]
    said = {"positive": "b"} if kind == "pandas" else {}  # "a" and "b" do not say it
    model = classifier(**said).fit(X, labels, sensitive_features=SEX, tasks=TOWN)
    assert model.classes_.tolist() == classes and model.positive_ == classes[1]
    np.testing.assert_array_equal(model.predict(X), np.array(classes)[fitted.predict(X)])
    assert model.score(X, labels) == fitted.score(X, Y)


def test_the_favourable_label_is_said_and_never_the_last_in_the_alphabet(fitted, tmp_path):
    labels = np.where(Y, "approved", "denied")
    with pytest.raises(FFMLError, match="holds 'approved' and 'denied'; say which one is the fav"):
        classifier().fit(X, labels, sensitive_features=SEX, tasks=TOWN)
    with pytest.raises(FFMLError, match="holds 'approved' and 'denied', not 'granted'; give one"):
        classifier(positive="granted").fit(X, labels, sensitive_features=SEX, tasks=TOWN)
    model = classifier(positive="approved").fit(X, labels, sensitive_features=SEX, tasks=TOWN)
    model.save(tmp_path / "run")
    for one in (model, FairMetaClassifier.from_run(tmp_path / "run")):
        assert one.classes_.tolist() == ["approved", "denied"]
        assert one.positive_ == one.get_params()["positive"] == "approved"
        np.testing.assert_array_equal(one.predict(X) == "approved", fitted.predict(X))
        found, expected = one.predict_proba(X), fitted.predict_proba(X)
        np.testing.assert_allclose(found, expected[:, ::-1], rtol=1e-6)
        np.testing.assert_allclose(
            one.decision_function(X), -fitted.decision_function(X), rtol=1e-6
        )
        ranked = get_scorer("roc_auc")(one, X, labels)
        assert ranked == pytest.approx(get_scorer("roc_auc")(fitted, X, Y))
    unasked = classifier(max_gap=None).fit(X, labels, tasks=TOWN)  # as scikit-learn has it
    assert unasked.positive_ == "denied"
    capitals = classifier().fit(X, np.where(Y, "YES", "no"), sensitive_features=SEX, tasks=TOWN)
    assert capitals.classes_.tolist() == ["YES", "no"] and capitals.positive_ == "YES"


def test_probabilities_are_at_the_rate_of_labels():
    """With "evened": they are no longer those of the decision."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(900, 2))
    y = (rng.random(900) < 1 / (1 + np.exp(2 - x[:, 0]))).astype(int)
    tasks, sex = np.repeat(["a", "b", "c"], 300), rng.choice(["f", "m"], 900)
    model = FairMetaClassifier("leader", wrappers=["evened"], max_gap=0.5)
    model.fit(x, y, sensitive_features=sex, tasks=tasks)
    found = model.predict_proba(x)[:, 1]
    assert found.mean() == pytest.approx(y.mean(), abs=0.03)
    assert (found[model.predict(x) == 1] < 0.5).any()  # the threshold is for balanced accuracy


GROUPS = {
    "list": (SEX.tolist(), ["sensitive_feature=m"]),
    "series": (pd.Series(SEX, name="sex"), ["sex=m"]),
    "numbers": ((SEX == "m") * 1.0, ["sensitive_feature=1"]),
    "three": (
        np.array(["x", "y", "z"])[np.arange(len(Y)) % 3],
        [f"sensitive_feature={group}" for group in "xyz"],
    ),
    "frame": (TWO, ["sex=m", "adult=true"]),
    "polars": (pl.DataFrame(TWO), ["sex=m", "adult=true"]),
    "mapping": (dict(TWO), ["sex=m", "adult=true"]),
    "columns": (TWO.to_numpy(), ["sensitive_feature_0=m", "sensitive_feature_1=true"]),
}


@pytest.mark.parametrize("kind", GROUPS)
def test_sensitive_features_may_be_one_or_several_columns(kind):
    given, contrasts = GROUPS[kind]
    columns = sensitive_columns(read_groups(given, len(Y)))
    assert list(Schema((), columns).contrasts) == contrasts


def test_every_sensitive_column_is_constrained():
    model = classifier().fit(X, Y, sensitive_features=TWO, tasks=TOWN)
    assert list(model.multipliers_) == [f"demographic-parity[{c}]" for c in ("sex=m", "adult=true")]
    codes = [[["f", "m"].index(sex), int(adult)] for sex, adult in TWO.to_numpy()]
    groups = group_codes(read_groups(TWO, len(Y)), model.schema_.sensitive)
    np.testing.assert_array_equal(groups, codes)


def test_classes_and_groups_that_the_first_task_lacks_can_be_named():
    rows = np.flatnonzero((Y == 0) & (SEX == "f"))
    model = classifier()
    declared = {"classes": [0, 1], "groups": ["m", "f"]}
    model.partial_fit(X[rows], Y[rows], sensitive_features=SEX[rows], **declared)
    model.partial_fit(X, Y, sensitive_features=SEX, **declared)
    assert model.classes_.tolist() == [0, 1]
    assert model.schema_.sensitive[0].groups == ("f", "m")


def test_a_sensitive_feature_among_the_features_is_warned_of():
    frame = FRAME[["age", "debt"]].assign(sex=SEX)
    with pytest.warns(UserWarning, match="^'sex' is a feature and a sensitive feature, so that"):
        classifier().fit(frame, Y, sensitive_features=frame[["sex"]], tasks=TOWN)


# -- inside scikit-learn -------------------------------------------------------------------------


def test_metadata_reach_it_in_a_pipeline(fitted):
    with sklearn.config_context(enable_metadata_routing=True):
        last = classifier().set_fit_request(sensitive_features=True, tasks=True)
        pipeline = make_pipeline(StandardScaler(), last)
        pipeline.fit(X, Y, sensitive_features=SEX, tasks=TOWN)
        assert [r.task for r in pipeline[-1].rounds_] == ["Ulm", "Bonn", "Kiel"]
        np.testing.assert_array_equal(pipeline.predict(X), fitted.predict(X))
        unasked = make_pipeline(StandardScaler(), classifier())
        with pytest.raises(sklearn.exceptions.UnsetMetadataPassedError):
            unasked.fit(X, Y, sensitive_features=SEX, tasks=TOWN)
    for request in ("set_fit_request", "set_partial_fit_request", "set_score_request"):
        assert hasattr(FairMetaClassifier, request)


@pytest.mark.parametrize("routing", [True, False])
def test_a_grid_search_over_parameters_and_settings(routing):
    settings = [QUICK, QUICK | {"memory_policy": "recent"}]
    grid = {"validation_fraction": [0.3, 0.5], "settings": settings}
    with sklearn.config_context(enable_metadata_routing=routing):
        model = classifier()
        if routing:
            model.set_fit_request(sensitive_features=True, tasks=True)
        search = GridSearchCV(model, grid, cv=2, error_score="raise")
        search.fit(X, Y, sensitive_features=SEX, tasks=TOWN)
    assert len(search.cv_results_["params"]) == 4
    assert search.best_estimator_.n_rounds_ == 3 and search.best_score_ > 0.6


def test_a_clone_is_unfitted_and_has_the_same_parameters(fitted):
    copied = clone(fitted)
    assert copied.get_params() == fitted.get_params()
    with pytest.raises(NotFittedError):
        copied.predict(X)
    with pytest.raises(FFMLError, match="decisions do not look at groups; leave out"):
        fitted.predict(X, sensitive_features=SEX)
