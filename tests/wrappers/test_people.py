"""Who counts where as what: by estimate, and as rows show it."""

import numpy as np
import pytest

from ffml.base import Batch, Schema, SensitiveColumn
from ffml.problem.classification import fair_classification
from ffml.problem.gaps import effective_rows, judged_gaps
from ffml.problem.models import linear
from ffml.problem.notions import demographic_parity, equal_opportunity, equalized_odds
from ffml.wrappers._people import (
    by_group,
    expected,
    gaps_met,
    observed,
    places,
    rows_behind,
    weighed,
)

MORE = Schema(
    ("s", "t", "u"),
    (SensitiveColumn("sex", ("M", "F")), SensitiveColumn("race", ("p", "q", "r"))),
)
NOTIONS = [demographic_parity, equal_opportunity, equalized_odds]


@pytest.mark.parametrize("notion", NOTIONS, ids=lambda n: n.__name__)
def test_gaps_met_are_those_that_judge(notion):
    """Without the last group of one column, whose comparison nobody can make."""
    problem = fair_classification(MORE, linear(), notion(0.05))
    rng = np.random.default_rng(0)
    codes = np.c_[rng.integers(2, size=90), rng.integers(2, size=90)]
    x, y = rng.normal(size=(90, 3)), rng.integers(2, size=90) * 1.0
    weight = rng.uniform(size=90)
    batch = Batch(x, y, MORE.memberships(codes), np.ones(90), weight, 90)
    logits = rng.normal(size=90)
    people = observed(problem, batch)
    gaps, rows = gaps_met((logits > 0) * 1.0, people), rows_behind(people)
    np.testing.assert_allclose(gaps, judged_gaps(problem, logits, batch), atol=1e-6)
    np.testing.assert_allclose(rows, effective_rows(problem, batch), rtol=1e-5)
    assert (rows == 0).sum() == len(rows) // 4


@pytest.mark.parametrize("notion", NOTIONS, ids=lambda n: n.__name__)
def test_rates_of_groups_are_those_that_are_counted(notion):
    problem = fair_classification(MORE, linear(), notion(0.05))
    rng = np.random.default_rng(1)
    codes = np.c_[rng.integers(2, size=300), rng.integers(3, size=300)]
    y, positive = rng.integers(2, size=300) * 1.0, rng.random(300) < 0.4
    ones = np.ones(300)
    batch = Batch(rng.normal(size=(300, 3)), y, MORE.memberships(codes), ones, ones, 300)
    groups = places(problem)
    chance = by_group(groups, observed(problem, batch))
    labels = {"demographic_parity": (None,), "equal_opportunity": (1,), "equalized_odds": (0, 1)}
    counted = [
        positive[(codes[:, column] == group) & ((y == label) | (label is None))].mean()
        for label in labels[notion.__name__]
        for column, count in ((0, 2), (1, 3))
        for group in range(count)
    ]
    np.testing.assert_allclose(positive @ chance / chance.sum(0), counted)
    assert len(groups.names) == len(counted) and groups.names[1].startswith(
        problem.constraints[0].name + "[sex=F"
    )


def test_estimated_shares_of_several_groups_add_up_to_one():
    problem = fair_classification(MORE, linear(), demographic_parity(0.05))
    rng = np.random.default_rng(0)
    weights, x = rng.uniform(-0.1, 0.6, size=(5, 4)), rng.uniform(size=(50, 3))
    weights[4] = 0.2  # so that nobody is of no group at all
    people = expected(problem, weights, rng.uniform(size=50), x)
    chance = by_group(places(problem), people)
    np.testing.assert_allclose(chance[:, :2].sum(1), 1)
    np.testing.assert_allclose(chance[:, 2:].sum(1), 1)
    nobody_known = expected(problem, weights * 0, rng.uniform(size=50), x)
    assert not by_group(places(problem), nobody_known)[:, 2:].any()


def test_weights_count_as_that_many_people():
    problem = fair_classification(MORE, linear(), demographic_parity(0.05))
    rng = np.random.default_rng(0)
    weights, x = rng.uniform(0, 0.4, size=(5, 4)), rng.uniform(0.2, 0.4, size=(40, 3))
    times, positive = rng.integers(1, 4, size=40), rng.random(40) < 0.5
    people = expected(problem, weights, rng.uniform(size=40), x)
    repeated = type(people)(*(np.repeat(part, times, axis=0) for part in people))
    np.testing.assert_allclose(
        gaps_met(positive, weighed(people, times)), gaps_met(np.repeat(positive, times), repeated)
    )
