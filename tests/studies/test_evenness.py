"""No average over rounds makes uneven decisions look even."""

import numpy as np
import pandas as pd
import pytest

from ffml import metrics
from ffml.studies.compare import (
    at_equal_fairness,
    gap_columns,
    markdown_tables,
    paired_differences,
    summarise_results,
    summarise_tasks,
    task_means,
)
from ffml.studies.tuning import Rule, ranked

# People of the two groups whom Crime's tasks judge, as one seed happens to order them.
CRIME = [(24, 10), (61, 17), (4, 17), (19, 26), (11, 1), (12, 1), (13, 11), (1, 17), (8, 2)]
SEEDS, TASKS = 12, len(CRIME)
ROUNDS = 3 * TASKS  # the last third judges


def drawn(rates, sizes=CRIME, num=SEEDS * TASKS, seed=0):
    """Draw decisions at these rates about tasks of these sizes, again and again: (num, k, 2, 2)."""
    rng = np.random.default_rng(seed)
    people = np.resize(sizes, (num, len(rates)))
    by_label = np.stack([people - people // 2, people // 2], -1)
    chosen = rng.binomial(by_label, np.array(rates)[:, None])
    return np.stack([by_label - chosen, chosen], -1)


def frame_of(tables, label="a", groups=None, tasks=TASKS):
    """Return rounds as `Store.load` does; each seed judges the same tasks."""
    columns = gap_columns({"sex": tables}, groups or {"sex": ["F", "M"]})
    place = {"label": label, "method": label.split()[0], "data": "crime", "validation": 0.5}
    rows = []
    for i, table in enumerate(tables):
        seed, t = divmod(i, tasks)
        at = {"seed": seed, "round": ROUNDS - tasks + 1 + t, "rounds": ROUNDS, "task": f"task {t}"}
        sizes = {"n_rows": 40, "n_support": 10, "n_validation": int(table.sum()), "seconds": 1.0}
        judged = metrics.judge(table).values
        rows.append(place | at | sizes | judged | {k: v[i] for k, v in columns.items()})
    return pd.DataFrame(rows)


@pytest.fixture(scope="module")
def uneven():
    return frame_of(drawn((0.45, 0.67)))


def values(summary, column="mean", **where):
    for name, value in where.items():
        summary = summary[summary[name] == value]
    return summary.set_index("metric")[column]


def test_unequal_rates_on_small_tasks_do_not_look_even_in_a_comparison(uneven):
    assert uneven["dp_of_ceiling"].mean() > 0.97  # why a mean of ratios is no measure
    found = values(summarise_results(uneven))
    assert found["dp_of_ceiling"] < 0.95
    assert found["typical_gap"] == pytest.approx(0.22, abs=0.04)
    assert found["long_run_gap"] == pytest.approx(0.22, abs=0.04)
    table = markdown_tables(summarise_results(uneven))
    assert "crime (gaps: sex=M)" in table and "| typical gap | long-run gap |" in table
    assert f"| {100 * found['typical_gap']:.1f} (" in table


def test_unequal_rates_on_small_tasks_do_not_look_even_in_a_search(uneven):
    even = frame_of(drawn((0.5, 0.5), seed=1))
    both = [uneven.assign(setting=1, balanced_accuracy=0.9), even.assign(setting=2)]
    table = ranked(pd.concat(both, ignore_index=True), Rule(0.95, 0.5))
    assert list(table.index) == [2, 1] and not table.loc[1, "as_fair"]
    assert table.loc[1, "dp_of_ceiling"] < 0.95
    assert table.loc[1, "typical_gap"] == pytest.approx(0.22, abs=0.04)
    assert table.loc[1, "dp_rounds"] == uneven["dp"].notna().sum()


def test_ratios_are_divided_after_they_are_averaged_in_each_seed(uneven):
    by_seed = uneven.groupby("seed")
    expected = (by_seed["dp"].sum() / by_seed["dp_ceiling"].sum()).mean()
    assert values(summarise_results(uneven))["dp_of_ceiling"] == pytest.approx(expected)
    counts = values(summarise_results(uneven), "rounds")
    assert counts["eo_of_ceiling"] == uneven["eo"].notna().sum() < len(uneven)
    defined = f"{counts['dp_of_ceiling']}, {counts['eo_of_ceiling']} of {len(uneven)}"
    assert f"| {defined} |" in markdown_tables(summarise_results(uneven))


def test_gaps_of_one_seed_are_those_of_a_single_run(uneven):
    one = uneven[uneven["seed"] == 0]
    (found,) = metrics.gap_statistics(drawn((0.45, 0.67))[:TASKS], ["F", "M"])
    summary = values(summarise_results(one))
    assert summary["typical_gap"] == pytest.approx(found.typical)
    assert summary["long_run_gap"] == pytest.approx(found.long_run)
    assert values(summarise_results(one), "rounds")["typical_gap"] == found.rounds


def test_the_typical_gap_of_even_decisions_is_no_mean_of_clipped_numbers():
    """Single seeds show gaps of many points by chance; the mean of their squares does not."""
    even = frame_of(drawn((0.5, 0.5), num=60 * TASKS, seed=3))
    found = summarise_results(even).set_index("metric").loc["typical_gap"]
    assert found["mean"] < 0.06 and found["low"] == 0


def test_seeds_of_opposite_signs_cancel_in_the_long_run_only():
    there, back = (drawn(r, [(400, 400)], TASKS) for r in ((0.3, 0.5), (0.5, 0.3)))
    found = summarise_results(frame_of(np.concatenate([there, back]))).set_index("metric")
    assert found.loc["typical_gap", "mean"] == pytest.approx(0.2, abs=0.02)
    assert abs(found.loc["long_run_gap", "mean"]) < 0.02
    assert found.loc["long_run_gap", "high"] > 1  # and the interval says so


def test_differences_of_typical_gaps_are_those_of_the_table(uneven):
    wide = frame_of(drawn((0.3, 0.8)), label="b")
    both = pd.concat([uneven, wide])
    a, b = (values(summarise_results(both), label=label)["typical_gap"] for label in "ab")
    found = paired_differences(both).set_index("metric").loc["typical_gap"]
    assert found["mean"] == pytest.approx(b - a)
    assert 0 < found["low"] < found["mean"] < found["high"]
    even = frame_of(np.full((TASKS, 2, 2, 2), 5), label="c")  # no gap and nothing to divide by
    none = paired_differences(pd.concat([even, even.assign(label="d")])).set_index("metric")
    assert none.loc["typical_gap", "mean"] == 0 and np.isnan(none.loc["typical_gap", "low"])


def test_the_group_with_the_largest_gap_is_the_one_that_counts():
    sizes, groups = [(60, 60, 60)], {"sex": ["x", "y", "z"]}
    tables = drawn((0.5, 0.55, 0.2), sizes)
    other = drawn((0.9, 0.5, 0.5), sizes)
    frame = pd.concat([frame_of(tables, groups=groups), frame_of(other, "b", groups)])
    summary = summarise_results(frame)
    assert values(summary, "comparison", label="a").unique().tolist() == ["sex=z against y"]
    assert values(summary, label="a")["long_run_gap"] == pytest.approx(-0.35, abs=0.03)
    table = markdown_tables(summary)
    assert "| a (gaps: sex=z against y) |" in table


def test_a_task_has_its_gaps_over_all_seeds():
    tables = drawn((0.45, 0.45), [(200, 200)])
    tables[3::TASKS] = drawn((0.2, 0.7), [(200, 200)], SEEDS)
    means = task_means(frame_of(tables)).set_index("task")
    assert means.loc["task 3", "rounds"] == SEEDS
    assert means.loc["task 3", "squared_gap"] ** 0.5 == pytest.approx(0.5, abs=0.03)
    [row] = summarise_tasks(means.reset_index()).to_dict("records")
    assert (row["least_even"], row["rounds"]) == ("task 3", SEEDS)
    assert row["largest"] == pytest.approx(0.5, abs=0.03) and row["long_run_gap"] > 0.45
    assert row["typical_gap"] == pytest.approx((0.5**2 / TASKS) ** 0.5, abs=0.02)
    assert row["low"] <= row["typical_gap"] < row["high"]


def test_methods_are_compared_at_the_same_typical_gap():
    """At 20 points, a curve from 10 to 30 has gone 3/8 of the way: its squares are 1, 4 and 9."""
    points = [("a", 0.2, 0.8), ("b 1", 0.1, 0.7), ("b 2", 0.3, 0.78)]
    parts = []
    for label, gap, accuracy in points:
        part = frame_of(drawn((0.5, 0.5)), label)
        part = part.assign(**{"gap:sex=M": gap, "gap_square:sex=M": gap**2, "gap_rows:sex=M": 50})
        parts.append(part.assign(balanced_accuracy=accuracy))
    [row] = at_equal_fairness(pd.concat(parts)).to_dict("records")
    assert row["fairness"] == pytest.approx(0.2) and row["curve"] == "as fair"
    assert row["other_accuracy"] == pytest.approx(0.7 + 0.08 * 3 / 8)
    less_fair = [parts[0], parts[2], parts[2].assign(label="b 3")]
    [row] = at_equal_fairness(pd.concat(less_fair)).to_dict("records")
    assert row["curve"] == "less fair" and row["fairness"] == pytest.approx(0.2)
