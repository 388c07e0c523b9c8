"""From which score on a decision is positive."""

import numpy as np
import pytest

from ffml.base import FFMLError
from ffml.wrappers._thresholds import LabelRates, threshold_of

NOBODY = np.zeros(0)


@pytest.mark.parametrize(
    ("goal", "rate", "weight", "expected"),
    [
        ("balanced", 0.1, 1.0, 0.1),
        ("balanced", 0.5, 3.0, 0.25),
        ("accuracy", 0.1, 1.0, 0.5),
        ("accuracy", 0.1, 3.0, 0.25),
        ("cost=4", 0.1, 1.0, 0.2),
        ("cost=4", 0.1, 3.0, 0.2),  # a cost that is given is the cost
        ("0.3", 0.1, 3.0, 0.3),
        (0.3, 0.1, 3.0, 0.3),
    ],
)
def test_goals_that_fix_a_probability(goal, rate, weight, expected):
    found = threshold_of(goal)(LabelRates(rate, 0.9, weight))
    assert found(NOBODY, NOBODY) == pytest.approx(expected)


@pytest.mark.parametrize(("goal", "cost"), [("balanced", None), ("accuracy", 1.0), ("cost=5", 5.0)])
def test_no_other_threshold_costs_less(goal, cost):
    """Expected costs of errors among people whose probabilities are evenly spread up to 0.6."""
    p = (np.arange(3000) + 0.5) / 5000
    rate = p.mean()
    missed = 1 / rate * (1 - rate) if cost is None else cost
    costs = [(1 - p)[p > t].sum() + missed * p[p <= t].sum() for t in np.linspace(0, 1, 1001)]
    best = np.linspace(0, 1, 1001)[np.argmin(costs)]
    found = threshold_of(goal)(LabelRates(rate, rate))
    assert found(p, np.ones(3000)) == pytest.approx(best, abs=2e-3)


def chosen(scores, share, people=None):
    scores = np.array(scores, float)
    people = np.ones(len(scores)) if people is None else np.array(people, float)
    threshold = threshold_of(f"approve={share}")(LabelRates(0.5, 0.5))(scores, people)
    return (scores > threshold).tolist()


def test_a_rate_takes_those_with_the_highest_scores():
    scores = np.random.default_rng(0).permutation(100) / 50 - 0.7  # also beyond 0 … 1
    for share in (0.01, 0.2, 0.99):
        assert sum(chosen(scores, share)) == round(100 * share)
    assert chosen([0.1, 0.2, 0.3], 0.3, people=[1, 1, 0]) == [False, True, True]
    assert chosen([0.1, 0.2, 0.3], 0.5, people=[2, 1, 1]) == [False, True, True]


@pytest.mark.parametrize(
    ("share", "expected"), [(0.1, 0), (0.3, 2), (0.4, 2), (0.6, 2), (0.75, 5), (0.9, 5)]
)
def test_people_with_equal_scores_are_decided_alike_as_near_to_the_rate_as_can_be(share, expected):
    scores = [0.7, 0.7, 0.5, 0.5, 0.5]
    assert sum(chosen(scores, share)) == expected
    nearly = [0.7, 0.7 + 1e-9, 0.5, 0.5 - 1e-9, 0.5]
    assert sum(chosen(nearly, share)) == expected


def test_as_many_as_labels_are_expected_to_be_favourable():
    scores = np.random.default_rng(0).permutation(100) / 100
    threshold = threshold_of("labels")(LabelRates(0.5, 0.87))(scores, np.ones(100))
    assert (scores > threshold).sum() == 87


@pytest.mark.parametrize(("share", "all_of_them"), [(0.2, False), (0.8, True)])
def test_if_all_are_alike_all_or_none_are_chosen(share, all_of_them):
    assert chosen([0.4] * 7, share) == [all_of_them] * 7
    assert chosen([0.4], share) == [all_of_them]


@pytest.mark.parametrize("share", [0.5, 0.5 - 1e-9, 0.5 + 1e-9])
def test_if_all_or_none_are_equally_near_all_are_chosen(share):
    """So it is while nothing was learned yet; rounding must not turn everybody away."""
    assert chosen([0.5] * 7, share) == [True] * 7


def test_nobody_to_choose_from():
    for people in (NOBODY, np.zeros(3)):
        assert threshold_of("approve=0.2")(LabelRates(0.5, 0.5))(people, people) == 0.5


WRONG = (
    "|high|0|1|1.5|nan|-0.1|cost|cost=|cost=0|cost=-1|cost=inf|approve|approve=0|approve=1|approve=20%|rate=0.2|labels=1|"
    "balanced=|balanced=2|accuracy=1"
)


@pytest.mark.parametrize("goal", WRONG.split("|"))
def test_what_is_no_goal_is_refused_in_one_line(goal):
    with pytest.raises(FFMLError) as caught:
        threshold_of(goal)
    assert str(caught.value) == (
        f"unknown policy '{goal}'; use labels, approve=0.8, cost=5, accuracy, balanced, or a "
        "probability between 0 and 1"
    )
