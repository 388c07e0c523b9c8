"""Keep the bounds among the very people to be decided about, by what their features tell.

The rows of a new task that are labelled are few, and the gap that they show is mostly chance. The
people to be decided about are more, and they are exactly those whose decisions will be judged.
Their features tell something about their groups (`ffml.wrappers.membership`), so the gap of
decisions about them can be estimated beforehand, and decisions changed until it keeps the bound
(`ffml.wrappers.pricing`). Labels and groups of these people are never looked at.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, logit

from ffml.base import Array, Batch, LabelledTask, Learner, Method, Params, Problem, Unlabelled
from ffml.border import at_least, at_most
from ffml.draws import generator
from ffml.methods.trust import Halves, halves
from ffml.wrappers.host import on_host
from ffml.wrappers.membership import (
    Membership,
    learn_membership,
    nothing_known,
    of_task,
    try_trusts,
)
from ffml.wrappers.pricing import (
    People,
    Prices,
    expected,
    gaps_met,
    influence,
    observed,
    priced,
    smallest_prices,
)
from ffml.wrappers.surprise import Surprise, expected_shift, update_surprise
from ffml.wrappers.thresholds import threshold_of

FRESH_SPLITS = 4  # of a task just revealed: how often it is split to see how far off gaps were
PRIOR_ROWS = 20.0  # a task's label rate is mixed with that of all tasks, which counts so many rows
CERTAIN = 1e-6  # scores nearer to 0 or 1 than that are taken for it: logits stay finite


class Known(NamedTuple):
    """What the wrapper knows: groups, label rates, and how far off expected gaps were."""

    membership: Membership
    labels: np.ndarray  # (2,) rows of each label so far
    bias: Surprise  # gaps met on tasks just revealed, beside those expected


class Evened(NamedTuple):
    """The learner's own state or knowledge, and what the wrapper knows."""

    inner: Any
    known: Known


class EvenedParams(NamedTuple):
    """The learner's parameters for a task, and the prices under which they decide."""

    params: Params
    groups: np.ndarray  # (columns + 2, contrasts) how features and labels tell groups here
    label_rate: np.ndarray  # () π
    prices: Prices


def evened(
    method: Method, *, threshold: str = "balanced", memory: float = 0.9, shots: int = 100
) -> Method:
    """Put a price on gaps, just high enough that decisions about new people keep the bounds.

    Who is decided positively is said in `ffml.wrappers.pricing`. The smallest prices are found on
    the people to be decided about, with which each expected gap, plus how far off such gaps were
    on earlier tasks, keeps within its bound. The rule is optimal where the probabilities of labels
    and groups are right. Nothing is learned through it, and any method can be wrapped. Where
    nothing is bounded, it decides by the threshold alone.

    Limits: The groups of the people to be decided about are estimated from their features. A
    decision may depend on who else is decided about, and it relies on features going with groups
    as they did in earlier tasks and in the labelled rows.

    Args:
        method: any.
        threshold: from which probability on a decision is positive: "balanced" (errors at both
            labels count the same), "accuracy", "cost=5" (a missed positive costs 5 false alarms),
            "rate=0.2" (the highest 20 %), or a probability.
        memory: what a task counts in the correction of expected gaps beside the next one.
        shots: rows of each class that a task just met is tried with.

    Reference: Xian & Zhao, "A Unified Post-Processing Framework for Group Fairness in
    Classification", 2024; Zeng, Dobriban & Cheng, "Bayes-Optimal Classifiers under Group Fairness",
    2022.
    """
    at_least(0, **{"evened.memory": memory})
    at_most(1, **{"evened.memory": memory})
    goal = threshold_of(threshold)

    def wrapped(problem: Problem) -> Learner:
        learner = on_host(method(problem))
        entries = problem.num_constraints

        def init(key: Array) -> Evened:
            membership = nothing_known(problem.schema.num_columns, len(problem.schema.contrasts))
            unbiased = Surprise(np.zeros(entries), np.zeros(entries))
            return Evened(learner.init(key), Known(membership, np.zeros(2), unbiased))

        def knowledge(state: Evened) -> Evened:
            return state._replace(inner=learner.knowledge(state.inner))

        def adapt(evened: Evened, support: Batch) -> EvenedParams:
            known = evened.known
            params = learner.adapt(evened.inner, support)
            rate = _label_rate(known, support)
            groups = of_task(known.membership, support)
            asked = support.unlabelled
            x, weight = (support.x, support.weight) if asked is None else asked
            prices = smallest_prices(
                problem,
                described(params, groups, rate, x),
                np.asarray(weight, float),
                np.asarray(expected_shift(known.bias)),
                goal(rate, problem.positive_weight),
            )
            return EvenedParams(params, groups, np.asarray(rate), prices)

        def described(params: Params, groups: np.ndarray, rate: float, x: Array) -> People:
            return expected(problem, groups, at_rate(params, rate, x), np.asarray(x))

        def at_rate(params: Params, rate: float, x: Array) -> np.ndarray:
            """Turn logits of labels drawn evenly into probabilities at the task's label rate."""
            logits = np.asarray(learner.predict(params, np.asarray(x)), float)
            prior = logit(rate) - np.log(problem.positive_weight)
            return expit(np.clip(logits + prior, -30, 30))

        def people_of(params: EvenedParams, x: Array) -> People:
            return described(params.params, params.groups, float(params.label_rate), x)

        def predict(params: EvenedParams, x: Array) -> np.ndarray:
            score, threshold = priced(params.prices, people_of(params, x)), params.prices.threshold
            logits = _logit(score) - _logit(threshold)
            # Prices may move scores out of 0 … 1, and a selection rate the threshold with them.
            positive = score > threshold
            return np.where(positive, logits.clip(CERTAIN), logits.clip(max=0)).astype(np.float32)

        def off_by(evened: Evened, parts: Halves) -> tuple[np.ndarray, np.ndarray]:
            """Return how far gaps are from what is expected, and the rows behind each."""
            support, query = parts
            params = adapt(evened, support._replace(unlabelled=Unlabelled(query.x, query.weight)))
            people = people_of(params, query.x)
            positive = 1.0 * (priced(params.prices, people) > params.prices.threshold)
            met, rows = gaps_met(positive, observed(problem, query))
            share = query.weight / query.weight.sum()
            return met - (positive * share) @ influence(params.prices, people), rows

        def update(key: Array, state: Evened, task: LabelledTask, tasks: LabelledTask):
            known, rng = state.known, generator(key)
            splits = [halves(rng, task, shots) for _ in range(FRESH_SPLITS)]
            if known.labels.any() and len(splits[0].query.y):
                if entries:
                    found = [off_by(knowledge(state), parts) for parts in splits]
                    off, rows = (np.array(values) for values in zip(*found, strict=True))
                    mean = (rows * off).sum(0) / np.maximum(rows.sum(0), 1e-30)
                    bias = update_surprise(known.bias, mean, rows.mean(0), memory)
                    known = known._replace(bias=bias)
                losses = try_trusts(known.membership, splits[0])
                known = known._replace(membership=known.membership._replace(losses=losses))
            inner, info = learner.update(key, state.inner, task, tasks)
            known = known._replace(
                membership=learn_membership(known.membership, tasks),
                labels=known.labels + np.asarray(task.totals),
            )
            return Evened(inner, known), info

        return learner._replace(
            init=init,
            adapt=adapt,
            predict=predict,
            update=update,
            knowledge=knowledge,
            pair=lambda evened: learner.pair(evened.inner),
            uses_unlabelled=True,
            describe=lambda evened, x: learner.describe(evened.inner, x),
            study=_within(learner),
            chances=lambda params, x: at_rate(params.params, float(params.label_rate), x),
        )

    return wrapped


def _within(learner: Learner) -> Any:
    if learner.study is None:
        return None
    study = learner.study
    return lambda key, state, tasks: state._replace(inner=study(key, state.inner, tasks))


def _label_rate(known: Known, support: Batch) -> float:
    """Estimate the task's rate of label 1 from its labelled rows and from the tasks before."""
    everywhere = (known.labels[1] + 1) / (known.labels.sum() + 2)
    total = float(np.sum(support.weight))
    own = float(support.weight @ support.y) / total if total > 0 else 0.0
    rows = float(support.pool_size) if total > 0 else 0.0
    return float(np.clip((rows * own + PRIOR_ROWS * everywhere) / (rows + PRIOR_ROWS), 1e-3, 0.999))


def _logit(score: np.ndarray) -> np.ndarray:
    return logit(np.clip(score, CERTAIN, 1 - CERTAIN))
