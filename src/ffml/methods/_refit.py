"""Refitting on everything seen: what a user without online learning does each month."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

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
from ffml.border import needed
from ffml.methods.classifiers import Balanced, chosen, logits_of
from ffml.methods.rows import Rows, rows_of


class RefitState(NamedTuple):
    """What was seen. There are no parameters between rounds: each decision is a new fit."""

    seen: Rows


def refit(
    problem: Problem, *, classifier: str | Any = "logistic", inverse_l2: float = 1.0
) -> Learner:
    """Refit a classifier for every decision on all rows seen and the new support rows.

    The logistic regression is ``θ_t = argmin_θ C Σ_rows c_y ℓ(x θ, y) + ‖θ‖²/2`` over rounds
    1 … t-1 and the support rows of round t. Its class weights c make both labels count the same,
    times the problem's costs of their errors; they are the sample weights of other classifiers
    (`ffml.methods.classifiers`). Rows of a single label decide that label. No fairness, no
    adaptation, and the problem's own model is not used.

    Args:
        problem: only its number of constraints (the multipliers stay 0) and its positive weight
            are used.
        classifier: "logistic", "boosting" (gradient boosted trees), or in Python any estimator with
            ``fit(X, y, sample_weight)`` and ``predict_proba``.
        inverse_l2: C of the logistic regression: the smaller, the smaller its weights.

    Reference: Pedregosa et al., "Scikit-learn: Machine Learning in Python", JMLR 12, 2011.
    """
    needed("sklearn")
    kind = chosen(classifier, inverse_l2)

    def fit(rows: Rows) -> Params:
        model = Balanced(kind, problem.positive_weight)
        return model.fit(rows.x.astype(float), rows.y, rows.times).kept()

    return refitting(problem, fit, partial(logits_of, kind))


def refitting(
    problem: Problem, fit: Callable[[Rows], Params], predict: Callable[[Params, Array], Array]
) -> Learner:
    """Build the learner that fits anew, for each decision, on all rows seen plus the support.

    Tasks come with a bounded number of rows, shared evenly by the labels (``rows_per_task``).
    Each kept row counts ``totals/counts`` times, so that both the label rates and the sizes of
    the tasks are those of the whole data. Support rows count once, or more often where their
    label was drawn less often than it occurs.
    """

    no_multiplier = np.zeros(problem.num_constraints, np.float32)
    width = len(problem.schema.features)

    def init(key: Array) -> RefitState:
        del key
        nobody = Rows(
            np.zeros((0, 0), np.float32),
            np.zeros(0, np.int32),
            np.zeros((0, 0), np.float32),
            np.zeros(0, np.int32),
        )
        return RefitState(nobody)

    def adapt(state: RefitState, support: Batch) -> Params:
        seen = support._replace(x=support.x[:, :width])
        return fit(joined(state.seen, support_rows(seen)))

    def update(key: Array, state: RefitState, task: LabelledTask, memory: LabelledTask):
        del key, memory
        seen = task._replace(x=task.x[:, :width])
        return RefitState(joined(state.seen, task_rows(seen))), Info(
            0.0, no_multiplier, no_multiplier, 0
        )

    return Learner(
        init,
        adapt,
        lambda params, x: plain(predict(params, x[:, :width])),
        update,
        knowledge=lambda state: state,
        traits=Traits(pure=False, constrained=False),
    )


def task_rows(task: LabelledTask) -> Rows:
    """Take the kept rows of a revealed task; each stands for a whole number of its rows."""
    x, y, s, _ = rows_of(task)
    counts, totals = np.asarray(task.counts), np.asarray(task.totals)
    times = np.concatenate([_shares(*pair) for pair in zip(totals, counts, strict=True)])
    return Rows(np.asarray(x, np.float32), y, np.asarray(s, np.float32), times)


def support_rows(support: Batch) -> Rows:
    """Take the distinct rows of a support draw, which may go through small classes repeatedly."""
    y, mask, weight = (np.asarray(part) for part in (support.y, support.mask, support.weight))
    places = [np.flatnonzero((y == label) & (mask > 0)) for label in (0, 1)]
    shares = np.array([weight[here].sum() for here in places]) / max(weight.sum(), 1e-30)
    in_pool = np.rint(shares * support.pool_size).astype(int)  # rows of each label
    once = np.asarray(support.distinct_share)
    distinct = np.array([np.rint(once[here].sum()) for here in places]).astype(int)
    in_pool = np.maximum(in_pool, distinct)
    rows = np.concatenate([here[:n] for here, n in zip(places, distinct, strict=True)])
    rate = in_pool / np.maximum(distinct, 1)  # rows that each stands for
    least = rate[distinct > 0].min(initial=np.inf)
    totals = np.rint(distinct * rate / least).astype(int)
    return Rows(
        np.asarray(support.x[rows], np.float32),
        np.asarray(support.y[rows], np.int32),
        np.asarray(support.s[rows], np.float32),
        np.concatenate([_shares(*pair) for pair in zip(totals, distinct, strict=True)]),
    )


def _shares(total: int, count: int) -> np.ndarray:
    """Split ``total`` rows among ``count`` as evenly as whole numbers allow."""
    return np.diff(np.arange(count + 1) * int(total) // max(int(count), 1)).astype(np.int32)


def joined(seen: Rows, new: Rows) -> Rows:
    """Put rows behind those seen, of which there may be none yet."""
    if not len(seen.y):
        return new
    return Rows(*(np.concatenate(pair) for pair in zip(seen, new, strict=True)))


def repeated(rows: Rows) -> Rows:
    """Write every row out as often as it counts, in double precision."""
    x, y, s = (np.repeat(part, rows.times, axis=0) for part in rows[:3])
    return Rows(x.astype(float), y, s, np.ones(len(y), np.int32))
