"""Tasks from times: how they are written, which periods they make, and in which order."""

import datetime
import sqlite3

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ffml.base import FFMLError
from ffml.tables import earlier_period, open_data, open_table, table_stream, twin_period
from ffml.tables._order import canonical_period, empty_periods
from ffml.tables._time import UNITS, parse_time, periods

WRITTEN = {
    "2024-12-31": ("day", "2024-12-31"),
    "2024/12/31": ("day", "2024-12-31"),
    "2024.12.31": ("day", "2024-12-31"),
    "20241231": ("day", "2024-12-31"),
    "31.12.2024": ("day", "2024-12-31"),
    "1. 2. 2024": ("day", "2024-02-01"),
    "31 Dec 2024": ("day", "2024-12-31"),
    "31-Dec-2024": ("day", "2024-12-31"),
    "December 31st, 2024": ("day", "2024-12-31"),
    "2024-01": ("month", "2024-01-01"),
    "1/2024": ("month", "2024-01-01"),
    "202401": ("month", "2024-01-01"),
    "Jan 2024": ("month", "2024-01-01"),
    "2024 September": ("month", "2024-09-01"),
    "2024-W07": ("week", "2024-02-15"),
    "2020W53": ("week", "2020-12-31"),
    "2024-Q3": ("quarter", "2024-07-01"),
    "Q3 2024": ("quarter", "2024-07-01"),
    "2024": ("year", "2024-01-01"),
}


@pytest.mark.parametrize("text", WRITTEN)
def test_times_are_read_as_people_write_them(text):
    moment = parse_time(text)
    assert (moment.unit, moment.date.isoformat()) == WRITTEN[text]


@pytest.mark.parametrize(
    "text",
    [
        *("", "abc", "12", "2024-13-01", "30.2.2024", "2024-W54", "2023-W53", "Q5 2024"),
        *("0999", "9999-01-01", "Foo 2024", "01/02/2024", "2024-01-01 25:61:00 maybe"),
    ],
)
def test_what_is_no_time_or_not_clear(text):
    assert parse_time(text) is None


@settings(deadline=None)
@given(st.dates(datetime.date(1900, 1, 1), datetime.date(2100, 12, 31)), st.sampled_from(UNITS))
def test_every_format_gives_the_same_period_and_periods_sort_by_time(date, by):
    later = date + datetime.timedelta(days=40)
    formats = {"DD/MM/YYYY": "%d/%m/%Y", "MM-DD-YYYY": "%m-%d-%Y", "DD MMM YYYY": "%d %b %Y"}
    expected = periods(pa.array([date]), "when", by).to_pylist()
    for written, code in formats.items():
        assert periods(pa.array([date.strftime(code)]), "when", by, written).to_pylist() == expected
    texts = [date.isoformat(), f"{date:%d.%m.%Y} 07:05", f"{date:%Y/%m/%d}T23:59:59.999+02:00"]
    assert set(periods(pa.array(texts), "when", by).to_pylist()) == set(expected)
    named = periods(pa.array([date, later]), "when", by).to_pylist()
    assert named == sorted(named)
    if by == "week":  # pandas as an oracle
        year, week, _ = pd.Timestamp(date).isocalendar()
        assert expected == [f"{year}-W{week:02}"]
    elif by == "quarter":
        assert expected == [str(pd.Period(date, "Q")).replace("Q", "-Q")]


def test_typed_times():
    noon = datetime.datetime(2024, 12, 31, 23, 30)
    zoned = pa.array([noon], pa.timestamp("us", "UTC")).cast(pa.timestamp("us", "Europe/Berlin"))
    for values in (pa.array([noon]), pa.array([noon.date()]), pa.array([noon], pa.date64())):
        assert periods(values, "at", "month").to_pylist() == ["2024-12"]
    assert periods(zoned, "at", "month").to_pylist() == ["2025-01"]  # as its own clocks show it
    assert periods(pa.array([2013.0, None]), "at", "year").to_pylist() == ["2013", None]
    with pytest.raises(FFMLError, match="has no date; choose another"):
        periods(pa.array([noon.time()]), "at", "day")


def loans(rows=240, shuffled=True, write=None):
    """Two loans a day from the first of 2024 on, in disorder."""
    rng, places = np.random.default_rng(0), np.arange(rows)
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(places // 2, "D")
    frame = pd.DataFrame(
        {
            "when": days if write is None else days.strftime(write),
            "income": rng.normal(size=rows),
            "sex": np.where(places % 2, "F", "M"),
            "town": np.where(places // 2 % 2, "Ulm", "Bonn"),
            "y": places // 3 % 2,
        }
    )
    return frame.sample(frac=1, random_state=0) if shuffled else frame


def as_csv(frame, folder):
    frame.to_csv(folder / "t.csv", index=False)
    return open_table(folder / "t.csv")


def as_parquet(frame, folder):
    frame.to_parquet(folder / "t.parquet", index=False)
    return open_table(folder / "t.parquet")


def as_folder(frame, folder):
    (folder / "parts").mkdir()
    for i in range(3):
        frame[i::3].to_csv(folder / "parts" / f"{i}.csv", index=False)
    return open_table(folder / "parts")


def as_query(frame, folder):
    with sqlite3.connect(folder / "t.db") as database:
        frame.assign(when=frame["when"].astype(str)).to_sql("t", database, index=False)
    return open_data(f"sqlite:///{folder / 't.db'}", "SELECT * FROM t")


SOURCES = {"csv": as_csv, "parquet": as_parquet, "folder": as_folder, "sql": as_query}
ROLES = {"label": "y", "sensitive": "sex", "drop": ["town"]}


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("write", [None, "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y %I:%M %p"])
def test_rows_in_any_order_become_periods_in_time_order(source, write, tmp_path):
    stream = table_stream(
        SOURCES[source](loans(write=write), tmp_path), **ROLES, time="when", by="month"
    )
    assert stream.task_names == ("2024-01", "2024-02", "2024-03", "2024-04")
    assert stream.task_sizes == (62, 58, 62, 58)
    assert [len(task.y) for task in stream.tasks()] == [62, 58, 62, 58]
    assert stream.schema.features == ("income",)
    assert stream.roles.by == "month"


def test_rows_in_time_order(tmp_path):
    source = as_csv(loans(shuffled=False), tmp_path)
    stream = table_stream(source, **ROLES, time="when", by="week")
    assert stream.task_names[0] == "2024-W01"


@pytest.mark.parametrize(
    ("write", "names"),
    [
        ("%B %Y", ("2024-01", "2024-02", "2024-03", "2024-04")),
        ("%G-W%V", tuple(f"2024-W{week:02}" for week in range(1, 19))),
        ("%Y", ("2024",)),
    ],
)
def test_a_column_of_periods_needs_no_unit(write, names, tmp_path):
    stream = table_stream(as_csv(loans(write=write), tmp_path), **ROLES, time="when")
    assert stream.task_names == names


def test_periods_can_be_put_together(tmp_path):
    source = as_csv(loans(write="%b %Y"), tmp_path)
    assert table_stream(source, **ROLES, time="when", by="quarter").task_names == (
        "2024-Q1",
        "2024-Q2",
    )


def test_time_orders_tasks_of_another_column(tmp_path):
    frame = loans(write="%d.%m.%Y")
    frame.loc[frame["town"] == "Ulm", "when"] = "31.12.2023"
    roles = {"label": "y", "sensitive": "sex", "task": "town", "time": "when"}
    stream = table_stream(as_csv(frame, tmp_path), **roles)
    assert stream.task_names == ("Ulm", "Bonn") and stream.schema.features == ("income",)
    with pytest.raises(FFMLError, match="do not sort as texts; give it as --time 'when'"):
        table_stream(
            as_csv(frame.replace({"when": {"31.12.2023": "02.01.2023"}}), tmp_path),
            **{k: v for k, v in roles.items() if k != "time"},
            order="when",
        )


def test_a_folder_of_files_is_played_by_time(tmp_path):
    for name in ("Feb 2024", "Jan 2024"):
        loans(20, write=f"{name[:3]} 2024").to_csv(tmp_path / f"{name}.csv", index=False)
    with pytest.raises(
        FFMLError, match=r"'Feb 2024' comes before 'Jan 2024'; .* --time '\(file\)'"
    ):
        table_stream(tmp_path, **ROLES)
    assert table_stream(tmp_path, **ROLES, time="(file)").task_names == ("2024-01", "2024-02")
    by_column = table_stream(tmp_path, **ROLES, time="when")
    assert by_column.task_names == ("Jan 2024", "Feb 2024")


DISORDER = {
    "months": (["2024-03", "2024-01"], "--time 'month',"),
    "years": (["2019", "2017"], "--time 'month',"),
    "weeks": (["2024-W10", "2024-W09"], "--time 'month',"),
    "names": (["Mar 2024", "Feb 2024"], "--time 'month',"),
    "dates": (["2.1.2024", "31.12.2023"], "--time 'month' --by day,"),
    "unclear dates": (["03/04/2024", "01/01/2024"], "--time 'month' --by day,"),
}


@pytest.mark.parametrize("case", DISORDER)
def test_tasks_that_look_like_time_and_come_in_disorder(case, tmp_path):
    names, remedy = DISORDER[case]
    frame = loans(40)
    frame["month"] = np.repeat(names, 20)
    roles = {"label": "y", "sensitive": "sex", "task": "month", "drop": ["town", "when"]}
    with pytest.raises(FFMLError) as caught:
        table_stream(as_csv(frame, tmp_path), **roles)
    assert f"{names[0]!r} comes before {names[1]!r}" in str(caught.value)
    assert remedy in str(caught.value)
    # Said otherwise, or not like time, it is played as it comes.
    given = table_stream(
        as_csv(frame.assign(place=np.repeat([1, 2], 20)), tmp_path), **roles, order="place"
    )
    assert given.task_names == tuple(names)


@pytest.mark.parametrize("names", [["b", "a"], ["1003", "1001"], ["2024-02", "a"], ["12", "11"]])
def test_other_tasks_come_in_any_order(names, tmp_path):
    frame = loans(40)
    frame["branch"] = np.repeat(names, 20)
    stream = table_stream(
        as_csv(frame, tmp_path), **ROLES | {"drop": ["town", "when"]}, task="branch"
    )
    assert stream.task_names == tuple(names)


REFUSED = {
    "unclear": (
        {"write": "%d/%m/%Y", "rows": 20},
        {"by": "month"},
        "is the day first, or the month?",
    ),
    "no unit": ({}, {}, "holds days such as '2024-0"),
    "unknown unit": (
        {},
        {"by": "fortnight"},
        "--by must be one of day, week, month, quarter, year",
    ),
    "too fine": (
        {"write": "%Y-%m"},
        {"by": "day"},
        "a month, which is in no single day; give --by",
    ),
    "a week in no month": ({"write": "%G-W%V"}, {"by": "month"}, "give --by week or year"),
    "no time": (
        {"write": "day %j"},
        {"by": "day"},
        "which is no date that can be read; write dates",
    ),
    "other format": (
        {"write": "%d.%m.%Y"},
        {"by": "day", "date_format": "DD/MM/YYYY"},
        "is not written as DD/MM/YYYY; correct it",
    ),
    "bad format": ({}, {"by": "day", "date_format": "%d"}, "is put together from DD, MM"),
    "task and by": ({}, {"by": "day", "task": "town"}, "not from both; leave one out"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_not_clear_is_asked(case, tmp_path):
    made, options, message = REFUSED[case]
    roles = ROLES | {"drop": [] if "task" in options else ["town"]}
    with pytest.raises(FFMLError) as caught:
        table_stream(as_csv(loans(**made), tmp_path), **roles, time="when", **options)
    assert message in str(caught.value) and "\n" not in str(caught.value)


def test_unclear_dates_with_their_format(tmp_path):
    source = as_csv(loans(20, write="%d/%m/%Y"), tmp_path)  # the first ten days of January
    roles = ROLES | {"time": "when", "by": "month"}
    first = table_stream(source, **roles, date_format="DD/MM/YYYY")
    assert first.task_names == ("2024-01",)
    second = table_stream(source, **roles, date_format="MM/DD/YYYY")
    assert second.task_names[:2] == ("2024-01", "2024-02") and second.num_tasks == 10


def test_two_formats_in_one_column(tmp_path):
    frame = loans(20, write="%d/%m/%Y")
    frame.iloc[0, 0], frame.iloc[1, 0] = "13/01/2024", "01/13/2024"
    with pytest.raises(FFMLError, match=r"'13/01/2024' and '01/13/2024', which are not written in"):
        table_stream(as_csv(frame, tmp_path), **ROLES, time="when", by="day")


def test_missing_times_are_refused_or_left_out(tmp_path):
    frame = loans()
    frame.loc[frame.index[:3], "when"] = None
    with pytest.raises(FFMLError, match="3 in task column 'when'"):
        table_stream(as_csv(frame, tmp_path), **ROLES, time="when", by="month")
    stream = table_stream(
        as_csv(frame, tmp_path), **ROLES, time="when", by="month", drop_missing=True
    )
    assert stream.dropped_rows == 3


def test_options_of_time_without_a_column(tmp_path):
    with pytest.raises(FFMLError, match="--by is about a column of times; name it with --time"):
        table_stream(as_csv(loans(), tmp_path), **ROLES, task="when", by="day")


def test_one_period_written_in_two_ways_is_noticed(tmp_path):
    frame = loans(shuffled=False)
    half = len(frame) // 2
    frame["month"] = ["2024-9"] * half + ["2024-09"] * (len(frame) - half)
    source = as_csv(frame.drop(columns="when"), tmp_path)
    with pytest.raises(FFMLError, match=r"tasks '2024-9' and '2024-09' are one period written in"):
        table_stream(source, **ROLES, task="month")
    assert table_stream(source, **ROLES, time="month").task_names == ("2024-09",)


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("gap", [1, 2, 5])
def test_periods_between_are_empty_and_earlier_ones_are_noticed(unit, gap):
    days = pd.date_range("2019-12-28", periods=3000).strftime("%Y-%m-%d")
    names = list(dict.fromkeys(periods(pa.array(days), "when", unit).to_pylist()))[:8]
    assert empty_periods([names[0], names[gap + 1]]) == names[1 : gap + 1]
    assert empty_periods(names) == []
    assert earlier_period(names[0], names[1:4]) == names[3]
    assert earlier_period(names[4], names[:4]) is None


def test_times_of_one_day_are_not_one_period():
    assert canonical_period("2024-01-01 10:00") != canonical_period("2024-01-01 11:00")
    assert twin_period("Sep 2024", ["2024-08", "2024-9"]) == "2024-9"
    assert twin_period("2024-09", ["2024-09", "2024-10"]) is None
