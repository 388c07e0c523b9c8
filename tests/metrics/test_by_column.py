"""What a run's summary says of each protected column: nothing flatters, nothing hides."""

import math

import numpy as np
import pytest
from made_up import shown_of

from ffml.base import SensitiveColumn

SEX, RARE = SensitiveColumn("sex", ("f", "m")), SensitiveColumn("rare", ("no", "yes"))


def draw(rates, sizes, num_rounds, seed=0):
    rng = np.random.default_rng(seed)
    tables = np.zeros((num_rounds, 2, 2, 2), int)
    for i, (rate, size) in enumerate(zip(rates, sizes, strict=True)):
        chosen = rng.binomial([size - size // 2, size // 2], rate, (num_rounds, 2))
        tables[:, i] = np.stack([[size - size // 2, size // 2] - chosen, chosen], -1)
    return tables


def test_uneven_decisions_on_small_tasks_do_not_look_even():
    """Rates of .45 and .67 on 20 rows, of which three of one group hide what ratios can show."""
    tables = draw((0.45, 0.67), (12, 8), 400)
    found = shown_of(tables, SEX)
    assert found["dp"]["of_ceiling"] < 0.95
    assert found["dp"]["of_ceiling"] == found["dp"]["mean"] / found["dp"]["ceiling"]
    rare = shown_of(draw((0.45, 0.67), (17, 3), 1000), SEX)
    assert rare["dp"]["of_ceiling"] > 0.95  # so the gap has to stand beside it
    assert rare["gaps"]["demographic-parity"][0]["typical"] == pytest.approx(0.22, abs=0.04)
    [gap] = found["gaps"]["demographic-parity"]
    assert gap["typical"] == pytest.approx(0.22, abs=0.04)
    assert gap["long_run"] == pytest.approx(0.22, abs=0.04)


def test_an_uneven_column_shows_and_a_noisy_one_does_not():
    rare = shown_of(draw((0.4, 0.4), (780, 20), 20), RARE)
    sex = shown_of(draw((0.3, 0.5), (400, 400), 20), SEX)
    assert sex["dp"]["of_ceiling"] < 0.75 < 0.9 < rare["dp"]["of_ceiling"]
    assert [one["comparison"] for one in sex["gaps"]["equalized-odds"]] == [
        "m against f, unfavourable label",
        "m against f, favourable label",
    ]


def test_only_judged_rounds_count_and_undefined_ones_are_said():
    tables = draw((0.5, 0.5), (10, 10), 9)
    tables[:3] = 0  # not judged
    tables[3, 0] = 0  # one group only
    tables[4] = [[[5, 0], [5, 0]]] * 2  # one decision for everybody
    found = shown_of(tables, SEX)
    assert found["rounds"] == 6
    assert (found["dp"]["defined"], found["dp"]["undefined"]) == (4, 2)


def test_nothing_judged():
    found = shown_of(np.zeros((3, 2, 2, 2), int), SEX)
    assert found["rounds"] == 0 and found["dp"]["mean"] is found["eo"]["of_ceiling"] is None
    assert math.isnan(found["gaps"]["demographic-parity"][0]["typical"])
