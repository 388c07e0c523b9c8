"""Tell a learner what gradient boosting says about a person, and let it adapt above that.

A boosted model, fitted now and then to the tasks in memory, is strong and slow to change; a
learner adapts from a few labels. So each person gets a column more: the boosted model's logit of
label 1. And one for each group: what boosting says about membership, which only corrections such
as `evened` look at, never the model that decides. Last comes a score: what trees say that see the
boosted column among the features. A method may start from it, as `ffml_exact` does.

Columns are written when a task arrives, by the model of that time, which has not seen the task.
They stay with the task's rows in memory, so that nobody learns from a model that knew the answer.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from ffml.base import Array, Features, LabelledTask, Schema
from ffml.border import at_least
from ffml.draws import generator
from ffml.features.forest import Forest, Target, fit_forests, no_forest
from ffml.features.scoring import forest_logits, forests_logits
from ffml.methods.rows import Rows, rows_of_all
from ffml.problem.classification import balanced

MOST_ROWS = 20_000  # that a fit takes from memory
LEAST_ROWS = 50  # that a first fit needs
MOST_GROUPS = 8  # comparisons that are boosted; further ones are told by the features alone


class Boosted(NamedTuple):
    """The boosted models of the label and of the groups, and the trees above the first."""

    labels: Forest
    groups: tuple[Forest, ...]
    score: Forest
    fitted_rows: np.ndarray  # () rows seen when they were fitted
    seen_rows: np.ndarray  # () rows seen so far


def boosted(schema: Schema, *, growth: float = 1.05) -> Features:
    """Add what gradient boosting says about a person to what a method is told.

    Args:
        schema: of people as they come.
        growth: boosting is fitted anew once the rows seen have grown by this factor, so that the
            number of fits grows with the logarithm of the rows.

    Reference: Friedman, "Greedy Function Approximation", 2001; as fitted by XGBoost
    (`ffml.features.forest`: 50 trees of at most 15 leaves).
    """
    at_least(1, **{"boosted.growth": growth})
    width = len(schema.features)
    compared = () if schema.known_groups else schema.contrasts[:MOST_GROUPS]

    def init() -> Boosted:
        nobody = np.zeros(())
        groups = tuple(no_forest() for _ in compared)
        return Boosted(no_forest(), groups, no_forest(), nobody, nobody)

    def describe(state: Boosted, x: Array) -> np.ndarray:
        x = np.asarray(x)
        fitted = [forest.known for forest in state.groups]
        logits = forests_logits((state.labels, *state.groups), x[:, :width])
        described = np.empty((len(x), x.shape[1] + logits.shape[1] + 1), np.float32)
        described[:, :width] = x[:, :width]
        described[:, width] = logits[:, 0]
        hints = x[:, width:] if schema.known_groups else fitted * expit(logits[:, 1:])
        described[:, width + 1 : -1] = hints
        described[:, -1] = forest_logits(state.score, described[:, : width + 1])
        return described

    def fit(key: Array, state: Boosted, task: LabelledTask, tasks: LabelledTask) -> Boosted:
        seen = np.asarray(state.seen_rows + np.asarray(task.totals).sum(), float)
        if seen < LEAST_ROWS or seen < growth * state.fitted_rows:
            return state._replace(seen_rows=seen)
        x, y, s, weight = _some_rows(generator(key), rows_of_all(tasks))
        targets = [Target(label, weight, width) for label in (y, *s.T[: len(compared)])]
        above = Target(y, balanced(y, weight), width + 1)
        labels, *groups, score = fit_forests(x, [*targets, above], schema.categories or None)
        return Boosted(labels, tuple(groups), score, seen, seen)

    hints = schema.hints or tuple(f"boosted {name}" for name in compared)
    features = (*schema.features, "boosted")
    described = replace(schema, features=features, hints=hints, scores=("boosted score",))
    return Features(init, fit, describe, described)


def _some_rows(rng: np.random.Generator, rows: Rows) -> Rows:
    """Take as many rows as a fit can take, at random."""
    if len(rows.y) <= MOST_ROWS:
        return rows
    some = np.sort(rng.permutation(len(rows.y))[:MOST_ROWS])
    return Rows(*(column[some] for column in rows))
