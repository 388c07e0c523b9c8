"""Prices by group: the linear program's optimum, with scipy's HiGHS as the oracle."""

import numpy as np
import pytest
from scipy.optimize import linprog

from ffml.wrappers._group_prices import Groups, Pool, Pricing

WIDTH, SHARE = {"gap": 0.05, "ratio": 0.0}, {"gap": 0.0, "ratio": 0.2}


def drawn(rng, n, counts, exact=False, form="gap", decimals=None):
    """Draw scores that differ between groups; groups that nobody may belong to are left out."""
    score, comparisons = rng.uniform(size=n), []
    for k in counts:
        chance = np.eye(k)[rng.integers(k, size=n)] if exact else rng.dirichlet(np.full(k, 0.3), n)
        if decimals is not None:
            score, chance = score.round(decimals), chance.round(decimals)
        score = score + chance @ rng.normal(scale=0.3, size=k)
        there = chance.sum(0) > 0
        comparisons.append(Groups(chance[:, there], WIDTH[form], SHARE[form]))
    return score, comparisons


def program(pricing, offset):
    """Return the highest gain, and how far the bounds are missed, by HiGHS."""
    people, n, sets = pricing.people, len(pricing.people.score), len(pricing.comparisons)
    rows, most, first = [], [], 0
    for i, part in enumerate(pricing.comparisons):
        for g in range(first, first + part.chance.shape[1]):
            rate, highest, missed = np.zeros((3, n + 2 * sets))
            rate[:n] = people.weight * pricing.effect[:, g]
            highest[n + i], missed[n + sets + i] = 1.0, 1.0
            rows += [rate - highest, (1 - part.share) * highest - rate - missed]
            most += [-offset[g], part.width + offset[g]]
        first += part.chance.shape[1]
    cost = -people.weight * (people.score - people.threshold)
    cost = np.concatenate([cost, np.zeros(sets), [part.highest for part in pricing.comparisons]])
    kept = np.concatenate([people.weight, np.zeros(2 * sets)])[None]
    equal = {} if people.rate is None else {"A_eq": kept, "b_eq": [people.rate]}
    bounds = [(0, 1)] * n + [(None, None)] * sets + [(0, None)] * sets
    found = linprog(n * cost, np.array(rows), most, bounds=bounds, **equal)
    return -(cost[:n] @ found.x[:n]), found.x[n + sets :].max()


def totals(pricing, positive):
    rates = (positive * pricing.people.weight) @ pricing.effect
    return np.append(rates, positive @ pricing.people.weight)


def gain(pricing, positive):
    people = pricing.people
    return positive @ (people.weight * (people.score - people.threshold))


@pytest.mark.parametrize("n", [1, 2, 5, 40, 300])
@pytest.mark.parametrize("counts", [(2,), (3,), (7,), (12,), (2, 3)], ids=str)
@pytest.mark.parametrize("exact", [False, True], ids=["estimated", "exact"])
@pytest.mark.parametrize("form", ["gap", "ratio"])
@pytest.mark.parametrize("rate", [None, 0.2])
def test_decisions_are_the_linear_programs(n, counts, exact, form, rate):
    """Up to one person at the edge for each group (prices cannot take half of a person)."""
    rng = np.random.default_rng([n, *counts, exact])
    for scale in (0.0, 0.03, 0.4):
        score, comparisons = drawn(rng, n, counts, exact, form)
        weight = np.ones(n) if exact else rng.uniform(0.5, 1.5, size=n)
        pricing = Pricing(Pool(score, weight, 0.5, rate), comparisons)
        offset = rng.normal(scale=scale, size=pricing.effect.shape[1])
        prices = pricing.settled(pricing.best(offset), offset)
        positive = pricing.margin(prices) > 0
        best, missed = program(pricing, offset)
        one = (pricing.people.weight[:, None] * pricing.effect).max()
        assert pricing.excess(totals(pricing, positive), offset) <= missed + one + 1e-7
        at_edge = len(offset) + (rate is not None)
        people = at_edge * pricing.people.weight.max() * (np.abs(score - 0.5).max() + 1)
        if missed < 1e-9:
            assert abs(gain(pricing, positive) - best) <= people + 1e-6


@pytest.mark.parametrize("form", ["gap", "ratio"])
@pytest.mark.parametrize("groups", [2, 3, 7])
def test_where_groups_are_known_bounds_are_kept_to_the_last_person(form, groups):
    """Whoever is at the edge belongs to one group and can be turned to its inside."""
    rng, priced = np.random.default_rng(0), 0
    for _ in range(5):
        score, comparisons = drawn(rng, 600, (groups,), exact=True, form=form)
        pricing = Pricing(Pool(score, np.ones(600), 0.5), comparisons)
        offset = rng.normal(scale=0.03, size=pricing.effect.shape[1])
        prices = pricing.settled(pricing.best(offset), offset)
        positive = pricing.margin(prices) > 0
        priced += prices.price.any()
        assert pricing.excess(totals(pricing, positive), offset) <= 1e-12
    assert priced >= 3


def single_price(score, effect, threshold, width):
    """Bisect for the smallest price on the gap of two groups: what one number can do."""
    low, high, sign = 0.0, 8.0, np.sign((score > threshold) @ effect)
    for _ in range(60):
        middle = (low + high) / 2
        kept = sign * ((score - sign * middle * effect > threshold) @ effect) <= width
        low, high = (low, middle) if kept else (middle, high)
    return sign * (high + 1e-7)  # past the person at the edge


@pytest.mark.parametrize("seed", range(5))
def test_two_groups_need_a_single_price(seed):
    rng = np.random.default_rng(seed)
    chance = rng.uniform(size=500)
    score = rng.uniform(size=500) + 0.5 * chance
    both = np.stack([1 - chance, chance], axis=1)
    pricing = Pricing(Pool(score, np.ones(500), 0.7), [Groups(both, 0.05)])
    prices = pricing.settled(pricing.best(np.zeros(2)), np.zeros(2))
    assert prices.price.sum() == pytest.approx(0, abs=1e-4)
    shares = pricing.effect / 500
    price = single_price(score, 500 * (shares[:, 1] - shares[:, 0]), 0.7, 25.0)
    assert prices.price[1] == pytest.approx(price, abs=1e-4)
    alone = score - price * (pricing.effect[:, 1] - pricing.effect[:, 0]) > 0.7
    np.testing.assert_allclose(
        totals(pricing, alone), totals(pricing, pricing.margin(prices) > 0), atol=1e-6
    )


def test_the_next_offsets_are_solved_for_from_the_last():
    rng = np.random.default_rng(0)
    score, comparisons = drawn(rng, 2500, (7,))  # as many as are solved for in parts
    people = Pool(score, np.ones(2500), 0.5)
    one = Pricing(people, comparisons)
    for _ in range(4):
        offset = rng.normal(scale=0.02, size=7)
        np.testing.assert_allclose(
            one.best(offset).price, Pricing(people, comparisons).best(offset).price, atol=1e-7
        )


@pytest.mark.parametrize("decimals", [0, 1])
@pytest.mark.parametrize("counts", [(2,), (7,), (2, 3)], ids=str)
def test_people_who_are_alike_do_not_stop_it(decimals, counts):
    rng = np.random.default_rng(decimals)
    for form in ("gap", "ratio"):
        score, comparisons = drawn(rng, 200, counts, form=form, decimals=decimals)
        pricing = Pricing(Pool(score, np.ones(200), 0.5), comparisons)
        offset = np.zeros(pricing.effect.shape[1])
        prices = pricing.best(offset)
        best, missed = program(pricing, offset)
        above = np.maximum(pricing.margin(prices), 0) @ pricing.people.weight
        lower = np.maximum(-prices.price, 0).sum()  # of a gap; ratios have no width
        assert missed > 1e-9 or above + pricing.comparisons[0].width * lower >= best - 1e-6
        assert np.isfinite(pricing.settled(prices, offset).price).all()


def test_all_alike_are_all_decided_alike():
    both = np.eye(2)[np.arange(10) % 2]
    pricing = Pricing(Pool(np.full(10, 0.6), np.ones(10), 0.5), [Groups(both, 0.0)])
    prices = pricing.settled(pricing.best(np.zeros(2)), np.zeros(2))
    assert not prices.price.any() and (pricing.margin(prices) > 0).all()


def test_without_comparisons_there_are_no_prices():
    pricing = Pricing(Pool(np.array([0.2, 0.8]), np.ones(2), 0.5), [])
    prices = pricing.settled(pricing.best(np.zeros(0)), np.zeros(0))
    assert prices.price.shape == (0,) and prices.threshold == 0.5
