"""The answer of a run from counts: facts, the rule behind them, and the one verdict."""

import re

import numpy as np
import pytest
from scipy import stats

from ffml.base import Ratio, SensitiveColumn
from ffml.metrics import ratio_statistics, selection_rates, words
from ffml.metrics.answer import answer
from ffml.metrics.reliability import reliability, reliability_counts
from ffml.metrics.verdict import (
    KEPT,
    NOT_KEPT,
    SO_FAR,
    UNCLEAR,
    UNMEASURABLE,
    Evidence,
    Interval,
    more_people,
    verdict,
)
from ffml.report.answer import details, sentences

SEX = SensitiveColumn("sex", ("F", "M"))
RACE = SensitiveColumn("race", ("A", "B", "C"))


def counts(rates, people=200, rounds=9, seed=0):
    """Draw rounds in which each group has a rate of positive decisions; every second label is 1."""
    rng = np.random.default_rng(seed)
    chosen = rng.binomial(people // 2, np.array(rates)[:, None], (rounds, len(rates), 2))
    return np.stack([people // 2 - chosen, chosen], axis=-1)


def of_sex(tables, asked=(("demographic-parity", 0.05),)):
    return answer({"sex": tables}, [SEX], asked)


@pytest.mark.parametrize(
    ("rates", "people", "rounds", "expected"),
    [
        ((0.3, 0.3), 40_000, 20, KEPT),
        ((0.3, 0.3), 600, 30, KEPT),
        ((0.3, 0.5), 40_000, 20, NOT_KEPT),
        ((0.5, 0.3), 40_000, 20, NOT_KEPT),
        ((0.3, 0.34), 60, 20, UNCLEAR),
        ((0.3, 0.3), 40_000, 4, SO_FAR),  # too few rounds to tell of those to come
        ((0.3, 0.9), 40_000, 4, NOT_KEPT),  # but not for what happened
        ((0.0, 0.0), 40_000, 20, UNCLEAR),  # nothing was decided
    ],
)
def test_verdicts(rates, people, rounds, expected):
    assert of_sex(counts(rates, people, rounds))["notions"][0]["verdict"] == expected


@pytest.mark.parametrize(
    ("rates", "people", "rounds", "expected"),
    [
        ((0.3, 0.3), 4000, 20, KEPT),
        ((0.3, 0.34), 4000, 20, KEPT),  # 0.88
        ((0.3, 0.5), 4000, 20, NOT_KEPT),
        ((0.5, 0.3), 4000, 20, NOT_KEPT),
        ((0.0, 0.3), 4000, 20, NOT_KEPT),
        ((0.02, 0.04), 4000, 20, NOT_KEPT),  # two points, but twice as often
        ((0.24, 0.3), 400, 20, UNCLEAR),
        ((0.3, 0.35), 4000, 4, SO_FAR),  # too few rounds to tell of those to come
        ((0.0, 0.0), 4000, 20, UNCLEAR),  # nothing was decided
    ],
)
def test_verdicts_on_a_ratio(rates, people, rounds, expected):
    asked = [("demographic-parity", Ratio(0.8))]
    summary = {"answer": of_sex(counts(rates, people, rounds), asked)}
    [found] = summary["answer"]["notions"]
    assert (found["verdict"], found["max_gap"], found["min_ratio"]) == (expected, None, 0.8)
    said = " ".join(sentences(summary))
    assert "you asked for 80 %" in said


def test_what_a_verdict_follows_from():
    unknown, so_far, to_come = Interval(np.nan, np.nan), Interval(0.0, 0.045), Interval(0.0, 0.05)
    kept = Evidence(0.05, 0.04, so_far, to_come, typical=0.04, alarm=False)
    assert verdict(kept) == KEPT
    for change, told in (
        ({"fact": 0.051}, UNCLEAR),
        ({"fact": np.nan}, UNCLEAR),
        ({"to_come": Interval(0.0, 0.051)}, SO_FAR),
        ({"to_come": unknown}, SO_FAR),
        ({"to_come": unknown, "typical": 0.051}, UNCLEAR),
        ({"to_come": unknown, "so_far": Interval(0.0, 0.051)}, UNCLEAR),
        ({"to_come": unknown, "so_far": unknown}, UNCLEAR),
        ({"measurable": False}, UNMEASURABLE),
        ({"alarm": True}, NOT_KEPT),
        ({"alarm": True, "measurable": False}, NOT_KEPT),
        ({"to_come": Interval(0.051, 0.06)}, NOT_KEPT),
        ({"so_far": Interval(0.051, 0.06)}, NOT_KEPT),
    ):
        assert verdict(kept._replace(**change)) == told, change


def test_how_many_more_people():
    assert more_people(0.05, 0.0, 0.1, 1000) == 3000
    assert more_people(0.05, 0.06, 0.1, 1000) is more_people(0.05, 0.0, 0.04, 1000) is None
    said = words.sentences(of_sex(counts((0.3, 0.31), 50, 12, seed=1)))
    assert "with 95 % confidence; for 5 points, about" in said[1]


def test_the_largest_difference_is_between_any_two_groups():
    """Each group is within 5 points of all others together, and two of them are 8 apart."""
    tables = counts((0.3, 0.34, 0.38), 20_000, 12)
    (found,) = answer({"race": tables}, [RACE], [("demographic-parity", 0.05)])["notions"]
    assert found["verdict"] == NOT_KEPT
    assert (found["fact"]["highest"], found["fact"]["lowest"]) == ("C", "A")
    assert found["fact"]["gap"] == pytest.approx(0.08, abs=0.005)
    assert found["columns"][0]["pooled"]["higher"] == "C"


def test_early_gaps_are_not_forgotten():
    tables = np.concatenate([counts((0.3, 0.5), 1000, 6), counts((0.3, 0.33), 1000, 60)])
    (found,) = of_sex(tables)["notions"]
    assert found["alarm"]["round"] is not None and found["verdict"] == NOT_KEPT


def test_a_ratio_is_of_pooled_rates_and_its_interval_holds_it():
    tables = counts((0.2, 0.26), 300, 24)
    [found] = ratio_statistics(tables)
    low, high = sorted(selection_rates(tables.sum(0)))
    assert found.ratio == pytest.approx(low / high) and found.low < found.ratio < found.high <= 1
    [swapped] = ratio_statistics(tables[:, ::-1])
    np.testing.assert_allclose(swapped[1:4], found[1:4], rtol=1e-9)
    [nobody] = ratio_statistics(tables * [0, 1])  # everybody is decided positively
    assert nobody.ratio == 1
    assert np.isnan(ratio_statistics(tables * [1, 0])[0].ratio)


def test_intervals_of_ratios_hold_the_truth_as_often_as_they_say():
    """Rates differ by task as well as by chance; the ratio of the expected rates is 0.8."""
    rng, held, told = np.random.default_rng(0), 0, 0
    for _ in range(200):
        common = rng.uniform(0.1, 0.5, 15)
        chosen = rng.binomial(150, np.stack([0.8 * common, common], axis=1))
        tables = np.zeros((15, 2, 2, 2), int)
        tables[..., 0, :] = np.stack([150 - chosen, chosen], axis=-1)
        [found] = ratio_statistics(tables)
        held += found.low <= 0.8 <= found.high
        told += np.isfinite(found.low)
    assert told > 120 and (held + 200 - told) / 200 >= 0.93


def test_opposite_gaps_that_cancel_are_not_kept():
    tables = counts((0.3, 0.5), 20_000, 12)
    tables[::2] = tables[::2, ::-1]
    [found] = of_sex(tables)["notions"]
    column = found["columns"][0]
    assert column["pooled"]["low"] < 0.05 < column["typical"]["low"]
    assert found["verdict"] == NOT_KEPT


def test_facts_are_of_everybody():
    tables = counts((0.2, 0.4), 100, 9)
    found, pooled = of_sex(tables), tables.sum(0)
    assert (found["rounds"], found["people"]) == (9, pooled.sum())
    groups = found["notions"][0]["columns"][0]["facts"][0]["groups"]
    expected = pooled[..., 1].sum(1) / pooled.sum((1, 2))
    assert [g["rate"] for g in groups] == expected.tolist()
    assert found["positive_share"] == pooled[..., 1].sum() / pooled.sum()
    assert found["label_share"] == 0.5


def test_sentences_by_notion():
    found = answer({"race": counts((0.2, 0.3, 0.4), 400, 9)}, [RACE], ASKED, favourable="hired")
    summary = {"answer": found}
    said = " ".join(sentences(summary))
    assert "39.7 of 100 C and 22.6 of 100 A whose label is hired were hired (by race, the" in said
    assert "the highest and the lowest of 3 groups): 17.1 points apart, you allowed 10." in said
    assert "dbc within 0.02 is about scores" in said


ASKED = [("equal-opportunity", 0.1), ("dbc", 0.02)]


def test_nothing_asked_has_rates_and_gaps_but_no_verdict():
    summary = {"answer": of_sex(counts((0.2, 0.4)), [("demographic-parity", None)])}
    said = " ".join(sentences(summary))
    assert "points apart." in said and "ept" not in said
    more = " ".join(details(summary))
    assert "Within tasks by sex, M above F: a long-run gap of" in more and "ept" not in more


def test_nobody_judged_and_groups_without_anybody():
    nobody = {"answer": of_sex(np.zeros((6, 2, 2, 2), int))}
    assert "nobody was decided about" in sentences(nobody)[0] and nobody["answer"]["now"] is None
    tables = counts((0.2, 0.4, 0.3), 2000, 9)
    tables[:, 1] = 0
    [found] = answer({"race": tables}, [RACE], [("demographic-parity", 0.05)])["notions"]
    assert [g["group"] for g in found["columns"][0]["facts"][0]["groups"]] == ["A", "C"]


def test_reliability_counts_everybody_once():
    rng = np.random.default_rng(0)
    said = np.concatenate([rng.random(20_000), [0.0, 1.0, 0.5]])
    labels = rng.random(len(said)) < said
    found = reliability_counts(said, labels)
    np.testing.assert_allclose(found.sum(0), [len(said), labels.sum(), said.sum()])
    told = reliability(found)
    assert sum(one["people"] for one in told["bins"]) == len(said) and told["error"] < 0.02
    assert reliability(reliability_counts(said, said < 0))["error"] == pytest.approx(said.mean())
    assert reliability(np.zeros((10, 3))) == {"bins": [], "error": None}


def falsely(told, rates, sizes, streams=100, asked=(("demographic-parity", 0.05),)):
    """Return how often a verdict is given on decisions drawn at these rates, ``(T, 2)``."""
    found = 0
    for seed in range(streams):
        chosen = np.random.default_rng(seed).binomial(sizes, rates)
        tables = np.zeros((*sizes.shape, 3, 2), int)
        tables[:, :, 2] = np.stack([sizes - chosen, chosen], -1)  # nobody has a label
        found += of_sex(tables, asked)["notions"][0]["verdict"] in told
    return found / streams


def test_gaps_of_opposite_signs_in_tasks_of_a_hundred_people_are_not_kept():
    """Six points in every task, five asked; every second task prefers the other group."""
    sizes = np.full((150, 2), 50)
    rates = np.stack([np.full(150, 0.4), 0.4 + 0.06 * (-1) ** np.arange(150)], 1)
    assert falsely((KEPT,), rates, sizes, 30) == 0
    tables = counts((0.4, 0.52), 50, 150, seed=1)
    tables[::2] = tables[::2, ::-1]
    [found] = of_sex(tables, [("demographic-parity", 0.1)])["notions"]
    assert found["columns"][0]["typical"]["value"] > 0.1 > found["fact"]["gap"]
    assert found["verdict"] == UNCLEAR and found["alarm"]["round"] is None


@pytest.mark.parametrize(("tasks", "people", "gap"), [(250, 8, 0.07), (200, 25, 0.06)])
def test_gaps_of_opposite_signs_in_tasks_of_a_few_people_are_not_kept(tasks, people, gap):
    """Tasks of so few people cannot tell whether opposite gaps cancel, so that of those to come
    nothing is said."""
    sizes = np.full((tasks, 2), people)
    signs = np.random.default_rng(0).choice([-1, 1], tasks)
    assert falsely((KEPT,), np.stack([np.full(tasks, 0.4), 0.4 + gap * signs], 1), sizes) <= 0.03
    found = of_sex(counts((0.4, 0.4), 8, 1400))
    [notion] = found["notions"]
    assert notion["verdict"] == SO_FAR and notion["rule"]["small_tasks"]
    assert "opposite gaps in tasks of so few people" in words.rule_sentence(found, notion)


@pytest.mark.parametrize(("tasks", "people", "low"), [(100, 100, 0.375), (200, 25, 0.3)])
def test_ratios_of_opposite_tasks_do_not_cancel(tasks, people, low):
    """Half against less than 80 % of it in every task, and even among all people."""
    rates = np.tile([0.5, low], (tasks, 1))
    rates[::2] = rates[::2, ::-1]
    sizes = np.full((tasks, 2), people)
    ask = [("demographic-parity", Ratio(0.8))]
    assert falsely((KEPT, SO_FAR), rates, sizes, asked=ask) <= 0.03
    tables = counts((0.5, low), people, tasks)
    tables[::2] = tables[::2, ::-1]
    [notion] = of_sex(tables, ask)["notions"]
    within = notion["columns"][0]["within"]
    assert within["low"] < low / 0.5 < within["high"] < 0.9 < notion["fact"]["ratio"]


def test_a_gap_that_is_the_same_in_a_few_large_tasks_is_known_well():
    """Its square does not spread as that of gaps of both signs would."""
    tables = counts((0.4, 0.44), 40_000, 12, seed=2)
    [notion] = of_sex(tables)["notions"]
    typical = notion["columns"][0]["typical"]
    assert 0.035 < typical["value"] < typical["high"] < 0.05 and notion["verdict"] == KEPT


def test_a_gap_of_exactly_what_is_allowed_is_within_it():
    tables = np.tile([[[0, 0], [50, 50], [0, 0]], [[0, 0], [45, 55], [0, 0]]], (12, 1, 1, 1))
    found = of_sex(tables)
    [notion] = found["notions"]
    assert 0.05 < notion["fact"]["gap"] < 0.05 + 1e-9  # as floating point has it
    said = words.verdict_sentences(found, notion)
    assert "5.0 points apart, you allowed 5." in said[0] and "chance alone" not in said[1]


def test_a_gap_just_beyond_the_bound_does_not_look_like_it():
    tables = np.zeros((1, 2, 3, 2), int)
    tables[0, :, 2] = [[60_000, 40_000], [54_980, 45_020]]
    said = words.sentences(of_sex(tables))
    assert "5.02 points apart, you allowed 5." in said[0]


def test_no_number_of_people_would_tell_where_the_fact_is_beyond_the_bound():
    """Far apart in one large task, and even in small ones: more of the same are not within it."""
    tables = np.concatenate([counts((0.35, 0.44), 900, 1), counts((0.4, 0.4), 60, 9, seed=5)])
    found = of_sex(tables)
    [notion] = found["notions"]
    assert notion["fact"]["gap"] > 0.05 > notion["rule"]["typical"]
    assert "chance alone may have made the fact" in words.rule_sentence(found, notion)
    assert notion["rule"]["so_far"]["more_people"] is None


def test_who_has_nobody_to_compare_with_is_told_so():
    """Four people of F have no label, so that nobody is compared among those who have one."""
    tables = np.zeros((2, 2, 3, 2), int)
    tables[:, 0, 2], tables[:, 1, :2], tables[:, 1, 2] = 1, 75, 150
    found = of_sex(tables, [("equalized-odds", 0.05)])
    fact, rule = words.verdict_sentences(found, found["notions"][0])
    assert fact.endswith("(by sex): nobody to compare with.")
    assert rule == "Whether the rule behind it keeps 5 points cannot be told yet: " + (
        "nobody to compare with."
    )


def test_the_column_that_cannot_be_compared_is_named():
    tables = counts((0.3, 0.3), 1000, 12)
    alone = np.zeros_like(tables)
    alone[:, 0] = tables.sum(1)
    region = SensitiveColumn("region", ("N", "S"))
    asked = [("demographic-parity", 0.05)]
    found = answer({"sex": tables, "region": alone}, [SEX, region], asked)
    said = words.rule_sentence(found, found["notions"][0])
    assert said.endswith("cannot be told yet: by region, only one group has rows.")


def test_there_is_no_ratio_of_rates_of_0():
    tables = counts((0.0, 0.0), 100, 6)
    found = of_sex(tables, [("demographic-parity", Ratio(0.8))])
    said = words.fact_sentence(found, found["notions"][0])
    assert said.endswith("no rate is above 0, so that there is no ratio; you asked for 80 %.")
    assert "no rate is above 0, so that there is no ratio (asked 80)" in words.now_lines(found)[0]
    assert "−0.0" not in " ".join(details({"answer": of_sex(tables)}))


def test_gaps_within_tasks_are_judged_where_people_of_the_label_meet():
    """F and M meet in every task, but hardly ever with the favourable label."""
    tables = np.zeros((20, 2, 3, 2), int)
    tables[:, :, 0] = 20
    tables[::2, 0, 1], tables[1::2, 1, 1] = 100, 100
    (found,) = of_sex(tables, [("equal-opportunity", 0.05)])["notions"]
    assert found["verdict"] in (KEPT, SO_FAR) and not found["columns"][0]["judged_by_task"]


def test_chance_is_that_of_the_people_a_gap_within_tasks_rests_on():
    """Most people are of one group, or in tasks of one group; the gap rests on others."""
    minority = np.array([[3000, 60]])  # of whom nobody and 5 of 100 are decided favourably
    assert falsely((NOT_KEPT,), [[0.0, 0.05]], minority) <= 0.03
    branches = np.array([[1000, 1], [1, 1000]] * 10 + [[50, 50]])
    rates = np.full(branches.shape, 0.01)
    rates[-1] = 0.45, 0.55  # the one in which both are met
    assert falsely((KEPT, SO_FAR), rates, branches) <= 0.03


@pytest.mark.parametrize("bound", [0.05, Ratio(0.8)])
def test_of_tasks_to_come_nothing_is_told_if_the_newest_is_beyond_the_bound(bound):
    """What was kept in 100 months may be kept so far, but this month tells of those to come."""
    even, apart = counts((0.4, 0.4), 250, 100), counts((0.3, 0.5), 250, 1)
    asked = [("demographic-parity", bound)]
    [before] = of_sex(np.concatenate([even, even[:1]]), asked)["notions"]
    found = of_sex(np.concatenate([even, apart]), asked)
    [after] = found["notions"]
    assert (before["verdict"], after["verdict"]) == (KEPT, SO_FAR)
    limit = "80 %" if isinstance(bound, Ratio) else "5 points"
    said = words.rule_sentence(found, after)
    assert f"of tasks to come it cannot be told yet (the newest task is beyond {limit})." in said
    [pooled] = answer({"sex": np.concatenate([even, apart])}, [SEX], asked, by_task=False)[
        "notions"
    ]
    assert pooled["verdict"] == KEPT  # rounds tell nothing


def test_what_is_new_names_groups_of_a_few_people_and_does_not_compare_them():
    tables = np.array([[[[0, 0], [40, 60]], [[0, 0], [45, 55]], [[0, 0], [2, 0]]]])
    found = answer({"race": tables}, [RACE], [("demographic-parity", 0.05)])
    said = words.now_lines(found)[0]
    assert "A 60.0 of 100, B 55.0 of 100, gap 5.0 points (asked 5), too few to tell: C" in said


def test_a_typical_gap_names_its_own_groups():
    """B and C take turns in being ahead; A is always a little ahead of both."""
    rounds = [
        counts((0.56, b, c), 400, 1, t)[0] for t, (b, c) in enumerate([(0.3, 0.7), (0.7, 0.3)] * 4)
    ]
    found = answer({"race": np.array(rounds)}, [RACE], [("demographic-parity", 0.05)])
    (column,) = found["notions"][0]["columns"]
    assert "A" in (column["long_run"]["higher"], column["long_run"]["lower"])
    assert {column["typical"]["higher"], column["typical"]["lower"]} == {"B", "C"}
    (said,) = (one for one in details({"answer": found}) if one.startswith("Within tasks"))
    assert re.search(r"between (B and C|C and B)\.$", said)


def test_of_several_groups_those_are_named_of_whom_least_can_be_told():
    tables = counts((0.5, 0.5, 0.5), rounds=6)
    tables[:, 2] //= 12  # a group of 48 people
    (notion,) = answer({"race": tables}, [RACE], [("demographic-parity", 0.05)])["notions"]
    assert notion["rule"]["so_far"]["widest"][1] == ["C", int(tables[:, 2].sum())]
    said = words.rule_sentence({"by_task": True}, notion)
    assert f"against C, 1,200 and {tables[:, 2].sum()} people)" in said
    (of_two,) = of_sex(counts((0.5, 0.5), people=60))["notions"]
    assert of_two["verdict"] == UNCLEAR and "against" not in words.rule_sentence(
        {"by_task": 1}, of_two
    )


def test_kept_is_no_more_than_what_is_known_of_these_tasks():
    """Large tasks are close to the bound, and who is in which hides it from the pooled rates."""
    rng = np.random.default_rng(0)
    large = rng.random(40) < 0.4
    people = np.where(large, rng.integers(3000, 6000, 40), rng.integers(300, 600, 40))
    gap = np.where(large, rng.uniform(0.05, 0.06, 40), rng.uniform(-0.02, 0.02, 40))
    level, share = np.where(large, [[0.5], [0.45]], [[0.2], [0.65]])
    sizes = (people * np.stack([1 - share, share])).astype(int).T
    chosen = (sizes * np.stack([level - gap / 2, level + gap / 2], 1)).round().astype(int)
    tables = np.zeros((40, 2, 3, 2), int)
    tables[:, :, 2] = np.stack([sizes - chosen, chosen], -1)
    found = of_sex(tables)
    (notion,) = found["notions"]
    within = (gap * sizes.prod(1) / sizes.sum(1)).sum() / (sizes.prod(1) / sizes.sum(1)).sum()
    high = notion["rule"]["so_far"]["high"]
    assert notion["fact"]["gap"] < 0.025 and within > 0.047 and high > 0.05
    assert notion["rule"]["high"] < 0.05 and notion["verdict"] == UNCLEAR
    assert f"on average within {100 * high:.1f} points" in words.rule_sentence(found, notion)


FEW = SensitiveColumn("race", tuple("ABCDEFGHIJKL"))


def with_few(rates, people, few, seed=0):
    """Draw two large groups and several of a few people, whose labels nobody knows."""
    sizes = np.array([people, people, *few])
    tables = np.zeros((8, len(sizes), 3, 2), int)
    rng = np.random.default_rng(seed)
    parts = rng.multinomial(sizes, np.full(8, 1 / 8)).T
    chosen = rng.binomial(parts, rates)
    tables[:, :, 2] = np.stack([parts - chosen, chosen], -1)
    return tables


@pytest.mark.parametrize("bound", [0.05, Ratio(0.8)])
def test_a_small_group_that_is_far_off_beyond_chance_is_not_kept(bound):
    """All 20 of C are refused, where 45 of 100 others are approved: that was "kept"."""
    asked = [("demographic-parity", bound)]
    found = answer({"race": with_few([0.45, 0.45, 0.0], 12_000, [20])}, [RACE], asked)
    (notion,) = found["notions"]
    assert notion["verdict"] == NOT_KEPT and notion["fact"]["lowest"] != "C"
    most = stats.binomtest(0, 20).proportion_ci(1 - 2 * 0.025 / 12, method="exact").high
    apart = 1 - most / 0.45 if isinstance(bound, Ratio) else 0.45 - most  # 6 comparisons, 2 rates
    assert notion["rule"]["so_far"]["low"] == pytest.approx(apart, abs=0.03)
    said = words.rule_sentence(found, notion)
    assert "(that far for C against " in said and ", 20 and 12,000 people)" in said
    few = with_few([0.45, 0.45, 0.4], 12_000, [20])
    assert answer({"race": few}, [RACE], asked)["notions"][0]["verdict"] in (KEPT, SO_FAR)


@pytest.mark.parametrize("rate", [0.03, 0.5])
@pytest.mark.parametrize("bound", [0.0, 0.05, Ratio(0.9)])
def test_small_groups_that_differ_by_chance_are_seldom_not_kept(rate, bound):
    told = [
        answer(
            {"race": with_few(rate, 900, [25] * 10, seed)}, [FEW], [("demographic-parity", bound)]
        )
        for seed in range(100)
    ]
    between = [one["notions"][0]["rule"]["so_far"] for one in told]
    most = 1 - bound.least if isinstance(bound, Ratio) else bound
    assert sum(bool(one["between"]) and one["low"] > most for one in between) <= 3


def test_a_gap_within_tasks_is_said_to_be_one():
    """Everybody pooled is 17 points apart; within each task it is 20."""
    rounds = [(0.1, 0.3), (0.5, 0.7)] * 6
    sizes = np.array([[600, 400], [400, 600]] * 6)  # who is in which task evens it out a little
    tables = np.zeros((12, 2, 3, 2), int)
    chosen = (sizes[:, ::-1] * np.array(rounds)).round().astype(int)
    tables[:, :, 2] = np.stack([sizes[:, ::-1] - chosen, chosen], -1)
    found = of_sex(tables)
    rule = found["notions"][0]["rule"]["so_far"]
    fact = found["notions"][0]["fact"]["gap"]
    assert rule["within"] and rule["pooled_low"] < fact
    said = words.rule_sentence(found, found["notions"][0])
    assert f"at least {100 * rule['low']:.1f} points within tasks with 95 % confidence" in said
