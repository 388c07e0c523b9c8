"""Prices on gaps: the smallest that keep the bounds among people whose groups features tell."""

import numpy as np
import pytest

from ffml.base import Batch, Schema, SensitiveColumn
from ffml.problem.classification import fair_classification
from ffml.problem.gaps import judged_gaps
from ffml.problem.models import linear
from ffml.problem.notions import demographic_parity, equal_opportunity, equalized_odds, ratio
from ffml.wrappers._people import (
    People,
    by_group,
    expected,
    places,
)
from ffml.wrappers._pricing import LEAST_INFLUENCE, MOST_GROUPS, Correction, priced, smallest_prices
from ffml.wrappers._thresholds import LabelRates, threshold_of

SCHEMA = Schema(("s", "t", "u"), (SensitiveColumn("sex", ("M", "F")),))
MORE = Schema(
    ("s", "t", "u"),
    (SensitiveColumn("sex", ("M", "F")), SensitiveColumn("race", ("p", "q", "r"))),
)
NOTIONS = [demographic_parity, equal_opportunity, equalized_odds]


def knowing(schema):
    """Features are memberships: F, p and q; who is neither p nor q is r. Labels tell nothing."""
    weights = [[1.0, 0, 0, 0], [0, 1, 0, -1], [0, 0, 1, -1], [0, 0, 0, 0], [0, 0, 0, 1]]
    return np.array(weights)[:, : len(schema.contrasts)]


def two_groups(rows=4000):
    """Men have p evenly between 0 and 0.8, women between 0.2 and 1."""
    men, women = (np.arange(rows) + 0.5) / rows * 0.8, 0.2 + (np.arange(rows) + 0.5) / rows * 0.8
    x = np.zeros((2 * rows, 3))
    x[rows:, 0] = 1
    return np.concatenate([men, women]), x


def at(threshold, rate=0.5):
    return threshold_of(threshold)(LabelRates(rate, rate))


def decided(problem, p, x, bias=0.0, threshold=None, weight=None, weights=None):
    """Find the prices and decide; return prices and decisions."""
    people = expected(problem, knowing(problem.schema) if weights is None else weights, p, x)
    off = bias if isinstance(bias, Correction) else on_average(problem, bias)
    weight = np.ones(len(p)) if weight is None else weight
    prices = smallest_prices(problem, people, weight, off, threshold or at("0.5"))
    return prices, priced(problem, prices, people) > prices.threshold


def on_average(problem, bias, rows=None, known=None, trust=0.0):
    """Say how far off gaps were on earlier tasks, and what the rows of this one show of it."""
    entries = problem.num_constraints
    nobody = People(np.zeros(0), np.zeros((0, entries)), np.zeros((0, entries)))
    bias, trust = (np.broadcast_to(value, entries) * 1.0 for value in (bias, trust))
    rows, known = rows or nobody, known or nobody
    return Correction(bias, trust, rows, np.ones(len(rows.p)), known)


def expected_gaps(problem, positive, p, x):
    """Gaps of decisions about people with these chances, by another way: everybody twice."""
    s = (x @ knowing(problem.schema)[:3] + knowing(problem.schema)[4]).astype(float)
    y, ones = np.repeat([0.0, 1.0], len(p)), np.ones(2 * len(p))
    chance = np.concatenate([1 - p, p])
    batch = Batch(np.tile(x, (2, 1)), y, np.tile(s, (2, 1)), ones, chance, len(p))
    return np.asarray(judged_gaps(problem, np.tile(positive, 2) - 0.5, batch))


def rates(problem, positive, p, x):
    """Rates of each comparison's groups."""
    groups = places(problem)
    chance = by_group(groups, expected(problem, knowing(problem.schema), p, x))
    values = positive @ chance / chance.sum(0)
    return [values[groups.comparison == i] for i in np.unique(groups.comparison)]


def largest_gap(*given):
    return max(part.max() - part.min() for part in rates(*given))


def least_ratio(*given):
    return min(part.min() / part.max() for part in rates(*given))


@pytest.mark.parametrize("bound", [0.0, 0.1, 0.2])
def test_the_smallest_price_brings_the_gap_to_the_bound_and_not_further(bound):
    """Influences are ±2, so that women need p > 1/2 + 2c and men p > 1/2 - 2c."""
    problem = fair_classification(SCHEMA, linear(), demographic_parity(bound))
    p, x = two_groups()
    prices, positive = decided(problem, p, x)
    price = 0.05 - 0.2 * bound  # solves (1 - (1/2 + 2c))/0.8 - (0.8 - (1/2 - 2c))/0.8 = bound
    assert float(prices.price[1]) == pytest.approx(price, abs=1e-3)
    thresholds = np.where(x[:, 0] == 1, 0.5 + 2 * price, 0.5 - 2 * price)
    assert (positive != (p > thresholds)).mean() < 1e-3
    assert expected_gaps(problem, positive, p, x)[0] == pytest.approx(bound, abs=1e-3)


@pytest.mark.parametrize("least", [0.7, 0.8, 1.0])
@pytest.mark.parametrize("threshold", [0.5, 0.7])
def test_the_smallest_price_brings_the_ratio_to_what_is_asked_and_not_further(least, threshold):
    """Rates are (1 - τ - 2u)/0.8 and (0.8 - τ + 2l)/0.8; the second is to be r times the first.

    What that costs is least where u = r l: men's rate moves by r of what women's does.
    """
    problem = fair_classification(SCHEMA, linear(), demographic_parity(ratio(least)))
    p, x = two_groups()
    prices, positive = decided(problem, p, x, threshold=at(str(threshold)))
    price = (least * (1 - threshold) - (0.8 - threshold)) / (2 * (1 + least**2))
    assert prices.price == pytest.approx([-price, least * price], abs=1e-3)
    men, women = positive[x[:, 0] == 0].mean(), positive[x[:, 0] == 1].mean()
    assert men / women == pytest.approx(least, abs=4e-3)


def test_a_ratio_that_is_kept_is_left_as_it_is():
    problem = fair_classification(SCHEMA, linear(), demographic_parity(ratio(0.59)))
    p, x = two_groups()  # rates of 3/8 and 5/8
    prices, positive = decided(problem, p, x)
    assert not prices.price.any()
    np.testing.assert_array_equal(positive, p > 0.5)


@pytest.mark.parametrize("bias", [-0.1, 0.1])
def test_what_expected_gaps_were_off_by_counts_in_a_ratio(bias):
    """With as many on both sides, rates are the common one plus and minus half of the real gap."""
    problem = fair_classification(SCHEMA, linear(), demographic_parity(ratio(0.8)))
    p, x = two_groups()
    _, positive = decided(problem, p, x, bias=bias)
    real = expected_gaps(problem, positive, p, x)[0] + bias
    rate = positive.mean()
    assert (rate - real / 2) / (rate + real / 2) == pytest.approx(0.8, abs=4e-3)


@pytest.mark.parametrize("notion", NOTIONS, ids=lambda n: n.__name__)
def test_every_notion_and_several_groups_keep_their_ratios(notion):
    problem = fair_classification(MORE, linear(), notion(ratio(0.9)))
    p, x = two_groups(1000)
    race = np.random.default_rng(0).integers(3, size=len(p))
    x[:, 1], x[:, 2] = race == 0, race == 1
    p = np.clip(p + 0.15 * (race == 0), 0.001, 0.999)
    _, positive = decided(problem, p, x)
    assert least_ratio(problem, p > 0.5, p, x) < 0.85
    assert 0.895 < least_ratio(problem, positive, p, x) < 0.92


def test_a_gap_to_the_other_side_is_priced_the_other_way():
    problem = fair_classification(SCHEMA, linear(), demographic_parity(0.1))
    p, x = two_groups()
    x[:, 0] = 1 - x[:, 0]
    prices, positive = decided(problem, p, x)
    assert float(prices.price[1]) == pytest.approx(-0.03, abs=1e-3)
    assert expected_gaps(problem, positive, p, x)[0] == pytest.approx(-0.1, abs=1e-3)


def test_what_expected_gaps_were_off_by_is_made_up_for():
    """Gaps have been larger by 0.3 than expected: the one expected may be 0.1 - 0.3."""
    problem = fair_classification(SCHEMA, linear(), demographic_parity(0.1))
    p, x = two_groups()
    _, positive = decided(problem, p, x, bias=0.3)
    assert expected_gaps(problem, positive, p, x)[0] == pytest.approx(-0.2, abs=1e-3)


@pytest.mark.parametrize("trust", [0.0, 0.25, 1.0])
def test_labelled_rows_of_the_task_are_listened_to_as_far_as_they_are_trusted(trust):
    """Half of those who are taken for women are men: gaps of 0.2 will be of 0.1."""
    problem = fair_classification(SCHEMA, linear(), demographic_parity(0.1))
    p, x = two_groups()
    rows = expected(problem, knowing(SCHEMA), p, x)
    fewer = np.array([[0.5], [0.0], [0.0], [0.0], [0.25]])  # women are less often so, men more
    known = expected(problem, fewer, p, x)
    own = on_average(problem, 0.0, rows, known, trust)
    _, positive = decided(problem, p, x, bias=own)
    gap = expected_gaps(problem, positive, p, x)[0]  # and the real one is half of it
    assert (1 - trust) * gap + trust * gap / 2 == pytest.approx(0.1, abs=2e-3)


def test_labelled_rows_are_decided_about_like_everybody_whatever_they_count():
    """Their weights are up to a factor, which says nothing."""
    problem = fair_classification(SCHEMA, linear(), demographic_parity(0.1))
    p, x = two_groups(300)
    rows = expected(problem, knowing(SCHEMA), p, x)
    known = expected(problem, np.array([[0.5], [0.0], [0.0], [0.0], [0.25]]), p, x)
    found = [
        decided(problem, p, x, bias=own._replace(weight=own.weight * factor))[0].price
        for own in [on_average(problem, 0.0, rows, known, 0.5)]
        for factor in (0.1, 1.0)
    ]
    np.testing.assert_allclose(*found)


def test_what_keeps_the_bound_is_left_as_it_is():
    problem = fair_classification(SCHEMA, linear(), demographic_parity(0.3))
    p, x = two_groups(100)
    prices, positive = decided(problem, p, x)
    assert not prices.price.any()
    np.testing.assert_array_equal(positive, p > 0.5)


@pytest.mark.parametrize("share", [0.0, 0.3, 0.37, 1.0])
def test_where_features_tell_nothing_nothing_is_changed(share):
    problem = fair_classification(SCHEMA, linear(), demographic_parity(0.0))
    p, x = two_groups(200)
    weights = np.array([[0.0], [0.0], [0.0], [0.0], [share]])
    prices, positive = decided(problem, p, x, bias=0.05, weights=weights)
    assert not prices.price.any()
    np.testing.assert_array_equal(positive, p > 0.5)


def test_what_is_told_by_less_than_the_least_influence_is_not_priced():
    problem = fair_classification(SCHEMA, linear(), demographic_parity(0.0))
    p, x = two_groups(200)
    for factor, some in ((0.4, False), (4.0, True)):
        tells = LEAST_INFLUENCE / 2 * factor  # influences are about twice that
        weights = np.array([[tells], [0.0], [0.0], [0.0], [0.5 - tells / 2]])
        assert decided(problem, p, x, weights=weights)[0].price.any() == some


@pytest.mark.parametrize("notion", NOTIONS, ids=lambda n: n.__name__)
@pytest.mark.parametrize("schema", [SCHEMA, MORE], ids=["two groups", "several"])
def test_every_notion_and_several_groups_keep_their_bounds(notion, schema):
    problem = fair_classification(schema, linear(), notion(0.05))
    p, x = two_groups(1000)
    race = np.random.default_rng(0).integers(3, size=len(p))
    x[:, 1], x[:, 2] = race == 0, race == 1
    p = np.clip(p + 0.15 * (race == 0), 0.001, 0.999)
    _, positive = decided(problem, p, x)
    assert largest_gap(problem, p > 0.5, p, x) > 0.15
    assert 0.045 < largest_gap(problem, positive, p, x) < 0.0501  # and not further than that
    assert 0.3 < positive.mean() < 0.7


def test_no_other_rule_that_keeps_the_bound_gains_more():
    """Against all pairs of thresholds, one for each group."""
    bound = 0.1
    problem = fair_classification(SCHEMA, linear(), demographic_parity(bound))
    p, x = two_groups(300)
    _, positive = decided(problem, p, x, threshold=at("balanced", rate=0.3))
    found = (p - 0.3)[positive].sum()
    men, women = x[:, 0] == 0, x[:, 0] == 1
    best = -np.inf
    for low in np.linspace(0, 1, 101):
        for high in np.linspace(0, 1, 101):
            other = (men & (p > low)) | (women & (p > high))
            if abs(other[women].mean() - other[men].mean()) <= bound:
                best = max(best, (p - 0.3)[other].sum())
    assert found >= best * (1 - 2e-3)  # of one person more or less


@pytest.mark.parametrize("schema", [SCHEMA, MORE], ids=["two groups", "several"])
def test_a_selection_rate_and_bounds_are_kept_together(schema):
    problem = fair_classification(schema, linear(), demographic_parity(0.05))
    p, x = two_groups(1000)
    x[:, 1], x[:, 2] = np.arange(2000) % 3 == 0, np.arange(2000) % 3 == 1
    _, positive = decided(problem, p, x, threshold=at("approve=0.2"))
    assert positive.mean() == pytest.approx(0.2, abs=2e-3)
    assert largest_gap(problem, positive, p, x) < 0.0505


def test_people_who_are_alike_are_decided_about_as_planned():
    """Six kinds of people: a price found by bisection is where one of them is at the threshold."""
    problem = fair_classification(SCHEMA, linear(), demographic_parity(0.05))
    kept = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        kind = rng.integers(6, size=400)
        p, x = rng.uniform(0.1, 0.9, size=6)[kind], np.zeros((400, 3))
        x[:, 0] = kind >= 3
        prices, positive = decided(problem, p, x)
        people = expected(problem, knowing(SCHEMA), p, x)
        around = [
            prices._replace(price=prices.price + step * np.sign(prices.price))
            for step in (-1e-3, 1e-3)
        ]
        less, more = (
            expected_gaps(problem, priced(problem, other, people) > prices.threshold, p, x)[0]
            for other in around
        )
        planned = abs(expected_gaps(problem, positive, p, x)[0])
        if prices.price.any() and planned <= 0.05:  # the smallest price that keeps the bound
            assert abs(less) > 0.05
        elif prices.price.any():  # the gap jumps across the bound: the nearer side
            assert planned <= min(abs(less), abs(more)) + 1e-6
        kept += bool(prices.price.any())
    assert kept > 10


def test_rounding_to_single_precision_turns_nobody():
    """Six kinds of people, none of whom a price may leave exactly at the threshold."""
    problem = fair_classification(SCHEMA, linear(), demographic_parity(0.0))
    kind = np.arange(600) % 6
    p, x = np.array([0.2, 0.4, 0.5, 0.55, 0.7, 0.8])[kind], np.zeros((600, 3))
    x[:, 0] = kind >= 3
    prices, positive = decided(problem, p, x)
    rounded = expected(problem, knowing(SCHEMA), p.astype(np.float32).astype(float), x)
    np.testing.assert_array_equal(priced(problem, prices, rounded) > prices.threshold, positive)


@pytest.mark.parametrize("notion", NOTIONS, ids=lambda n: n.__name__)
def test_padding_changes_no_price(notion):
    problem = fair_classification(MORE, linear(), notion(0.05))
    p, x = two_groups(100)
    prices, _ = decided(problem, p, x)
    padded = np.concatenate([p, np.full(50, 0.99)]), np.concatenate([x, np.full((50, 3), 1e6)])
    more, _ = decided(problem, *padded, weight=np.repeat([1.0, 0.0], [200, 50]))
    for one, other in zip(prices, more, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9)


@pytest.mark.parametrize("goal", ["0.5", "approve=0.2"])
@pytest.mark.parametrize("schema", [SCHEMA, MORE], ids=["two groups", "several"])
def test_nobody_to_decide_about(goal, schema):
    problem = fair_classification(schema, linear(), equalized_odds(0.05))
    p, x = two_groups(4)
    for rows in (8, 0):
        prices, positive = decided(
            problem, p[:rows], x[:rows], weight=np.zeros(rows), threshold=at(goal)
        )
        assert not prices.price.any() and prices.threshold == 0.5 and len(positive) == rows


def test_without_bounds_there_are_no_prices():
    problem = fair_classification(SCHEMA, linear())
    p, x = two_groups(10)
    prices, positive = decided(problem, p, x)
    assert prices.price.shape == (0,)
    np.testing.assert_array_equal(positive, p > 0.5)


def test_groups_of_whom_features_tell_nothing_are_named():
    """The third race is everybody's to the same share; the others keep the bound among them."""
    schema = Schema(("s", "t", "u"), (SensitiveColumn("race", ("p", "q", "r")),))
    problem = fair_classification(schema, linear(), demographic_parity(0.05))
    p, x = two_groups(500)
    weights = np.array([[-0.8, 0.8, 0], [0, 0, 0], [0, 0, 0], [0, 0, 0], [0.8, 0, 0.2]])
    people = expected(problem, weights, p, x)
    prices = smallest_prices(problem, people, np.ones(1000), on_average(problem, 0.0), at("0.5"))
    names = np.array(places(problem).names)
    assert names[~prices.told] == ["demographic-parity[race=r]"] and not prices.price[2]
    positive = priced(problem, prices, people) > prices.threshold
    chance = by_group(places(problem), people)
    got = positive @ chance / chance.sum(0)
    assert abs(got[0] - got[1]) <= 0.05


def test_of_very_many_groups_the_largest_are_priced():
    count = MOST_GROUPS + 8
    schema = Schema(
        tuple(map(str, range(count))), (SensitiveColumn("town", tuple(map(str, range(count)))),)
    )
    problem = fair_classification(schema, linear(), demographic_parity(0.05))
    rng = np.random.default_rng(0)
    town = np.repeat(np.arange(count), 20 + np.arange(count))
    x, p = np.eye(count)[town], rng.uniform(size=len(town))
    people = expected(problem, np.concatenate([np.eye(count), np.zeros((2, count))]), p, x)
    weight = np.ones(len(p))
    prices = smallest_prices(problem, people, weight, on_average(problem, 0.0), at("0.5"))
    np.testing.assert_array_equal(np.flatnonzero(prices.told), np.arange(8, count))
    positive = priced(problem, prices, people) > prices.threshold
    assert np.ptp((positive @ x / x.sum(0))[prices.told]) <= 0.05 + 1 / 28


def test_what_each_groups_rate_was_off_by_counts_between_any_two():
    """Groups of a third each, whose gaps to the others were larger than expected by o."""
    schema = Schema(("s", "t", "u"), (SensitiveColumn("race", ("p", "q", "r")),))
    problem = fair_classification(schema, linear(), demographic_parity(0.05))
    x = np.eye(3)[np.arange(3000) % 3]
    p = np.random.default_rng(0).uniform(size=3000)
    weights = np.concatenate([np.eye(3), np.zeros((2, 3))])
    off = np.array([0.3, 0.0, -0.3])
    people = expected(problem, weights, p, x)
    prices = smallest_prices(problem, people, np.ones(3000), on_average(problem, off), at("0.5"))
    positive = priced(problem, prices, people) > prices.threshold
    real = positive @ x / x.sum(0) + off * 2 / 3
    assert np.ptp(real) == pytest.approx(0.05, abs=1e-3)
