"""Everybody decided about is counted; only what needs labels waits for them."""

import numpy as np
import pytest

from ffml.base import Schema, SensitiveColumn, Task
from ffml.online.judge import Decided, judge_decisions
from ffml.problem.classification import fair_classification
from ffml.problem.models import linear
from ffml.problem.notions import demographic_parity, equal_opportunity

SCHEMA = Schema(("x",), (SensitiveColumn("sex", ("F", "M")),))
PEOPLE = 400


@pytest.fixture(scope="module")
def problem():
    return fair_classification(SCHEMA, linear(), demographic_parity(0.05), equal_opportunity(0.05))


def people(seed=0):
    """Draw a task whose groups get different decisions."""
    rng = np.random.default_rng(seed)
    groups = rng.integers(0, 2, (PEOPLE, 1))
    logits = rng.normal(0.8 * groups[:, 0], 1).astype(np.float32)
    labels = (rng.random(PEOPLE) < 0.6).astype(int)
    task = Task("t", rng.normal(size=(PEOPLE, 1)).astype(np.float32), labels, groups)
    chances = 1 / (1 + np.exp(-logits))
    return task, Decided(np.arange(PEOPLE), logits, chances, logits > 0.3)


def without(task, missing):
    return task._replace(y=np.where(missing, -1, task.y))


def by_hand(task, decided, rows):
    groups, positive = task.groups[rows, 0], decided.logits[rows] > 0
    return abs(positive[groups == 1].mean() - positive[groups == 0].mean()) - 0.05


@pytest.mark.parametrize("missing", ["none", "half", "all", "refused"])
def test_what_is_counted(problem, missing):
    task, decided = people()
    positive = decided.logits > 0
    lacks = {
        "none": np.zeros(PEOPLE, bool),
        "half": np.arange(PEOPLE) % 2 == 0,
        "all": np.ones(PEOPLE, bool),
        "refused": ~positive,
    }[missing]
    whole = judge_decisions(problem, SCHEMA, task, decided)
    found = judge_decisions(problem, SCHEMA, without(task, lacks), decided)
    table = found.tables["sex"]
    assert table.sum() == PEOPLE and table[:, 2].sum() == lacks.sum()
    np.testing.assert_array_equal(table.sum(1), whole.tables["sex"].sum(1))
    np.testing.assert_array_equal(found.unpriced["sex"].sum(1), whole.unpriced["sex"].sum(1))
    for name in ("dp", "disc", "dbc", "dp_ceiling"):
        assert found.metrics[name] == whole.metrics[name]
    parity, opportunity = found.constraint
    assert parity == pytest.approx(by_hand(task, decided, np.arange(PEOPLE)), abs=1e-6)
    if missing in ("all", "refused"):
        assert np.isnan(opportunity) and np.isnan(found.metrics["accuracy"])
        assert "eo" in found.undefined and "accuracy" in found.undefined
    else:
        rows = np.flatnonzero(~lacks & (task.y == 1))
        assert opportunity == pytest.approx(by_hand(task, decided, rows), abs=1e-6)
        right = (positive == (task.y == 1))[~lacks].mean()
        assert found.metrics["accuracy"] == pytest.approx(right)
    assert found.reliability[:, 0].sum() == (~lacks).sum()
