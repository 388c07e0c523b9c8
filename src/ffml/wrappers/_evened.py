"""Keep the bounds among the very people to be decided about, by what their features tell.

The rows of a new task that are labelled are few, and the gap that they show is mostly chance. The
people to be decided about are more, and they are exactly those whose decisions will be judged.
Their features tell something about their groups (`ffml.wrappers._membership`), so the gap of
decisions about them can be estimated beforehand, and decisions changed until it keeps the bound
(`ffml.wrappers._pricing`). Labels and groups of these people are never looked at.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, logit

from ffml.base import (
    Array,
    Batch,
    LabelledTask,
    Learner,
    Method,
    Params,
    Prediction,
    Problem,
    Unlabelled,
)
from ffml.border import at_least, at_most
from ffml.draws import generator
from ffml.methods.trust import Halves, halves
from ffml.wrappers._membership import (
    Membership,
    learn_membership,
    nothing_known,
    of_task,
    try_trusts,
)
from ffml.wrappers._misses import Misses, add_misses, no_misses
from ffml.wrappers._people import (
    People,
    expected,
    gaps_met,
    observed,
    places,
    rows_behind,
    weighed,
)
from ffml.wrappers._pricing import Correction, Prices, priced, smallest_prices
from ffml.wrappers._thresholds import threshold_of
from ffml.wrappers._wrap import wrap
from ffml.wrappers.host import on_host

FRESH_SPLITS = 4  # of a task just revealed: how often it is split to see how far off gaps were
PRIOR_ROWS = 20.0  # a task's label rate is mixed with that of all tasks, which counts so many rows
CERTAIN = 1e-6  # scores nearer to 0 or 1 than that are taken for it: logits stay finite


class Known(NamedTuple):
    """What the wrapper knows: groups, label rates, and how far off expected gaps were."""

    membership: Membership
    labels: np.ndarray  # (2,) rows of each label so far
    misses: Misses


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
    method: Method, *, threshold: str = "balanced", memory: float | None = 0.9, shots: int = 100
) -> Method:
    """Put a price on each group's rate, so that decisions about new people keep the bounds.

    Who is decided positively is said in `ffml.wrappers._pricing`. Prices are found on the people to
    be decided about: expected rates of any two groups, plus how far off they were on earlier tasks,
    keep within the bound, and no other decisions that do so gain more. The rule is optimal where
    the probabilities of labels and groups are right. Nothing is learned through it, and any method
    can be wrapped. Where nothing is bounded, it decides by the threshold alone.

    Limits: A group of which features tell nothing has no price, nor have all but the 32 largest of
    a column; they are named in `Info.extra` ("untold …"). The groups of the people to be decided
    about are estimated from their features. A decision may depend on who else is decided about, and
    it relies on features going with groups as they did in earlier tasks and in the labelled rows.

    Args:
        method: any.
        threshold: from which probability on a decision is positive: "balanced" (errors at both
            labels count the same), "accuracy", "cost=5" (a missed positive costs 5 false alarms),
            "rate=0.2" (the highest 20 %), or a probability.
        memory: what a task counts in the correction of expected gaps beside the next one. None
            takes expected gaps as they are, which is optimal post-processing as published.
        shots: rows of each class that a task just met is tried with.

    Reference: Xian & Zhao, "A Unified Post-Processing Framework for Group Fairness in
    Classification", 2024; Zeng, Dobriban & Cheng, "Bayes-Optimal Classifiers under Group Fairness",
    2022.
    """
    at_least(0, **{"evened.memory": memory or 0})
    at_most(1, **{"evened.memory": memory or 0})
    goal = threshold_of(threshold)

    def wrapped(problem: Problem) -> Learner:
        learner = on_host(method(problem))
        entries, names = problem.num_constraints, np.array(places(problem).names)

        def own(inner: Any) -> Evened:
            membership = nothing_known(problem.schema.num_columns, len(problem.schema.contrasts))
            return Evened(inner, Known(membership, np.zeros(2), no_misses(entries)))

        def knowledge(state: Evened) -> Evened:
            return state._replace(inner=learner.knowledge(state.inner))

        def adapt(evened: Evened, support: Batch) -> EvenedParams:
            known = evened.known
            params = learner.adapt(evened.inner, support)
            rate = _label_rate(known, support)
            groups = of_task(known.membership, support)
            asked = support.unlabelled
            x, weight = (support.x, support.weight) if asked is None else asked
            weight = np.asarray(weight, float)
            people = described(params, groups, rate, x)
            cut = goal(rate, problem.positive_weight)
            positive = people.p > cut(people.p, weight)
            selected = weight @ positive / max(weight.sum(), 1e-30)
            own = own_rows(known, params, rate, support, selected)
            prices = smallest_prices(problem, people, weight, own, cut)
            return EvenedParams(params, groups, np.asarray(rate), prices)

        def own_rows(
            known: Known, params: Params, rate: float, support: Batch, selected: float
        ) -> Correction:
            real = observed(problem, support)
            rows = both_halves(known, params, rate, support)
            drawn_once = float(np.mean(support.distinct_share))
            behind = drawn_once * rows_behind(real)
            chance = selected * (1 - selected) / np.maximum(behind, 1e-9)
            spread = known.misses.spread
            certain = (behind > 0) * spread / (spread + chance + 1e-12)
            weight = np.asarray(support.weight, float)
            return Correction(known.misses.bias, certain, rows, weight, real)

        def both_halves(known: Known, params: Params, rate: float, support: Batch) -> People:
            """Expect of each half of the labelled rows what the other half tells of groups."""
            first = _first_half(support)
            parts = []
            for here in (first, ~first):
                others = support._replace(mask=support.mask * ~here, weight=support.weight * ~here)
                groups = of_task(known.membership, others)
                parts.append(described(params, groups, rate, support.x))
            picked = (
                np.where(first.reshape(-1, *[1] * (a.ndim - 1)), a, b)
                for a, b in zip(*parts, strict=True)
            )
            return People(*picked)

        def described(params: Params, groups: np.ndarray, rate: float, x: Array) -> People:
            return expected(problem, groups, at_rate(params, rate, x), np.asarray(x))

        def at_rate(params: Params, rate: float, x: Array) -> np.ndarray:
            """Turn logits of labels drawn evenly into probabilities at the task's label rate."""
            logits = np.asarray(learner.predict(params, np.asarray(x)).logits, float)
            prior = logit(rate) - np.log(problem.positive_weight)
            return expit(np.clip(logits + prior, -30, 30))

        def people_of(params: EvenedParams, x: Array) -> People:
            return described(params.params, params.groups, float(params.label_rate), x)

        def predict(params: EvenedParams, x: Array) -> Prediction:
            people, prices = people_of(params, x), params.prices
            score = priced(problem, prices, people)
            logits = _logit(score) - _logit(prices.threshold)
            # Prices may move scores out of 0 … 1, and a selection rate the threshold with them.
            above = score > prices.threshold
            logits = np.where(above, logits.clip(CERTAIN), logits.clip(max=0)).astype(np.float32)
            return Prediction(logits, people.p, _logit(people.p) - _logit(prices.unpriced))

        def off_by(evened: Evened, parts: Halves) -> tuple[np.ndarray, ...]:
            """Return how far gaps are from what is expected, its chance, the rows behind it, and of
            which groups features tell enough.
            """
            support, query = parts
            params = adapt(evened, support._replace(unlabelled=Unlabelled(query.x, query.weight)))
            people, real = people_of(params, query.x), observed(problem, query)
            positive = 1.0 * (priced(problem, params.prices, people) > params.prices.threshold)
            share = query.weight / query.weight.sum()
            rows, mean = rows_behind(real), positive @ share
            off = gaps_met(positive, real) - gaps_met(positive, weighed(people, share))
            chance = mean * (1 - mean) / np.maximum(rows, 1e-9)
            return off, chance, rows, params.prices.told

        def update(key: Array, state: Evened, task: LabelledTask, tasks: LabelledTask):
            known, rng, untold = state.known, generator(key), {}
            splits = [halves(rng, task, shots) for _ in range(FRESH_SPLITS)]
            if known.labels.any() and len(splits[0].query.y):
                if entries and memory is not None:
                    found = [off_by(knowledge(state), parts) for parts in splits]
                    off, chance, rows, told = map(np.array, zip(*found, strict=True))
                    untold = {f"untold {name}": 1.0 for name in names[~told.any(0)]}
                    misses = add_misses(known.misses, off, chance, rows, memory)
                    known = known._replace(misses=misses)
                losses = try_trusts(known.membership, splits[0])
                known = known._replace(membership=known.membership._replace(losses=losses))
            inner, info = learner.update(key, state.inner, task, tasks)
            known = known._replace(
                membership=learn_membership(known.membership, tasks),
                labels=known.labels + np.asarray(task.totals),
            )
            return Evened(inner, known), info._replace(extra={**(info.extra or {}), **untold})

        return wrap(
            learner,
            own,
            knowledge=knowledge,
            adapt=adapt,
            predict=predict,
            update=update,
            uses_unlabelled=True,
        )

    return wrapped


def _first_half(support: Batch) -> np.ndarray:
    """Mark half of the labelled rows; a row that was drawn several times is in one half."""
    shots = len(support.y) // 2
    distinct = np.rint(np.asarray(support.distinct_share)[[0, -1]] * shots).astype(int)
    places = [np.arange(shots) % max(n, 1) for n in distinct]
    return np.concatenate(places) % 2 == 0


def _label_rate(known: Known, support: Batch) -> float:
    """Estimate the task's rate of label 1 from its labelled rows and from the tasks before."""
    everywhere = (known.labels[1] + 1) / (known.labels.sum() + 2)
    total = float(np.sum(support.weight))
    own = float(support.weight @ support.y) / total if total > 0 else 0.0
    rows = float(support.pool_size) if total > 0 else 0.0
    return float(np.clip((rows * own + PRIOR_ROWS * everywhere) / (rows + PRIOR_ROWS), 1e-3, 0.999))


def _logit(score: np.ndarray) -> np.ndarray:
    return logit(np.clip(score, CERTAIN, 1 - CERTAIN))
