"""Metrics against fairlearn, scikit-learn, row-by-row resampling and exact expectations."""

import json
import math
import re

import fairlearn.metrics
import numpy as np
import pytest
import scipy.stats
import sklearn.metrics
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ffml import metrics
from ffml.base import FFMLError
from ffml.metrics.summary import summarise

COLUMNS = [
    *("dp", "dp_low", "dp_high", "dp_ceiling", "dp_of_ceiling"),
    *("eo", "eo_low", "eo_high", "eo_ceiling", "eo_of_ceiling", "eo_negatives", "eo_positives"),
    *("disc", "disc_low", "disc_high", "accuracy", "accuracy_low", "accuracy_high"),
    *("balanced_accuracy", "balanced_accuracy_low", "balanced_accuracy_high", "collapsed"),
]

quick = settings(deadline=None, max_examples=60, database=None, derandomize=True)
tables = st.integers(1, 4).flatmap(
    lambda k: arrays(np.int64, (k, 2, 2), elements=st.integers(0, 9) | st.just(0))
)


def random_case(seed):
    """Labels, decisions, groups (2 to 4 of them, some rare), degenerate ones among them."""
    rng = np.random.default_rng(seed)
    num_groups, n = rng.integers(2, 5), rng.integers(1, 100)
    groups = rng.choice(num_groups, n, p=rng.dirichlet(np.full(num_groups, 4.0)))
    labels, decisions = rng.random((2, n)) < rng.beta(1.5, 1.5, (2, 1))
    return labels.astype(int), decisions.astype(int), groups


def rows_of(table):
    """One row for each count: the inverse of `contingency_table`."""
    cells = np.repeat(np.arange(table.size), table.ravel())
    return tuple(np.unravel_index(cells, table.shape)[i] for i in (1, 2, 0))


def undefined_by_rule(labels, decisions, groups):
    """The rule of the module's docstring, spelled out on rows."""
    present, undefined = set(groups), set()
    if len(present) < 2 or len(set(decisions)) < 2:
        undefined |= {"dp", "disc", "eo", "eo_negatives", "eo_positives"}
    for y, name in ((0, "eo_negatives"), (1, "eo_positives")):
        if set(groups[labels == y]) != present or not decisions[labels == y].any():
            undefined |= {"eo", name}
    return undefined | ({"balanced_accuracy"} if len(set(labels)) < 2 else set())


# -- oracles ---------------------------------------------------------------------------------


def test_200_cases_equal_fairlearn():
    cases = [random_case(seed) for seed in range(200)]
    labels, decisions, groups = (np.concatenate(parts) for parts in zip(*cases, strict=True))
    case = np.repeat(np.arange(200), [len(rows) for rows, _, _ in cases])
    # A rate among the rows with label y is that label's true- or false-positive rate; all cases
    # go through one MetricFrame, because one for each case takes a minute.
    oracle = {}
    for key, kept in (("all", labels >= 0), ("0", labels == 0), ("1", labels == 1)):
        frame = fairlearn.metrics.MetricFrame(
            metrics=fairlearn.metrics.selection_rate,
            y_true=labels[kept],
            y_pred=decisions[kept],
            sensitive_features=groups[kept],
            control_features=case[kept],
        )
        oracle[key], oracle[key + "-"] = frame.ratio(), frame.difference()
    seen = dict.fromkeys(("dp", "eo"), 0)
    for i, rows in enumerate(cases):
        table = metrics.contingency_table(*rows, num_groups=4)
        values = {name: metric(table) for name, metric in metrics.METRICS.items()}
        undefined = {name for name, value in values.items() if np.isnan(value)}
        assert undefined == undefined_by_rule(*rows) == set(metrics.undefined_reasons(table))
        if "dp" not in undefined:
            assert values["dp"] == pytest.approx(oracle["all"][i])
            assert values["disc"] == pytest.approx(oracle["all-"][i])
            seen["dp"] += 1
        for name, key in (("eo_negatives", "0"), ("eo_positives", "1")):
            if name not in undefined:
                assert values[name] == pytest.approx(oracle[key][i])
        if "eo" not in undefined:
            assert values["eo"] == pytest.approx(min(oracle["0"][i], oracle["1"][i]))
            seen["eo"] += 1
    assert min(seen.values()) > 100  # most cases are compared, not skipped


def test_public_functions_of_fairlearn():
    compared = 0
    for seed in range(1000, 1012):
        labels, decisions, groups = random_case(seed)
        table = metrics.contingency_table(labels, decisions, groups, num_groups=4)
        for ours, theirs in (
            (metrics.demographic_parity_ratio, fairlearn.metrics.demographic_parity_ratio),
            (metrics.equalized_odds_ratio, fairlearn.metrics.equalized_odds_ratio),
            (metrics.discrimination, fairlearn.metrics.demographic_parity_difference),
        ):
            if not np.isnan(ours(table)):
                expected = theirs(labels, decisions, sensitive_features=groups)
                assert ours(table) == pytest.approx(expected)
                compared += 1
    assert compared > 24


def test_accuracies_equal_scikit_learn():
    for seed in range(200):
        labels, decisions, groups = random_case(seed)
        table = metrics.contingency_table(labels, decisions, groups, num_groups=4)
        expected = sklearn.metrics.accuracy_score(labels, decisions)
        assert metrics.accuracy(table) == pytest.approx(expected)
        if len(set(labels)) == 2:
            expected = sklearn.metrics.balanced_accuracy_score(labels, decisions)
            assert metrics.balanced_accuracy(table) == pytest.approx(expected)
        else:
            assert np.isnan(metrics.balanced_accuracy(table))


def test_group_rows_equal_metric_frame():
    labels, decisions, groups = np.random.default_rng(3).integers(0, 2, (3, 60))
    frame = fairlearn.metrics.MetricFrame(
        metrics={
            "n": fairlearn.metrics.count,
            "selection_rate": fairlearn.metrics.selection_rate,
            "true_positive_rate": fairlearn.metrics.true_positive_rate,
            "false_positive_rate": fairlearn.metrics.false_positive_rate,
            "accuracy": sklearn.metrics.accuracy_score,
        },
        y_true=labels,
        y_pred=decisions,
        sensitive_features=groups,
    )
    table = metrics.contingency_table(labels, decisions, groups, num_groups=2)
    rows = metrics.group_rows(table, ["F", "M"])
    assert [row["group"] for row in rows] == ["F", "M"]
    assert [row["n_label_1"] for row in rows] == [sum(labels[groups == g]) for g in (0, 1)]
    assert [row["n_selected"] for row in rows] == [sum(decisions[groups == g]) for g in (0, 1)]
    for name in frame.by_group.columns:
        assert [row[name] for row in rows] == pytest.approx(frame.by_group[name].tolist())


# -- ceilings and intervals ------------------------------------------------------------------

TWO = np.array([[[20, 6], [5, 9]], [[8, 4], [2, 6]]])
THREE = np.array([[[9, 3], [2, 6]], [[7, 5], [4, 4]], [[6, 2], [3, 5]]])


def ratio(rates):
    return min(rates) / max(rates)


def ratios_of_rows(labels, decisions, groups):
    """DP and EO of well-filled rows, written without tables."""
    codes = range(groups.max() + 1)
    dp = ratio([decisions[groups == g].mean() for g in codes])
    odds = [ratio([decisions[(groups == g) & (labels == y)].mean() for g in codes]) for y in (0, 1)]
    return dp, min(odds)


@pytest.mark.parametrize("table", [TWO, THREE], ids=["two", "three"])
def test_ceilings_equal_row_permutations(table):
    rng = np.random.default_rng(1)
    labels, decisions, groups = rows_of(table)  # ordered by group
    dp, eo = [], []
    for _ in range(3000):
        dp.append(ratios_of_rows(labels, decisions, rng.permutation(groups))[0])
        within = groups.copy()
        for y in (0, 1):
            within[labels == y] = rng.permutation(groups[labels == y])
        eo.append(ratios_of_rows(labels, decisions, within)[1])
    ceilings = metrics.noise_ceilings(table, num_draws=50_000)
    assert ceilings["dp"] == pytest.approx(np.mean(dp), abs=4 * np.std(dp) / math.sqrt(3000))
    assert ceilings["eo"] == pytest.approx(np.mean(eo), abs=4 * np.std(eo) / math.sqrt(3000))


def test_ceilings_equal_the_exact_expectation():
    def ratios(sizes, num_selected):
        """All values of the ratio and their probabilities, for two groups."""
        first = np.arange(max(0, num_selected - sizes[1]), min(sizes[0], num_selected) + 1)
        chance = scipy.stats.hypergeom(sum(sizes), sizes[0], num_selected).pmf(first)
        rates = np.stack([first / sizes[0], (num_selected - first) / sizes[1]])
        return rates.min(0) / rates.max(0), chance

    rows, selected = TWO.sum(-1), TWO[..., 1]
    values, chance = ratios(rows.sum(1), selected.sum())
    at_0, at_1 = (ratios(rows[:, y], selected[:, y].sum()) for y in (0, 1))
    expected_eo = np.minimum.outer(at_0[0], at_1[0]) @ at_1[1] @ at_0[1]
    ceilings = metrics.noise_ceilings(TWO, num_draws=100_000)
    assert ceilings["dp"] == pytest.approx(values @ chance, abs=0.003)
    assert ceilings["eo"] == pytest.approx(expected_eo, abs=0.003)
    assert metrics.noise_ceilings(TWO)["dp"] == pytest.approx(values @ chance, abs=0.02)


def test_a_large_independent_table_has_ceilings_near_1():
    table = 500 * np.array([[[30, 10], [6, 14]], [[15, 5], [3, 7]]])
    judgement = metrics.judge(table)
    assert judgement.values["dp"] == judgement.values["eo"] == 1
    assert 0.97 < judgement.values["eo_ceiling"] < judgement.values["dp_ceiling"] < 1


def test_intervals_equal_row_resampling():
    rng = np.random.default_rng(2)
    rows = np.stack(rows_of(THREE))
    drawn = {name: [] for name in ("dp", "eo", "disc", "accuracy", "balanced_accuracy")}
    for _ in range(3000):
        labels, decisions, groups = rows[:, rng.integers(0, rows.shape[1], rows.shape[1])]
        cells = [(labels == y) & (groups == g) for y in (0, 1) for g in range(3)]
        if not all(cell.any() for cell in cells) or not decisions[labels == 0].any():
            continue
        dp, eo = ratios_of_rows(labels, decisions, groups)
        rates = [decisions[groups == g].mean() for g in range(3)]
        right = labels == decisions
        balanced = (right[labels == 0].mean() + right[labels == 1].mean()) / 2
        values = (dp, eo, max(rates) - min(rates), right.mean(), balanced)
        for name, value in zip(drawn, values, strict=True):
            drawn[name].append(value)
    intervals = metrics.bootstrap_intervals(THREE, num_draws=20_000)
    assert list(intervals) == list(drawn)
    for name, values in drawn.items():
        assert intervals[name] == pytest.approx(np.quantile(values, [0.025, 0.975]), abs=0.03)


def test_an_interval_needs_half_of_the_resamples():
    # Three cells (group, label) hold a single row; a resample has it in 63 % of the cases, so that
    # about a quarter of the resamples have all three and an equalized-odds ratio.
    rare = np.array([[[9, 3], [3, 5]], [[1, 0], [0, 1]], [[4, 5], [1, 0]]])
    judgement = metrics.judge(rare)
    assert judgement.values["eo"] == 0
    assert math.isnan(judgement.values["eo_low"]) and math.isnan(judgement.values["eo_high"])
    assert judgement.undefined["eo_low"] == "undefined in more than half of the resamples"
    assert not math.isnan(judgement.values["dp_low"])


def test_a_resample_without_a_group_does_not_count():
    # Groups 0 and 1 are equal; the lone row of group 2 brings dp to 0 wherever it is drawn.
    table = np.array([[[500, 0], [0, 500]], [[500, 0], [0, 500]], [[1, 0], [0, 0]]])
    assert metrics.demographic_parity_ratio(table) == 0
    assert metrics.bootstrap_intervals(table)["dp"] == (0, 0)


# -- what is undefined, and why --------------------------------------------------------------

FAIRNESS = ("dp", "eo", "eo_negatives", "eo_positives", "disc")


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        (np.zeros((2, 2, 2), int), dict.fromkeys([*metrics.METRICS, "collapsed"], "no rows")),
        (
            np.array([[[4, 1], [1, 4]], [[0, 0], [0, 0]]]),
            dict.fromkeys(FAIRNESS, "only one group has rows"),
        ),
        (
            np.array([[[4, 0], [1, 0]], [[3, 0], [2, 0]]]),
            dict.fromkeys(FAIRNESS, "no favourable decisions"),
        ),
        (
            np.array([[[0, 4], [0, 1]], [[0, 3], [0, 2]]]),
            dict.fromkeys(FAIRNESS, "only favourable decisions"),
        ),
        (
            np.array([[[4, 1], [1, 4]], [[4, 1], [0, 0]]]),
            dict.fromkeys(("eo", "eo_positives"), "group 1 has no rows with the favourable label"),
        ),
        (
            np.array([[[4, 1], [1, 4]], [[0, 0], [0, 0]], [[0, 0], [1, 1]], [[0, 0], [2, 1]]]),
            dict.fromkeys(
                ("eo", "eo_negatives"), "groups 2, 3 have no rows with the unfavourable label"
            ),
        ),
        (
            np.array([[[4, 0], [0, 4]], [[3, 0], [0, 5]]]),
            dict.fromkeys(
                ("eo", "eo_negatives"),
                "no favourable decisions among rows with the unfavourable label",
            ),
        ),
        (
            np.array([[[4, 1], [0, 0]], [[3, 2], [0, 0]]]),
            dict.fromkeys(
                ("eo", "eo_positives", "balanced_accuracy"), "no rows with the favourable label"
            ),
        ),
        (
            np.array([[[4, 0], [0, 0]], [[0, 0], [1, 1]]]),
            {
                "eo": "group 1 has no rows with the unfavourable label; "
                "group 0 has no rows with the favourable label",
                "eo_negatives": "group 1 has no rows with the unfavourable label",
                "eo_positives": "group 0 has no rows with the favourable label",
            },
        ),
    ],
)
def test_reasons(table, expected):
    assert metrics.undefined_reasons(table) == expected


def test_collapse_is_flagged_and_accuracy_stays():
    for decision in (0, 1):
        table = np.zeros((2, 2, 2), int)
        table[:, 0, decision], table[:, 1, decision] = 6, 2
        values = metrics.judge(table).values
        assert values["collapsed"] == 1
        assert values["accuracy"] == (0.75, 0.25)[decision]
        assert values["balanced_accuracy"] == 0.5
        assert all(math.isnan(values[name]) for name in COLUMNS[:15])
    assert metrics.judge(TWO).values["collapsed"] == 0


def test_one_positive_decision_says_nothing():
    judgement = metrics.judge(np.array([[[9, 1], [5, 0]], [[9, 0], [5, 0]]]))
    assert judgement.values["dp"] == judgement.values["dp_ceiling"] == 0
    assert math.isnan(judgement.values["dp_of_ceiling"])
    assert "ceiling is 0" in judgement.undefined["dp_of_ceiling"]


def test_groups_without_rows_are_ignored():
    padded = np.insert(TWO, 1, 0, axis=0)
    for name, metric in metrics.METRICS.items():
        assert metric(padded) == metric(TWO), name
    assert [row["n"] for row in metrics.group_rows(padded)] == [40, 0, 20]
    assert math.isnan(metrics.group_rows(padded)[1]["selection_rate"])


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (([0, 2], [0, 1], [0, 1]), "labels must be codes -1..1, got 2"),
        (([0, 1], [0.0, 0.7], [0, 1]), "decisions must be codes 0..1, got 0.7"),
        (([0, 1], [0, 1], [0, 2]), "groups must be codes 0..1, got 2"),
        (([0, math.nan], [0, 1], [0, 1]), "labels must be codes -1..1, got nan"),
        (([0, 1], [0, 1, 1], [0, 1]), "one value per row"),
    ],
)
def test_rows_are_validated(rows, message):
    with pytest.raises(FFMLError, match=message):
        metrics.contingency_table(*rows, num_groups=2)


def test_settings_are_validated():
    with pytest.raises(FFMLError, match="num_draws must be >= 1, got 0"):
        metrics.noise_ceilings(TWO, num_draws=0)
    with pytest.raises(FFMLError, match="num_draws must be >= 1, got 0"):
        metrics.bootstrap_intervals(TWO, num_draws=0)
    with pytest.raises(FFMLError, match="must name all 2 groups"):
        metrics.judge(TWO, ["F"])
    with pytest.raises(FFMLError, match="at least one judgement"):
        metrics.worst([])


# -- properties ------------------------------------------------------------------------------


@quick
@given(tables)
def test_judgements_are_bounded_explained_and_repeatable(table):
    judgement = metrics.judge(table)
    assert list(judgement.values) == COLUMNS
    for column, value in judgement.values.items():
        if column.endswith("_of_ceiling"):
            assert math.isnan(value) or value >= 0
        else:
            assert math.isnan(value) or 0 <= value <= 1
        # Every NaN has a reason, under its own name or under that of its metric.
        metric = re.sub("(_low|_high|_of_ceiling|_ceiling)$", "", column)
        assert math.isnan(value) == (not judgement.undefined.keys().isdisjoint({column, metric}))
    again = metrics.judge(table.copy())
    assert again.undefined == judgement.undefined
    first, second = (np.array(list(j.values.values())) for j in (judgement, again))
    assert first.tobytes() == second.tobytes()


@quick
@given(tables, st.randoms(use_true_random=False))
def test_group_order_does_not_matter(table, random):
    shuffled = table[random.sample(range(len(table)), len(table))]
    for metric in metrics.METRICS.values():
        np.testing.assert_array_equal(metric(shuffled), metric(table))


@quick
@given(st.lists(arrays(np.int64, (3, 2, 2), elements=st.integers(0, 5)), min_size=1, max_size=4))
def test_leading_axes_and_added_tables(rounds):
    stacked = np.stack(rounds)
    for metric in metrics.METRICS.values():
        np.testing.assert_array_equal(metric(stacked), [metric(table) for table in rounds])
        np.testing.assert_array_equal(metric(stacked[None]), metric(stacked)[None])
    pooled = [np.concatenate(parts) for parts in zip(*map(rows_of, rounds), strict=True)]
    table = metrics.contingency_table(*pooled, num_groups=3)
    assert table.dtype == np.int64
    np.testing.assert_array_equal(metrics.labelled(table), sum(rounds))


# -- several sensitive columns, several rounds -----------------------------------------------


def test_worst_takes_each_metric_from_its_worst_column():
    fair_odds = metrics.judge(np.array([[[8, 2], [5, 5]], [[80, 20], [5, 5]]]))  # eo is 1
    fair_rates = metrics.judge(np.array([[[8, 2], [4, 6]], [[7, 3], [5, 5]]]))  # dp is 1
    combined = metrics.worst([fair_odds, fair_rates])
    assert list(combined.values) == COLUMNS
    for column in COLUMNS[:5] + COLUMNS[12:15]:
        assert combined.values[column] == fair_odds.values[column]
    for column in COLUMNS[5:12]:
        assert combined.values[column] == fair_rates.values[column]
    assert combined.undefined == {}


def test_worst_is_not_the_noisiest_column():
    """A rare group has the lowest ratio by chance alone; the gap is in the other column."""
    uneven = metrics.judge(np.array([[[600, 400], [0, 0]], [[750, 250], [0, 0]]]))  # dp 0.62
    rare = metrics.judge(np.array([[[1344, 649], [0, 0]], [[6, 1], [0, 0]]]))  # dp 0.44
    assert rare.values["dp"] < uneven.values["dp"]
    assert metrics.worst([rare, uneven]).values["dp"] == uneven.values["dp"]
    assert metrics.worst([rare, uneven]).values["disc"] == uneven.values["disc"]


def test_worst_is_undefined_only_if_all_columns_are():
    defined = metrics.judge(TWO)
    alone = metrics.judge(TWO.sum(0, keepdims=True))
    cell = metrics.judge(np.array([[[4, 1], [1, 4]], [[4, 1], [0, 0]]]), ["F", "M"])
    assert metrics.worst([alone, defined]) == defined._replace(
        values=defined.values | {c: alone.values[c] for c in COLUMNS if "accuracy" in c}
    )
    combined = metrics.worst([alone, cell])
    assert combined.values["dp"] == cell.values["dp"]
    assert math.isnan(combined.values["eo"]) and math.isnan(combined.values["eo_ceiling"])
    assert (
        combined.undefined["eo"]
        == "only one group has rows; group M has no rows with the favourable label"
    )
    assert set(combined.undefined) == {"eo", "eo_positives"}


def test_summary_of_rounds():
    rounds = [{"dp": t / 10, "loss": 1.0, "n_validation": 10 * t} for t in range(1, 8)]
    rounds[5]["dp"] = math.nan
    rounds[0]["dbc"], rounds[1]["dbc"] = math.inf, None
    summary = summarise(rounds)
    dp = summary["all"]["columns"]["dp"]
    defined = [0.1, 0.2, 0.3, 0.4, 0.5, 0.7]
    assert dp["mean"] == pytest.approx(np.mean(defined))
    assert dp["std"] == pytest.approx(np.std(defined, ddof=1))
    assert (dp["defined"], dp["undefined"]) == (6, 1)
    last = summary["last_third"]  # rounds 5, 6 and 7: t > 14/3
    assert last["num_rounds"] == 3
    assert last["columns"]["dp"]["mean"] == pytest.approx(0.6)
    assert last["columns"]["dbc"] == {
        "mean": None,
        "std": None,
        "defined": 0,
        "undefined": 3,
    }
    assert summary["all"]["columns"]["dbc"]["defined"] == 1
    assert summary["all"]["columns"]["dbc"]["mean"] is None  # infinite, which JSON cannot hold
    json.dumps(summary, allow_nan=False)
    assert summarise([])["all"] == {"num_rounds": 0, "columns": {}}
