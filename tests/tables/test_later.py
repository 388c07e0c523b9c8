"""Labels that come later: by id, and by task where ids come again."""

import datetime

import pandas as pd
import pytest

from ffml.base import FFMLError
from ffml.tables import open_data, read_late_labels

KNOWN = {"no": 0, "yes": 1}


def labels(frame, tasks=(), **roles):
    given = {"id": "id", "label": "paid", "known": KNOWN, "roles": {"task": "month"} | roles}
    return read_late_labels(open_data(frame), **given, tasks=tasks)


def test_rows_without_a_label_are_left_out():
    frame = pd.DataFrame({"id": [7, 8, 9], "paid": ["yes", None, "no"], "x": [1, 2, 3]})
    found = labels(frame)
    assert (found.ids, found.labels.tolist(), found.tasks) == (["7", "9"], [1, 0], [None, None])


def test_a_date_falls_into_the_period_that_is_the_task():
    days = [datetime.date(2024, 9, 3), datetime.date(2024, 10, 1)]
    for when, date_format in ((days, None), (["9/3/2024", "10/1/2024"], "MM/DD/YYYY")):
        frame = pd.DataFrame({"id": ["a", "a"], "paid": ["no", "yes"], "when": when})
        found = labels(frame, task="when", by="month", date_format=date_format)
        assert found.tasks == ["2024-09", "2024-10"]


def test_a_task_with_a_name_of_its_own_is_no_time():
    when = ["counter", "2024-09-03", None, "counter"]
    for column in (when, pd.Categorical(when)):
        frame = pd.DataFrame({"id": [*"abcd"], "paid": "no", "when": column})
        found = labels(frame, ["2024-09", "counter"], task="when", by="month")
        assert found.tasks == ["counter", "2024-09", None, "counter"]
    with pytest.raises(FFMLError, match="holds 'town', which is no date"):
        labels(frame.assign(when="town"), ["2024-09", "counter"], task="when", by="month")


def test_a_task_is_named_as_in_the_run():
    frame = pd.DataFrame({"id": ["a", "b"], "paid": ["no", "yes"], "branch": [7, 8]})
    assert labels(frame, task="branch").tasks == ["7", "8"]


def test_what_is_refused():
    with pytest.raises(FFMLError, match="has a label without an id; leave that row out"):
        labels(pd.DataFrame({"id": ["a", None], "paid": ["yes", "no"]}))
    with pytest.raises(FFMLError, match=r"is .maybe., and the run knows no and yes"):
        labels(pd.DataFrame({"id": ["a"], "paid": ["maybe"]}))
    with pytest.raises(FFMLError, match="there is no id column 'id'"):
        labels(pd.DataFrame({"who": ["a"], "paid": ["yes"]}))


def test_a_table_without_labels_brings_none():
    assert labels(pd.DataFrame({"id": ["a"], "paid": [None]})).ids == []
