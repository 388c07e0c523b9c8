"""The alarm of a run: comparisons share one chance, the strongest answers, and it stands."""

import numpy as np
import pytest

from ffml.base import Ratio, SensitiveColumn
from ffml.metrics import gap_alarms
from ffml.metrics.alarm import alarm_sentence, column_alarms, notion_alarm
from ffml.metrics.answer import answer
from ffml.report.notes import useless_warning

SEX, AGE = SensitiveColumn("sex", ("F", "M")), SensitiveColumn("age", ("old", "young"))
EVEN = np.tile([[[50, 50], [0, 0]], [[50, 50], [0, 0]]], (12, 1, 1, 1))
UNEVEN = np.tile([[[60, 40], [0, 0]], [[40, 60], [0, 0]]], (12, 1, 1, 1))
TABLES, COLUMNS = {"sex": UNEVEN, "age": EVEN}, (AGE, SEX)
MONTHS = [f"2024-{month:02d}" for month in range(1, 13)]
DP = "demographic-parity"


def test_columns_share_one_chance_and_the_strongest_answers():
    found = column_alarms(TABLES, COLUMNS, [(DP, 0.05)])
    (alone,) = gap_alarms(UNEVEN, 0.05, SEX.groups, alpha=0.025)
    (alarm,) = found[DP, 0.05, "sex"]
    assert alarm.round == alone.round == 3
    np.testing.assert_array_equal(alarm.log_wealth, alone.log_wealth)
    told = notion_alarm(found, DP, 0.05, MONTHS)
    assert (told["column"], told["round"], told["task"]) == ("sex", 4, "2024-04")
    assert alarm_sentence(told, "5 points").startswith(
        "Alarm in round 4 (2024-04): up to then some task broke 5 points (sex: M above F; evidence "
    )


def test_notions_share_the_chance_too():
    asked = [(DP, 0.3), ("equalized-odds", 0.05)]
    found = column_alarms(TABLES, COLUMNS, asked)
    assert {round(np.exp(one.log_needed)) for many in found.values() for one in many} == {120}
    none = notion_alarm(found, DP, 0.3, MONTHS)
    assert none["round"] is None and "No alarm so far" in alarm_sentence(none, "30 points")
    assert column_alarms(TABLES, COLUMNS, [(DP, None), ("dbc", 0.1)]) == {}


def test_a_ratio_has_an_alarm_as_well():
    (alarm,) = gap_alarms(UNEVEN, Ratio(0.8), SEX.groups)
    assert alarm.round is not None and alarm.higher
    (swapped,) = gap_alarms(UNEVEN[:, ::-1], Ratio(0.8))
    assert swapped.round == alarm.round and not swapped.higher
    assert gap_alarms(UNEVEN, Ratio(0.6))[0].round is None  # 40 of 60 is two thirds
    assert gap_alarms(EVEN, Ratio(1.0))[0].round is None


def test_a_gap_and_a_ratio_of_one_notion_have_alarms_of_their_own():
    """Rates of 2 and 4 of 100: two points apart, and one half of the other."""
    rates = np.tile([[[98, 2], [0, 0]], [[96, 4], [0, 0]]], (60, 1, 1, 1)) * 10
    for asked in ([(DP, 0.05), (DP, Ratio(0.8))], [(DP, Ratio(0.8)), (DP, 0.05)]):
        told = {one["min_ratio"]: one for one in answer({"sex": rates}, [SEX], asked)["notions"]}
        assert told[0.8]["alarm"]["round"] is not None and told[0.8]["verdict"] == "not kept"
        assert told[None]["alarm"]["round"] is None and told[None]["verdict"] == "kept so far"
    early = np.concatenate([10 * UNEVEN, 10 * np.tile(EVEN, (9, 1, 1, 1))])  # a gap that is past
    asked = [(DP, 0.05), (DP, Ratio(0.5))]
    gap, ratio = answer({"sex": early}, [SEX], asked)["notions"]
    assert gap["alarm"]["round"] is not None and gap["verdict"] == "not kept"
    assert ratio["alarm"]["round"] is None and ratio["verdict"] != "not kept"


@pytest.mark.parametrize("least", [0.5, 0.8, 1.0])
def test_false_alarms_of_ratios_at_the_very_bound(least):
    alarms = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        chosen = rng.binomial(30, [0.4 * least, 0.4], (400, 2))
        tables = np.stack([30 - chosen, chosen], -1)[:, :, None]
        alarms += gap_alarms(tables, Ratio(least))[0].round is not None
    assert alarms <= 0.05 * 200


def test_what_was_raised_stands_whatever_labels_come():
    before = answer(TABLES, COLUMNS, [("equal-opportunity", 0.05)], MONTHS)
    assert before["notions"][0]["alarm"]["round"] is None
    biased = {name: table[:, :, ::-1] for name, table in TABLES.items()}  # all have label 1
    raised = answer(biased, COLUMNS, [("equal-opportunity", 0.05)], MONTHS)["notions"][0]["alarm"]
    assert raised["round"] == 4
    after = answer(TABLES, COLUMNS, [("equal-opportunity", 0.05)], MONTHS, raised=[raised])
    assert after["notions"][0]["alarm"] == raised
    assert after["notions"][0]["verdict"] == "not kept"


def test_a_learner_that_never_tells_people_apart_is_warned_of():
    def warning(collapsed, judged):
        summary = {"all": {"accuracy": {"defined": judged}}, "collapsed_rounds": collapsed}
        return useless_warning(summary)

    assert "everybody got the same decision in each of the 3 rounds" in warning(3, 3)
    assert "in the one round that was judged" in warning(1, 1)
    assert warning(2, 3) == warning(0, 0) == ""
