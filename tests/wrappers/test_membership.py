"""Who belongs to which group, as far as features and labels tell."""

import jax
import numpy as np
import pytest
from conftest import random_task
from remembered import first, remembered

from ffml.base import Schema, SensitiveColumn
from ffml.methods.curvature import WIDE
from ffml.methods.trust import TRUSTS, best_trust, halves
from ffml.online.judge import support_batch
from ffml.wrappers._membership import (
    RIDGE,
    learn_membership,
    nothing_known,
    of_task,
    shares,
    try_trusts,
)


def fitted(schema, *tasks, rows=2000):
    known = nothing_known(len(schema.features), len(schema.contrasts))
    return learn_membership(known, remembered(schema, *tasks, rows=rows))


def trusting(known, trust):
    """Say that one trust has done best, for every group."""
    return known._replace(
        losses=np.repeat(1.0 * (trust != TRUSTS)[:, None], known.losses.shape[1], 1)
    )


def regressors(x, y):
    return np.c_[x, y, np.ones(len(x))].astype(float)


@pytest.mark.parametrize("columns", [3, WIDE + 10])
def test_membership_is_ridge_regression_on_rows_at_their_natural_rates(schema, columns):
    """Kept rows have as many of each label as they can; they stand for all rows of their task."""
    schema = Schema(tuple(f"x{i}" for i in range(columns)), schema.sensitive)
    tasks = [random_task(0, 300, schema), random_task(1, 40, schema)]
    kept = remembered(schema, *tasks, rows=64)
    products, targets = RIDGE * np.eye(columns + 2), np.zeros((columns + 2, 1))
    for x, s, counts, totals in zip(*kept, strict=True):
        weight = np.repeat(totals / totals.sum() * counts.sum() / counts, counts)
        assert weight.sum() == pytest.approx(min(totals.sum(), 64))
        z = regressors(x[: counts.sum()], np.repeat([0, 1], counts))
        products += z.T @ (z * weight[:, None])
        targets += (z * weight[:, None]).T @ s[: counts.sum()]
    assert kept.counts[0, 0] == 32 and kept.totals[0, 0] != 150  # so that weighing matters
    known = fitted(schema, *tasks, rows=64)
    expected = np.linalg.solve(products, targets)
    np.testing.assert_allclose(known.weights, expected, rtol=1e-3, atol=1e-5)
    wide = columns > WIDE
    np.testing.assert_allclose(known.curvature, np.diag(products) if wide else products, rtol=1e-6)


@pytest.mark.parametrize("columns", [3, WIDE + 10])
def test_where_nobody_was_seen_nobody_belongs_to_a_group(columns):
    schema = Schema(tuple(f"x{i}" for i in range(columns)), (SensitiveColumn("sex", ("M", "F")),))
    nobody = jax.tree.map(np.zeros_like, remembered(schema, random_task(0, 20, schema), rows=20))
    known = nothing_known(columns, 1)
    jax.tree.map(np.testing.assert_array_equal, learn_membership(known, nobody), known)
    assert not shares(known.weights, random_task(0, 5, schema).x, 1.0).any()


def test_membership_is_a_share(schema):
    known = fitted(schema, random_task(0, 2000, schema, bias=1.0))
    people = random_task(1, 4000, schema, bias=1.0)
    by_label = [shares(known.weights, people.x, label)[:, 0] for label in (0.0, 1.0)]
    share, member = np.where(people.y == 1, by_label[1], by_label[0]), people.groups[:, 0] == 1
    assert share.min() == 0 and share.max() == 1  # some of them are certain
    for low, high in ((0.2, 0.4), (0.4, 0.6), (0.6, 0.8)):
        among = (share > low) & (share < high)
        assert member[among].mean() == pytest.approx((low + high) / 2, abs=0.06)


def test_every_group_of_every_column_has_a_share(schema):
    columns = SensitiveColumn("sex", ("M", "F")), SensitiveColumn("race", ("a", "b", "c"))
    schema = Schema(schema.features, columns)
    known = fitted(schema, random_task(0, 500, schema))
    share = shares(known.weights, random_task(1, 10, schema).x, 1.0)
    assert share.shape == (10, 4)
    np.testing.assert_allclose(share[:, 1:].sum(1), 1, atol=0.1)


@pytest.mark.parametrize("trust", [0.0, 1.0, 30.0])
def test_rows_of_a_task_count_as_if_they_were_in_memory_so_often(schema, trust):
    """Least squares add up: φ of the task fits the rows in memory and, c times, its own."""
    known = trusting(fitted(schema, random_task(0, 400, schema)), trust)
    task = random_task(1, 60, schema, bias=-1.0)
    support = support_batch(task, schema, np.arange(60), 100, np.random.default_rng(0))
    z, weight = regressors(support.x, support.y), support.weight / support.weight.sum() * 60
    products = known.curvature + trust * z.T @ (z * weight[:, None])
    targets = known.curvature @ known.weights + trust * (z * weight[:, None]).T @ support.s
    expected = np.linalg.solve(products, targets)
    np.testing.assert_allclose(of_task(known, support), expected, rtol=1e-6)
    wide = known._replace(curvature=np.diag(known.curvature))  # as with very many columns
    products += np.diag(wide.curvature) - known.curvature
    targets += wide.curvature[:, None] * wide.weights - known.curvature @ known.weights
    np.testing.assert_allclose(
        of_task(wide, support), np.linalg.solve(products, targets), rtol=1e-6
    )


def test_each_group_has_its_own_trust(schema):
    columns = SensitiveColumn("sex", ("M", "F")), SensitiveColumn("race", ("a", "b", "c"))
    schema = Schema(schema.features, columns)
    known = fitted(schema, random_task(0, 400, schema))
    support = support_batch(
        random_task(1, 60, schema), schema, np.arange(60), 50, np.random.default_rng(0)
    )
    mixed = known._replace(losses=known.losses.copy())
    mixed.losses[:, 0], mixed.losses[:, 1:] = np.arange(8), np.arange(8)[::-1, None]
    np.testing.assert_array_equal(of_task(mixed, support)[:, 0], known.weights[:, 0])
    np.testing.assert_allclose(
        of_task(mixed, support)[:, 1:], of_task(trusting(known, 1000.0), support)[:, 1:]
    )


def test_padding_and_nobody_move_nothing(schema):
    known = trusting(fitted(schema, random_task(0, 400, schema)), 100.0)
    task = random_task(1, 60, schema)
    nobody = support_batch(task, schema, np.arange(0), 20, np.random.default_rng(0))
    np.testing.assert_array_equal(of_task(known, nobody), known.weights)
    one_label = np.flatnonzero(task.y == 1)
    support = support_batch(task, schema, one_label, 20, np.random.default_rng(0))
    odd = support._replace(x=np.where(support.mask[:, None] > 0, support.x, 1e6))
    np.testing.assert_allclose(of_task(known, odd), of_task(known, support), rtol=1e-9)


def with_share(task, share, rng):
    """Redraw groups so that this share belongs to the second, whatever the features."""
    groups = (rng.random(len(task.y)) < share).astype(int)[:, None]
    return task._replace(groups=groups)


@pytest.mark.parametrize(("between", "least", "most"), [(0.0, 0, 3), (0.4, 30, 1000)])
def test_trust_is_large_where_tasks_differ_in_the_shares_of_groups(schema, between, least, most):
    rng = np.random.default_rng(0)
    known, tasks = nothing_known(3, 1), []
    for i, share in enumerate(0.5 + between * rng.choice([-1, 1], 15)):
        task = with_share(random_task(i, 120, schema), share, rng)
        if tasks:
            parts = halves(rng, first(remembered(schema, task)), 30)
            known = known._replace(losses=try_trusts(known, parts))
        tasks.append(task)
        known = learn_membership(known, remembered(schema, *tasks, rows=120))
    assert least <= best_trust(known.losses)[0] <= most


def test_columns_that_came_later_are_not_looked_at(schema):
    """A method inside may add columns that the wrapper outside has not been told of."""
    known = trusting(fitted(schema, random_task(0, 100, schema)), 10.0)
    task = random_task(1, 60, schema)
    support = support_batch(task, schema, np.arange(60), 20, np.random.default_rng(0))
    more = support._replace(x=np.c_[support.x, np.full(40, 7.0)])
    np.testing.assert_array_equal(of_task(known, more), of_task(known, support))
    np.testing.assert_array_equal(
        shares(known.weights, more.x, 1.0), shares(known.weights, support.x, 1.0)
    )
