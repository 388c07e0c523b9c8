"""Keep the bounds among the very people to be decided about, by what their features tell.

The rows of a new task that are labelled are few, and the gap that they show is mostly chance. The
people to be decided about are more, and they are exactly those whose decisions will be judged.
Their features tell something about their groups (`ffml.wrappers._membership`), so the gap of
decisions about them can be estimated beforehand, and decisions changed until it keeps the bound
(`ffml.wrappers._pricing`). Labels and groups of these people are never looked at.
"""

from collections.abc import Sequence
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
from ffml.methods.trust import Halves, all_judge, both_halves
from ffml.wrappers._chance import Trial, miss_of, parts_by_chance, variance_of_sum
from ffml.wrappers._label_rate import (
    SHIFTS,
    best_shift,
    label_rate,
    moved,
    shift_to,
    try_shifts,
)
from ffml.wrappers._membership import (
    Membership,
    learn_membership,
    nothing_known,
    of_task,
    try_trusts,
)
from ffml.wrappers._misses import Misses, add_miss, no_misses
from ffml.wrappers._people import (
    People,
    expected,
    observed,
    places,
    rows_behind,
    weighed,
)
from ffml.wrappers._pricing import Correction, Prices, priced, smallest_prices
from ffml.wrappers._thresholds import LabelRates, Threshold, threshold_of
from ffml.wrappers._wrap import on_host, wrap

FRESH_SPLITS = 2  # of a task just revealed: how often it is halved to see how far off gaps were
CERTAIN = 1e-6  # scores nearer to 0 or 1 than that are taken for it: logits stay finite


class Known(NamedTuple):
    """What the wrapper knows: groups, label rates, and how far off expected gaps were."""

    membership: Membership
    labels: np.ndarray  # (2,) rows of each label so far
    misses: Misses  # of decisions that were adapted to labelled rows of their task
    late: Misses  # of those made before any label of the task was there
    shifts: np.ndarray  # (shifts,) losses, see `ffml.wrappers._label_rate`


class Evened(NamedTuple):
    """The learner's own state or knowledge, and what the wrapper knows."""

    inner: Any
    known: Known


class EvenedParams(NamedTuple):
    """The learner's parameters for a task, and the prices under which they decide."""

    params: Params
    groups: np.ndarray  # (columns + 2, contrasts) how features and labels tell groups here
    label_rate: np.ndarray  # () π, by which logits become probabilities
    prices: Prices


def evened(
    method: Method,
    *,
    policy: str = "labels",
    memory: float | None = 0.9,
    shots: int | None = 100,
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
        policy: who is decided positively: "labels" (as many as favourable labels are expected),
            "approve=0.2" (the highest 20 %), "cost=5" (to refuse wrongly costs 5 times what it
            costs to approve wrongly), "accuracy", "balanced" (errors at both labels count the
            same), or the least probability.
        memory: what a task counts in the correction of expected gaps beside the next one. None
            takes expected gaps as they are, which is optimal post-processing as published.
        shots: rows of each class that a task just met is tried with; None takes all.

    Reference: Xian & Zhao, "A Unified Post-Processing Framework for Group Fairness in
    Classification", 2024; Zeng, Dobriban & Cheng, "Bayes-Optimal Classifiers under Group Fairness",
    2022.
    """
    at_least(0, **{"evened.memory": memory or 0})
    at_most(1, **{"evened.memory": memory or 0})
    goal = threshold_of(policy)

    def wrapped(problem: Problem) -> Learner:
        learner = on_host(method(problem))
        entries, names = problem.num_constraints, np.array(places(problem).names)
        groups_known = problem.schema.known_groups  # or groups are estimated

        def own(inner: Any) -> Evened:
            columns = len(problem.schema.features) + len(problem.schema.hints)
            membership = nothing_known(columns, len(problem.schema.contrasts))
            nothing = no_misses(entries)
            return Evened(
                inner, Known(membership, np.zeros(2), nothing, nothing, np.zeros(len(SHIFTS)))
            )

        def knowledge(state: Evened) -> Evened:
            return state._replace(inner=learner.knowledge(state.inner))

        def adapt(evened: Evened, support: Batch) -> EvenedParams:
            known, asked = evened.known, support.unlabelled
            params = learner.adapt(evened.inner, support)
            groups = groups_of(known, support)
            x, weight = (support.x, support.weight) if asked is None else asked
            weight = np.asarray(weight, float)
            task_rate = rate = label_rate(known.labels, support)
            if not np.any(support.weight):
                by = shift_to(rate, at_rate(params, rate, x), weight)
                rate = moved(rate, best_shift(known.shifts) * by)
            people = described(params, groups, rate, x)
            mean = float(people.p @ weight / weight.sum()) if weight.any() else rate
            cut = goal(LabelRates(task_rate, mean, problem.positive_weight))
            own = own_rows(evened, rate, support, cut)
            prices = smallest_prices(problem, people, weight, own, cut)
            return EvenedParams(params, groups, np.asarray(rate), prices)

        def own_rows(evened: Evened, rate: float, support: Batch, cut: Threshold) -> Correction:
            """Say how far off gaps are, by earlier tasks and by the labelled rows of this one."""
            known, real = evened.known, observed(problem, support)
            misses = known.misses if np.any(support.weight) else known.late
            rows, weight = both_halves_of(evened, rate, support), np.asarray(support.weight, float)
            positive = 1.0 * (rows.p > cut(rows.p, weight))
            once = np.asarray(support.mask * support.distinct_share)[:, None]
            parts = parts_by_chance(positive, real, weighed(rows, weight))
            drawn = max(float(once.mean()) if len(once) else 0.0, 1e-9)
            chance = variance_of_sum(parts) / drawn
            tells = (memory is not None) & (rows_behind(real) > 0)
            certain = tells * misses.spread / (misses.spread + chance)
            return Correction(misses.bias, certain, rows, weight, real)

        def both_halves_of(evened: Evened, rate: float, support: Batch) -> People:
            """Expect of each half of the labelled rows what the other half tells."""
            first, parts = _first_half(support), []
            for here in (first, ~first):
                others = support._replace(mask=support.mask * ~here, weight=support.weight * ~here)
                params = learner.adapt(evened.inner, others._replace(unlabelled=None))
                groups = groups_of(evened.known, others)
                parts.append(described(params, groups, rate, support.x))
            picked = (
                np.where(first.reshape(-1, *[1] * (a.ndim - 1)), a, b)
                for a, b in zip(*parts, strict=True)
            )
            return People(*picked)

        def groups_of(known: Known, support: Batch) -> np.ndarray:
            return known.membership.weights if groups_known else of_task(known.membership, support)

        def described(params: Params, groups: np.ndarray, rate: float, x: Array) -> People:
            p = expit(np.clip(at_rate(params, rate, x), -30, 30))
            return expected(problem, groups, p, np.asarray(x))

        def at_rate(params: Params, rate: float, x: Array) -> np.ndarray:
            """Turn logits of labels drawn evenly into those at the task's label rate."""
            logits = np.asarray(learner.predict(params, np.asarray(x)).logits, float)
            return logits + logit(rate) - np.log(problem.positive_weight)

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

        def tried(evened: Evened, parts: Halves) -> tuple[Trial, np.ndarray]:
            """Decide about people of a revealed task as before; say which groups have prices."""
            support, query, rows = parts
            params = adapt(evened, support._replace(unlabelled=Unlabelled(query.x, query.weight)))
            people, prices = people_of(params, query.x), params.prices
            positive = 1.0 * (priced(problem, prices, people) > prices.threshold)
            expectation = weighed(people, query.weight)
            return Trial(rows, positive, observed(problem, query), expectation), prices.told

        def try_misses(evened: Evened, splits: Sequence[Halves], size: int) -> tuple[Known, dict]:
            """Take in how far off gaps would have been, with labels of the task and without."""
            known = evened.known
            if not entries or memory is None:
                return known, {}
            *adapted, (late, _) = (tried(evened, parts) for parts in splits)
            now = miss_of([trial for trial, _ in adapted], size)
            priceable = np.any([these for _, these in adapted], 0)
            known = known._replace(
                misses=add_miss(known.misses, now, memory),
                late=add_miss(known.late, miss_of([late], size), memory),
            )
            return known, {f"untold {name}": 1.0 for name in names[~priceable]}

        def try_rate(evened: Evened, late: Halves) -> np.ndarray:
            """Take in how the label rate of a task without labelled rows is best told."""
            rate = label_rate(evened.known.labels, late.support)
            params = learner.adapt(evened.inner, late.support)
            logits = at_rate(params, rate, late.query.x)
            return try_shifts(evened.known.shifts, logits, rate, late.query)

        def update(key: Array, state: Evened, task: LabelledTask, tasks: LabelledTask):
            known, rng = state.known, generator(key)
            untold: dict[str, float] = {}
            splits = [part for _ in range(FRESH_SPLITS) for part in both_halves(rng, task, shots)]
            if known.labels.any() and all(len(part.query.y) for part in splits):
                now, late = knowledge(state), all_judge(task, shots)
                known, untold = try_misses(now, [*splits, late], int(np.sum(task.counts)))
                known = known._replace(shifts=try_rate(now, late))
                if not groups_known:
                    losses = try_trusts(known.membership, splits[0])
                    known = known._replace(membership=known.membership._replace(losses=losses))
            inner, info = learner.update(key, state.inner, task, tasks)
            known = known._replace(labels=known.labels + np.asarray(task.totals))
            if not groups_known:
                known = known._replace(membership=learn_membership(known.membership, tasks))
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


def membership_weights(state: Any) -> np.ndarray | None:
    """Return how columns of x tell groups, ``(columns, contrasts)``; None where nobody asked."""
    while not isinstance(state, Evened):
        if not hasattr(state, "inner"):
            return None
        state = state.inner
    return state.known.membership.weights[:-2]  # without those of the label and of the one


def _first_half(support: Batch) -> np.ndarray:
    """Mark half of the labelled rows; a row that was drawn several times is in one half."""
    first = np.zeros(len(support.y), bool)
    for label in (0, 1):
        here = np.flatnonzero(np.asarray(support.y) == label)
        once = np.asarray(support.distinct_share)[here]
        distinct = int(np.rint(once.sum()))
        first[here] = np.arange(len(here)) % max(distinct, 1) % 2 == 0
    return first


def _logit(score: np.ndarray) -> np.ndarray:
    return logit(np.clip(score, CERTAIN, 1 - CERTAIN))
