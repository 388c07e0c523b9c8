"""Prices on gaps: the smallest that keep the bounds among people whose groups features tell."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ffml.base import Schema, SensitiveColumn
from ffml.problem.classification import fair_classification
from ffml.problem.gaps import comparison, group_gap
from ffml.problem.models import linear
from ffml.problem.notions import demographic_parity, equal_opportunity, equalized_odds
from ffml.wrappers.membership import Membership
from ffml.wrappers.pricing import Population, described, priced_logits, smallest_prices

SCHEMA = Schema(("s", "t", "u"), (SensitiveColumn("sex", ("M", "F")),))
MORE = Schema(
    ("s", "t", "u"),
    (SensitiveColumn("sex", ("M", "F")), SensitiveColumn("race", ("p", "q", "r"))),
)


def knowing(schema):
    """Features are memberships: F, p and q; who is neither p nor q is r."""
    weights = np.array([[1.0, 0, 0, 0], [0, 1, 0, -1], [0, 0, 1, -1], [0, 0, 0, 1]])
    count = len(schema.contrasts)
    return Membership(jnp.array(weights[:, :count]), jnp.zeros(count))


def people_of(problem, p, x, rate=0.5, weight=None):
    """People whose probabilities of label 1 are p, and whose features tell their groups."""
    own = Population(knowing(problem.schema), jnp.array(rate))
    logits = np.log(p / (1 - p)) - np.log(rate / (1 - rate) / problem.positive_weight)
    return own, described(problem, own, logits, x, np.ones(len(p)) if weight is None else weight)


def two_groups(rows=4000):
    """Men have p evenly between 0 and 0.8, women between 0.2 and 1."""
    men, women = (np.arange(rows) + 0.5) / rows * 0.8, 0.2 + (np.arange(rows) + 0.5) / rows * 0.8
    x = np.zeros((2 * rows, 3))
    x[rows:, 0] = 1
    return np.concatenate([men, women]), x


def gaps_of(problem, logits, people):
    rows, members = comparison(problem, people)
    return np.asarray(group_gap((logits > 0) * 1.0, members, rows))


def decided(problem, own, people, bias=0.0):
    """Find the prices and decide; return prices and logits."""
    bias = jnp.broadcast_to(jnp.asarray(bias), (problem.num_constraints,))
    prices = jax.jit(lambda people: smallest_prices(problem, own, people, bias))(people)
    return prices, np.asarray(priced_logits(problem, own, prices, people))


@pytest.mark.parametrize("bound", [0.0, 0.1, 0.2])
def test_the_smallest_price_brings_the_gap_to_the_bound_and_not_further(float64, bound):
    """Gains are 4p - 2 and influences ±2, so that women need p > (1 + c)/2 and men (1 - c)/2."""
    problem = fair_classification(SCHEMA, linear(), demographic_parity(bound))
    p, x = two_groups()
    prices, logits = decided(problem, *(own_people := people_of(problem, p, x)))
    price = 0.2 - 0.8 * bound  # solves (1 - (1 + c)/2)/0.8 - (0.8 - (1 - c)/2)/0.8 = bound
    assert float(prices.price[0]) == pytest.approx(price, abs=1e-3)
    thresholds = np.where(x[:, 0] == 1, (1 + price) / 2, (1 - price) / 2)
    assert ((logits > 0) != (p > thresholds)).mean() < 1e-3
    assert gaps_of(problem, logits, own_people[1])[0] == pytest.approx(bound, abs=1e-3)


def test_a_gap_to_the_other_side_is_priced_the_other_way(float64):
    problem = fair_classification(SCHEMA, linear(), demographic_parity(0.1))
    p, x = two_groups()
    x[:, 0] = 1 - x[:, 0]
    own, people = people_of(problem, p, x)
    prices, logits = decided(problem, own, people)
    assert float(prices.price[0]) == pytest.approx(-0.12, abs=1e-3)
    assert gaps_of(problem, logits, people)[0] == pytest.approx(-0.1, abs=1e-3)


def test_what_expected_gaps_were_off_by_is_made_up_for(float64):
    """Gaps have been larger by 0.3 than expected: the one expected may be 0.1 - 0.3."""
    problem = fair_classification(SCHEMA, linear(), demographic_parity(0.1))
    own, people = people_of(problem, *two_groups())
    _, logits = decided(problem, own, people, bias=0.3)
    assert gaps_of(problem, logits, people)[0] == pytest.approx(-0.2, abs=1e-3)


@pytest.mark.parametrize("weight", [1.0, 2.0])
@pytest.mark.parametrize("rate", [0.2, 0.5])
def test_what_keeps_the_bound_is_left_as_it_is(float64, rate, weight):
    problem = fair_classification(SCHEMA, linear(), demographic_parity(0.3), positive_weight=weight)
    p, x = two_groups(100)
    before = np.log(p / (1 - p))
    own = Population(knowing(SCHEMA), jnp.array(rate))
    people = described(problem, own, before / 50, x, np.ones(len(p)))
    prices, logits = decided(problem, own, people)
    assert not prices.price.any()
    np.testing.assert_allclose(logits, before / 50, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("share", [0.0, 0.3, 0.37, 1.0])
def test_where_features_tell_nothing_nothing_is_changed(share):
    problem = fair_classification(SCHEMA, linear(), demographic_parity(0.0))
    known = Membership(jnp.array([[0.0], [0.0], [0.0], [share]]), jnp.zeros(1))
    own = Population(known, jnp.array(0.5))
    p, x = two_groups(200)
    logits = np.log(p / (1 - p)).astype(np.float32)
    people = described(problem, own, logits, x.astype(np.float32), np.ones(len(p), np.float32))
    prices, after = decided(problem, own, people, bias=0.05)
    assert not prices.price.any()
    np.testing.assert_allclose(after, logits, atol=1e-3)


@pytest.mark.parametrize(
    "notion", [demographic_parity, equal_opportunity, equalized_odds], ids=lambda n: n.__name__
)
@pytest.mark.parametrize("schema", [SCHEMA, MORE], ids=["two groups", "several"])
def test_every_notion_and_several_groups_keep_their_bounds(float64, notion, schema):
    problem = fair_classification(schema, linear(), notion(0.05))
    p, x = two_groups(1500)
    race = np.random.default_rng(0).integers(3, size=len(p))
    x[:, 1], x[:, 2] = race == 0, race == 1
    p = np.clip(p + 0.15 * (race == 0), 0.001, 0.999)
    own, people = people_of(problem, p, x)
    before = gaps_of(problem, np.log(p / (1 - p)), people)
    _, logits = decided(problem, own, people)
    after = gaps_of(problem, logits, people)
    assert np.abs(before).max() > 0.15
    assert np.abs(after).max() < 0.055
    assert np.abs(after).max() > 0.045  # not further than that
    assert 0.3 < (logits > 0).mean() < 0.7


def test_no_other_rule_that_keeps_the_bound_gains_more(float64):
    """Against all pairs of thresholds, one for each group."""
    bound = 0.1
    problem = fair_classification(SCHEMA, linear(), demographic_parity(bound))
    p, x = two_groups(300)
    own, people = people_of(problem, p, x, rate=0.3)
    gain = p / 0.3 - (1 - p) / 0.7
    _, logits = decided(problem, own, people)
    found = gain[logits > 0].sum()
    men, women = x[:, 0] == 0, x[:, 0] == 1
    best = -np.inf
    for low in np.linspace(0, 1, 101):
        for high in np.linspace(0, 1, 101):
            positive = (men & (p > low)) | (women & (p > high))
            if abs(positive[women].mean() - positive[men].mean()) <= bound:
                best = max(best, gain[positive].sum())
    assert found >= best * (1 - 2e-3)  # of one person more or less


def test_people_who_are_alike_are_decided_about_as_planned():
    """Six kinds of people: a price found by bisection is where one of them is at the threshold."""
    problem = fair_classification(SCHEMA, linear(), demographic_parity(0.05))
    kept = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        kind = rng.integers(6, size=400)
        p, x = (
            rng.uniform(0.1, 0.9, size=6)[kind].astype(np.float32),
            np.zeros((400, 3), np.float32),
        )
        x[:, 0] = kind >= 3
        own, people = people_of(problem, p, x)
        prices, logits = decided(problem, own, people)
        around = [
            prices._replace(price=prices.price + step * np.sign(prices.price))
            for step in (-1e-3, 1e-3)
        ]
        less, more = (
            gaps_of(problem, np.asarray(priced_logits(problem, own, other, people)), people)[0]
            for other in around
        )
        planned = abs(gaps_of(problem, logits, people)[0])
        if prices.price.any() and planned <= 0.05:  # the smallest price that keeps the bound
            assert abs(less) > 0.05
        elif prices.price.any():  # the gap jumps across the bound: the nearer side
            assert planned <= min(abs(less), abs(more)) + 1e-6
        kept += bool(prices.price.any())
    assert kept > 10


def test_numpy_decides_as_jax_does():
    problem = fair_classification(MORE, linear(), equalized_odds(0.05))
    p, x = two_groups(200)
    own, people = people_of(problem, p.astype(np.float32), x.astype(np.float32))
    prices, _ = decided(problem, own, people)
    own, prices, people = jax.device_get((own, prices, people))
    plain = priced_logits(problem, own, prices, people)
    assert isinstance(plain, np.ndarray)
    traced = jax.jit(lambda people: priced_logits(problem, own, prices, people))(people)
    np.testing.assert_allclose(plain, traced, rtol=1e-4, atol=1e-4)


def test_padding_changes_no_price(float64):
    problem = fair_classification(SCHEMA, linear(), equalized_odds(0.05))
    p, x = two_groups(100)
    own, people = people_of(problem, p, x)
    prices, _ = decided(problem, own, people)
    padded = np.concatenate([p, np.full(50, 0.99)]), np.concatenate([x, np.ones((50, 3))])
    _, more = people_of(problem, *padded, weight=np.repeat([1.0, 0.0], [200, 50]))
    jax.tree.map(
        lambda one, other: np.testing.assert_allclose(one, other, rtol=1e-9),
        prices,
        decided(problem, own, more)[0],
    )


def test_nobody_to_decide_about():
    problem = fair_classification(SCHEMA, linear(), demographic_parity(0.05))
    p, x = two_groups(4)
    own, people = people_of(problem, p, x, weight=np.zeros(8))
    prices, logits = decided(problem, own, people)
    assert not prices.price.any() and np.isfinite(logits).all()
