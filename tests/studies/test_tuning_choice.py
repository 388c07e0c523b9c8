"""The choice among settings: means, the rule, what is not dominated, the files."""

import csv
import json

import numpy as np
import pandas as pd
import pytest

from ffml.studies.tuning import (
    Rule,
    Span,
    draw_trade_off,
    grid_settings,
    plan_search,
    ranked,
    summarise_settings,
    write_search,
)


def judged(rows):
    """Rounds by (setting, seed): DP and EO (of ceilings of 1), balanced accuracy, collapsed."""
    names = ["dp", "eo", "balanced_accuracy", "collapsed"]
    ceilings = {"dp_ceiling": 1.0, "eo_ceiling": 1.0}
    return pd.DataFrame(
        [
            {"setting": setting, "seed": seed, "round": t, "n_validation": 60}
            | ceilings
            | dict(zip(names, values, strict=True))
            for (setting, seed), rounds in rows.items()
            for t, values in enumerate(rounds, 4)
        ]
    )


def test_means_are_over_rounds_then_over_seeds():
    nan = np.nan
    frame = judged(
        {
            (1, 100): [(0.8, 0.9, 0.7, 0), (1.0, nan, 0.7, 0)],
            (1, 101): [(0.5, 0.7, 0.6, 0), (nan, nan, 0.5, 1)],
            (2, 100): [(nan, nan, 0.5, 1), (nan, nan, 0.5, 1)],
            (2, 101): [(nan, nan, 0.5, 1), (nan, nan, 0.5, 1)],
        }
    )
    summary = summarise_settings(frame)
    first = summary.loc[1]
    assert first["dp_of_ceiling"] == pytest.approx((0.9 + 0.5) / 2)
    assert first["dp_of_ceiling_se"] == pytest.approx(0.2)  # half of the distance of two seeds
    assert first["eo_of_ceiling"] == pytest.approx(0.8)
    assert first["balanced_accuracy"] == pytest.approx((0.7 + 0.55) / 2)
    assert (first["collapsed"], first["seeds"], first["rounds"]) == (0.25, 2, 4)
    assert (first["dp_rounds"], first["eo_rounds"]) == (3, 2) and np.isnan(first["typical_gap"])
    assert np.isnan(summary.loc[2, "dp_of_ceiling"]) and summary.loc[2, "collapsed"] == 1
    assert list(ranked(frame, Rule()).index) == [1, 2]


@pytest.mark.parametrize(
    ("settings", "order"),
    [
        # Two reach both targets: the more accurate of them; then who falls short by less.
        ([(0.99, 0.97, 0.6), (1.0, 1.0, 0.65), (0.98, 0.99, 0.9), (0.9, 0.99, 0.95)], [2, 1, 3, 4]),
        # None does: the shortfalls are added; more than asked of one makes up for nothing.
        ([(0.95, 0.95, 0.9), (1.2, 0.92, 0.5), (0.97, 0.95, 0.6)], [3, 2, 1]),
        # Ties go by balanced accuracy; what is undefined counts as 0.
        ([(0.9, 0.9, 0.6), (np.nan, 0.97, 0.99), (0.9, 0.9, 0.7)], [3, 1, 2]),
    ],
)
def test_the_rule(settings, order):
    frame = judged({(i, 100): [(*values, 0)] for i, values in enumerate(settings, 1)})
    assert list(ranked(frame, Rule(0.99, 0.97)).index) == order


def by_seed(*settings):
    """Eight seeds of each setting; a value is one for all or one for each."""
    rows = {}
    for number, values in enumerate(settings, 1):
        for k, (dp, eo, accuracy) in enumerate(zip(*np.broadcast_arrays(*values), strict=True)):
            rows[number, 100 + k] = [(dp, eo, accuracy, 0)]
    return judged(rows)


UP_AND_DOWN = np.array([-1, 1] * 4)
ERROR = (8 / 7) ** 0.5 / 8**0.5  # of the mean of these


@pytest.mark.parametrize(("noise", "order"), [(0.03, [1, 2, 3]), (0.08, [2, 1, 3])])
@pytest.mark.parametrize("metric", ["DP", "EO"])
def test_accuracy_decides_where_the_difference_of_shortfalls_is_within_its_error(
    metric, noise, order
):
    ones = np.ones(8)
    ratios = [0.76 + noise * UP_AND_DOWN, 0.74 * ones, 0.70 * ones]
    accuracies = [0.60, 0.65, 0.70]
    pairs = [(r, ones) if metric == "DP" else (ones, r) for r in ratios]
    frame = by_seed(*((*pair, ba) for pair, ba in zip(pairs, accuracies, strict=True)))
    table = ranked(frame, Rule())
    assert list(table.index) == order
    assert table["as_fair"].sum() == (1 if noise < 0.05 else 2)
    assert table.loc[3, "behind_se"] == pytest.approx(noise * ERROR, rel=0.1)


def test_noise_that_settings_share_does_not_make_them_alike():
    """Seeds differ by 0.2, and in all of them the second setting is behind by about 0.05."""
    hard, ones = 0.8 + 0.1 * UP_AND_DOWN, np.ones(8)
    behind = 0.05 + 0.01 * np.repeat([-1, 1], 4)
    table = ranked(by_seed((hard, ones, 0.60), (hard - behind, ones, 0.65)), Rule())
    assert table["as_fair"].to_dict() == {1: True, 2: False}
    assert table.loc[2, "behind_se"] == pytest.approx(0.01 * ERROR, rel=0.1)
    assert table.loc[2, "dp_of_ceiling_se"] > 0.03  # by itself each is far less sure


def test_noise_in_what_reaches_its_target_anyway_counts_as_little_in_both():
    """The same noise in both: one mean is just above its target, the other just below."""
    noise, ones = 0.05 * UP_AND_DOWN, np.ones(8)
    table = ranked(
        by_seed((0.9, 0.9701 + noise, 0.6), (0.9 * ones, 0.9699 + noise, 0.7)), Rule(0.99, 0.97)
    )
    assert table.loc[2, "behind_se"] < 0.001


def test_where_targets_are_reached_noise_is_no_excuse():
    ones = np.ones(8)
    reaches, nearly = (1.0 * ones, ones, 0.60), (0.98 + 0.1 * UP_AND_DOWN, ones, 0.70)
    table = ranked(by_seed(nearly, reaches), Rule())
    assert table["as_fair"].to_dict() == {1: False, 2: True} and table.index[0] == 2


def test_seeds_without_a_ratio_make_the_others_less_sure():
    ones = np.ones(8)
    known = 0.75 + 0.05 * UP_AND_DOWN
    half = np.where(np.arange(8) < 4, known, np.nan)
    table = ranked(by_seed((half, ones, 0.6), (0.65 * ones, ones, 0.7)), Rule())
    all_known = ranked(by_seed((known, ones, 0.6), (0.65 * ones, ones, 0.7)), Rule())
    ratio = table.loc[2, "behind_se"] / all_known.loc[2, "behind_se"]
    assert ratio == pytest.approx(2**0.5, rel=0.25)  # half as many


def test_a_single_seed_has_no_error():
    table = ranked(judged({(1, 100): [(0.9, 0.9, 0.6, 0)], (2, 100): [(0.8, 0.9, 0.9, 0)]}), Rule())
    assert table["as_fair"].to_dict() == {1: True, 2: False}
    assert table["behind_se"].isna().all()


def test_the_picture_of_one_setting_or_of_none_defined():
    for values in ((0.9, 0.9, 0.6), (np.nan, np.nan, 0.5)):
        table = ranked(judged({(1, 100): [(*values, 0)]}), Rule())
        pictures = draw_trade_off(table, Rule(), "one")
        assert b"<svg" in pictures["svg"] and pictures["png"].startswith(b"\x89PNG")
        assert (b"1 of 1 settings undefined" in pictures["svg"]) == bool(np.isnan(values[0]))
    assert draw_trade_off(table, Rule(), "one") == pictures  # the same bytes every time


def test_files_say_what_was_chosen_and_how(tmp_path):
    search = plan_search(
        "adult",
        grid_settings({"max_gap": ((0.02, 0.05),), "problem.l2": (0.0, 0.1)}),
        given={"notions": ("dbc", "equal-opportunity"), "rounds": 30},
        seeds=(100, 101),
    )
    rows = {(1, 100): [(0.9, 0.9, 0.8, 0)], (1, 101): [(0.9, 0.9, 0.8, 0)]}
    rows |= {(2, 100): [(0.99, 0.98, 0.7, 0)], (2, 101): [(1.01, 0.98, 0.6, 0)]}
    table = ranked(judged(rows), Rule())
    write_search(tmp_path, search, Span(None, 30), table, Rule(), {"command": "ffml tune adult"})
    with (tmp_path / "settings.csv").open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    assert [(r["rank"], r["max_gap"], r["problem.l2"]) for r in lines] == [
        ("1", "0.02+0.05", "0.1"),
        ("2", "0.02+0.05", "0"),
    ]
    assert lines[0]["dp_of_ceiling"] == "1" and lines[0]["dp_of_ceiling_se"] == "0.01"
    chosen = json.loads((tmp_path / "chosen.json").read_text(encoding="utf-8"))
    assert chosen["settings"] == {"max_gap": [0.02, 0.05], "problem.l2": 0.1}
    how = chosen["how"]
    assert how["rounds"] == {"first": 11, "last": 20, "of": 30} and how["seeds"] == [100, 101]
    assert (how["settings_tried"], how["settings_that_reach_the_targets"]) == (2, 1)
    assert how["command"] == "ffml tune adult" and "greatest balanced accuracy" in how["rule"]
    assert chosen["run"]["rounds"] is None and chosen["run"]["judge_from"] == 0
    assert chosen["measured"]["balanced_accuracy"]["mean"] == pytest.approx(0.65)
    assert {p.name for p in tmp_path.iterdir()} == {
        *("settings.csv", "chosen.json", "trade-off.svg", "trade-off.png")
    }
