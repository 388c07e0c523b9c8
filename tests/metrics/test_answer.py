"""The answer of a run from counts: rates, gaps, and the one rule by which a promise is kept."""

import numpy as np
import pytest

from ffml.base import Ratio, SensitiveColumn
from ffml.metrics import ratio_statistics, selection_rates
from ffml.metrics.answer import answer
from ffml.metrics.promise import KEPT, NOT_KEPT, UNCLEAR, verdict_at_most
from ffml.metrics.reliability import reliability, reliability_counts
from ffml.report._answer import rows, sentences
from ffml.runs.gate import MET, VIOLATED, verdict
from ffml.runs.gate import UNCLEAR as TOO_LITTLE
from ffml.runs.gate._asked import gap_findings, pooled_ratio_finding
from ffml.runs.judged import JudgedRounds

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
        ((0.3, 0.5), 40_000, 20, NOT_KEPT),
        ((0.5, 0.3), 40_000, 20, NOT_KEPT),
        ((0.3, 0.34), 60, 20, UNCLEAR),
        ((0.3, 0.3), 40_000, 4, UNCLEAR),  # too few rounds
        ((0.3, 0.9), 40_000, 4, UNCLEAR),
        ((0.0, 0.0), 40_000, 20, UNCLEAR),  # nothing was decided
    ],
)
def test_verdicts(rates, people, rounds, expected):
    assert of_sex(counts(rates, people, rounds))["all"]["notions"][0]["verdict"] == expected


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
        ((0.3, 0.9), 4000, 4, UNCLEAR),  # too few rounds
        ((0.0, 0.0), 4000, 20, UNCLEAR),  # nothing was decided
    ],
)
def test_verdicts_on_a_ratio(rates, people, rounds, expected):
    asked = [("demographic-parity", Ratio(0.8))]
    summary = {"answer": of_sex(counts(rates, people, rounds), asked)}
    [found] = summary["answer"]["all"]["notions"]
    assert (found["verdict"], found["max_gap"], found["min_ratio"]) == (expected, None, 0.8)
    said = " ".join(sentences(summary))
    assert "the rate of the lower group at least 80 % of the higher’s" in said
    assert any(
        row.what.startswith("lower rate in % of the higher, by sex") for row in rows(summary)
    )


def test_a_ratio_is_of_pooled_rates_and_its_interval_holds_it():
    tables = counts((0.2, 0.26), 300, 12)
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
    rng, held = np.random.default_rng(0), 0
    for _ in range(200):
        common = rng.uniform(0.1, 0.5, 15)
        chosen = rng.binomial(150, np.stack([0.8 * common, common], axis=1))
        tables = np.zeros((15, 2, 2, 2), int)
        tables[..., 0, :] = np.stack([150 - chosen, chosen], axis=-1)
        [found] = ratio_statistics(tables)
        held += found.low <= 0.8 <= found.high
    assert 0.9 <= held / 200 <= 0.99


def test_opposite_gaps_that_cancel_are_not_kept():
    tables = counts((0.3, 0.5), 20_000, 12)
    tables[::2] = tables[::2, ::-1]
    [found] = of_sex(tables)["all"]["notions"][0]["columns"]
    assert found["long_run"]["verdict"] != NOT_KEPT == found["typical"]["verdict"]
    assert found["verdict"] == NOT_KEPT


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("notion", ["demographic-parity", "equal-opportunity", "equalized-odds"])
def test_the_gate_gives_the_same_answer(seed, notion):
    rng = np.random.default_rng(seed)
    rates, people = rng.uniform(0.2, 0.35, 3), int(rng.choice([100, 1000, 20_000]))
    tables = {"race": counts(rates, people, 12, seed), "sex": counts(rates[:2], people, 12, seed)}
    found = answer(tables, [RACE, SEX], [(notion, 0.05)])["all"]["notions"][0]["verdict"]
    run = JudgedRounds((RACE, SEX), tables, np.zeros((12, 1)), 12, 12, True, [])
    same = {MET: KEPT, VIOLATED: NOT_KEPT, TOO_LITTLE: UNCLEAR}
    assert same[verdict(gap_findings(run, 0.05, notion))] == found
    found = answer(tables, [RACE, SEX], [(notion, Ratio(0.8))])["all"]["notions"][0]["verdict"]
    assert same[pooled_ratio_finding(run, 0.8, notion).answer] == found


def test_an_interval_that_touches_what_was_asked_is_within_it():
    assert verdict_at_most(0.05, -0.05, 0.05) == KEPT
    assert verdict_at_most(0.05, 0.05, 0.06) == UNCLEAR
    assert verdict_at_most(0.05, np.nan, np.nan) == UNCLEAR


def test_rates_are_of_the_people_of_the_last_third():
    tables = counts((0.2, 0.4), 100, 9)
    found = of_sex(tables)["last_third"]
    pooled = tables[6:].sum(0)
    assert (found["first_round"], found["last_round"], found["people"]) == (7, 9, pooled.sum())
    groups = found["notions"][0]["columns"][0]["rates"][0]["groups"]
    expected = pooled[..., 1].sum(1) / pooled.sum((1, 2))
    assert [g["rate"] for g in groups] == expected.tolist()
    assert found["positive_share"] == pooled[..., 1].sum() / pooled.sum()
    assert found["label_share"] == 0.5


def test_sentences_and_rows_by_notion():
    summary = {"answer": answer({"race": counts((0.2, 0.3, 0.4), 400, 9)}, [RACE], ASKED)}
    said = " ".join(sentences(summary))
    assert "with label 1 were decided positively (the lowest and the highest of 3 groups)" in said
    assert "Asked for: equal opportunity within 10 points." in said
    assert "Asked for: dbc within 0.02, which the rates above do not measure" in said
    assert "equal opportunity within 10 points: kept?" in [row.what for row in rows(summary)]
    assert all(np.char.str_len(row) for row in rows(summary) for row in row)


ASKED = [("equal-opportunity", 0.1), ("dbc", 0.02)]


def test_nothing_asked_has_rates_and_gaps_but_no_verdict():
    summary = {"answer": of_sex(counts((0.2, 0.4)), [("demographic-parity", None)])}
    said = " ".join(sentences(summary))
    assert "Asked for: no fairness." in said and "Got by sex: a long-run gap of" in said
    assert "kept" not in said and not [row for row in rows(summary) if "kept" in row.what]


def test_nobody_judged_and_groups_without_anybody():
    nobody = {"answer": of_sex(np.zeros((6, 2, 2, 2), int))}
    assert "By sex, nobody was judged." in sentences(nobody)
    tables = counts((0.2, 0.4, 0.3), 2000, 9)
    tables[:, 1] = 0
    [found] = answer({"race": tables}, [RACE], [("demographic-parity", 0.05)])["all"]["notions"]
    assert [g["group"] for g in found["columns"][0]["rates"][0]["groups"]] == ["A", "C"]


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
