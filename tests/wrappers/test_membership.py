"""Who belongs to which group, as far as features tell."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from conftest import random_task

from ffml.base import LabelledTask, Schema, SensitiveColumn
from ffml.online.judge import support_batch
from ffml.online.memory import bounded, padded_rows
from ffml.wrappers.membership import RIDGE, learn_membership, nothing_known, of_task, shares


def remembered(schema, *tasks, rows=2000):
    """Tasks as memory hands them out, padded to equal size."""
    rng = np.random.default_rng(0)
    kept = [padded_rows(bounded(task, schema, rows, rng), rows) for task in tasks]
    return LabelledTask(*(np.stack(leaves) for leaves in zip(*kept, strict=True)))


def test_membership_is_ridge_regression_on_rows_at_their_natural_rates(float64, schema):
    """Kept rows have as many of each label as they can; they stand for all rows of their task."""
    tasks = remembered(schema, random_task(0, 300, schema), random_task(1, 40, schema), rows=64)
    products, targets = RIDGE * np.eye(4), np.zeros((4, 1))
    for x, s, counts, totals in zip(*tasks, strict=True):
        weight = np.repeat(totals / totals.sum() * counts.sum() / counts, counts)
        assert weight.sum() == pytest.approx(min(totals.sum(), 64))
        rows = np.c_[x, np.ones(len(x))][: counts.sum()] * np.sqrt(weight)[:, None]
        products += rows.T @ rows
        targets += rows.T @ (np.sqrt(weight)[:, None] * s[: counts.sum()])
    assert tasks.counts[0, 0] == 32 and tasks.totals[0, 0] < 145  # so that weighing matters
    np.testing.assert_allclose(
        learn_membership(tasks).weights, np.linalg.solve(products, targets), rtol=1e-6
    )


def test_membership_is_a_share_and_nothing_where_nobody_was_seen(float64, schema):
    nobody = jax.tree.map(np.zeros_like, remembered(schema, random_task(0, 20, schema), rows=20))
    jax.tree.map(np.testing.assert_array_equal, learn_membership(nobody), nothing_known(3, 1))
    known = learn_membership(remembered(schema, random_task(0, 2000, schema, bias=1.0)))
    people = random_task(1, 4000, schema, bias=1.0)
    share, member = shares(known, people.x)[:, 0], people.groups[:, 0] == 1
    assert share.min() == 0 and share.max() == 1  # some of them are certain
    for low, high in ((0.2, 0.4), (0.4, 0.6), (0.6, 0.8)):
        among = (share > low) & (share < high)
        assert member[among].mean() == pytest.approx((low + high) / 2, abs=0.06)


def test_every_group_of_every_column_has_a_share(schema):
    schema = Schema(
        schema.features,
        (SensitiveColumn("sex", ("M", "F")), SensitiveColumn("race", ("a", "b", "c"))),
    )
    known = learn_membership(remembered(schema, random_task(0, 500, schema)))
    share = shares(known, random_task(1, 10, schema).x)
    assert share.shape == (10, 4)
    np.testing.assert_allclose(share[:, 1:].sum(1), 1, atol=0.1)


def with_share(task, share, rng):
    """Redraw groups so that this share belongs to the second, whatever the features."""
    groups = (rng.random(len(task.y)) < share).astype(int)[:, None]
    return task._replace(groups=groups)


@pytest.mark.parametrize("between", [0.0, 0.15])
def test_how_much_tasks_differ_in_the_shares_of_groups(float64, schema, between):
    """200 tasks of 20 to 60 rows, whose shares differ with a known standard deviation."""
    rng = np.random.default_rng(0)
    tasks = [
        with_share(random_task(i, int(rng.integers(20, 60)), schema), share, rng)
        for i, share in enumerate(0.5 + between * rng.choice([-1, 1], 200))
    ]
    spread = learn_membership(remembered(schema, *tasks, rows=64)).spread[0]
    assert spread == pytest.approx(between**2 / (0.25 - between**2), abs=0.015)


def test_labelled_rows_tell_how_large_a_group_is_in_their_task(float64, schema):
    """``a = n v/(1 + n v) · mean(s - q)`` at natural label rates, with n different rows."""
    known = nothing_known(3, 1)._replace(spread=jnp.array([0.5]))
    task = with_share(random_task(0, 500, schema), 0.8, np.random.default_rng(0))
    rows = np.arange(30)
    support = support_batch(task, schema, rows, 100, np.random.default_rng(0))
    certain = 30 * 0.5 / (1 + 30 * 0.5)
    drawn = support.weight @ support.s / support.weight.sum()
    np.testing.assert_allclose(drawn, task.groups[rows].mean(0), atol=0.02)  # some rows once more
    np.testing.assert_allclose(
        shares(of_task(known, support), task.x[:1]), certain * drawn[None], rtol=1e-6
    )
    alike = nothing_known(3, 1)  # tasks that do not differ, or no rows: nothing to add
    nobody = support_batch(task, schema, rows[:0], 100, np.random.default_rng(0))
    for knowledge, batch in ((alike, support), (known, nobody)):
        after = of_task(knowledge, batch)
        jax.tree.map(np.testing.assert_array_equal, after, knowledge)
