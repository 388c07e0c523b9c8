"""The alarm of a run: the strongest comparison answers, and words say what it stands for."""

import numpy as np

from ffml.base import SensitiveColumn
from ffml.metrics import gap_alarms
from ffml.metrics.alarm import alarm_sentence, alarm_summary, column_alarms, strongest_alarm
from ffml.report._answer import sentences
from ffml.report._warnings import useless_warning

SEX, AGE = SensitiveColumn("sex", ("F", "M")), SensitiveColumn("age", ("old", "young"))
EVEN = np.tile([[[50, 50], [0, 0]], [[50, 50], [0, 0]]], (12, 1, 1, 1))
UNEVEN = np.tile([[[60, 40], [0, 0]], [[40, 60], [0, 0]]], (12, 1, 1, 1))
TABLES, COLUMNS = {"sex": UNEVEN, "age": EVEN}, (AGE, SEX)
MONTHS = [f"2024-{month:02d}" for month in range(1, 13)]


def test_columns_share_one_chance_and_the_strongest_answers():
    found = column_alarms(TABLES, COLUMNS, 0.05, "demographic-parity")
    whom, alarm = strongest_alarm(found)
    (alone,) = gap_alarms(UNEVEN, 0.05, SEX.groups, alpha=0.025)
    assert whom == "sex: M" and alarm.round == alone.round == 3
    np.testing.assert_array_equal(alarm.log_wealth, alone.log_wealth)


def test_what_the_summary_says():
    asked = [("demographic-parity", 0.05), ("demographic-parity", 0.3), ("dbc", 0.1)]
    shown, none = alarm_summary(TABLES, COLUMNS, asked, MONTHS)
    assert (shown["round"], shown["task"], shown["higher"]) == (4, "2024-04", True)
    assert alarm_sentence(shown).startswith(
        "Alarm in round 4 (2024-04): up to then a gap beyond 5 points is shown (sex: M, whose rate "
        "was the higher; evidence "
    )
    assert none["round"] is None and "No alarm so far" in alarm_sentence(none)
    assert alarm_summary(TABLES, COLUMNS, [("demographic-parity", None)], MONTHS) == []


def test_runs_of_an_earlier_ffml_have_no_alarm():
    part = {"first_round": 1, "last_round": 1, "people": 0, "notions": [], "accuracy": None}
    part |= {"balanced_accuracy": None, "positive_share": None, "label_share": None}
    summary = {"answer": {"last_third": part, "of_scores": []}}
    assert not any("alarm" in sentence.lower() for sentence in sentences(summary))


def test_a_learner_that_never_tells_people_apart_is_warned_of():
    def warning(collapsed, judged):
        summary = {"all": {"accuracy": {"defined": judged}}, "collapsed_rounds": collapsed}
        return useless_warning(summary)

    assert "everybody got the same decision in each of the 3 rounds" in warning(3, 3)
    assert "in the one round that was judged" in warning(1, 1)
    assert warning(2, 3) == warning(0, 0) == ""
