"""How even decisions are to be expected."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from conftest import random_task
from people import theta

from ffml import metrics
from ffml.base import Batch
from ffml.constraints import combine, demographic_parity, equal_opportunity, equalized_odds
from ffml.evaluation import padded_batch, support_batch
from ffml.evenness import decision_gaps, expected_evenness
from ffml.models import linear
from ffml.problem import fair_classification


def certain_people(labels, groups):
    """People whose labels and groups are known for sure."""
    ones = jnp.ones(len(labels))
    s = jnp.asarray(groups, float)[:, None]
    return Batch(
        jnp.zeros((len(labels), 3)), jnp.asarray(labels, float), s, ones, ones, len(labels)
    )


def rows_of(table):
    """Turn counts by group, label and decision into labels, decisions and groups of rows."""
    cells = np.repeat(np.arange(8), np.asarray(table).ravel())
    return cells // 2 % 2, cells % 2, cells // 4


@pytest.mark.parametrize(
    ("constraint", "metric"), [(demographic_parity, "dp"), (equalized_odds, "eo")]
)
def test_evenness_is_what_is_judged_where_groups_are_known(schema, constraint, metric):
    """The metric over its ceiling; here groups by chance are of random size, there of the same."""
    table = np.array([[[30, 12], [9, 14]], [[20, 18], [5, 15]]])
    labels, decisions, groups = rows_of(table)
    problem = fair_classification(schema, linear(), constraint(0.02))
    people = certain_people(labels, groups)
    found = expected_evenness(decisions[None], people, problem.sides(people))
    judged = metrics.METRICS[metric](table) / metrics.noise_ceilings(table)[metric]
    assert found[0] == pytest.approx(judged, abs=0.02)


def test_decisions_unrelated_to_groups_are_as_even_as_chance(schema):
    rng = np.random.default_rng(0)
    problem = fair_classification(schema, linear(), demographic_parity(0.02))
    share = np.full(40, 0.3)  # features tell nothing
    people = certain_people(np.zeros(40), share)
    decisions = rng.random((3, 40)) < np.array([[0.2], [0.5], [0.8]])
    evenness = expected_evenness(decisions, people, problem.sides(people))
    np.testing.assert_allclose(evenness, 1, atol=0.06)
    # Half of the people are surely of one group: even decisions are known to be even.
    surely = np.repeat([0.0, 1.0], 20)
    people = certain_people(np.zeros(40), surely)
    even, uneven = np.arange(40) % 2, np.arange(40) < 25
    evenness = expected_evenness(np.stack([even, uneven]), people, problem.sides(people))
    assert evenness[0] > 1.2 and evenness[1] < 0.5


def test_missed_gaps_and_equal_decisions_in_evenness(schema):
    problem = fair_classification(schema, linear(), demographic_parity(0.02))
    people = certain_people(np.zeros(200), np.repeat([0.0, 1.0], 100))
    even = np.arange(200) % 2
    decisions = np.stack([even, 0 * even, 0 * even + 1])
    sides = problem.sides(people)
    without = expected_evenness(decisions, people, sides)
    missed = expected_evenness(decisions, people, sides, missed=jnp.array([0.2]))
    np.testing.assert_array_equal(without[1:], 0)  # all the same: neither even nor uneven
    assert float(missed[0] / without[0]) == pytest.approx(0.4 / 0.6, rel=1e-3)


def test_comparisons_without_positive_decisions_do_not_count(schema):
    """Nobody with label 0 is selected: no ratio there, and an even one among the others."""
    problem = fair_classification(schema, linear(), equalized_odds(0.02))
    labels, groups = np.arange(200) % 2, np.repeat([0.0, 1.0], 100)
    people = certain_people(labels, groups)
    decisions = (labels == 1) & (np.arange(200) % 4 == 1)  # half of those, in both groups
    evenness = expected_evenness(decisions[None], people, problem.sides(people))
    assert evenness[0] > 1


def test_sides_speak_of_people_whatever_is_learned_from(schema):
    task = random_task(0, 60, schema)
    support = support_batch(task, schema, np.arange(60), 10, np.random.default_rng(0))
    natural, drawn = (
        fair_classification(schema, linear(), equalized_odds(0.1), natural_rates=flag)
        for flag in (True, False)
    )
    jax.tree.map(np.testing.assert_array_equal, natural.sides(support), drawn.sides(support))


def test_sides_are_who_is_compared(schema):
    task = random_task(0, 50, schema)
    batch = padded_batch(task, schema, np.arange(50))
    notions = combine(demographic_parity(0.1), equal_opportunity(0.1), equalized_odds(0.1))
    problem = fair_classification(schema, linear(), notions)
    rows, members = problem.sides(batch)
    assert (
        rows.shape == members.shape == (len(batch.y), problem.num_constraints) == (len(batch.y), 4)
    )
    w, y = batch.weight, batch.y
    np.testing.assert_array_equal(rows, np.stack([w, w * y, w * (1 - y), w * y], 1))
    np.testing.assert_array_equal(members, np.repeat(batch.s, 4, 1))
    decided = problem.apply(theta(), batch.x) > 0
    for entry, counts in ((0, w > 0), (1, y == 1), (2, (w > 0) & (y == 0))):
        inside, outside = (decided[counts & (batch.s[:, 0] == s)].mean() for s in (1, 0))
        gap = decision_gaps(problem, theta(), batch)[entry]
        assert float(gap) == pytest.approx(float(inside - outside), abs=1e-6)
