"""The answer of a run from counts: facts, the rule behind them, and the one verdict."""

import numpy as np
import pytest

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
