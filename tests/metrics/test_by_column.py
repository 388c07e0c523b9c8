"""What a run's summary says of each protected column: nothing flatters, nothing hides."""

import math

import numpy as np
import pytest

from ffml.base import SensitiveColumn
from ffml.metrics.by_column import by_column, gaps_by_column, worst_column

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
    found = by_column({"sex": tables}, (SEX,))["sex"]
    assert found["dp"]["of_ceiling"] < 0.95
    assert found["dp"]["of_ceiling"] == found["dp"]["mean"] / found["dp"]["ceiling"]
    rare = by_column({"sex": draw((0.45, 0.67), (17, 3), 1000)}, (SEX,))["sex"]
    assert rare["dp"]["of_ceiling"] > 0.95  # so the gap has to stand beside it
    assert rare["gaps"]["demographic-parity"][0]["typical"] == pytest.approx(0.22, abs=0.04)
    [gap] = found["gaps"]["demographic-parity"]
    assert gap["typical"] == pytest.approx(0.22, abs=0.04)
    assert gap["long_run"] == pytest.approx(0.22, abs=0.04)


def test_the_worst_column_is_the_uneven_one_and_not_the_noisy_one():
    tables = {"rare": draw((0.4, 0.4), (780, 20), 20), "sex": draw((0.3, 0.5), (400, 400), 20)}
    summary = {"by_column": by_column(tables, (RARE, SEX))}
    dp = {name: summary["by_column"][name]["dp"] for name in tables}
    assert worst_column(summary) == "sex"
    assert dp["sex"]["of_ceiling"] < 0.75 < 0.9 < dp["rare"]["of_ceiling"]
    assert list(gaps_by_column(summary, "equalized-odds")) == ["rare", "sex"]


def test_only_judged_rounds_count_and_undefined_ones_are_said():
    tables = draw((0.5, 0.5), (10, 10), 9)
    tables[:3] = 0  # not judged
    tables[3, 0] = 0  # one group only
    tables[4] = [[[5, 0], [5, 0]]] * 2  # one decision for everybody
    found = by_column({"sex": tables}, (SEX,))["sex"]
    assert found["rounds"] == 6
    assert (found["dp"]["defined"], found["dp"]["undefined"]) == (4, 2)


def test_nothing_judged():
    found = by_column({"sex": np.zeros((3, 2, 2, 2), int)}, (SEX,))["sex"]
    assert found["rounds"] == 0 and found["dp"]["mean"] is found["eo"]["of_ceiling"] is None
    assert math.isnan(found["gaps"]["demographic-parity"][0]["typical"])
