"""Evening out by the features of people to be decided about: who they are, and what is done."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from conftest import random_task

from ffml import metrics
from ffml.base import (
    Batch,
    FFMLError,
    LabelledTask,
    Schema,
    SensitiveColumn,
    Stream,
    Unlabelled,
)
from ffml.constraints import (
    combine,
    decision_boundary_covariance,
    demographic_parity,
    equal_opportunity,
    equalized_odds,
)
from ffml.evaluation import LARGEST_CROWD, padded_batch, split_rows, support_batch, with_people
from ffml.evening import RIDGE, directions, even_out_expected, expected_people
from ffml.evenness import decision_gaps, expected_evenness
from ffml.membership import RIDGE as MEMBERSHIP_RIDGE
from ffml.membership import learn_membership, nothing_known, of_task, shares
from ffml.memory import MemorySettings, bounded, padded_rows
from ffml.methods import ffml
from ffml.models import linear, mlp
from ffml.online import SPLIT, OnlineLoop
from ffml.problem import fair_classification
from ffml.surprise import shift


def theta():
    """Parameters of the precision that a test computes with."""
    return {"w": jnp.array([1.0, 0.5, -0.2]), "b": jnp.array(0.3)}


def remembered(schema, *tasks, rows=2000):
    """Tasks as memory hands them out, padded to equal size."""
    rng = np.random.default_rng(0)
    kept = [padded_rows(bounded(task, schema, rows, rng), rows) for task in tasks]
    return LabelledTask(*(np.stack(leaves) for leaves in zip(*kept, strict=True)))


def people_of(problem, task, known, params=None, labelled=200):
    """Support rows, and all others as people of whom only the features are known."""
    schema, rows = problem.schema, np.arange(len(task.y))
    support = support_batch(task, schema, rows[:labelled], 100, np.random.default_rng(0))
    others = Unlabelled(task.x[labelled:], np.ones(len(rows) - labelled))
    support = support._replace(unlabelled=others)
    return expected_people(problem, params or theta(), support, known), rows[labelled:]


def true_gap(params, task, rows, label=None):
    decided = np.asarray(linear().apply(params, task.x[rows])) > 0
    counts = np.ones(len(rows), bool) if label is None else task.y[rows] == label
    member = task.groups[rows, 0] == 1
    return decided[member & counts].mean() - decided[~member & counts].mean()


# -- who belongs to which group ----------------------------------------------------------------


def test_membership_is_ridge_regression_on_rows_at_their_natural_rates(float64, schema):
    """Kept rows have as many of each label as they can; they stand for all rows of their task."""
    tasks = remembered(schema, random_task(0, 300, schema), random_task(1, 40, schema), rows=64)
    products, targets = MEMBERSHIP_RIDGE * np.eye(4), np.zeros((4, 1))
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


# -- where to ----------------------------------------------------------------------------------


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


# -- how even decisions are to be expected ------------------------------------------------------


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


# -- what is done about it ----------------------------------------------------------------------


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


# -- in the method and its loop ----------------------------------------------------------------


def make_loop(schema, bound=0.02, **settings):
    problem = fair_classification(schema, linear(), demographic_parity(bound, 0.5, True))
    learner = ffml(problem, num_inner_steps=1, num_outer_steps=5, shots=20, **settings)
    memory = MemorySettings(tasks_per_round=4, rows_per_task=64)
    return OnlineLoop(problem, learner, schema, shots=20, memory_settings=memory)


def test_nothing_is_learned_through_it(make_stream):
    """With and without, the pair and all else of the state are the same."""
    stream = make_stream((60, 200, 90, 500))
    loops = [make_loop(stream.schema, predict_gaps=flag) for flag in (False, True)]
    plain, evened = ([loop.step(task) for task in stream.tasks()] for loop in loops)
    one, other = (loop.state._replace(membership=0, missed=0) for loop in loops)
    for here, there in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        np.testing.assert_allclose(here, there, rtol=1e-4, atol=1e-6)  # two compiled programs
    assert [np.any(loop.state.membership.weights) for loop in loops] == [False, True]
    first, *_, last = zip(plain, evened, strict=True)
    assert first[0].metrics == pytest.approx(first[1].metrics, nan_ok=True)  # no groups seen yet
    assert last[0].metrics["loss"] != last[1].metrics["loss"]
    assert last[1].metrics["disc"] < last[0].metrics["disc"]


def test_what_is_expected_too_small_is_corrected_by_what_tasks_have_shown(schema):
    """Somebody who takes all groups for half as certain as they are finds out, task by task."""

    def half_as_certain(state):
        weights = state.membership.weights * np.float32([[0.5], [0.5], [0.5], [1.0]])
        return state._replace(membership=state.membership._replace(weights=weights))

    gaps = {}
    for memory in (0.0, 1.0):
        loop = make_loop(
            schema,
            predict_gaps=True,
            parity_goal=0.8,
            outer_constraints=False,
            surprise_memory=memory,
        )
        rounds = []
        for i in range(36):
            rounds.append(loop.step(random_task(i, 400, schema, bias=0.8)))
            loop.state = half_as_certain(loop.state)
        rates = [metrics.selection_rates(r.tables["sex"]) for r in rounds[18:]]
        gaps[memory] = np.mean([women - men for men, women in rates])
    assert shift(loop.state.missed)[0] > 0.02
    assert gaps[1.0] < 0.7 * gaps[0.0]


def test_labels_and_groups_of_the_people_never_reach_the_decision(make_stream):
    tasks = list(make_stream((60, 200, 120)).tasks())

    def parameters_of_the_last_round(scramble):
        loop, seen = make_loop(make_stream().schema, predict_gaps=True), []
        adapt = loop._adapt
        loop._adapt = lambda state, support: seen.append(adapt(state, support)) or seen[-1]
        for task in tasks[:-1]:
            loop.step(task)
        task = tasks[-1]
        if scramble:
            judges = split_rows(120, 0.5, np.random.default_rng([0, 3, SPLIT])).validation
            y, groups = task.y.copy(), task.groups.copy()
            y[judges], groups[judges] = 1 - y[judges], 1 - groups[judges]
            task = task._replace(y=y, groups=groups)
        loop.step(task)
        return seen[-1]

    jax.tree.map(
        np.testing.assert_array_equal,
        parameters_of_the_last_round(False),
        parameters_of_the_last_round(True),
    )


def test_ablations_and_methods_that_do_not_look_get_no_people(schema):
    problem = fair_classification(schema, linear(), demographic_parity(0.02))
    task = random_task(0, 50, schema)
    support = support_batch(task, schema, np.arange(20), 10, np.random.default_rng(0))
    for settings in ({}, {"predict_gaps": True, "inner_constraints": False}):
        learner = ffml(problem, **settings)
        assert not learner.uses_unlabelled
        assert with_people(support, learner, task.x, np.random.default_rng(0)) is support


@pytest.mark.parametrize("goal", [-0.1, float("nan")])
def test_a_goal_is_not_negative(schema, goal):
    problem = fair_classification(schema, linear(), demographic_parity(0.02))
    with pytest.raises(FFMLError, match="parity_goal must be"):
        ffml(problem, predict_gaps=True, parity_goal=goal)


def test_of_very_many_people_some_are_looked_at(schema):
    learner = ffml(
        fair_classification(schema, linear(), demographic_parity(0.02)), predict_gaps=True
    )
    task = random_task(0, LARGEST_CROWD + 500, schema)
    support = support_batch(task, schema, np.arange(20), 10, np.random.default_rng(0))
    people = with_people(support, learner, task.x, np.random.default_rng(0)).unlabelled
    assert people.x.shape == (LARGEST_CROWD, 3) and people.weight.sum() == LARGEST_CROWD
    few = with_people(support, learner, task.x[:300], np.random.default_rng(0)).unlabelled
    assert few.x.shape == padded_batch(task, schema, np.arange(300)).x.shape
    assert few.weight.sum() == 300


def test_groups_that_features_tell_are_treated_evenly_on_a_stream(schema):
    """The ratio of positive decisions over a stream's later rounds, with and without."""
    tasks = [random_task(i, 400, schema, bias=1.5) for i in range(8)]
    ratios = {}
    for flag in (False, True):
        loop = make_loop(schema, predict_gaps=flag, outer_constraints=False)
        rounds = [loop.step(task) for task in Stream("toy", schema, lambda: iter(tasks), 8).tasks()]
        ratios[flag] = np.mean([r.metrics["dp"] / r.metrics["dp_ceiling"] for r in rounds[4:]])
    assert ratios[True] > 0.9 > 0.7 > ratios[False]
