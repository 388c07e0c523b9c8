"""Random tables: whatever they hold, they are read, or refused in one line; never a traceback."""

import gzip
import json
import random
import sqlite3

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ffml.base import FFMLError
from ffml.tables import describe, guess_roles, inspect, look, open_data, table_stream

SEEDS = 100
WORDS = [
    *(
        "",
        " ",
        "?",
        "NA",
        "nan",
        "inf",
        "-inf",
        "1e400",
        "1e31",
        "0",
        "1",
        "007",
        "-0",
        "+5",
        "1_0",
    ),
    *("yes", "no", "True", "F", "M", "a×b", "=1+1", "Zoë", "\u202e", "\t", 'quo"te', "semi;colon"),
    *("com,ma", "2024-9", "2024-09", "31/12/2024", "2024-W60", "Sep 2024", "99999999999999999999"),
    *("x" * 300, "\\", "'", "NULL", "0x1F", "1,5", "12 %", "n/a!", "\u0000"[:0], "(missing)"),
]
VALUES = [None, True, False, 0, 1, -1, 2.5, 1e308, float("nan"), float("inf"), 2**70, [1], {"a": 1}]
NAMES = [
    "y",
    "sex",
    "month",
    "age",
    "x 1",
    "Zoë",
    "__index_level_0__",
    "0",
    "label",
    "=1",
    "(file)",
]


def column(rng, rows):
    """Draw a column: a few words often, many seldom, so that some tables are good ones."""
    words = rng.sample(WORDS, rng.choice([1, 2, 2, 3, 8]))
    numbers = [rng.choice([rng.gauss(0, 1), rng.randint(0, 9)]) for _ in range(rows)]
    texts = [rng.choice(words) for _ in range(rows)]
    return rng.choice([texts, numbers, numbers, [rng.choice([*words, 1]) for _ in range(rows)]])


def table(rng):
    rows = rng.choice([0, 2, 40, 200, 200])
    names = ["y", "sex", "month", *rng.sample(NAMES[3:], rng.randint(1, 4))]
    columns = {name: column(rng, rows) for name in names}
    if rng.random() < 0.7:
        columns["y"] = [rng.choice([0, 1, 1, None][: rng.choice([2, 4])]) for _ in range(rows)]
        columns["sex"] = [rng.choice("FM") for _ in range(rows)]
    if rng.random() < 0.7:
        columns["month"] = [f"2024-{1 + i * 6 // max(rows, 1):02}" for i in range(rows)]
    return columns


def as_csv(rng, columns, folder):
    separator, end = rng.choice(",;\t|"), rng.choice(["\n", "\r\n", "\r"])
    quote = rng.random() < 0.8

    def cell(value):
        text = "" if value is None else str(value)
        return '"' + text.replace('"', '""') + '"' if quote else text

    lines = [columns, *zip(*columns.values(), strict=True)]
    data = end.join(separator.join(map(cell, line)) for line in lines).encode()
    for _ in range(rng.choice([0, 0, 0, 3])):  # bytes of any kind, anywhere
        place = rng.randrange(len(data))
        data = data[:place] + bytes([rng.randrange(256)]) + data[place + 1 :]
    return written(folder / "t.csv", data)


def as_gzip(rng, columns, folder):
    data = gzip.compress(as_csv(rng, columns, folder).read_bytes())
    return written(folder / "t.csv.gz", data[: rng.choice([len(data), len(data) // 2])])


def as_json(rng, columns, folder):
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    for row in rows:
        if rng.random() < 0.02:
            row[rng.choice(list(row))] = rng.choice(VALUES)
    text = "\n".join(map(json.dumps, rows)) if rng.random() < 0.5 else json.dumps(rows)
    return written(folder / "t.json", text[: rng.choice([len(text), len(text), 50])].encode())


def as_parquet(rng, columns, folder):
    arrays = {}
    for name, values in columns.items():
        texts = pa.array([None if v is None else str(v).encode() for v in values], pa.binary())
        broken = pa.array([b"\xff" if rng.random() < 0.1 else b"ok" for _ in values], pa.binary())
        try:
            typed = pa.array(values)
        except (pa.ArrowInvalid, pa.ArrowTypeError):
            typed = texts.cast(pa.string())
        odd = [texts, broken.view(pa.string()), typed.dictionary_encode(), pa.nulls(len(values))]
        arrays[name] = rng.choice([typed, typed, typed, typed, typed, *odd])
    pq.write_table(pa.table(arrays), folder / "t.parquet")
    data = (folder / "t.parquet").read_bytes()
    return written(folder / "t.parquet", data[: rng.choice([len(data)] * 4 + [len(data) // 2])])


def as_sqlite(rng, columns, folder):
    names = ", ".join('"' + name.replace('"', '""') + '"' for name in columns)
    with sqlite3.connect(folder / "t.db") as connection:
        connection.execute(f"create table t ({names})")
        marks = ", ".join("?" * len(columns))
        connection.executemany(
            f"insert into t values ({marks})", zip(*columns.values(), strict=True)
        )
    connection.close()
    return f"sqlite:///{folder / 't.db'}"


def as_frame(rng, columns, folder):
    return pd.DataFrame(
        {name: rng.choice([values, pd.Series(values)]) for name, values in columns.items()}
    )


def written(path, data):
    path.write_bytes(data)
    return path


MAKERS = [as_csv, as_csv, as_gzip, as_json, as_parquet, as_sqlite, as_frame]


@pytest.mark.parametrize("part", range(4))
def test_a_random_table_is_read_or_refused(tmp_path, part):
    read = 0
    for seed in range(part, SEEDS, 4):
        rng = random.Random(seed)
        folder = tmp_path / str(seed)
        folder.mkdir()
        data = rng.choice(MAKERS)(rng, table(rng), folder)
        options = {
            "label": "y",
            "sensitive": "sex",
            rng.choice(["task", "time"]): "month",
            "positive": rng.choice([None, None, "1", "yes"]),
            "drop_missing": rng.random() < 0.5,
        }
        try:
            source = open_data(data, "select * from t" if isinstance(data, str) else None)
            look(source)
            stream = table_stream(source, **options)
            sizes = [len(task.y) for task in stream.tasks()]
            assert sizes == list(stream.task_sizes)
            assert describe(inspect(stream))
            read += 1
            guess_roles(source, label="y")
        except FFMLError as error:
            assert "\n" not in str(error), seed
    assert read, "some tables are good ones"
