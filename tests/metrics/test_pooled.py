"""Intervals of pooled rates hold where few of a small group are selected, computed exactly."""

import numpy as np
import pytest
from scipy import stats

from ffml.base import Ratio, SensitiveColumn
from ffml.metrics.answer import answer
from ffml.metrics.verdict import KEPT, NOT_KEPT

LARGE = 20_000
SEX = SensitiveColumn("sex", ("F", "M"))


def verdicts(rates, people, bound):
    """Return the chance of each verdict at these true rates: of a large group, and a small one."""
    found = {}
    for chosen in range(people + 1):
        table = np.zeros((1, 2, 3, 2), int)
        many = round(LARGE * rates[0])
        table[0, :, 2] = [[LARGE - many, many], [people - chosen, chosen]]
        asked = [("demographic-parity", bound)]
        (notion,) = answer({"sex": table}, [SEX], asked, by_task=False)["notions"]
        chance = stats.binom.pmf(chosen, people, rates[1])
        found[notion["verdict"]] = found.get(notion["verdict"], 0) + chance
    return found


@pytest.mark.parametrize(
    ("rates", "people", "bound"),
    [
        ((0.001, 0.051), 40, 0.05),  # 1 of 40 is likely, and was "kept"
        ((0.01, 0.06), 70, 0.05),
        ((0.06, 0.01), 200, 0.05),
        ((0.99, 0.94), 70, 0.05),
        ((0.5, 0.4), 60, Ratio(0.8)),
        ((0.76, 0.95), 30, Ratio(0.8)),
    ],
)
def test_kept_is_seldom_said_of_a_small_group_at_the_bound(rates, people, bound):
    assert verdicts(rates, people, bound).get(KEPT, 0) <= 0.03


@pytest.mark.parametrize(
    ("rates", "bound"), [((0.1, 0.05), 0.05), ((0.76, 0.95), Ratio(0.8)), ((0.01, 0.03), 0.02)]
)
def test_not_kept_is_seldom_said_of_a_small_group_at_the_bound(rates, bound):
    """Nobody, or everybody, of fifty is likely where one of twenty is expected to be otherwise."""
    assert verdicts(rates, 50, bound).get(NOT_KEPT, 0) <= 0.025
