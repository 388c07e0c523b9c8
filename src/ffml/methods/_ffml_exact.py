"""FFML, solved exactly: both levels are fitted, where the paper takes steps."""

from typing import NamedTuple

import numpy as np
from scipy.special import expit

from ffml.base import (
    Array,
    Batch,
    Info,
    LabelledTask,
    Learner,
    Params,
    Problem,
    Traits,
    plain,
)
from ffml.border import at_least, at_most, positive
from ffml.draws import generator
from ffml.methods._newton import logistic_loss, minimised, minimised_wide
from ffml.methods.curvature import WIDE, curvature
from ffml.methods.rows import rows_of_all
from ffml.methods.trust import TRUSTS, add_losses, best_trust, halves
from ffml.problem.classification import balanced, label_costs

SCORE = 0.5  # share of the score of boosted trees, where there is one
LEAST_CURVATURE = 1e-6  # so that even the intercept of certain rows has some


class Leader(NamedTuple):
    """The fit to all tasks in memory, its curvature, and how well each trust has done."""

    weights: np.ndarray  # (features + 1,) θ̄, the intercept last
    curvature: np.ndarray  # (features + 1, features + 1) P, or its diagonal, see `curvature`
    losses: np.ndarray  # (trusts,)

    @property
    def params(self) -> Params:
        """θ̄, as a linear model has it."""
        return {"w": self.weights[:-1], "b": self.weights[-1]}


class Labelled(NamedTuple):
    """Rows as they are fitted."""

    x: np.ndarray  # features with a one
    y: np.ndarray  # labels
    weight: np.ndarray  # what each row counts
    offset: np.ndarray | float  # of the logits


def ffml_exact(
    problem: Problem,
    *,
    inverse_l2: float | None = None,
    trust: float | None = None,
    score: float = SCORE,
    shots: int | None = None,
) -> Learner:
    """Solve both levels of FFML: fit a start to all tasks in memory, and adapt it to a new one.

    Outer level, after each round, with class weights a_y that make both labels count the same: the
    leader ::

        θ̄ = argmin Σ_rows a_y ℓ(x θ, y) + ‖θ‖²/(2C)

    A decision starts from the mean of two logits: the leader's, and the score r of boosted trees
    fitted to all tasks (`boosted`; without it there is the leader alone, m = 0)::

        h(x) = m r + x (1 - m) θ̄

    Inner level, on a task's support rows: the linear part is moved. Each row counts c times beside
    the rows of all others, with P the curvature of the leader's objective at θ̄::

        θ' = argmin Σ_support a_y ℓ(m r + x θ, y) + ½ (θ - (1 - m) θ̄)ᵀ (P/c) (θ - (1 - m) θ̄)

    A few gradient steps stop on the way to the task's own fit; here the last term holds it back.
    The price λ is not part of this: `evened` solves for it on the people to be decided about.

    c is chosen among 0, 1, 3, … 1000: the one that has done best on the tasks so far, each tried
    before it was learned from. With c = 0 there is no adaptation. Of 500 features or more, only the
    diagonal of P is used.

    Args:
        problem: its constraints are not learned from and the model is linear, whatever it says;
            what a missed positive costs is heeded.
        inverse_l2: C, the smaller, the smaller the weights. None is one over the number of
            features: the more there are, the less is expected of each.
        trust: c, if it shall not be learned; 0 never adapts.
        score: m, the share of the trees' score.
        shots: rows of each label that a task just revealed is tried with; None: all.

    Differs from the paper: the start of FFML is best *after* adaptation, the leader before. Where
    losses are quadratics of one curvature they are the same.

    Reference: Zhao, Chen & Thuraisingham, "Fairness-Aware Online Meta-learning", KDD 2021; Finn,
    Rajeswaran, Kakade & Levine, "Online Meta-Learning", 2019; Rajeswaran, Finn, Kakade & Levine,
    "Meta-Learning with Implicit Gradients", 2019 (for the proximal term).
    """
    width = len(problem.schema.features)
    inverse_l2 = 1 / max(width, 1) if inverse_l2 is None else inverse_l2
    positive(inverse_l2=inverse_l2)
    at_least(1, shots=1 if shots is None else shots)
    at_least(0, trust=0 if trust is None else trust, score=score)
    at_most(1, score=score)
    share = score if problem.schema.scores else 0.0
    false_alarm, missed = label_costs(problem.positive_weight)
    no_multiplier = np.zeros(problem.num_constraints, np.float32)

    def init(key: Array) -> Leader:
        del key
        ridge, nobody = np.full(width + 1, 1 / inverse_l2), np.zeros((0, width + 1))
        plain = curvature(ridge, nobody, np.zeros(0))
        return Leader(np.zeros(width + 1), plain, np.zeros(len(TRUSTS)))

    def adapt(known: Leader, support: Batch) -> Params:
        theta = adapted(start_of(known), trusted(known), rows_of(support))
        return {"w": theta[:-1], "b": theta[-1]}

    def start_of(known: Leader) -> Leader:
        """Leave room for the trees' share."""
        return known._replace(weights=(1 - share) * known.weights)

    def offset(x: Array) -> np.ndarray | float:
        """Return the trees' part of the logits, at the costs of errors."""
        if not share:
            return 0.0
        return share * (np.asarray(x, float)[:, -1] + np.log(missed / false_alarm))

    def trusted(known: Leader) -> float:
        return float(best_trust(known.losses)) if trust is None else trust

    def rows_of(batch: Batch) -> Labelled:
        y = np.asarray(batch.y, int)
        once = np.asarray(batch.mask * batch.distinct_share, float)
        weight = balanced(y, once, problem.positive_weight)
        return Labelled(_with_one(batch.x, width), y, weight, offset(batch.x))

    def tried(known: Leader, task: LabelledTask, key: Array) -> np.ndarray:
        """Take in how each trust would have done on a task just revealed."""
        support, query, _ = halves(generator(key), task, shots)
        given, asked = rows_of(support), rows_of(query)
        nothing_learned = not known.weights.any()
        both = all(0 < r.y @ r.weight < r.weight.sum() for r in (given, asked))
        if nothing_learned or not both:
            return known.losses
        start = start_of(known)
        theta, loss = start.weights, []
        for trust in TRUSTS:  # from small to large, so that each is near the one before
            theta = adapted(start, trust, given, theta)
            loss.append(logistic_loss(theta, *asked))
        return add_losses(known.losses, np.array(loss) / asked.weight.sum(), len(asked.y))

    def update(key: Array, state: Leader, task: LabelledTask, memory: LabelledTask):
        losses = tried(state, task, key)
        extra = {"trust": best_trust(losses)} if trust is None and losses.any() else None
        info = Info(0.0, no_multiplier, no_multiplier, 1, extra)
        features, y, _, counted = rows_of_all(memory)
        if not 0 < y.sum() < len(y):
            return state._replace(losses=losses), info
        x = _with_one(features, width)
        weight = balanced(y, counted, problem.positive_weight)
        ridge = np.append(np.full(width, 1 / inverse_l2), 0.0) + LEAST_CURVATURE
        if width < WIDE:
            theta = minimised(np.diag(ridge), np.zeros(width + 1), state.weights, x, y, weight)
        else:
            theta = minimised_wide(ridge, state.weights, x, y, weight)
        p = expit(x @ theta)
        return Leader(theta, curvature(ridge, x, weight * p * (1 - p)), losses), info

    return Learner(
        init,
        adapt,
        lambda params, x: plain(x[:, :width] @ params["w"] + params["b"] + offset(x)),
        update,
        knowledge=lambda state: state,
        traits=Traits(pure=False, constrained=False),
    )


def adapted(
    known: Leader, trust: float, rows: Labelled, start: np.ndarray | None = None
) -> np.ndarray:
    """Return θ', looked for from the leader on, or from a better guess."""
    if trust == 0 or not rows.weight.any():
        return known.weights
    start = known.weights if start is None else start
    return minimised(known.curvature / trust, known.weights, start, *rows)


def _with_one(x: Array, width: int) -> np.ndarray:
    x = np.asarray(x, float)[:, :width]
    return np.concatenate([x, np.ones((len(x), 1))], axis=1)
