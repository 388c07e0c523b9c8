"""What a refit fits: classifiers by name, or any other with the methods of scikit-learn's.

A named classifier leaves arrays behind. What an estimator of your own leaves is the fitted
estimator itself, which stays in memory.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ffml.base import FFMLError, Params
from ffml.border import one_of, positive
from ffml.features.forest import fit_forest
from ffml.features.scoring import forest_logits
from ffml.problem.classification import balanced
from ffml.threads import one_thread

SMALLEST = 1e-6  # probability of an estimator of your own; logits stay finite


class Classifier(NamedTuple):
    """How a classifier is fitted, and how it decides."""

    fit: Callable[[np.ndarray, np.ndarray, np.ndarray], Any]
    # ^ x, y of both labels, sample weights -> a fitted estimator with ``predict_proba``
    kept: Callable[[Any, np.ndarray], Params]  # estimator, rows it was fitted to -> parameters
    logits: Callable[[Params, np.ndarray], np.ndarray]  # parameters, x -> (n,)


def logistic(inverse_l2: float = 1.0) -> Classifier:
    """Build a logistic regression.

    Newton steps reach the optimum of many rows and few features two to three times as fast as
    scikit-learn's default solver, which stops short of it.
    """
    positive(inverse_l2=inverse_l2)

    return Classifier(
        lambda x, y, weight: fit_logistic(x, y, weight, inverse_l2),
        lambda model, x: {"w": model.coef_[0], "b": model.intercept_[0]},
        lambda params, x: x @ params["w"] + params["b"],
    )


def fit_logistic(x: np.ndarray, y: np.ndarray, weight: np.ndarray, inverse_l2: float) -> Any:
    """Fit scikit-learn's logistic regression to rows of both labels."""
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=inverse_l2, max_iter=1000, solver="newton-cholesky")
    return model.fit(x, y, sample_weight=weight)


def boosting() -> Classifier:
    """Build gradient boosted trees (`ffml.features.forest`)."""
    return Classifier(fit_forest, lambda forest, x: forest, forest_logits)


CLASSIFIERS: dict[str, Callable[..., Classifier]] = {"logistic": logistic, "boosting": boosting}


class Fitted:
    """A fitted estimator among parameters, which are arrays otherwise."""

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator


def given(estimator: Any) -> Classifier:
    """Take an estimator of somebody else's; each fit is of a new copy of it.

    Raises:
        FFMLError: it cannot be fitted to weighted rows, or gives no probabilities.
    """
    from sklearn.base import clone
    from sklearn.utils.validation import has_fit_parameter

    name = type(estimator).__name__
    methods = (getattr(estimator, method, None) for method in ("fit", "predict_proba"))
    if isinstance(estimator, type) or not all(map(callable, methods)):
        raise FFMLError(
            f"classifier must be {' or '.join(CLASSIFIERS)}, or an estimator object with fit and "
            f"predict_proba, got {estimator!r}"
        )
    if not has_fit_parameter(estimator, "sample_weight"):
        raise FFMLError(
            f"the classifier {name} takes no sample_weight in fit, with which both labels count "
            "the same; give one that does (of a pipeline, its last step: features are standardised)"
        )

    def fit(x: np.ndarray, y: np.ndarray, weight: np.ndarray) -> Any:
        model = clone(estimator, safe=False)
        try:
            model.fit(x, y, sample_weight=weight)
        except ValueError as error:
            reason = " ".join(str(error).split())
            raise FFMLError(
                f"the classifier {name} cannot be fitted to {len(y)} rows: {reason}"
            ) from error
        return model

    def logits(params: Fitted, x: np.ndarray) -> np.ndarray:
        chances = np.asarray(params.estimator.predict_proba(np.asarray(x, float)), float)
        if chances.shape != (len(x), 2):
            raise FFMLError(
                f"predict_proba of the classifier {name} must give a probability for each of two "
                f"labels, got an array of shape {chances.shape}"
            )
        p = np.clip(chances[:, 1], SMALLEST, 1 - SMALLEST)
        return np.log(p / (1 - p))

    return Classifier(fit, lambda model, x: Fitted(model), logits)


def chosen(classifier: str | Any, inverse_l2: float) -> Classifier:
    """Build a classifier of `CLASSIFIERS`, or take an estimator.

    Raises:
        FFMLError: there is none of that name, or it has no ``inverse_l2``.
    """
    positive(inverse_l2=inverse_l2)
    factory = one_of("classifier", classifier, CLASSIFIERS) if isinstance(classifier, str) else None
    if factory is logistic:
        return logistic(inverse_l2)
    if inverse_l2 != 1:
        raise FFMLError("inverse_l2 is a setting of the classifier logistic; leave it out")
    return factory() if factory else given(classifier)


class Balanced:
    """A classifier for which both labels count the same, times what their errors cost.

    Rows of weight w_i count ``w_i · Σ w/(2 Σ_{rows of label y_i} w) · cost(y_i)``. scikit-learn's
    ``class_weight="balanced"`` is that without costs, in the versions that look at the weights.
    Rows of one label decide that label, and no rows decide 0. It has the methods that fairlearn's
    reductions ask of an estimator.
    """

    def __init__(self, classifier: Classifier, positive_weight: float) -> None:
        self.classifier, self.positive_weight = classifier, positive_weight

    def fit(self, x: Any, y: Any, sample_weight: Any = None) -> "Balanced":
        """Fit to rows; those of weight 0 are as good as absent."""
        x, labels = np.asarray(x), np.asarray(y, int)
        weight = np.ones(len(labels)) if sample_weight is None else np.asarray(sample_weight, float)
        by_label = np.bincount(labels, weight, minlength=2)
        self._x, self._model, self._only = x, None, int(by_label[1] > 0)
        if by_label.all():
            evenly = balanced(labels, weight, self.positive_weight)
            self._model = self.classifier.fit(x, labels, evenly)
        return self

    def predict(self, x: Any) -> np.ndarray:
        """Decide for the label that is more probable."""
        if self._model is None:
            return np.full(len(x), self._only)
        with one_thread():  # as it was fitted
            return (self._model.predict_proba(x)[:, 1] > 0.5).astype(int)

    def kept(self) -> Params:
        """Return what decisions need of the last fit."""
        if self._model is None:
            return constant(self._only)
        return self.classifier.kept(self._model, self._x)


def logits_of(classifier: Classifier, params: Params, x: np.ndarray) -> np.ndarray:
    """Return the logits of people with these features, by what `Balanced.kept` returned."""
    if isinstance(params, dict) and "constant" in params:
        return np.full(len(x), float(params["constant"]))
    return classifier.logits(params, x)


def constant(label: int) -> Params:
    """Decide the same for everyone, with logit ±1."""
    return {"constant": np.array(2.0 * label - 1.0)}
