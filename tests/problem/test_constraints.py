from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from conftest import random_task

from ffml import metrics
from ffml.base import FFMLError, Schema, SensitiveColumn, Task
from ffml.methods.sampling import draw_support_and_query
from ffml.online.judge import Decided, judge_decisions, padded_batch, support_batch
from ffml.online.memory import bounded
from ffml.problem import gaps as of
from ffml.problem.classification import fair_classification
from ffml.problem.models import linear
from ffml.problem.notions import (
    decision_boundary_covariance,
    demographic_parity,
    equal_opportunity,
    equalized_odds,
    ratio,
)

TWO_COLUMNS = Schema(
    ("a", "b", "c"), (SensitiveColumn("sex", ("M", "F")), SensitiveColumn("race", ("w", "b", "o")))
)


def batch_and_logits(schema, rows=50, seed=0):
    task = random_task(seed, rows, schema)
    batch = padded_batch(task, schema, np.arange(rows))
    logits = np.random.default_rng(seed).normal(size=len(batch.y)).astype(np.float32)
    return task, batch, logits


def sigmoid(z):
    return 1 / (1 + np.exp(-z))


def problem_of(schema, *notions, **settings):
    """A problem whose parameters are the logits themselves."""
    given = linear()._replace(apply=lambda logits, x: logits)
    return fair_classification(schema, given, *notions, **settings)


def gaps_of(notion, logits, batch, schema):
    return of.gaps(problem_of(schema, notion), logits, batch)


def test_dbc_is_the_covariance_of_equation_one(schema):
    task, batch, logits = batch_and_logits(schema)
    s, h = task.groups[:, 0], logits[: len(task.y)]
    share = s.mean()
    covariance = np.mean((s - share) / (share * (1 - share)) * h)
    gap = gaps_of(decision_boundary_covariance(), logits, batch, schema)
    np.testing.assert_allclose(gap, [covariance], rtol=1e-5)
    np.testing.assert_allclose(gap, [h[s == 1].mean() - h[s == 0].mean()], rtol=1e-5)


def test_smooth_notions_compare_mean_decisions(schema):
    task, batch, logits = batch_and_logits(schema)
    s, y, p = task.groups[:, 0], task.y, sigmoid(logits[: len(task.y)] / 0.5)

    def gap(rows):
        return p[rows & (s == 1)].mean() - p[rows & (s == 0)].mean()

    everyone = np.ones(len(y), bool)
    for notion, expected in (
        (demographic_parity(0.1, 0.5, relative=False), [gap(everyone)]),
        (equal_opportunity(0.1, 0.5, relative=False), [gap(y == 1)]),
        (equalized_odds(0.1, 0.5, relative=False), [gap(y == 0), gap(y == 1)]),
    ):
        np.testing.assert_allclose(gaps_of(notion, logits, batch, schema), expected, rtol=1e-4)


def test_judged_gaps_are_those_of_decisions_where_smooth_ones_are_of_their_size(schema):
    task, batch, logits = batch_and_logits(schema)
    counts = metrics.contingency_table(task.y, logits[:50] > 0, task.groups[:, 0], 2)
    selected, false, true = (
        rates(counts)
        for rates in (
            metrics.selection_rates,
            metrics.false_positive_rates,
            metrics.true_positive_rates,
        )
    )
    problem = problem_of(
        schema,
        demographic_parity(temperature=3.0),
        equalized_odds(),
        demographic_parity(temperature=3.0, relative=False),
        decision_boundary_covariance(),
    )
    expected = [rates[1] - rates[0] for rates in (selected, false, true)]
    judged = of.judged_gaps(problem, logits, batch)
    np.testing.assert_allclose(judged[:3], expected, rtol=1e-5)
    np.testing.assert_array_equal(judged[3:], of.gaps(problem, logits, batch)[3:])


@pytest.mark.parametrize("shift", [0.0, 0.07])
def test_a_ratio_bounds_the_gap_by_a_share_of_the_higher_rate(schema, shift):
    task, batch, logits = batch_and_logits(schema)
    s, p = task.groups[:, 0], sigmoid(logits[:50])
    rates = np.array([p[s == 1].mean(), p[s == 0].mean()])
    problem = problem_of(schema, demographic_parity(ratio(0.8), relative=False))
    moved = of.shifted(problem, np.array([shift]))
    expected = abs(rates[0] - rates[1] + shift) - 0.2 * rates.max()
    np.testing.assert_allclose(of.constraint(moved, logits, batch), [expected], rtol=1e-4)
    decided = (logits[:50] > 0) * 1.0
    higher = of.judged_higher_rates(
        problem_of(schema, demographic_parity(ratio(0.8))), logits, batch
    )
    expected = [max(decided[s == 1].mean(), decided[s == 0].mean())]
    np.testing.assert_allclose(higher, expected, rtol=1e-5)


@pytest.mark.parametrize("least", [0.0, -0.1, 1.2, np.nan])
def test_a_ratio_that_nothing_can_have_is_refused(least):
    with pytest.raises(FFMLError, match="must be above 0 and at most 1"):
        demographic_parity(ratio(least))


@pytest.mark.parametrize("relative", [True, False])
def test_records_speak_of_decisions_whatever_is_learned_from(schema, relative):
    task, _, logits = batch_and_logits(schema)
    logits = logits[:50]
    decided = Decided(np.arange(50), logits, sigmoid(logits), logits > 0)
    rates = [(logits > 0)[task.groups[:, 0] == group].mean() for group in (0, 1)]
    gap, higher = abs(rates[1] - rates[0]), max(rates)
    for bound, most in ((0.05, 0.05), (ratio(0.8), 0.2 * higher)):
        problem = problem_of(schema, demographic_parity(bound, relative=relative))
        found = judge_decisions(problem, schema, task, decided).constraint
        np.testing.assert_allclose(found, [gap - most], rtol=1e-4, atol=1e-6)
    scores = problem_of(schema, decision_boundary_covariance(0.05))
    found = judge_decisions(scores, schema, task, decided)
    np.testing.assert_allclose(found.constraint, [abs(found.metrics["dbc"]) - 0.05], rtol=1e-4)


def test_more_groups_and_columns_are_each_compared_with_all_others():
    task, batch, logits = batch_and_logits(TWO_COLUMNS, 80)
    p = sigmoid(logits[:80])
    expected = [p[task.groups[:, 0] == 1].mean() - p[task.groups[:, 0] == 0].mean()]
    for group in range(3):
        inside = task.groups[:, 1] == group
        expected.append(p[inside].mean() - p[~inside].mean())
    problem = problem_of(TWO_COLUMNS, demographic_parity(0.1, relative=False))
    np.testing.assert_allclose(of.gaps(problem, logits, batch), expected, rtol=1e-4)
    assert problem.constraint_names == (
        "demographic-parity[sex=F]",
        "demographic-parity[race=w]",
        "demographic-parity[race=b]",
        "demographic-parity[race=o]",
    )


def test_several_notions_keep_their_own_bounds(schema):
    _, batch, logits = batch_and_logits(schema)
    problem = problem_of(schema, demographic_parity(0.1), equalized_odds((0.2, 0.3)))
    assert problem.constraint_names == (
        "demographic-parity[sex=F]",
        "equalized-odds[sex=F, y=0]",
        "equalized-odds[sex=F, y=1]",
    )
    values = of.constraint(problem, logits, batch)
    expected = np.abs(of.gaps(problem, logits, batch)) - [0.1, 0.2, 0.3]
    np.testing.assert_allclose(values, expected, rtol=1e-5)


def test_a_shift_moves_the_band_that_gaps_are_kept_in(schema):
    """``|gap + shift| - ε``, entry by entry, and shifts add up."""
    _, batch, logits = batch_and_logits(schema)
    problem = problem_of(schema, demographic_parity(0.1), equalized_odds((0.2, 0.3)))
    shift = jnp.array([0.3, -0.1, 0.05])
    moved = of.shifted(of.shifted(problem, shift / 3), shift * 2 / 3)
    gaps = of.gaps(problem, logits, batch)
    expected = np.abs(gaps + shift) - [0.1, 0.2, 0.3]
    np.testing.assert_allclose(of.constraint(moved, logits, batch), expected, rtol=1e-4)
    np.testing.assert_array_equal(of.gaps(moved, logits, batch), gaps)
    assert moved.constraint_names == problem.constraint_names


def test_without_constraints_there_are_no_entries(schema):
    _, batch, logits = batch_and_logits(schema)
    problem = problem_of(schema)
    assert problem.num_constraints == 0
    for values in (of.constraint(problem, logits, batch), of.judged_gaps(problem, logits, batch)):
        assert values.shape == (0,)


def test_natural_rates_bound_the_gap_among_the_people_decided_about(schema):
    _, batch, _ = batch_and_logits(schema)
    batch = batch._replace(weight=batch.mask * np.where(batch.y == 1, 0.1, 0.9))
    params = {"w": jnp.array([1.0, -2.0, 0.5]), "b": jnp.array(0.3)}
    p, s = sigmoid(np.asarray(linear().apply(params, batch.x))), batch.s[:, 0]

    def gap(weight):
        inside, outside = weight * s, weight * (1 - s)
        return (p * inside).sum() / inside.sum() - (p * outside).sum() / outside.sum()

    for natural, expected in ((True, gap(batch.weight)), (False, gap(batch.mask))):
        notion = demographic_parity(0.1, relative=False)
        problem = fair_classification(schema, linear(), notion, natural_rates=natural)
        np.testing.assert_allclose(of.gaps(problem, params, batch), [expected], rtol=1e-4)
        values = of.constraint(problem, params, batch)
        np.testing.assert_allclose(values, [abs(expected) - 0.1], rtol=1e-4)


def test_a_relative_temperature_cannot_be_met_by_shrinking_the_logits(schema):
    task = random_task(0, 300, schema)
    batch = padded_batch(task, schema, np.arange(300))
    logits = batch.x @ np.array([2.0, -1.0, 0.5], np.float32) + 0.3
    rows = np.arange(300)
    expected = jax.nn.sigmoid(logits[rows] / (0.5 * logits[rows].std()))
    member = task.groups[:, 0] == 1
    for notion, unchanged in (
        (demographic_parity(0.1, temperature=0.5), True),
        (demographic_parity(0.1, temperature=0.5, relative=False), False),
    ):
        gap, shrunk = (gaps_of(notion, h, batch, schema) for h in (logits, 0.1 * logits))
        assert np.allclose(gap, shrunk, rtol=0.01) == unchanged
        if unchanged:
            by_hand = expected[member].mean() - expected[~member].mean()
            np.testing.assert_allclose(gap, [by_hand], rtol=1e-3)


def test_effective_rows_are_the_distinct_rows_of_both_sides(schema):
    task = random_task(0, 90, schema)
    once = padded_batch(task, schema, np.arange(90))
    twice = padded_batch(task, schema, np.tile(np.arange(90), 2))
    twice = twice._replace(distinct_share=twice.distinct_share / 2)
    member, positive = task.groups[:, 0] == 1, task.y == 1
    sides = [(positive == label) & (member == side) for label in (0, 1) for side in (0, 1)]
    a, b, c, d = (1 / side.sum() for side in sides)
    for batch in (once, twice):  # a row drawn twice is one row
        rows = of.effective_rows(problem_of(schema, equalized_odds(0.1)), batch)
        np.testing.assert_allclose(rows, [1 / (a + b), 1 / (c + d)], rtol=1e-5)


drawn_to_learn = jax.jit(partial(draw_support_and_query, shots=50))
DRAWS = {
    "decide": lambda task, schema, seed: support_batch(
        task, schema, np.arange(len(task.y)), 50, np.random.default_rng(seed)
    ),
    "learn": lambda task, schema, seed: drawn_to_learn(
        jax.random.key(seed), bounded(task, schema, 128, np.random.default_rng(seed))
    )[seed % 2],
}


@pytest.mark.parametrize(
    ("draw", "rows", "natural_rates"),
    [
        ("decide", 100, True),
        ("decide", 800, False),
        ("learn", 100, False),
        ("learn", 250, True),
        ("learn", 800, True),
    ],
)
def test_effective_rows_are_the_precision_of_gaps_of_a_class_balanced_draw(
    draw, rows, natural_rates, schema
):
    """Few positives are drawn again and again, many negatives are not drawn, or not even kept."""
    rng = np.random.default_rng(rows)
    notions = demographic_parity(0.1), equalized_odds(0.1)
    problem = problem_of(schema, *notions, natural_rates=natural_rates)
    numbers = jax.jit(
        lambda batch: (
            of.judged_gaps(problem, batch.x[:, 0], batch),
            of.effective_rows(problem, batch),
        )
    )
    seen = []
    for seed in range(500):  # tasks whose decisions, labels and groups are unrelated
        y = (np.arange(rows) < 0.2 * rows).astype(int)
        member = rng.permuted(np.arange(rows) % 3 == 0).astype(np.int32)
        decisions = rng.choice(np.float32([-1, 1]), size=rows)
        task = Task("t", np.repeat(decisions[:, None], 3, 1), y, member[:, None])
        seen.append(jax.device_get(numbers(DRAWS[draw](task, schema, seed))))
    gaps, evidence = np.array(seen).swapaxes(0, 1)
    measurable = (evidence > 0).all(1)  # groups may be missing from ten positives
    variance = np.mean(gaps[measurable] ** 2, axis=0)  # that of a single decision is 1/4
    expected = 0.25 * np.mean(1 / evidence[measurable], axis=0)
    np.testing.assert_allclose(variance, expected, rtol=0.25)


@pytest.mark.parametrize("rows", [30, 200])
def test_gap_variance_is_what_shuffled_groups_show(rows, schema):
    rng = np.random.default_rng(0)
    batch = padded_batch(random_task(0, rows, schema), schema, np.arange(rows))
    batch = jax.tree.map(lambda leaf: leaf[:rows] if leaf.ndim else leaf, batch)
    values, members = rng.uniform(size=rows), (np.arange(rows) % 3 == 0) * 1.0
    shuffled = np.stack([rng.permutation(members) for _ in range(20_000)])
    gaps = shuffled @ values / members.sum() - (1 - shuffled) @ values / (rows - members.sum())
    problem = problem_of(schema, decision_boundary_covariance())
    exactly = of.gap_variance(problem, values, batch._replace(s=members[:, None]))
    np.testing.assert_allclose(exactly, [gaps.var()], rtol=0.02)


def test_bad_bounds_are_refused(schema):
    for bound in (-0.1, float("nan"), (0.1, -0.2)):
        with pytest.raises(FFMLError, match=r"a gap must be >= 0, got"):
            demographic_parity(bound)
    with pytest.raises(FFMLError, match="has 1 entries here: give one bound or 1"):
        fair_classification(schema, linear(), demographic_parity((0.1, 0.2)))
    with pytest.raises(FFMLError, match=r"l2 must be >= 0, got -1"):
        fair_classification(schema, linear(), demographic_parity(), l2=-1)


def test_positive_weight_is_what_a_missed_positive_costs(float64, schema):
    task = random_task(0, 60, schema)
    batch = padded_batch(task, schema, np.arange(60))
    params = {"w": jnp.array([1.0, -0.5, 0.2]), "b": jnp.array(0.1)}
    logits = task.x @ np.array(params["w"]) + 0.1
    each = np.logaddexp(0, logits) - task.y * logits
    for weight, costs in ((1.0, (1.0, 1.0)), (3.0, (0.5, 1.5))):
        problem = fair_classification(
            schema, linear(), demographic_parity(0.1), positive_weight=weight
        )
        expected = np.mean(each * np.array(costs)[task.y])
        np.testing.assert_allclose(problem.loss(params, batch), expected, rtol=1e-6)
        assert problem.positive_weight == weight
    for bad in (0.0, -1.0, np.inf):
        with pytest.raises(FFMLError, match="positive_weight must be > 0"):
            fair_classification(schema, linear(), demographic_parity(0.1), positive_weight=bad)
