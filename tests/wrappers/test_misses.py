"""How far off gaps were: what is chance is not believed, what is not chance is."""

import numpy as np
import pytest

from ffml.wrappers._misses import Miss, add_miss, beyond_chance, no_misses

ROWS = 100.0


def after(biases, rows=ROWS, tasks=10, spread=0.0, memory=1.0, seed=0):
    """Take in tasks whose gaps are off by these biases, and by chance."""
    rng = np.random.default_rng(seed)
    biases = np.asarray(biases, float)
    rows = np.broadcast_to(np.asarray(rows, float), biases.shape)
    misses = no_misses(len(biases))
    for _ in range(tasks):
        here = biases + spread * rng.normal(size=len(biases))
        off = here + rng.normal(size=len(biases)) / np.sqrt(4 * rows)
        misses = add_miss(misses, Miss(off, 1 / (4 * rows), rows), memory)
    return misses


def test_nothing_is_off_before_anything_was_tried():
    assert no_misses(3).bias.tolist() == [0, 0, 0]


def test_tasks_differ_by_a_point_until_more_is_known():
    """Beside the chance in 200 rows that is nothing, beside that in 20,000 it is nearly all."""
    spread = no_misses(1).spread
    assert spread == pytest.approx([0.01**2])
    trusts = [float(spread[0] / (spread[0] + 0.25 / rows)) for rows in (200, 20_000)]
    assert trusts[0] < 0.1 and trusts[1] > 0.85


def test_without_comparisons_there_is_nothing_to_be_off():
    assert no_misses(0).bias.shape == no_misses(0).spread.shape == (0,)


def test_a_bias_that_is_far_more_than_chance_is_believed():
    assert after([0.2], tasks=40).bias == pytest.approx([0.2], abs=0.02)


def test_one_comparison_is_shrunk_as_james_and_stein_do():
    misses = after([0.05], rows=20.0)
    mean, variance = misses.total / misses.weight, misses.chance / misses.weight**2
    assert misses.bias == pytest.approx(mean * max(0, 1 - variance[0] / mean[0] ** 2))


def test_the_shrunk_bias_is_about_as_near_to_the_truth_as_the_better_of_the_mean_and_none():
    """τ is learned: where comparisons are off by little, by more, and by much more than chance."""
    for size in (0.01, 0.03, 0.1):
        errors = {"mean": 0.0, "none": 0.0, "shrunk": 0.0}
        for seed in range(200):
            truth = size * np.random.default_rng([seed, 1]).normal(size=4)
            misses = after(truth, rows=[20, 50, 100, 200], seed=seed)
            errors["mean"] += np.mean((misses.total / misses.weight - truth) ** 2)
            errors["none"] += np.mean(truth**2)
            errors["shrunk"] += np.mean((misses.bias - truth) ** 2)
        assert errors["shrunk"] < 1.3 * min(errors["mean"], errors["none"]), (size, errors)


def test_how_large_means_are_apart_from_chance_solves_its_equation():
    rng = np.random.default_rng(0)
    variances = rng.uniform(1e-4, 1e-1, 30)
    means = rng.normal(size=30) * np.sqrt(0.02 + variances)
    square = beyond_chance(means, variances)
    assert (means**2 / (square + variances)).sum() == pytest.approx(30)
    assert square == pytest.approx(0.02, rel=0.8)
    assert beyond_chance(0.5 * np.sqrt(variances), variances) == 0
    assert beyond_chance(np.zeros(0), np.zeros(0)) == 0


def test_of_a_small_group_less_is_believed():
    both = [after([0.03, 0.03], rows=[400, 4], seed=seed) for seed in range(50)]
    believed = np.mean([m.bias * m.weight / m.total for m in both], axis=0)
    assert believed[0] > 0.7
    assert believed[1] < 0.5 * believed[0]


def test_a_group_that_nobody_belongs_to_is_not_off_and_spoils_nothing():
    misses = after([0.2, 0.2], rows=[ROWS, ROWS], tasks=40)
    nobody = misses._replace(**{name: value * [1, 0] for name, value in misses._asdict().items()})
    assert nobody.bias[0] == pytest.approx(0.2, abs=0.03)
    assert nobody.bias[1] == 0 and nobody.spread[1] == pytest.approx(0.01**2)


def test_spread_is_what_differs_from_task_to_task_beyond_chance():
    wide = np.mean([after([0.1], tasks=200, spread=0.2, seed=i).spread for i in range(20)])
    none = np.mean([after([0.1], tasks=200, seed=i).spread for i in range(20)])
    assert wide == pytest.approx(0.04, rel=0.2)
    assert none < 0.002


def test_earlier_tasks_fade():
    misses = after([0.0], rows=1e9, tasks=2, memory=0.9)
    assert misses.weight == pytest.approx([20 * 1.9], rel=1e-3)
    assert after([0.0], tasks=1, memory=0.0).weight == after([0.0], tasks=5, memory=0.0).weight
