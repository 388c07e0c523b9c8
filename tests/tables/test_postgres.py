"""Queries on a real PostgreSQL server; skipped where it is not installed."""

import sys

import numpy as np
import pytest
from postgres import PASSWORD, free_port

from ffml.base import FFMLError
from ffml.tables import describe, inspect, open_data, table_stream

psycopg = pytest.importorskip("psycopg", reason="needs the driver of ffml[postgres]")


@pytest.fixture(scope="module")
def people(server):
    """Fill a table of 30,000 people with many kinds of columns; return its address."""
    with psycopg.connect(server) as connection:
        connection.execute("create type size as enum ('S', 'M', 'L')")
        connection.execute(
            """
            create table people as select
                i as id, (i % 60)::smallint as age, i::numeric / 8 as income,
                (i % 3 = 0) as member, ('{S,M,L}'::size[])[1 + i % 3] as shirt,
                case when i % 2 = 0 then 'F' else 'M' end as sex,
                case when i % 5 < 2 then 'yes' else 'no' end as hired,
                date '2024-01-01' + i / 10000 as day,
                timestamptz '2024-01-01 12:00+02' as seen,
                array[i] as numbers, jsonb_build_object('i', i) as extra, gen_random_uuid() as uuid,
                'Zoë' as name
            from generate_series(0, 29999) as i
            """
        )
    return server


QUERY = "select age, income, member, shirt, sex, hired, day from people order by id"


def test_a_query_becomes_a_stream(people):
    source = open_data(people, QUERY + ";")
    stream = table_stream(source, label="hired", positive="yes", sensitive="sex", task="day")
    assert stream.task_names == ("2024-01-01", "2024-01-02", "2024-01-03")
    assert stream.task_sizes == (10_000,) * 3
    assert stream.schema.features == (
        *("age", "income", "member", "shirt=L", "shirt=M", "shirt=S"),
    )
    for number, task in enumerate(stream.tasks()):
        i = np.arange(number * 10_000, number * 10_000 + 10_000)
        sizes = [i % 3 == 2, i % 3 == 1, i % 3 == 0]
        assert np.array_equal(task.x, np.column_stack([i % 60, i / 8, i % 3 == 0, *sizes]))
        assert np.array_equal(task.y, i % 5 < 2)
        assert np.array_equal(task.groups[:, 0], i % 2)
    assert describe(inspect(stream))[0].startswith("the query on postgresql://127.0.0.1:")


def test_every_kind_of_column_is_read(people):
    source = open_data(people, "select * from people order by id")
    (first, *_) = source.batches(source.columns)
    kinds = {name: str(first.schema.field(name).type) for name in source.columns}
    assert kinds == {
        **dict(id="int64", age="int64", income="double", member="bool", shirt="string"),
        **dict(sex="string", hired="string", day="date32[day]", seen="timestamp[us]"),
        **dict(numbers="binary", extra="binary", uuid="string", name="string"),
    }
    assert str(first.column("seen")[0].as_py()) == "2024-01-01 10:00:00"
    assert first.column("name")[0].as_py() == "Zoë"


def test_rows_come_in_chunks_through_a_cursor_of_the_server(people):
    source = open_data(people, "select id, sex from people order by id")
    batches = list(source.batches(["id"]))
    assert len(batches) > 1
    assert np.concatenate([batch.column("id") for batch in batches]).tolist() == [*range(30_000)]


def test_the_fingerprint_is_that_of_the_rows(people):
    first = open_data(people, QUERY).fingerprint()
    assert open_data(people, QUERY).fingerprint() == first
    assert open_data(people, QUERY + " limit 9").fingerprint() != first


def message_of(url, query):
    with pytest.raises(FFMLError) as caught:
        list(open_data(url, query).batches([]))
    message, error = str(caught.value), caught.value
    assert PASSWORD not in message
    assert "\n" not in message
    while error is not None:  # what a traceback would show
        assert PASSWORD not in str(error)
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return message


def test_refusals(people):
    assert message_of(people, "select * from nobody") == (
        'the query failed: relation "nobody" does not exist; correct it'
    )
    assert message_of(people, "delete from people") == (
        'the query failed: syntax error at or near "delete"; correct it'
    )
    assert message_of(people, "select 1 / 0 as a") == (
        "the query failed: division by zero; correct it"
    )
    assert message_of(people, "select nextval('s') as a") == (
        'the query failed: relation "s" does not exist; correct it'
    )
    address = people.rpartition("@")[2]
    server = address.partition("/")[0]
    advice = "check host, port, database, user and password"
    assert message_of(people.replace(PASSWORD, PASSWORD + "x"), "select 1") == (
        f"cannot connect to postgresql://{address}: user or password refused; {advice}"
    )
    assert message_of(people.replace("/postgres", "/nothing"), "select 1") == (
        f"cannot connect to postgresql://{server}/nothing: no such database or user; {advice}"
    )
    gone = f"postgresql://ann:{PASSWORD}@127.0.0.1:{free_port()}/postgres"
    assert "no server answers there" in message_of(gone, "select 1")


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://ann:x/{PASSWORD}@127.0.0.1/db",
        f"postgresql://ann:x@{PASSWORD}@127.0.0.1:1/db",
        f"postgresql://ann:{PASSWORD}@127.0.0.1:{PASSWORD}/db",
        f"postgresql://ann@127.0.0.1:1/db?password={PASSWORD}&nonsense={PASSWORD}",
        f"postgresql://[{PASSWORD}/db",
    ],
)
def test_no_message_shows_a_password_that_breaks_the_address(url):
    assert message_of(url, "select 1").startswith("cannot connect to postgresql://")


def test_a_query_cannot_write(people):
    with psycopg.connect(people) as connection:
        connection.execute(
            "create function sneak() returns int language sql as 'delete from people returning 1'"
        )
    assert message_of(people, "select sneak() as a, 1 as b") == (
        "the query failed: cannot execute DELETE in a read-only transaction; correct it"
    )


def test_without_the_driver(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    assert message_of("postgresql://h/db", "select 1") == (
        "PostgreSQL needs a driver; install it with ffml[postgres]"
    )
