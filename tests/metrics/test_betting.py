"""The alarm by betting: no gain is expected without a gap, however often one looks."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ffml import FFMLError
from ffml.metrics import gap_alarms
from ffml.metrics._betting import STAKES, log_factors, log_wealths, round_centers

ASKED = 0.05
LOOKS = 10_000


def draw(rng, rates, sizes):
    """Draw decisions of two groups, (T, 2) rates and sizes: (T, 2, 2, 2), all of label 0."""
    chosen = rng.binomial(sizes, rates)
    tables = np.zeros((*chosen.shape, 2, 2), int)
    tables[..., 0, 1] = chosen
    tables[..., 0, 0] = sizes - chosen
    return tables


def expected_factors(rates, center, most):
    """Return E[what a round multiplies each wealth by], all outcomes of a few rows added up."""
    sizes = np.array([[len(side)] for side in rates])
    total = np.zeros(len(STAKES))
    for outcome in itertools.product((0, 1), repeat=int(sizes.sum())):
        sides = (outcome[: len(rates[0])], outcome[len(rates[0]) :])
        chance = np.prod(
            [
                p if d else 1 - p
                for side, ps in zip(sides, rates, strict=True)
                for d, p in zip(side, ps, strict=True)
            ]
        )
        selected = np.array([[sum(side)] for side in sides])
        total += chance * np.exp(log_factors(selected, sizes, np.array([center]), most)[:, 0])
    return total


rate = st.floats(0, 1)
side = st.lists(rate, min_size=1, max_size=5)


@settings(max_examples=150, deadline=None)
@given(side, side, rate, rate)
def test_a_round_within_the_bound_gains_nothing_in_expectation(first, second, center, most):
    """Whatever the sizes, with other rates for every row, and wherever the bets are centred."""
    gap = np.mean(first) - np.mean(second)
    most = max(most, gap)
    center = np.clip(center, most / 2, 1 - most / 2)
    assert (expected_factors((first, second), center, most) <= 1 + 1e-12).all()


def test_at_the_rates_bet_around_wealth_is_a_martingale_and_beyond_it_grows():
    even = expected_factors(([0.55] * 3, [0.45] * 4), 0.5, 0.1)
    assert even == pytest.approx(np.ones(len(STAKES)), abs=1e-12)
    assert (expected_factors(([0.6] * 3, [0.4] * 4), 0.5, 0.1) > 1).all()


def _drifting(rng):
    base = 0.5 + 0.4 * np.sin(np.arange(LOOKS) / 300)
    return np.stack([base, np.clip(base + rng.uniform(-ASKED, ASKED, LOOKS), 0, 1)], 1)


STREAMS = {
    "fair": lambda rng: (np.full((LOOKS, 2), 0.3), (30, 30)),
    "at the bound": lambda rng: (np.tile([0.4, 0.45], (LOOKS, 1)), (50, 50)),
    "at the bound, below": lambda rng: (np.tile([0.1, 0.05], (LOOKS, 1)), (400, 40)),
    "drifting rates": lambda rng: (_drifting(rng), (25, 25)),
    "tiny and unequal": lambda rng: (
        np.tile([0.5, 0.55], (LOOKS, 1)),
        rng.integers(0, 8, (LOOKS, 2)),
    ),
    "sizes that follow luck": lambda rng: (np.tile([0.5, 0.55], (LOOKS, 1)), None),
}


@pytest.mark.parametrize("name", STREAMS)
def test_false_alarms_over_ten_thousand_looks(name):
    """A stream counts once, if an alarm comes at any of its looks."""
    alarms, streams = 0, 40
    for seed in range(streams):
        rng = np.random.default_rng(seed)
        rates, sizes = STREAMS[name](rng)
        if sizes is None:
            tables = _lucky_sizes(rng, rates)
        else:
            tables = draw(rng, rates, np.broadcast_to(sizes, rates.shape))
        (alarm,) = gap_alarms(tables, ASKED, alpha=0.05)
        alarms += alarm.round is not None
    assert alarms <= 0.05 * streams


def _lucky_sizes(rng, rates):
    """After a round in favour of the second group bring many rows, else few."""
    many = np.zeros(len(rates), bool)
    draws = draw(rng, rates, np.full(rates.shape, 3))
    large = draw(rng, rates, np.full(rates.shape, 60))
    for t in range(1, len(rates)):
        before = large[t - 1] if many[t - 1] else draws[t - 1]
        many[t] = before[1, 0, 1] > before[0, 0, 1]
    return np.where(many[:, None, None, None], large, draws)


def test_every_bettor_keeps_within_villes_bound():
    """The largest wealth of a stream exceeds 1/a in at most a share a of the streams."""
    rng = np.random.default_rng(0)
    chosen = rng.binomial(40, [[[0.3], [0.35]]], (600, 2, 300))
    largest = [log_wealths(c, np.full((2, 300), 40), ASKED)[1].max() for c in chosen]
    for share in (0.5, 0.2, 0.1, 0.05):
        assert np.mean(np.array(largest) >= -np.log(share)) <= share


@pytest.mark.parametrize("rates", [(0.3, 0.5), (0.5, 0.3), (0.05, 0.15)])
@pytest.mark.parametrize("sizes", [(100, 100), (500, 60), (9, 11)])
def test_a_real_gap_is_found(rates, sizes):
    rounds = 40_000 // sum(sizes)
    found = []
    for seed in range(20):
        tables = draw(
            np.random.default_rng(seed),
            np.tile(rates, (rounds, 1)),
            np.tile(sizes, (rounds, 1)),
        )
        (alarm,) = gap_alarms(tables, ASKED)
        found.append(alarm.round is not None and alarm.higher == (rates[1] > rates[0]))
    assert all(found)


@pytest.mark.parametrize("before", [12, 100])
def test_a_gap_that_begins_late_is_found(before):
    """Fair rounds, in which high stakes lose all they have, do not hide what comes after."""
    rates = np.full((before + 40, 2), 0.5)
    rates[before:, 1] = 0.7
    for seed in range(20):
        (alarm,) = gap_alarms(
            draw(np.random.default_rng(seed), rates, np.full(rates.shape, 75)), ASKED
        )
        assert alarm.round is not None and before <= alarm.round and alarm.higher


def test_it_needs_few_more_rows_than_a_test_that_may_look_once():
    """A z-test at 5 % with power one half needs (1.96 s / excess)² rows a side."""
    excess, delays = 0.1, []
    once = 1.96**2 * 2 * 0.24 / excess**2
    for seed in range(60):
        rng = np.random.default_rng(seed)
        tables = draw(rng, np.tile([0.4, 0.55], (400, 1)), np.full((400, 2), 10))
        (alarm,) = gap_alarms(tables, ASKED)
        delays.append(10 * (alarm.round + 1))
    assert np.median(delays) < 4 * once


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.lists(st.integers(0, 40), min_size=8, max_size=8), min_size=2, max_size=6),
    st.data(),
)
def test_bets_do_not_depend_on_the_round_they_are_for(counts, data):
    """Another round t changes neither its own centre nor the wealth before it."""
    tables = np.array(counts).reshape(-1, 2, 2, 2)
    t = data.draw(st.integers(0, len(tables) - 1))
    other = tables.copy()
    other[t:] = data.draw(st.integers(0, 500))
    (one,), (two,) = gap_alarms(tables, ASKED), gap_alarms(other, ASKED)
    assert one.log_wealth[:t].tolist() == two.log_wealth[:t].tolist()
    centers = []
    for some in (tables, other):
        decisions = some.sum(2).transpose(1, 0, 2)
        centers.append(round_centers(decisions[..., 1], decisions.sum(-1), ASKED))
    assert centers[0][: t + 1].tolist() == centers[1][: t + 1].tolist()
    (prefix,) = gap_alarms(tables[:t], ASKED)
    assert prefix.log_wealth.tolist() == one.log_wealth[:t].tolist()


@settings(max_examples=50, deadline=None)
@given(st.lists(st.lists(st.integers(0, 300), min_size=8, max_size=8), min_size=1, max_size=6))
def test_swapping_the_groups_changes_nothing_but_the_side(counts):
    tables = np.array(counts).reshape(-1, 2, 2, 2)
    (one,), (other,) = gap_alarms(tables, ASKED), gap_alarms(tables[:, ::-1], ASKED)
    assert one.log_wealth == pytest.approx(other.log_wealth, abs=1e-9)
    assert one.round == other.round


def test_wealth_is_the_sum_over_stakes_and_beginnings():
    """Written out for a few rounds: each begins with its share, and the rest waits."""
    rng = np.random.default_rng(0)
    sizes = rng.integers(1, 30, (2, 6))
    selected = rng.binomial(sizes, 0.5)
    centers = round_centers(selected, sizes, ASKED)
    for side, order in enumerate(([0, 1], [1, 0])):
        factors = np.exp(log_factors(selected[order], sizes[order], centers, ASKED))
        found = np.exp(log_wealths(selected, sizes, ASKED)[side])
        for t in range(6):
            shares = {first: 1 / ((first + 1) * (first + 2)) for first in range(t + 1)}
            playing = sum(w * factors[:, j : t + 1].prod(1) for j, w in shares.items())
            wealth = (playing + 1 - sum(shares.values())).mean()
            assert found[t] == pytest.approx(wealth)


def test_rounds_without_a_side_move_nothing():
    tables = np.zeros((3, 2, 2, 2), int)
    tables[1, 0, 0] = [5, 50]
    (alarm,) = gap_alarms(tables, ASKED)
    assert alarm.log_wealth == pytest.approx(np.zeros(3)) and alarm.round is None
    (alarm,) = gap_alarms(tables[:0], ASKED)
    assert alarm.round is None and alarm.log_largest == 0


def test_notions_and_many_groups_share_alpha():
    rng = np.random.default_rng(0)
    tables = rng.multinomial(300, [0.25] * 4, (20, 3)).reshape(20, 3, 2, 2)
    tables[:, 2, 1] = [20, 180]  # only among label 1
    names = ["a", "b", "c"]
    odds = gap_alarms(tables, ASKED, names, "equalized-odds")
    assert [alarm.comparison for alarm in odds if alarm.round is not None] == [
        "c against a, favourable label",
        "c against b, favourable label",
    ]
    assert all(alarm.higher for alarm in odds[4:])
    assert {alarm.log_needed for alarm in odds} == {np.log(6 / 0.05)}
    (opportunity,) = gap_alarms(tables[:, [0, 2]], ASKED, ["a", "c"], "equal-opportunity")
    assert (
        opportunity.comparison == "c against a, favourable label" and opportunity.round is not None
    )


def test_a_bound_of_everything_is_never_exceeded():
    tables = np.tile([[[99, 0], [0, 0]], [[0, 99], [0, 0]]], (50, 1, 1, 1))
    assert gap_alarms(tables, 1.0)[0].round is None
    assert gap_alarms(tables, 0.9)[0].round is not None


def test_huge_rounds_neither_overflow_nor_hide_a_small_gap():
    tables = np.array(
        [[[[500_000_000, 500_000_000], [0, 0]], [[490_000_000, 510_000_000], [0, 0]]]]
    )
    (alarm,) = gap_alarms(tables, 0.009)
    assert alarm.round == 0 and np.isfinite(alarm.log_wealth).all()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"bound": 5.0}, "the bound must be between 0 and 1, got 5.0"),
        ({"bound": float("nan")}, "the bound must be between 0 and 1, got nan"),
        ({"alpha": 0.0}, "alpha must lie between 0 and 1, got 0.0"),
        ({"notion": "parity"}, "notion must be one of demographic-parity, "),
        ({"group_names": ["a"]}, "group_names must name all 2 groups"),
    ],
)
def test_bad_input_is_refused(wrong, message):
    with pytest.raises(FFMLError) as caught:
        gap_alarms(np.ones((1, 2, 2, 2), int), **({"bound": ASKED} | wrong))
    assert str(caught.value).startswith(message)
