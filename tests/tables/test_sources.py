import gzip
import hashlib
import os
import sqlite3
import subprocess
import sys
from contextlib import suppress

import pandas as pd
import pyarrow as pa
import pytest

from ffml.base import FFMLError
from ffml.border import public_address
from ffml.tables import open_data, open_table
from ffml.tables.sources._open import FILE

ROWS = [("1.5", "Zoë, née Ünal"), ("2", 'says "hi"'), (None, "two\nlines"), ("-3e2", None)]


def read(source, columns=None):
    columns = columns or source.columns
    table = pa.Table.from_batches(list(source.batches(columns)))
    return list(zip(*(table[name].to_pylist() for name in columns), strict=True))


def csv_text(separator=",", newline="\n"):
    quoted = ['"' + (text or "").replace('"', '""') + '"' for _, text in ROWS]
    lines = [
        f"{number or ''}{separator}{text}" for (number, _), text in zip(ROWS, quoted, strict=True)
    ]
    return newline.join([f"a{separator}b", *lines, ""])


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
@pytest.mark.parametrize("compressed", [False, True])
def test_csv_in_every_common_form(tmp_path, separator, newline, encoding, compressed):
    data = csv_text(separator, newline).encode(encoding)
    path = tmp_path / ("t.csv.gz" if compressed else "t.csv")
    path.write_bytes(gzip.compress(data) if compressed else data)
    source = open_table(path)
    assert source.columns == ("a", "b")
    assert read(source) == ROWS
    assert read(source, ["b"]) == [(text,) for _, text in ROWS]
    assert source.fingerprint() == hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize(
    ("text", "columns", "rows"),
    [
        ("a;b\n1,5;x\n2,5;y\n", ("a", "b"), [("1,5", "x"), ("2,5", "y")]),
        (" a , b\n 1 , ? \n2,NA\n", ("a", "b"), [("1", None), ("2", None)]),
        (",b,a\n0,x,1\n", ("b", "a"), [("x", "1")]),
        ("\n\na,b\n1,x\n\n2,y", ("a", "b"), [("1", "x"), ("2", "y")]),
        ('"a\nb",c\n1,x\n', ("a\nb", "c"), [("1", "x")]),
        ("a,b\r1,x\r2,y\r", ("a", "b"), [("1", "x"), ("2", "y")]),
    ],
    ids=["decimal comma", "spaces", "no name", "blank lines", "newline in header", "old Mac"],
)
def test_csv_oddities(tmp_path, text, columns, rows):
    (tmp_path / "t.csv").write_bytes(text.encode())
    source = open_table(tmp_path / "t.csv")
    assert source.columns == columns
    assert read(source) == rows


def test_a_csv_file_is_read_in_many_batches(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n" + "".join(f"{i},text {i}\n" for i in range(200_000)))
    source = open_table(tmp_path / "t.csv")
    assert len(list(source.batches(["a"]))) > 2
    assert read(source)[123_456] == ("123456", "text 123456")
    assert len(read(source)) == 200_000


def test_parquet_keeps_its_types_and_reads_chosen_columns(tmp_path):
    frame = pd.DataFrame({"a": [1, 2], "b": pd.Categorical(["x", "y"]), "c": [True, None]})
    frame.to_parquet(tmp_path / "t.parquet")
    source = open_table(str(tmp_path / "t.parquet"))
    assert source.columns == ("a", "b", "c")
    assert read(source, ["b", "a"]) == [("x", 1), ("y", 2)]
    assert not source.parse


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_folder_in_natural_order(tmp_path, suffix):
    for name in ("m10", "m9", "m1"):
        frame = pd.DataFrame({"a": [name], "b": [1]})
        if suffix == "csv":
            frame.to_csv(tmp_path / f"{name}.csv", index=False)
        else:
            frame.to_parquet(tmp_path / f"{name}.parquet")
    (tmp_path / "README.md").write_text("not a table")
    (tmp_path / ".hidden.csv").write_text("no")
    source = open_table(tmp_path)
    assert source.columns == ("a", "b", FILE)
    assert source.task == FILE
    assert read(source, [FILE, "a"]) == [("m1", "m1"), ("m9", "m9"), ("m10", "m10")]
    before = source.fingerprint()
    (tmp_path / f"m9.{suffix}").rename(tmp_path / f"m8.{suffix}")
    assert open_table(tmp_path).fingerprint() != before


@pytest.mark.skipif(sys.platform != "linux", reason="names are bytes on Linux alone")
def test_a_file_name_that_is_no_text_is_refused(tmp_path):
    path = tmp_path / os.fsdecode(b"a\xff.csv")
    path.write_text("a,b\n1,2\n")
    for given in (path, tmp_path):
        with pytest.raises(FFMLError, match=r"a\\udcff.csv' is not in UTF-8; rename it"):
            open_table(given)


def sqlite_source(tmp_path, query, *statements):
    with sqlite3.connect(tmp_path / "t.db") as connection:
        for statement in statements:
            connection.execute(statement)
    connection.close()
    return open_data(f"sqlite:///{tmp_path / 't.db'}", query)


def test_sqlite_values_keep_or_widen_their_types(tmp_path):
    source = sqlite_source(
        tmp_path,
        "select * from t order by rowid",
        "create table t (i, f, s, mixed, raw, empty)",
        "insert into t values (1, 1, 'x', 7, x'00ff', null)",
        "insert into t values (null, 2.5, null, 'seven', null, null)",
    )
    table = pa.Table.from_batches(list(source.batches(source.columns)))
    assert [str(kind) for kind in table.schema.types] == [
        *("int64", "double", "string", "string", "binary", "null")
    ]
    assert table["mixed"].to_pylist() == ["7", "seven"]
    assert table["f"].to_pylist() == [1.0, 2.5]


def test_types_are_common_to_all_chunks_of_a_query(tmp_path, monkeypatch):
    monkeypatch.setattr("ffml.tables.sources._sql.CHUNK_ROWS", 2)
    source = sqlite_source(
        tmp_path,
        "select v, w from t order by rowid",
        "create table t (v, w)",
        "insert into t values (null, 1), (null, 2), (1, 3), (2, 4), (2.5, 'x')",
    )
    batches = list(source.batches(["v", "w"]))
    assert len(batches) == 3
    assert len({str(batch.schema) for batch in batches}) == 1
    assert read(source) == [(None, "1"), (None, "2"), (1.0, "3"), (2.0, "4"), (2.5, "x")]


def test_a_query_runs_once_and_its_fingerprint_follows_the_rows(tmp_path):
    create = ("create table t (v, w)", "insert into t values (1, 2)")
    source = sqlite_source(tmp_path, "select v, w from t", *create)
    before = source.fingerprint()
    assert sqlite_source(tmp_path, "select v, w from t").fingerprint() == before
    changed = sqlite_source(tmp_path, "select v, w from t", "insert into t values (3, 4)")
    assert changed.fingerprint() != before
    assert read(source) == [(1, 2)], "the rows are those of the first run"


@pytest.mark.parametrize(
    "query",
    [
        "delete from t returning *",
        "insert into t values (1, 2) returning *",
        "create table u (v)",
        "create temp table u as select 1",
        "drop table t",
        "attach '{other}' as other",
        "vacuum into '{other}'",
        "pragma user_version = 3",
        "pragma journal_mode = wal",
    ],
)
def test_a_query_cannot_write(tmp_path, query):
    query = query.replace("{other}", str(tmp_path / "other.db"))
    source = sqlite_source(tmp_path, query, "create table t (v, w)")
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    with suppress(FFMLError):
        read(source)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_query_that_would_write_is_told_to_read(tmp_path):
    for query in ("delete from t returning *", f"attach '{tmp_path}/other.db' as other"):
        source = sqlite_source(tmp_path, query, "create table if not exists t (v, w)")
        with pytest.raises(FFMLError, match=r"^the query may only read this database; write a SEL"):
            read(source)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://u:secret@h:5433/db?password=secret", "postgresql://h:5433/db"),
        ("postgres://u:se%40cret@h/db", "postgresql://h/db"),
        ("postgresql+psycopg://u:secret@h/db", "postgresql://h/db"),
        ("postgresql://u:se/secret@h/db", "postgresql://..."),
        ("postgresql://u:se?secret@h/db", "postgresql://..."),
        ("postgresql://u:se#secret@h/db", "postgresql://..."),
        ("postgresql://u:se@secret@h/db", "postgresql://h/db"),
        ("postgresql://[secret/db", "postgresql://..."),
        ("postgresql:///db", "postgresql://localhost/db"),
        ("sqlite:///a.db", "sqlite:///a.db"),
    ],
)
def test_an_address_is_shown_without_its_password(url, shown):
    assert public_address(url) == shown
    assert "secret" not in repr(open_data(url, "select 1")) + open_data(url, "select 1").name


def test_reading_tables_loads_neither_jax_nor_pandas():
    code = "import ffml.tables, sys; print({'jax', 'pandas'} & set(sys.modules))"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "set()"
