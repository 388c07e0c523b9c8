"""fairlearn, refitted on everything seen: what a user would take today."""

import warnings
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np

from ffml.base import Array, Learner, Params, Problem
from ffml.border import at_least, needed, one_of, positive
from ffml.methods._refit import refitting, repeated
from ffml.methods.classifiers import Balanced, Classifier, chosen, constant, logits_of
from ffml.methods.rows import Rows
from ffml.problem.classification import label_costs

RATES = ("demographic-parity", "equal-opportunity", "equalized-odds")  # notions of decisions
FAIRLEARNS_OWN = 0.01  # difference_bound where nothing is asked of decisions
SMALLEST = 1e-3  # difference_bound where no gap at all is: fairlearn wants one above 0
CERTAIN = 1e-3  # a probability of 0 or 1 is reported this far from it: logits stay finite


def fairlearn_dp(
    problem: Problem,
    *,
    difference_bound: float | None = None,
    max_iter: int = 50,
    classifier: str | Any = "logistic",
    inverse_l2: float = 1.0,
    derandomize: str = "hash",
) -> Learner:
    """Refit fairlearn's ExponentiatedGradient with demographic parity on all rows seen.

    For every decision, on the rows of rounds 1 … t-1 and the support rows of round t::

        Q_t = argmin_Q error(Q)   s.t.   |P_Q(ŷ=1 | s) - P_Q(ŷ=1)| <= ε for every group s

    over mixtures Q = Σ_i q_i h_i of classifiers (scikit-learn's, classes balanced). The
    mixture decides at random, with ``p(x) = P_Q(ŷ=1 | x) = Σ_i q_i h_i(x)``. Here ŷ = 1 where
    ``p(x) > u(x)``, with u drawn by a hash of x: as fair as the mixture, and the same
    decision for equal people. The logit is ``logit p(x) - logit u(x)`` with p kept away from 0
    and 1, so that the loss of a round says little. ("majority" decides by p(x) > 1/2; with two
    members that is the heavier one alone, and their parity is lost.)

    Rows: each kept row of a task is repeated as often as it stands for others, so that label
    rates and sizes of tasks are those of the whole data. Groups are those of all protected
    columns together (their intersection). If the rows have one label or one group only, the
    plain classifier is used. The problem's own model, constraints and bounds are
    not, and the multipliers stay 0. Its positive weight sets the costs of errors.

    Args:
        problem: its positive weight, and the gap or ratio that is asked for.
        difference_bound: ε. None: half the gap that is asked for, so that no two groups differ by
            more, or the square root of a ratio; where neither is, fairlearn's own 0.01.
        max_iter: most iterations of a fit, each of them several fits of the classifier; the
            default is fairlearn's. It ends earlier once the duality gap is small; boosting
            is slow to fit, so give it fewer.
        classifier: "logistic", "boosting", or in Python any estimator, see `refit`.
        inverse_l2: C of the logistic regression.
        derandomize: "hash" or "majority", what p(x) is compared with.

    Differs from the paper: its learner minimises the weighted error; ours also balances the
    classes of the labels that the reduction gives it, for the sake of balanced accuracy, and
    multiplies them by the costs of errors. A hash takes the place of chance (Cotter, Narasimhan &
    Gupta, "On Making Stochastic Classifiers Deterministic", NeurIPS 2019).

    Reference: Agarwal, Beygelzimer, Dudík, Langford & Wallach, "A Reductions Approach to Fair
    Classification", ICML 2018.
    """
    kind = _chosen(classifier, inverse_l2)
    bound = _bound(problem, difference_bound)
    return _fair_refit(problem, "DemographicParity", bound, max_iter, kind, derandomize)


def fairlearn_eo(
    problem: Problem,
    *,
    difference_bound: float | None = None,
    max_iter: int = 50,
    classifier: str | Any = "logistic",
    inverse_l2: float = 1.0,
    derandomize: str = "hash",
) -> Learner:
    """Refit fairlearn's ExponentiatedGradient with equalized odds on all rows seen.

    As `fairlearn_dp`, with ``|P_Q(ŷ=1 | s, y) - P_Q(ŷ=1 | y)| <= ε`` for every group s and both
    labels y.

    Args:
        problem: its positive weight, and the gap or ratio that is asked for.
        difference_bound: ε. None: half the gap that is asked for, so that no two groups differ by
            more, or the square root of a ratio; where neither is, fairlearn's own 0.01.
        max_iter: most iterations of a fit.
        classifier: "logistic", "boosting", or in Python any estimator, see `refit`.
        inverse_l2: C of the logistic regression.
        derandomize: "hash" or "majority", see `fairlearn_dp`.
    """
    kind = _chosen(classifier, inverse_l2)
    bound = _bound(problem, difference_bound)
    return _fair_refit(problem, "EqualizedOdds", bound, max_iter, kind, derandomize)


def _bound(problem: Problem, difference_bound: float | None) -> dict[str, float]:
    """Return how closely fairlearn is to hold groups to everybody's rate.

    Groups within ε of it are within 2ε of each other; those within a share √r, within r.
    """
    if difference_bound is not None:
        return {"difference_bound": difference_bound}
    bands = [c.bound for c in problem.constraints if c.name in RATES]
    if not bands:
        return {"difference_bound": FAIRLEARNS_OWN}
    if share := max(float(np.max(band.share)) for band in bands):
        return {"ratio_bound": (1 - share) ** 0.5}
    return {"difference_bound": max(min(float(np.min(b.width)) for b in bands) / 2, SMALLEST)}


def _chosen(classifier: str | Any, inverse_l2: float) -> Classifier:
    needed("fairlearn", "sklearn")
    return chosen(classifier, inverse_l2)


def _fair_refit(
    problem: Problem,
    notion: str,
    bound: dict[str, float],
    max_iter: int,
    classifier: Classifier,
    derandomize: str,
) -> Learner:
    thresholds = one_of("derandomize", derandomize, THRESHOLDS)
    positive(**bound)
    at_least(1, max_iter=max_iter)

    def fit(rows: Rows) -> Mixture:
        rows, model = repeated(rows), Balanced(classifier, problem.positive_weight)
        if len(np.unique(rows.y)) < 2 or len(np.unique(rows.s, axis=0)) < 2:
            return Mixture(np.ones(1), (model.fit(rows.x, rows.y).kept(),))
        return _fair_mixture(rows, notion, bound, max_iter, model)

    def predict(mixture: Mixture, x: Array) -> Array:
        x = np.asarray(x, np.float32)
        decisions = [logits_of(classifier, member, x) > 0 for member in mixture.members]
        return _logit(mixture.share @ np.stack(decisions)) - _logit(thresholds(x))

    return refitting(problem, fit, predict)


class Mixture(NamedTuple):
    """``P_Q(ŷ=1 | x) = Σ_i q_i 1[h_i(x) > 0]``: the shares q, and what each h is made of."""

    share: np.ndarray  # (members,)
    members: tuple[Params, ...]


def _fair_mixture(
    rows: Rows, notion: str, bound: dict[str, float], max_iter: int, model: Balanced
) -> Mixture:
    """Fit with fairlearn, and keep what its mixture is made of."""
    from fairlearn import reductions

    false_alarm, missed = label_costs(model.positive_weight)
    fair = reductions.ExponentiatedGradient(
        model,
        getattr(reductions, notion)(**bound),
        objective=reductions.ErrorRate(costs={"fp": false_alarm, "fn": missed}),
        max_iter=max_iter,
    )
    groups = np.unique(rows.s, axis=0, return_inverse=True)[1].ravel()
    with warnings.catch_warnings():  # what fairlearn asks of pandas is not the caller's business
        warnings.simplefilter("ignore", DeprecationWarning)
        fair.fit(rows.x, rows.y, sensitive_features=groups)
    used = [i for i in fair.weights_.index if fair.weights_[i] > 0]
    members = tuple(_member(fair.predictors_[i]) for i in used)
    return Mixture(np.array([fair.weights_[i] for i in used]), members)


def _member(predictor: Any) -> Params:
    """Return what a member decides by; where one label was all it was given, it is a constant."""
    return predictor.kept() if isinstance(predictor, Balanced) else constant(predictor.constant)


def _logit(probability: np.ndarray) -> np.ndarray:
    probability = np.clip(probability, CERTAIN, 1 - CERTAIN)
    return np.log(probability / (1 - probability))


def _hashed(x: np.ndarray) -> np.ndarray:
    """Draw a number between 0 and 1 for each row, the same for equal rows."""
    digests = b"".join(blake2b(row.tobytes(), digest_size=4).digest() for row in x + 0)
    uniform = np.frombuffer(digests, "<u4") / 2.0**32
    return 2 * CERTAIN + (1 - 4 * CERTAIN) * uniform  # so that who is certain stays so


THRESHOLDS = {"hash": _hashed, "majority": lambda x: np.full(len(x), 0.5)}
