"""What a comparison says: means, differences, trade-offs, tables and the picture."""

import csv
import html
import json
import re
from functools import partial

import numpy as np
import pandas as pd
import pytest
from comparisons import two_methods
from markdown_it import MarkdownIt
from scipy import stats

from ffml.base import FFMLError
from ffml.report.markdown import code
from ffml.studies.compare import (
    at_equal_fairness,
    draw_comparison,
    markdown_tables,
    paired_differences,
    summarise_results,
    write_results,
)
from ffml.studies.files import made_by
from ffml.studies.text_tables import TextTable, as_markdown


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    return two_methods(tmp_path_factory.mktemp("store"))


def frame_of(values, rounds=6, n_validation=100, data="adult", label="a", validation=0.5):
    """One row per seed and round; ``values[seed][t]`` is dp of round t + 1."""
    return pd.DataFrame(
        {
            "label": label,
            "method": "m",
            "data": data,
            "validation": validation,
            "seed": seed,
            "round": t,
            "rounds": rounds,
            "task": f"task {t}",
            "n_rows": 200,
            "n_support": 10,
            "n_validation": n_validation,
            "dp": dp,
            "dp_low": 0.0,
            "constraint:x": 0.0,
            "iterations": 1,
            "seconds": 0.5,
            "undefined": "",
        }
        for seed, row in enumerate(values)
        for t, dp in enumerate(row, start=1)
    )


def entry(summary, metric="dp", **where):
    rows = summary[summary["metric"] == metric]
    for name, value in where.items():
        rows = rows[rows[name] == value]
    [row] = rows.to_dict("records")
    return row


NAN = float("nan")


def test_mean_over_rounds_then_over_seeds_with_the_t_interval():
    values = [[9, 9, 9, 9, 0.2, 0.4], [9, 9, 9, 9, 0.6, NAN], [9, 9, 9, 9, 0.8, 1.0]]
    summary = summarise_results(frame_of(values))
    found, seeds = entry(summary), np.array([0.3, 0.6, 0.9])
    assert found["mean"] == pytest.approx(0.6) and found["std"] == pytest.approx(0.3)
    low, high = stats.t.interval(0.95, 2, seeds.mean(), stats.sem(seeds))
    assert (found["low"], found["high"]) == pytest.approx((low, high))
    assert high - 0.6 == pytest.approx(4.302653 * 0.3 / 3**0.5, rel=1e-5)
    assert (found["seeds"], found["rounds"]) == (3, 5)
    assert entry(summary, "seconds")["mean"] == pytest.approx(3.0)  # all rounds of a seed
    even = {"typical_gap", "long_run_gap", "dp_of_ceiling", "eo_of_ceiling"}
    assert set(summary["metric"]) == {"dp", "seconds"} | even
    assert (found["judged"], entry(summary, "typical_gap")["rounds"]) == (6, 0)


def test_parts_of_a_stream():
    values = [[0.1, 0.2, 0.3, 0.4, 0.5, 0.6]]
    for part, mean in (("all", 0.35), ("last_third", 0.55), ("last", 0.6)):
        found = entry(summarise_results(frame_of(values), part=part))
        assert found["mean"] == pytest.approx(mean)
        assert all(np.isnan(found[name]) for name in ("std", "low", "high"))  # of a single seed
    with pytest.raises(FFMLError, match="unknown part 'lst'; did you mean 'last'"):
        summarise_results(frame_of(values), part="lst")


def test_undefined_is_never_zero():
    """A seed without a defined round does not count; without any seed, all is NaN."""
    values = [[0.5] * 6, [NAN] * 6]
    found = entry(summarise_results(frame_of(values)))
    assert (found["mean"], found["seeds"], found["rounds"]) == (0.5, 1, 2)
    nothing = entry(summarise_results(frame_of([[NAN] * 6] * 2)))
    assert np.isnan([nothing[k] for k in ("mean", "std", "low", "high")]).all()
    assert (nothing["seeds"], nothing["rounds"]) == (0, 0)
    infinite = entry(summarise_results(frame_of([[np.inf] * 6, [1.0] * 6])))
    assert infinite["mean"] == np.inf and np.isnan(infinite["std"])


def test_rounds_with_few_rows_are_left_out_by_data_set():
    few = pd.concat([frame_of([[0.5] * 6], n_validation=20, data=d) for d in ("adult", "crime")])
    summary = summarise_results(few)
    assert np.isnan(entry(summary, data="adult")["mean"])
    assert entry(summary, data="crime")["mean"] == 0.5
    assert entry(summarise_results(few, 20), data="adult")["mean"] == 0.5
    assert np.isnan(entry(summarise_results(few, {"crime": 21}), data="crime")["mean"])
    unjudged = frame_of([[NAN] * 6], n_validation=0)
    assert entry(summarise_results(unjudged, 0))["rounds"] == 0


def test_groups_stay_apart_and_in_order():
    parts = [
        frame_of([[0.1] * 6] * 2, label="z", validation=0.9),
        frame_of([[0.2] * 6] * 2, label="z", validation=0.3),
        frame_of([[0.3] * 6] * 2, label="a", validation=0.9),
    ]
    summary = summarise_results(pd.concat(parts))
    dp = summary[summary["metric"] == "dp"]
    assert dp[["label", "validation"]].to_numpy().tolist() == [["z", 0.9], ["z", 0.3], ["a", 0.9]]
    assert dp["mean"].tolist() == pytest.approx([0.1, 0.2, 0.3])


def test_differences_are_taken_seed_by_seed():
    """The noise of seeds is many times the difference, and cancels."""
    ours = [[0.0] * 4 + [x, x] for x in (0.1, 0.9, 0.4, 0.3)]
    theirs = [[0.0] * 4 + [x, x] for x in (0.11, 0.93, NAN, 0.32)]
    parts = [frame_of(ours, label="z"), frame_of(theirs, label="a"), frame_of(ours, label="b")]
    table = paired_differences(pd.concat(parts))
    assert list(dict.fromkeys(table["label"])) == ["a", "b"]
    found, expected = entry(table, label="a"), np.array([0.01, 0.03, 0.02])
    low, high = stats.t.interval(0.95, 2, expected.mean(), stats.sem(expected))
    assert (found["mean"], found["low"], found["high"]) == pytest.approx((0.02, low, high))
    assert found["seeds"] == 3 and entry(table, label="b")["mean"] == 0
    from_a = paired_differences(pd.concat(parts), reference="a")
    assert entry(from_a, label="z")["mean"] == pytest.approx(-0.02)
    assert paired_differences(parts[0]).empty
    with pytest.raises(FFMLError, match="unknown label 'c'"):
        paired_differences(pd.concat(parts), reference="c")


def test_seeds_that_one_method_lacks_are_left_out():
    ours, theirs = frame_of([[0.2] * 6] * 3, label="z"), frame_of([[0.5] * 6] * 2, label="a")
    assert entry(paired_differences(pd.concat([ours, theirs])))["seeds"] == 2
    found = entry(paired_differences(pd.concat([theirs, ours])))
    assert found["seeds"] == 2 and found["mean"] == pytest.approx(-0.3)


def tradeoff_frame(points, seeds=4, noise=0.0):
    """Six rounds a seed of every (label, fairness, accuracy); the method is the label's start."""
    parts = []
    for label, fairness, accuracy in points:
        wobble = noise * np.resize([1, -1], seeds)
        rows = frame_of([[fairness + w] * 6 for w in wobble], label=label)
        rows = rows.assign(method=label.split()[0])
        parts.append(rows.assign(balanced_accuracy=accuracy + noise * (rows["seed"] % 3)))
    return pd.concat(parts)


at_equal_ratios = partial(at_equal_fairness, fairness="dp")


def test_accuracy_at_the_same_fairness_is_read_off_the_others_curve():
    curve = [("b 1", 0.6, 0.9), ("b 2", 1.0, 0.7), ("b worse", 0.8, 0.75), ("b 3", 0.5, 0.8)]
    ours = [("a", 0.8, 0.85), ("a fair", 1.1, 0.6), ("a unfair", 0.2, 0.9), ("a even", 1.0, 0.7)]
    single = [("c", 0.8, 0.99)]  # has no curve
    table = at_equal_ratios(tradeoff_frame(ours + curve + single))
    assert list(table["label"]) == [label for label, *_ in ours] and set(table["other"]) == {"b"}
    np.testing.assert_allclose(table["other_accuracy"], [0.8, 0.7, 0.9, 0.7])
    np.testing.assert_allclose(table["difference"], [0.05, -0.1, 0.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(table["low"], table["difference"], atol=1e-12)  # seeds are alike
    assert list(table["curve"]) == ["as fair", "as fair", "fairer", "as fair"]  # 1 is all
    assert set(table["seeds"]) == {4}
    from_b = at_equal_ratios(tradeoff_frame(ours[2:3] + ours[:1] + curve), method="b")
    assert set(from_b["other"]) == {"a"} and len(from_b) == 4
    assert list(from_b["curve"]) == ["as fair", "less fair", "as fair", "as fair"]
    assert at_equal_ratios(tradeoff_frame(ours)).empty
    with pytest.raises(FFMLError, match="unknown fairness 'disc'"):  # of which less is fairer
        at_equal_fairness(tradeoff_frame(ours), fairness="disc")


THREE = [("a", 0.8, 0.85), ("b 1", 0.6, 0.9), ("b 2", 1.0, 0.7)]


def test_intervals_at_the_same_fairness_are_paired():
    """What moves all variants of a seed alike cancels, and so do moves along the curve."""
    [row] = at_equal_ratios(tradeoff_frame(THREE, 9, 0.01)).to_dict("records")
    assert row["difference"] == pytest.approx(0.05) and row["high"] - row["low"] < 1e-9
    frame = tradeoff_frame(THREE, 9)
    ours, moves = frame["label"] == "a", np.linspace(-0.1, 0.1, 9).repeat(6)
    along = frame.copy()
    along.loc[ours, "dp"] += moves
    along.loc[ours, "balanced_accuracy"] -= moves / 2  # the slope of b
    [row] = at_equal_ratios(along).to_dict("records")
    assert row["difference"] == pytest.approx(0.05) and row["high"] - row["low"] < 1e-9
    across = frame.copy()
    across.loc[ours, "balanced_accuracy"] += moves
    [row] = at_equal_ratios(across).to_dict("records")
    expected = stats.t.interval(0.95, 8, 0.05, stats.sem(moves[::6]))
    assert (row["low"], row["high"]) == pytest.approx(expected)


def test_intervals_at_the_same_fairness_cover():
    rng, covered = np.random.default_rng(0), 0
    for _ in range(60):
        frame = tradeoff_frame([("a", 0.8, 0.8), *THREE[1:]], 5)
        for name in ("dp", "balanced_accuracy"):
            frame[name] += 0.02 * rng.normal(size=len(frame) // 6).repeat(6)
        [row] = at_equal_ratios(frame).to_dict("records")
        covered += row["low"] <= 0 <= row["high"]
    assert 52 <= covered <= 60  # 95 % of 60, give or take


def test_at_the_same_fairness_only_what_is_defined_counts():
    frame = tradeoff_frame(THREE, 4)
    [row] = at_equal_ratios(frame[frame["seed"] == 0]).to_dict("records")
    assert np.isnan([row["low"], row["high"]]).all() and row["difference"] == pytest.approx(0.05)
    frame["balanced_accuracy"] += 0.1 * (frame["seed"] >= 2)  # easier seeds, for all alike
    partly = (frame["label"] == "b 1") & (frame["seed"] >= 2)
    [row] = at_equal_ratios(frame.assign(dp=frame["dp"].mask(partly)))[
        ["difference", "seeds"]
    ].to_dict("records")
    assert row == {"difference": pytest.approx(0.05), "seeds": 2}
    never = frame.assign(dp=frame["dp"].mask(frame["label"] == "b 2"))
    [row] = at_equal_ratios(never).to_dict("records")
    assert row["seeds"] == 4 and row["difference"] == pytest.approx(-0.05)
    assert row["curve"] == "less fair"
    [row] = at_equal_ratios(frame.assign(dp=NAN)).to_dict("records")
    assert np.isnan(row["difference"]) and row["seeds"] == 0


def test_files_and_tables(stored, tmp_path):
    store, cells = stored
    frame = store.load(cells)
    summary = summarise_results(frame, 5)
    facts = made_by("ffml compare") | {"date": "2021-08-14", "cell_seconds": 120.0}
    document = write_results(tmp_path / "out", frame, summary, facts)
    with (tmp_path / "out" / "results.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 16 and rows[-1]["label"] == "refit" and rows[8]["dp"] == ""
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["cores"] == document["cores"]
    again = pd.read_csv(tmp_path / "out" / "summary.csv")
    np.testing.assert_allclose(again["mean"], summary["mean"], rtol=1e-5)
    page = (tmp_path / "out" / "summary.md").read_text()
    assert page.startswith(markdown_tables(summary)) and "2 minutes of computing" in page
    accuracy = entry(summary, "balanced_accuracy", label="twp")
    half = accuracy["high"] - accuracy["mean"]
    assert f"| {accuracy['mean']:.3f} ± {half:.3f} |" in page
    differences = pd.read_csv(tmp_path / "out" / "differences.csv")
    assert set(differences["label"]) == {"refit"} and "Minus twp, seed by seed" in page
    assert pd.read_csv(tmp_path / "out" / "tasks.csv").empty  # no round has 50 rows
    dp = entry(summarise_results(frame, 10**6), "dp_of_ceiling", label="twp")
    assert np.isnan(dp["mean"]) and "| twp | – | – | – |" in markdown_tables(
        summarise_results(frame, 10**6)
    )


def test_variants_are_compared_at_the_same_fairness(stored, tmp_path):
    store, cells = stored
    frame = store.load(cells[:2]).assign(n_validation=50)
    others = [frame.assign(label=f"mine |{i}|", method="mine") for i in range(2)]
    others[1]["balanced_accuracy"] += 0.25
    both = pd.concat([frame, *others])
    facts = made_by("ffml") | {"cell_seconds": 1.0}
    write_results(tmp_path, both, summarise_results(both), facts)
    [row] = pd.read_csv(tmp_path / "equal_fairness.csv").to_dict("records")
    assert (row["label"], row["other"], row["difference"]) == ("twp", "mine", -0.25)
    page = (tmp_path / "summary.md").read_text()
    assert "| variant | typical gap | balanced accuracy | mine | difference |" in page
    assert "| -0.250 (-0.250 to -0.250) |" in page
    assert r"| mine \|1\| |" in page
    tasks = pd.read_csv(tmp_path / "tasks.csv")
    worst = tasks[tasks["label"] == "twp"].sort_values("squared_gap").iloc[-1]
    long_run = f"{100 * worst['long_run_gap']:+.1f}"
    gap = f"{100 * max(worst['squared_gap'], 0) ** 0.5:.1f}"
    assert f"| {worst['task']} | {gap} | {long_run} | {worst['rounds']} |" in page
    [same] = json.loads((tmp_path / "summary.json").read_text())["equal_fairness"]
    assert same["difference"] == pytest.approx(-0.25)
    svg = (tmp_path / "comparison.svg").read_text()
    assert ">1 twp<" in svg and ">3 mine |1|<" in svg  # variants of a method look alike
    write_results(tmp_path, frame, summarise_results(frame), facts)
    assert pd.read_csv(tmp_path / "equal_fairness.csv").empty


def test_names_stay_names_in_markdown():
    """Judged by a parser of Markdown: what people wrote is text, in its cell."""
    wild = "<img src=x onerror=alert(1)> **b** `c` [d](https://e) ~~g~~ &lt; |f|"
    page = as_markdown([TextTable(wild, ["method", wild], [[wild, "0.1 <"]])])
    page += f"\n\n{code('ffml `<b>` ```')}\n"
    shown = MarkdownIt("gfm-like", {"linkify": False, "html": True}).render(page)
    assert shown.count(html.escape(wild)) == 3 and shown.count("<td") == 2
    assert not re.search("<(img|a|b|em|s)[ >]", shown) and shown.count("<strong>") == 1
    assert "<code>ffml `&lt;b&gt;` ```</code>" in shown


def test_the_picture_shows_every_method_and_data_set(stored, tmp_path):
    store, cells = stored
    frame = store.load(cells)
    other = frame.assign(data="folder/loans.csv")
    pictures = draw_comparison(summarise_results(pd.concat([frame, other]), 5))
    svg = pictures["svg"].decode()
    for text in ("twp", "refit", "synthetic", ">loans<", "typical gap", "long-run gap"):
        assert text in svg
    assert pictures["png"].startswith(b"\x89PNG")
    undefined = summarise_results(frame, 10**6)  # nothing to show is no reason to fail
    assert ">twp<" in draw_comparison(undefined)["svg"].decode()
