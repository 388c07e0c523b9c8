"""Evening out what is expected of decisions: which way, and how far."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from conftest import random_task
from people import people_of, remembered, theta, true_gap

from ffml.base import Unlabelled
from ffml.constraints import decision_boundary_covariance, demographic_parity, equalized_odds
from ffml.evaluation import support_batch
from ffml.evening import RIDGE, directions, even_out_expected, expected_people
from ffml.evenness import decision_gaps, expected_evenness
from ffml.membership import learn_membership, nothing_known
from ffml.models import linear, mlp
from ffml.problem import fair_classification


def test_directions_of_a_linear_model_are_those_of_the_membership(float64, schema):
    task = random_task(0, 600, schema)
    problem = fair_classification(schema, linear(), demographic_parity(0.0, 0.5, True))
    people, _ = people_of(problem, task, learn_membership(remembered(schema, task)))
    x = np.c_[np.ones(len(people.x)), people.x]  # b comes before w in a flat θ
    share = np.asarray(people.s[:, 0])
    counts = share / share.sum() - (1 - share) / (1 - share).sum()
    squares = x.T @ x / len(x) + RIDGE * np.eye(4)
    step = np.linalg.solve(squares, x.T @ counts)
    logits = x[:, 1:] @ np.array(theta()["w"])
    step *= logits.std() / (x @ step).std()
    np.testing.assert_allclose(directions(problem, theta(), people)[0], step, rtol=1e-4, atol=1e-8)


def evenness_of(problem, params, people):
    decided = problem.apply(params, people.x) > 0
    return float(expected_evenness(decided[None], people, problem.sides(people))[0])


@pytest.mark.parametrize("goal", [0.8, 0.9])
@pytest.mark.parametrize(
    "constraint", [demographic_parity(0.0, 0.5, True), decision_boundary_covariance(0.3)]
)
def test_the_goal_is_reached_and_no_more_than_that(schema, constraint, goal):
    """Whatever the notion's own gaps and bounds are: the goal is about decisions."""
    task = random_task(0, 900, schema)
    problem = fair_classification(schema, linear(), constraint)
    people, _ = people_of(problem, task, learn_membership(remembered(schema, task)))
    before = evenness_of(problem, theta(), people)
    assert before < 0.75
    after = evenness_of(problem, even_out_expected(problem, theta(), people, goal), people)
    assert goal <= after < goal + 0.06


def test_a_goal_out_of_reach_is_approached(schema):
    task = random_task(0, 900, schema)
    problem = fair_classification(schema, linear(), demographic_parity(0.0, 0.5, True))
    people, _ = people_of(problem, task, learn_membership(remembered(schema, task)))
    evened = even_out_expected(problem, theta(), people, goal=50.0)
    assert abs(decision_gaps(problem, evened, people)[0]) < 0.03
    assert evenness_of(problem, evened, people) > 0.99


def test_a_gap_that_was_missed_before_is_taken_out_as_well(schema):
    """Where gaps have been larger by 0.2 than expected, the one that is expected may be -0.2."""
    task = random_task(0, 900, schema)
    problem = fair_classification(schema, linear(), demographic_parity(0.0, 0.5, True))
    people, _ = people_of(problem, task, learn_membership(remembered(schema, task)))
    evened = even_out_expected(problem, theta(), people, goal=50.0, missed=jnp.array([0.2]))
    assert decision_gaps(problem, evened, people)[0] == pytest.approx(-0.2, abs=0.04)


@pytest.mark.parametrize("relative", [True, False])
def test_decisions_about_new_people_become_even(schema, relative):
    """Their groups are never looked at."""
    known = learn_membership(remembered(schema, *(random_task(i, 2000, schema) for i in (1, 2))))
    constraint = demographic_parity(0.03, 0.2, relative)
    problem = fair_classification(schema, linear(), constraint)
    for seed in (3, 4, 5):
        task = random_task(seed, 2200, schema)
        people, rows = people_of(problem, task, known)
        assert true_gap(theta(), task, rows) > 0.2
        evened = even_out_expected(problem, theta(), people)
        assert abs(true_gap(evened, task, rows)) < 0.09
        assert abs(decision_gaps(problem, evened, people)[0]) < 0.03
        # What the people have in common otherwise is kept: the order by b, which knows no group.
        assert evened["w"][1] > 0.3


def test_few_people_are_evened_out_less_than_many(schema):
    """Twelve people are uneven by chance: the same model needs a smaller step for them."""
    known = learn_membership(remembered(schema, random_task(1, 2000, schema)))
    problem = fair_classification(schema, linear(), demographic_parity(0.0, 0.5, True))
    task = random_task(2, 2200, schema)
    many, _ = people_of(problem, task, known)
    left = {}
    for n in (12, 2000):
        steps = []
        for start in range(0, 2000, 200):
            some = slice(start, start + n) if n == 12 else slice(None)
            people = jax.tree.map(lambda leaf: leaf[some] if jnp.ndim(leaf) else leaf, many)  # noqa: B023
            evened = even_out_expected(problem, theta(), people._replace(pool=n), goal=0.9)
            steps.append(decision_gaps(problem, evened, many)[0])
        left[n] = np.mean(steps)
    assert left[12] > 1.5 * left[2000] > 0


def test_equal_odds_go_by_the_labels_that_are_to_be_expected(schema):
    known = learn_membership(remembered(schema, random_task(1, 2000, schema)))
    problem = fair_classification(schema, linear(), equalized_odds(0.02, 0.5, True))
    task = random_task(2, 2200, schema)
    people, rows = people_of(problem, task, known)
    assert people.y.mean() == pytest.approx(task.y.mean(), abs=0.1)
    evened = even_out_expected(problem, theta(), people)
    before, after = (
        sum(abs(true_gap(params, task, rows, label)) for label in (0, 1))
        for params in (theta(), evened)
    )
    assert after < 0.6 * before


def test_a_network_is_evened_out_too(schema):
    known = learn_membership(remembered(schema, random_task(1, 2000, schema)))
    problem = fair_classification(schema, mlp((5, 4)), demographic_parity(0.02, 0.5, True))
    task = random_task(2, 1000, schema)
    params = problem.init(jax.random.key(1))
    params[0]["w"] = jnp.abs(params[0]["w"])  # so that the feature that knows the group counts
    params[1]["w"], params[2]["w"] = jnp.abs(params[1]["w"]), jnp.abs(params[2]["w"])
    params[-1]["b"] -= np.median(problem.apply(params, task.x))
    people, _ = people_of(problem, task, known, params)
    before, after = (
        abs(decision_gaps(problem, p, people)[0])
        for p in (params, even_out_expected(problem, params, people))
    )
    assert before > 0.1 and after < 0.04


def test_what_needs_no_evening_or_cannot_be_told_is_left_alone(schema):
    task = random_task(0, 400, schema)
    known = learn_membership(remembered(schema, task))
    problem = fair_classification(schema, linear(), demographic_parity(0.0, 0.5, True))
    for goal, knowledge in ((0.1, known), (0.0, known), (1.0, nothing_known(3, 1))):
        people, _ = people_of(problem, task, knowledge)
        evened = even_out_expected(problem, theta(), people, goal)
        jax.tree.map(np.testing.assert_array_equal, evened, theta())


@pytest.mark.parametrize("share", [0.3, 0.37, 0.5])
def test_shares_that_are_all_the_same_tell_nothing(schema, share):
    """What was missed before asks for a step, and there is none to be made but rounding."""
    problem = fair_classification(schema, linear(), demographic_parity(0.0, 0.5, True))
    known = nothing_known(3, 1)
    known = known._replace(weights=known.weights.at[-1].set(share))
    people, _ = people_of(problem, random_task(0, 400, schema), known)
    evened = even_out_expected(problem, theta(), people, missed=jnp.array([0.05]))
    jax.tree.map(np.testing.assert_array_equal, evened, theta())


def test_padding_changes_nothing(float64, schema):
    task = random_task(0, 500, schema)
    known = learn_membership(remembered(schema, task))
    problem = fair_classification(schema, linear(), demographic_parity(0.02, 0.5, True))
    support = support_batch(task, schema, np.arange(100), 50, np.random.default_rng(0))
    results = []
    for padding in (0, 70):
        x = np.pad(task.x[100:], ((0, padding), (0, 0)))
        people = Unlabelled(x, np.pad(np.ones(400), (0, padding)))
        batch = expected_people(problem, theta(), support._replace(unlabelled=people), known)
        results.append(even_out_expected(problem, theta(), batch))
    for one, other in zip(*map(jax.tree.leaves, results), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9)


def test_without_people_the_support_rows_stand_for_them(schema):
    task = random_task(0, 500, schema)
    known = learn_membership(remembered(schema, task))
    problem = fair_classification(schema, linear(), demographic_parity(0.02))
    support = support_batch(task, schema, np.arange(500), 50, np.random.default_rng(0))
    people = expected_people(problem, theta(), support, known)
    np.testing.assert_array_equal(people.x, support.x)
    np.testing.assert_array_equal(people.weight, support.weight)
    nobody = support_batch(task, schema, np.arange(0), 50, np.random.default_rng(0))
    people = expected_people(problem, theta(), nobody, known)
    jax.tree.map(
        np.testing.assert_array_equal, even_out_expected(problem, theta(), people), theta()
    )


def test_a_task_where_a_group_is_larger_than_elsewhere_is_evened_out_as_well(schema):
    """Shares from other tasks alone would take most of the larger group for the other one."""
    rng = np.random.default_rng(0)

    def drawn(seed, keep):  # of the second group, only some
        task = random_task(seed, 3000, schema, bias=1.0)
        stays = (task.groups[:, 0] == 0) | (rng.random(3000) < keep)
        return task._replace(x=task.x[stays], y=task.y[stays], groups=task.groups[stays])

    known = learn_membership(remembered(schema, *(drawn(i, 0.1) for i in range(8))))
    task = drawn(9, 1.0)
    problem = fair_classification(schema, linear(), demographic_parity(0.0, 0.2, True))
    people, rows = people_of(problem, task, known)
    assert people.s.mean() < 0.35  # eight tasks are alike: what the ninth shows is not believed
    differing = known._replace(spread=jnp.array([0.5]))
    people, rows = people_of(problem, task, differing)
    assert people.s.mean() == pytest.approx(task.groups[rows].mean(), abs=0.06)
    assert abs(true_gap(even_out_expected(problem, theta(), people), task, rows)) < 0.1
