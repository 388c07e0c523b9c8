"""Tell a learner what gradient boosting says about a person, and let it adapt above that.

A boosted model, fitted now and then to the tasks in memory, is strong and slow to change; the
learner it is wrapped around adapts from a few labels. So each person gets a column more: the
boosted model's logit of label 1. And one for each group: what boosting says about membership,
which only corrections such as `evened` look at, never the model that decides.

Columns are written when a task arrives, by the model of that time, which has not seen the task.
They stay with the task's rows in memory, so that nobody learns from a model that knew the answer.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit

from ffml.base import Array, LabelledTask, Learner, Method, Model, Params, Problem
from ffml.border import at_least
from ffml.draws import generator
from ffml.features.forest import Forest, fit_forests, no_forest
from ffml.features.scoring import forests_logits
from ffml.methods._refit import needed
from ffml.methods.rows import Rows, rows_of_all
from ffml.wrappers.host import on_host

MOST_ROWS = 20_000  # that a fit takes from memory
LEAST_ROWS = 50  # that a first fit needs
MOST_GROUPS = 8  # comparisons that are boosted; further ones are told by the features alone


class Boosted(NamedTuple):
    """The learner's own state or knowledge, and the boosted models."""

    inner: Any
    labels: Forest
    groups: tuple[Forest, ...]
    fitted_rows: np.ndarray  # () rows seen when they were fitted
    seen_rows: np.ndarray  # () rows seen so far


def boosted(method: Method, *, growth: float = 1.05) -> Method:
    """Add what gradient boosting says about a person to what a method is told.

    Args:
        method: any; it gets one more feature.
        growth: boosting is fitted anew once the rows seen have grown by this factor, so that the
            number of fits grows with the logarithm of the rows.

    Reference: Friedman, "Greedy Function Approximation", 2001; as fitted by scikit-learn's
    `HistGradientBoostingClassifier` (60 trees of at most 15 leaves).
    """
    at_least(1, **{"boosted.growth": growth})
    needed("sklearn")

    def wrapped(problem: Problem) -> Learner:
        schema = problem.schema
        width = len(schema.features)
        compared = schema.contrasts[:MOST_GROUPS]
        learner = on_host(method(_with_columns(problem, compared)))

        def init(key: Array) -> Boosted:
            nobody = np.zeros(())
            groups = tuple(no_forest() for _ in compared)
            return Boosted(learner.init(key), no_forest(), groups, nobody, nobody)

        def describe(boosted: Boosted, x: Array) -> np.ndarray:
            x = np.asarray(x)
            known = [len(forest.roots) > 0 for forest in boosted.groups]
            logits = forests_logits((boosted.labels, *boosted.groups), x)
            described = np.empty((len(x), x.shape[1] + logits.shape[1]), np.float32)
            described[:, : x.shape[1]] = x
            described[:, x.shape[1]] = logits[:, 0]
            described[:, x.shape[1] + 1 :] = known * expit(logits[:, 1:])
            return learner.describe(boosted.inner, described)

        def study(key: Array, state: Boosted, tasks: LabelledTask) -> Boosted:
            if learner.study is not None:
                state = state._replace(inner=learner.study(key, state.inner, tasks))
            seen = state.seen_rows
            if seen < LEAST_ROWS or seen < growth * state.fitted_rows:
                return state
            x, y, s, weight = _some_rows(generator(key), rows_of_all(tasks))
            x = x[:, :width]
            labels, *groups = fit_forests(x, [y, *s.T[: len(compared)]], weight)
            return state._replace(labels=labels, groups=tuple(groups), fitted_rows=seen)

        def update(key: Array, state: Boosted, task: LabelledTask, tasks: LabelledTask):
            inner, info = learner.update(key, state.inner, task, tasks)
            rows = state.seen_rows + np.asarray(task.totals).sum()
            return state._replace(inner=inner, seen_rows=np.asarray(rows, float)), info

        return learner._replace(
            init=init,
            adapt=lambda boosted, support: learner.adapt(boosted.inner, support),
            update=update,
            knowledge=lambda state: state._replace(inner=learner.knowledge(state.inner)),
            pair=lambda boosted: learner.pair(boosted.inner),
            remarks=lambda boosted: learner.remarks(boosted.inner),
            describe=describe,
            study=study,
        )

    return wrapped


def _with_columns(problem: Problem, compared: tuple[str, ...]) -> Problem:
    """State the problem for people who are described by more columns."""
    schema = problem.schema
    features = (*schema.features, "boosted")
    extended = type(schema)(
        features, schema.sensitive, schema.label, tuple(f"boosted {name}" for name in compared)
    )

    def seen(x: Array) -> Array:
        return x[..., : len(features)]

    def apply(params: Params, x: Array) -> Array:
        return problem.model.apply(params, seen(x))

    model = Model(problem.model.init, apply)
    return problem._replace(model=model, schema=extended)


def _some_rows(rng: np.random.Generator, rows: Rows) -> Rows:
    """Take as many rows as a fit can take, at random."""
    if len(rows.y) <= MOST_ROWS:
        return rows
    some = np.sort(rng.permutation(len(rows.y))[:MOST_ROWS])
    return Rows(*(column[some] for column in rows))
