"""What `FairMetaClassifier` refuses, with the exact message."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError
from towns import FRAME, SEX, TOWN, TWO, X, Y, classifier

from ffml.estimator import FairMetaClassifier
from ffml.methods import METHODS
from ffml.problem.models import MODELS
from ffml.problem.notions import CONSTRAINTS
from ffml.recipe.recipes import Recipe, additions, known_settings


@pytest.fixture(scope="module")
def fitted():
    return classifier().fit(X, Y, sensitive_features=SEX, tasks=TOWN)


NAMES = "The feature names should match those that were passed during fit.\n"
SETTINGS = ", ".join(known_settings(Recipe("ffml", ("corrected",), {"outer": "pooled"})))


def holding(values, value, place=0):
    changed = list(values)
    changed[place] = value
    return changed


def with_value(value):
    array = X.copy()
    array[4, 1] = value
    return array


REFUSED_BY_FIT = {
    "sparse": (
        {"X": sparse.csr_array(X)},
        "sparse matrices are not supported; pass a dense one: X.toarray()",
    ),
    "flat X": (
        {"X": X[:2, 0]},
        f"Expected 2D array, got 1D array instead:\narray={X[:2, 0]}.\nReshape your data either "
        "using array.reshape(-1, 1) if your data has a single feature or array.reshape(1, -1) if "
        "it contains a single sample.",
    ),
    "no rows": (
        {"X": X[:0], "y": Y[:0]},
        "Found array with 0 sample(s) (shape=(0, 3)) while a minimum of 1 is required by "
        "FairMetaClassifier.",
    ),
    "texts in an array": (
        {"X": np.full((240, 2), "a", object)},
        "could not convert string to float: 'a'",
    ),
    "infinite X": (
        {"X": with_value(np.inf)},
        "Input X contains infinity or a value too large for dtype('float64').",
    ),
    "infinite column": (
        {"X": FRAME.assign(age=np.inf)},
        "column 'age' holds infinite values; make them missing",
    ),
    "huge X": (
        {"X": with_value(1e31)},
        "column 'x1' holds 1e+31, and 1e+30 is the limit; rescale the column or make such values "
        "missing",
    ),
    "empty column": (
        {"X": FRAME.assign(debt=np.nan)},
        "column 'debt' holds no values; drop it (--drop debt)",
    ),
    "dates": (
        {"X": FRAME.assign(day=pd.Timestamp("2020-01-01"))},
        "column 'day' holds dates or times, which cannot be a feature; drop it (--drop day) or "
        "turn it into numbers or texts",
    ),
    "no y": (
        {"y": None},
        "This FairMetaClassifier requires y to be passed, but the target y is None",
    ),
    "short y": ({"y": Y[:-1]}, "y has 239 values and X has 240 rows; pass one per row"),
    "short groups": (
        {"sensitive_features": SEX[:-1]},
        "sensitive_features has 239 values and X has 240 rows; pass one per row",
    ),
    "long tasks": (
        {"tasks": [*TOWN, "Ulm"]},
        "tasks has 241 values and X has 240 rows; pass one per row",
    ),
    "NaN label": ({"y": holding(Y * 1.0, np.nan)}, "Input y contains NaN."),
    "infinite label": (
        {"y": holding(Y * 1.0, np.inf)},
        "Input y contains infinity or a value too large for dtype('float64').",
    ),
    "no label": (
        {"y": np.array(holding(np.where(Y, "a", "b"), None), object)},
        "y holds missing labels; leave such rows out",
    ),
    "one class": (
        {"y": Y * 0},
        "two classes are needed, got one class (0); pass rows of both",
    ),
    "three classes": (
        {"y": np.arange(240) % 3},
        "Only binary classification is supported. The type of the target is multiclass.",
    ),
    "numbers as labels": (
        {"y": X[:, 0]},
        "Only binary classification is supported. The type of the target is continuous.",
    ),
    "no groups": (
        {"sensitive_features": None},
        "notion 'demographic-parity' compares groups; pass sensitive_features, or set "
        "max_gap=None to ask for no fairness",
    ),
    "one group": (
        {"sensitive_features": ["f"] * 240},
        "sensitive column 'sensitive_feature' has one group only ('f'); groups are compared, so "
        "at least two are needed",
    ),
    "a group a row": (
        {"sensitive_features": np.arange(240)},
        "sensitive column 'sensitive_feature' has more than 50 groups ('0', '1', '10', ...); make "
        "fewer of them, such as bands of age",
    ),
    "missing group": (
        {"sensitive_features": holding(SEX, None)},
        "sensitive_features has no value in 1 rows; fill them in or leave them out",
    ),
    "NaN group": (
        {"sensitive_features": holding(np.arange(240) % 2 * 1.0, np.nan)},
        "sensitive_features has no value in 1 rows; fill them in or leave them out",
    ),
    "infinite group": (
        {"sensitive_features": holding(np.arange(240) % 2 * 1.0, np.inf)},
        "sensitive column 'sensitive_feature' holds infinite values; make them missing",
    ),
    "cube of groups": (
        {"sensitive_features": np.zeros((240, 1, 1))},
        "sensitive_features has 3 dimensions; pass one column or more",
    ),
    "one text as groups": (
        {"sensitive_features": "sex"},
        "sensitive_features must hold one value per row, got 'sex'",
    ),
    "mixed groups": (
        {"sensitive_features": holding(SEX.tolist(), 1)},
        "column 'sensitive_feature' mixes kinds of values, such as 1 in row 1; make them all "
        "numbers or all texts",
    ),
    "missing task": (
        {"tasks": holding(TOWN, None)},
        "tasks has no value in 1 rows; fill them in or leave them out",
    ),
    "a number as tasks": ({"tasks": 3}, "tasks must hold one value per row, got 3"),
}


@pytest.mark.parametrize("case", REFUSED_BY_FIT)
def test_fit_refuses(case):
    changed, message = REFUSED_BY_FIT[case]
    given = {"X": X, "y": Y, "sensitive_features": SEX, "tasks": TOWN} | changed
    model = classifier()
    with pytest.raises(ValueError) as error:
        model.fit(given.pop("X"), given.pop("y"), **given)
    assert str(error.value).split("\nFairMetaClassifier does not accept")[0] == message
    with pytest.raises(NotFittedError):
        model.predict(X)


REFUSED_PARAMETERS = {
    "method": (
        {"method": "fml"},
        f"unknown method 'fml'; did you mean 'ffml'? Known: {', '.join(METHODS)}",
    ),
    "model": (
        {"model": "tree"},
        f"unknown model 'tree'; known: {', '.join(MODELS)}",
    ),
    "notion": (
        {"notion": "parity"},
        "unknown notion 'parity'; did you mean 'demographic-parity'? Known: "
        + ", ".join(CONSTRAINTS),
    ),
    "second notion": (
        {"notion": ["dbc", "dp"]},
        f"unknown notion 'dp'; known: {', '.join(CONSTRAINTS)}",
    ),
    "negative gap": (
        {"max_gap": -0.1},
        "max_gap must be >= 0, got -0.1",
    ),
    "two gaps": (
        {"max_gap": [0.1, 0.2], "notion": ["dbc", "equal-opportunity", "equalized-odds"]},
        "give one max_gap, or one for each of the 3 notions; got 2",
    ),
    "no ratio": ({"min_ratio": 0}, "min_ratio must be above 0 and at most 1, got 0; 0.8 is 80 %"),
    "large ratio": (
        {"min_ratio": 1.2},
        "min_ratio must be above 0 and at most 1, got 1.2; 0.8 is 80 %",
    ),
    "ratio that is no number": (
        {"min_ratio": float("nan")},
        "setting 'min_ratio' must be finite, got nan",
    ),
    "text as ratio": (
        {"min_ratio": "four fifths"},
        "min_ratio must be a number, or one for each notion: could not convert string to float: "
        "'four fifths'",
    ),
    "gap and ratio": (
        {"max_gap": 0.1, "min_ratio": 0.8},
        "max_gap and min_ratio are two ways to ask for the same; give one of them",
    ),
    "ratio of scores": (
        {"notion": "dbc", "min_ratio": 0.8},
        "min_ratio compares rates of decisions, and 'dbc' compares scores; use max_gap, or one of "
        "demographic-parity, equal-opportunity, equalized-odds",
    ),
    "no notion": (
        {"notion": None},
        "name a notion; max_gap=null asks for no fairness at all",
    ),
    "text as gap": (
        {"max_gap": "low"},
        "max_gap must be a number, or one for each notion: could not convert string to float: "
        "'low'",
    ),
    "unknown setting": (
        {"method": "ffml", "settings": {"depth": 3}},
        f"unknown setting of ffml 'depth'; known: {SETTINGS}",
    ),
    "setting of another model": (
        {"method": "ffml", "settings": {"model.hidden": [8]}},
        f"unknown setting of ffml 'model.hidden'; did you mean 'model'? Known: {SETTINGS}",
    ),
    "parameter as setting": (
        {"settings": {"seed": 3}},
        "settings holds 'seed'; pass random_state= instead",
    ),
    "no setting": (
        {"settings": {"rounds": 3}},
        "'rounds' is not a setting of FairMetaClassifier; leave it out",
    ),
    "wrapper as setting": (
        {"settings": {"wrappers": ["evened"]}},
        "settings holds 'wrappers'; pass wrappers= instead",
    ),
    "wrapper": (
        {"wrappers": ["evenned"]},
        f"unknown wrapper 'evenned'; did you mean 'evened'? Known: {', '.join(additions())}",
    ),
    "setting of another wrapper": (
        {"method": "ffml", "settings": {"evened.memory": 0.5}},
        "'evened.memory' is a setting of the wrapper 'evened'; add --with evened, or with=evened "
        "after the method's name",
    ),
    "bad setting": ({"method": "ffml", "settings": {"inner.lr": 0}}, "inner.lr must be > 0, got 0"),
    "bad policy": (
        {"settings": {"memory_policy": "recents"}},
        "unknown memory policy 'recents'; did you mean 'recent'? Known: all, recent, reservoir",
    ),
    "no shots": ({"shots": 0}, "shots must be >= 1, got 0"),
    "validation fraction": (
        {"validation_fraction": 1.5},
        "validation_fraction must be between 0 and 1, got 1.5",
    ),
    "penalty": ({"settings": {"problem.l2": -1.0}}, "l2 must be >= 0, got -1.0"),
    "random state": ({"random_state": -1}, "random_state must be >= 0, got -1"),
}


@pytest.mark.parametrize("case", REFUSED_PARAMETERS)
def test_fit_refuses_parameters(case):
    parameters, message = REFUSED_PARAMETERS[case]
    model = FairMetaClassifier(**parameters)
    with pytest.raises(ValueError) as error:
        model.fit(X, Y, sensitive_features=SEX, tasks=TOWN)
    assert str(error.value) == message


REFUSED_BY_PREDICT = {
    "features": (
        X[:, :2],
        "X has 2 features, but FairMetaClassifier is expecting 3 features as input.",
    ),
    "order": (
        FRAME[["income", "age", "debt"]],
        NAMES + "Feature names must be in the same order as they were in fit.\n",
    ),
    "missing column": (
        FRAME[["age", "debt"]],
        NAMES + "Feature names seen at fit time, yet now missing:\n- income\n",
    ),
    "new column": (
        FRAME.assign(height=1.0),
        NAMES + "Feature names unseen at fit time:\n- height\n",
    ),
    "texts": (
        FRAME.assign(age="old"),
        "column 'age' held numbers before and now holds 'old'; correct the value or leave it empty",
    ),
    "sparse": (
        sparse.coo_array(X),
        "sparse matrices are not supported; pass a dense one: X.toarray()",
    ),
}


@pytest.mark.parametrize("case", REFUSED_BY_PREDICT)
def test_predict_refuses(fitted, case):
    table, message = REFUSED_BY_PREDICT[case]
    model = fitted
    if hasattr(table, "columns"):
        model = classifier().fit(FRAME, Y, sensitive_features=SEX, tasks=TOWN)
    for function in (model.predict, model.predict_proba, model.decision_function):
        with pytest.raises(ValueError) as error:
            function(table)
        assert str(error.value) == message


REFUSED_LATER = {
    "new label": ({"y": Y + 1}, "y holds 2, which is neither 0 nor 1; correct it"),
    "new group": (
        {"sensitive_features": holding(SEX, "x")},
        "sensitive feature 'sensitive_feature' has a new group 'x'; name all groups in the first "
        "call of partial_fit (groups=), or fit again",
    ),
    "new column": (
        {"sensitive_features": TWO},
        "sensitive_features has 'sex', 'adult', and at first it had 'sensitive_feature'; pass the "
        "same columns in the same order",
    ),
    "no groups": (
        {"sensitive_features": None},
        "sensitive_features are missing; pass one value per row",
    ),
    "features": (
        {"X": X[:, :2]},
        "X has 2 features, but FairMetaClassifier is expecting 3 features as input.",
    ),
}


@pytest.mark.parametrize("function", ["partial_fit", "adapt"])
@pytest.mark.parametrize("case", REFUSED_LATER)
def test_later_data_that_do_not_fit_are_refused_and_nothing_changes(fitted, case, function):
    changed, message = REFUSED_LATER[case]
    given = {"X": X, "y": Y, "sensitive_features": SEX} | changed
    before = pickle.dumps(fitted)
    with pytest.raises(ValueError) as error:
        getattr(fitted, function)(**given)
    assert str(error.value) == message
    assert pickle.dumps(fitted) == before


REFUSED_DECLARATIONS = {
    "classes": ({"classes": [0, 2]}, "classes were [0, 1] in the first call; pass the same"),
    "groups": (
        {"groups": ["m", "x"]},
        "sensitive feature 'sensitive_feature' has a new group 'x'; name all groups in the first "
        "call of partial_fit (groups=), or fit again",
    ),
    "columns": (
        {"groups": {"race": ["a", "b"]}},
        "groups= names 'race', which is no sensitive feature; they are 'sensitive_feature'",
    ),
}


@pytest.mark.parametrize("case", REFUSED_DECLARATIONS)
def test_later_declarations_must_agree_with_the_first(fitted, case):
    declared, message = REFUSED_DECLARATIONS[case]
    with pytest.raises(ValueError) as error:
        fitted.partial_fit(X, Y, sensitive_features=SEX, **declared)
    assert str(error.value) == message


@pytest.mark.parametrize("call", ["predict", "predict_proba", "decision_function", "adapt"])
def test_an_unfitted_one_says_so(call):
    arguments = (X, Y) if call == "adapt" else (X,)
    with pytest.raises(NotFittedError, match="This FairMetaClassifier instance is not fitted yet"):
        getattr(classifier(), call)(*arguments)
    assert not hasattr(classifier(), "loop_")
