"""Typical and long-run gaps: unbiased at any size, honest about what cancels."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ffml import FFMLError
from ffml.metrics import gap_statistics, round_gaps


def rounds(rng, rates, sizes, num_rounds):
    """Draw decisions at these rates: (T, k, 2, 2), all rows with label 1."""
    tables = np.zeros((num_rounds, len(rates), 2, 2), int)
    for i, (rate, size) in enumerate(zip(rates, sizes, strict=True)):
        chosen = rng.binomial(size, rate, num_rounds)
        tables[:, i, 1] = np.stack([size - chosen, chosen], 1)
    return tables


@pytest.mark.parametrize("sizes", [(2, 2), (3, 9), (40, 15)])
@pytest.mark.parametrize("rates", [(0.45, 0.67), (0.3, 0.8), (0.5, 0.5), (0.02, 0.1)])
def test_squares_are_unbiased_however_few_rows(rates, sizes):
    tables = rounds(np.random.default_rng(0), rates, sizes, 40_000)
    squares = round_gaps(tables).square[:, 0]
    error = squares.std() / np.sqrt(len(squares))
    assert abs(squares.mean() - (rates[1] - rates[0]) ** 2) < 4 * error


def test_a_classifier_of_unequal_rates_shows_on_small_tasks():
    (found,) = gap_statistics(rounds(np.random.default_rng(1), (0.45, 0.67), (12, 8), 3000))
    assert abs(found.typical - 0.22) < 0.02
    assert found.typical_low < 0.22 < found.typical_high
    assert abs(found.long_run - 0.22) < 0.01


def test_opposite_gaps_cancel_in_the_long_run_only():
    rng = np.random.default_rng(2)
    there, back = (rounds(rng, r, (500, 500), 20) for r in ((0.3, 0.5), (0.5, 0.3)))
    (found,) = gap_statistics(np.concatenate([there, back]))
    assert abs(found.typical - 0.2) < 0.02
    assert abs(found.long_run) < 0.02


def test_even_decisions_have_no_gap_on_average():
    (found,) = gap_statistics(rounds(np.random.default_rng(3), (0.4, 0.4), (10, 10), 3000))
    assert found.typical_low == 0
    assert found.typical < 0.06  # rates of ten rows differ by 0.22 by chance


@pytest.mark.parametrize("number", [250, 3000])
def test_blocks_of_many_rounds_are_as_wide_as_rounds(number):
    tables = rounds(np.random.default_rng(6), (0.3, 0.5), (60, 40), number)
    (found,) = gap_statistics(tables)
    width = 2 * 1.96 * np.sqrt((0.3 * 0.7 / 60 + 0.5 * 0.5 / 40) / number)
    assert 0.8 * width < found.long_run_high - found.long_run_low < 1.25 * width
    assert found.long_run_low < 0.2 < found.long_run_high and found.rounds == number


def test_over_correction_is_a_gap():
    (found,) = gap_statistics(rounds(np.random.default_rng(4), (0.6, 0.4), (300, 300), 30))
    assert found.long_run < -0.18 and found.typical > 0.18


def test_coverage_of_the_intervals():
    rng, within = np.random.default_rng(5), []
    for _ in range(100):
        (found,) = gap_statistics(rounds(rng, (0.3, 0.5), (60, 40), 40))
        typical = found.typical_low < 0.2 < found.typical_high
        within.append((typical, found.long_run_low < 0.2 < found.long_run_high))
    assert (np.sum(within, axis=0) >= 85).all()


@pytest.mark.parametrize("size", [10, 50, 300])
@pytest.mark.parametrize("num_rounds", [1, 3, 8])
def test_few_rounds_do_not_make_a_gap_look_small(num_rounds, size):
    """Resampling alone puts 7 points below 5 in up to three of four such runs."""
    rng, below, above = np.random.default_rng(6), 0, 0
    for _ in range(100):
        tables = rounds(rng, (0.365, 0.435), (size, size), num_rounds)
        (found,) = gap_statistics(np.where(rng.random() < 0.5, tables, tables[:, ::-1]))
        largest = max(abs(found.long_run_low), abs(found.long_run_high))
        below += min(found.typical_high, largest) < 0.05
        (found,) = gap_statistics(rounds(rng, (0.385, 0.415), (size, size), num_rounds))
        above += found.typical_low > 0.05
    assert below <= 5 and above <= 7


def test_nobody_selected_among_few_rows_is_not_certainty():
    tables = rounds(np.random.default_rng(7), (0.1, 0.1), (3, 3), 12)
    tables[:6, :, 1] = [3, 0]
    (found,) = gap_statistics(tables[:6])
    assert found.pooled == 0 and not found.pooled_high < 0.05
    (found,) = gap_statistics(tables)
    assert found.typical_high > 0.1


def test_notions_compare_rows_of_a_label():
    table = np.array([[[[60, 40], [10, 90]], [[80, 20], [70, 30]]]])
    odds = {s.comparison: s.long_run for s in gap_statistics(table, ["a", "b"], "equalized-odds")}
    assert odds == pytest.approx(
        {"b against a, unfavourable label": -0.2, "b against a, favourable label": -0.6}
    )
    (opportunity,) = gap_statistics(table, ["a", "b"], "equal-opportunity")
    assert opportunity.long_run == pytest.approx(-0.6)


def test_many_groups_any_two_of_them():
    table = np.zeros((1, 3, 2, 2), int)
    table[0, :, 0] = [[90, 10], [80, 20], [40, 60]]
    found = gap_statistics(table, ["a", "b", "c"])
    assert [s.comparison for s in found] == ["b against a", "c against a", "c against b"]
    assert [s.long_run for s in found] == pytest.approx([0.1, 0.5, 0.4])
    assert [s.pooled for s in found] == pytest.approx([0.1, 0.5, 0.4])


def test_what_cannot_be_measured_says_so():
    alone = np.array([[[[5, 5], [0, 0]], [[0, 0], [0, 0]]]])
    (found,) = gap_statistics(alone)
    assert found.rounds == 0 and np.isnan(found.typical) and np.isnan(found.long_run)
    single = np.array([[[[5, 5], [0, 0]], [[0, 1], [0, 0]]]])
    (found,) = gap_statistics(single)
    assert np.isnan(found.typical) and found.long_run == pytest.approx(0.5)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.lists(st.integers(0, 30), min_size=8, max_size=8), min_size=1, max_size=6))
def test_swapping_the_groups_turns_the_sign(counts):
    tables = np.array(counts).reshape(-1, 2, 2, 2)
    (one,), (other,) = gap_statistics(tables), gap_statistics(tables[:, ::-1])
    assert one.typical == pytest.approx(other.typical, nan_ok=True)
    assert one.long_run == pytest.approx(-other.long_run, nan_ok=True)


def test_bad_input_is_refused():
    table = np.ones((1, 2, 2, 2), int)
    for wrong in ({"notion": "parity"}, {"group_names": ["a"]}):
        with pytest.raises(FFMLError):
            gap_statistics(table, **wrong)


def test_gaps_smaller_than_chance_do_not_show_that_there_is_none():
    even = np.array([[[20, 20], [20, 20]], [[20, 20], [20, 20]]])  # the same rate to the last row
    (found,) = gap_statistics(np.stack([even] * 12))
    assert found.typical == 0 and found.typical_low == 0
    assert found.typical_high > 0.05  # as far as 960 people can tell
