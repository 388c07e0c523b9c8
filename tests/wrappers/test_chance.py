"""The chance in a gap: closed forms, and repeated draws of who belongs to which group."""

import numpy as np
import pytest

from ffml.wrappers._chance import Trial, miss_of, parts_by_chance, variance_of_sum
from ffml.wrappers._people import People


def drawn(rng, member, share):
    """Draw people's groups; return who they are and who they were expected to be."""
    n = len(member)
    inside = (rng.random(n) < member)[:, None] * np.full((n, 1), share)
    people = People(np.zeros(n), inside, share - inside)
    hoped = share * member[:, None]
    return people, People(np.zeros(n), hoped, share - hoped)


def test_where_features_tell_nothing_it_is_that_of_two_rates():
    """r(1 - r)(1/n₁ + 1/n₀), the textbook's."""
    n, members = 4000, 1000
    inside = (np.arange(n) < members)[:, None] * 1.0
    positive = (np.arange(n) % 5 == 0) * 1.0
    people = People(np.zeros(n), inside, 1 - inside)
    hoped = np.full((n, 1), members / n)
    parts = parts_by_chance(positive, people, People(np.zeros(n), hoped, 1 - hoped))
    textbook = 0.2 * 0.8 * (1 / members + 1 / (n - members))
    assert variance_of_sum(parts) == pytest.approx([textbook], rel=1e-3)


@pytest.mark.parametrize("certain", [0.5, 0.9, 1.0])
def test_it_is_the_variance_of_gaps_over_draws_of_groups(certain):
    """The better features tell groups, the less chance there is; none where they tell all."""
    rng = np.random.default_rng(0)
    n = 300
    member = np.where(rng.random(n) < 0.4, certain, 1 - certain)
    positive = (rng.random(n) < 0.3 + 0.4 * member) * 1.0
    misses = [
        miss_of([Trial(np.arange(n), positive, *drawn(rng, member, 1 / n))], n) for _ in range(600)
    ]
    off, claimed = (np.array([getattr(m, name)[0] for m in misses]) for name in ("off", "chance"))
    assert claimed.mean() == pytest.approx(off.var(), rel=0.15, abs=1e-12)
    assert abs(off.mean()) < 0.01


def test_people_who_are_in_several_trials_are_one_chance():
    rng = np.random.default_rng(1)
    n = 200
    member, positive = np.full(n, 0.5), (np.arange(n) % 2) * 1.0
    trial = Trial(np.arange(n), positive, *drawn(rng, member, 1.0))
    once, twice = miss_of([trial], n), miss_of([trial, trial], n)
    np.testing.assert_allclose(twice.off, once.off)
    np.testing.assert_allclose(twice.chance, once.chance)
    half = trial._replace(
        rows=np.arange(100),
        positive=positive[:100],
        people=People(*(part[:100] for part in trial.people)),
        expectation=People(*(part[:100] for part in trial.expectation)),
    )
    assert miss_of([half], n).chance > 1.5 * once.chance


def test_a_group_of_three_who_are_all_alike_has_chance_in_it():
    inside = (np.arange(100) < 3)[:, None] * 1.0
    people = People(np.zeros(100), inside, 1 - inside)
    hoped = np.full((100, 1), 0.03)
    positive = ((np.arange(100) < 3) | (np.arange(100) % 2 == 0)) * 1.0
    parts = parts_by_chance(positive, people, People(np.zeros(100), hoped, 1 - hoped))
    assert variance_of_sum(parts) == pytest.approx([0.25 / 3], rel=0.2)


def test_a_group_that_nobody_is_of_has_none():
    nobody = People(np.zeros(5), np.zeros((5, 1)), np.ones((5, 1)))
    assert miss_of([Trial(np.arange(5), np.ones(5), nobody, nobody)], 5).chance == [0]
