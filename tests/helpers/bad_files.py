"""Files and queries that cannot be read, each with the one line that says why and what would help.

Every case writes its table into a folder and returns a path, or an address and a query. ``{path}``
in a message stands for the path or address, ``{folder}`` for the folder.
"""

import gzip
import sqlite3
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq


class BadTable(NamedTuple):
    make: Callable[[Path], Any]  # folder -> path, or (address, query)
    message: str
    roles: Mapping[str, Any] = MappingProxyType({})  # what differs from those of `bad_tables`


def columns(**changes):
    """Return a good table of 8 rows as columns, with some columns changed (None: left out)."""
    good = {
        "age": [20, 30, 40, 50, 60, 70, 80, 90],
        "sex": ["F", "M"] * 4,
        "y": [0, 0, 1, 1] * 2,
        "town": ["a"] * 4 + ["b"] * 4,
    }
    return {name: values for name, values in (good | changes).items() if values is not None}


def csv(**changes):
    table = columns(**changes)
    rows = ["" if v is None else str(v) for row in zip(*table.values(), strict=True) for v in row]
    width = len(table)
    lines = [",".join(rows[i : i + width]) for i in range(0, len(rows), width)]
    return raw("\n".join([",".join(table), *lines, ""]).encode())


def raw(data, name="t.csv"):
    def make(folder):
        (folder / name).write_bytes(data)
        return folder / name

    return make


def parquet(**changes):
    def make(folder):
        pq.write_table(pa.table(columns(**changes)), folder / "t.parquet")
        return folder / "t.parquet"

    return make


def sqlite(query, *statements):
    def make(folder):
        with sqlite3.connect(folder / "t.db") as connection:
            for statement in statements:
                connection.execute(statement)
        connection.close()
        return f"sqlite:///{folder / 't.db'}", query

    return make


def folder_of(**files):
    def make(folder):
        (folder / "parts").mkdir()
        for name, data in files.items():
            stem, _, suffix = name.partition("_")
            (folder / "parts" / f"{stem}.{suffix}").write_bytes(data)
        return folder / "parts"

    return make


def broken_parquet(folder):
    path = parquet()(folder)
    data = bytearray(path.read_bytes())
    path.write_bytes(data[: len(data) // 2])
    return path


def raw_parquet(folder):
    """Write a Parquet file whose texts are not UTF-8."""
    path = parquet(sex=["F", "Zo\u00eb"] * 4)(folder)
    texts = pa.array([b"F", "Zoë".encode("latin-1")] * 4).view(pa.string())
    pq.write_table(pa.table(columns(sex=texts)), path)
    return path


FILES = {
    "missing path": BadTable(
        lambda folder: folder / "no.csv", "no such file or folder: {path}; check the path"
    ),
    "below a file": BadTable(
        lambda folder: raw(b"a,b\n")(folder) / "x.csv",
        "cannot read {path}: Not a directory; check the path and rights",
    ),
    "unknown suffix": BadTable(
        raw(b"PK", "t.ods"),
        "{path} is none of CSV (.csv, .tsv, .csv.gz), Parquet (.parquet), JSON (.jsonl, .json) and "
        "Excel (.xlsx)",
    ),
    "empty": BadTable(raw(b""), "{path} is empty; a header and rows are needed"),
    "blank": BadTable(raw(b"\n \n"), "{path} is empty; a header and rows are needed"),
    "header only": BadTable(raw(b"age,sex,y,town\n"), "{path} has no rows; at least one is needed"),
    "header without newline": BadTable(
        raw(b"age,sex,y,town"), "{path} has no rows; at least one is needed"
    ),
    "not UTF-8": BadTable(
        raw("age,sex,y,town\n1,Zoë,1,a\n".encode("latin-1")),
        "{path} is not in UTF-8; save it with that encoding",
    ),
    "not UTF-8 in the header": BadTable(
        raw("âge,sex,y,town\n1,F,1,a\n".encode("cp1252")),
        "{path} is not in UTF-8; save it with that encoding",
    ),
    "UTF-16": BadTable(
        raw("age,sex,y,town\n1,F,1,a\n".encode("utf-16")),
        "{path} is not in UTF-8; save it with that encoding",
    ),
    "not UTF-8 far into the file": BadTable(
        raw(b"age,sex,y,town\n" + b"1,F,1,a\n" * 60_000 + b"1,\xff,1,a\n"),
        "{path} is not in UTF-8; save it with that encoding",
    ),
    "binary": BadTable(
        raw(b"\0\1,\2\n"),
        "{path} is not a text file; save it as CSV, or name Parquet .parquet",
    ),
    "wrong separator": BadTable(
        raw(b"age:sex:y:town\n1:F:1:a\n"),
        "{path} has a single column, 'age:sex:y:town'; separate columns by comma, semicolon, tab "
        "or |",
    ),
    "ragged": BadTable(
        raw(b"age,sex,y,town\n1,F,1,a\n2,M,0,a,b\n"),
        "{path}: row 3 has 5 columns, the header 4; quote values that hold the separator",
    ),
    "quote never closed": BadTable(
        raw(b'age,sex,y,town\n1,F,1,"a\n' + b"2,M,0,b\n" * 100),
        "{path} ends inside a quoted value; close the quote",
    ),
    "quote never closed, early": BadTable(
        raw(b'age,sex,y,town\n1,"F,1,a\n' + b"2,M,0,b\n" * 100),
        "{path}: row 2 has 2 columns, the header 4; quote values that hold the separator",
    ),
    "quote closed far below": BadTable(
        raw(b'age,sex,y,town\n1,F,1,"a\n' + b"2,M,0,b\n" * 99_999 + b'3,M,0,"b"\n'),
        "{path} has a row of more than 256 KB; look for a missing quote",
    ),
    "duplicate columns": BadTable(
        raw(b"age,sex,y,age,town\n1,F,1,2,a\n"), "two columns are called 'age'; rename one of them"
    ),
    "truncated gzip": BadTable(
        raw(gzip.compress(bytes(range(40, 90)) * 2000)[:200], "t.csv.gz"),
        "{path} cannot be decompressed; compress it again with gzip",
    ),
    "no gzip": BadTable(
        raw(b"age,sex,y,town\n", "t.csv.gz"),
        "{path} cannot be decompressed; compress it again with gzip",
    ),
    "truncated Parquet": BadTable(
        broken_parquet,
        "{path} is not a whole Parquet file (Parquet magic bytes not found in footer. Either the "
        "file is corrupted or this is not a parquet file); write it again",
    ),
    "Parquet that is not UTF-8": BadTable(
        raw_parquet,
        "{path} holds a text in column 'sex' that is not in UTF-8; write it with that encoding",
    ),
    "broken JSON": BadTable(
        raw(b'{"age": 1, "sex": "F"}\n{"age": ', "t.jsonl"),
        "{path} is no JSON of objects (line 2, column 9: Expecting value); correct it",
    ),
    "JSON that is not UTF-8": BadTable(
        raw(b'{"age": 1, "sex": "\xff"}\n', "t.jsonl"),
        "{path} is not in UTF-8; save it with that encoding",
    ),
    "JSON without objects": BadTable(
        raw(b"[1, 2]", "t.json"), '{path} holds no objects; write rows as {"age": 41, ...}'
    ),
    "broken Excel": BadTable(
        raw(b"PK", "t.xlsx"),
        "{path} cannot be read as Excel (Excel file format cannot be determined, you must specify "
        "an engine manually.); save the sheet as .csv",
    ),
    "empty folder": BadTable(
        folder_of(), "the folder {path} holds no .csv or .parquet files, one per task"
    ),
    "mixed folder": BadTable(
        folder_of(a_csv=b"x", b_parquet=b"x"),
        "the folder {path} holds files of several kinds; keep one kind",
    ),
    "folder with twins": BadTable(
        folder_of(a_csv=b"x", **{"a_csv.gz": b"x"}),
        "the folder {path} holds two files of task 'a'; rename one",
    ),
    "folder with differing columns": BadTable(
        folder_of(a_csv=b"age,sex,y\n1,F,1\n", b_csv=b"age,gender,y\n1,F,1\n"),
        "{path}/b.csv has no column 'sex', which {path}/a.csv has; give all files of a folder the "
        "same columns",
        {"task": None},
    ),
}

SQL = {
    "unknown database": BadTable(
        lambda folder: ("mysql://u:secret@h/db", "select 1"),
        "the database address must start with sqlite:/// or postgresql://, as in "
        "sqlite:///people.db or postgresql://user@host/database",
    ),
    "no file named": BadTable(
        lambda folder: ("sqlite://", "select 1"),
        "a SQLite address names a file: sqlite:///people.db",
    ),
    "no such database": BadTable(
        lambda folder: ("sqlite:///no/such.db", "select 1"),
        "cannot open the SQLite file no/such.db; check the path",
    ),
    "no database": BadTable(
        lambda folder: ("sqlite:///" + str(raw(b"a,b" * 999)(folder)), "select * from t"),
        "{folder}/t.csv is not a SQLite file; check the path",
    ),
    "no such table": BadTable(
        sqlite("select * from people"), "the query failed: no such table: people; correct it"
    ),
    "no query": BadTable(
        sqlite(" "), "a database needs --query, such as --query 'SELECT * FROM loans'"
    ),
    "two statements": BadTable(
        sqlite("select 1; select 2"),
        "the query failed: You can only execute one statement at a time.; correct it",
    ),
    "empty result": BadTable(
        sqlite("select * from t", "create table t (age, sex, y, town)"),
        "the query on {path} has no rows; at least one is needed",
    ),
    "twin columns": BadTable(
        sqlite("select 1 as a, 2 as a"), "two columns are called 'a'; rename one of them"
    ),
    "blob feature": BadTable(
        sqlite(
            "select * from t",
            "create table t (age, sex, y, town)",
            "insert into t values (x'00', 'F', 1, 'a'), (x'01', 'M', 0, 'a')",
        ),
        "column 'age' holds values of the nested or raw type binary, which cannot be a feature; "
        "drop it (--drop age) or turn it into numbers or texts",
    ),
    "unreachable server": BadTable(
        lambda folder: ("postgresql://ann:secret@127.0.0.1:1/db", "select 1"),
        "cannot connect to postgresql://127.0.0.1:1/db: no server answers there; check host, port, "
        "database, user and password",
    ),
    "unknown host": BadTable(
        lambda folder: ("postgresql://ann:secret@no.such.host.invalid/db", "select 1"),
        "cannot connect to postgresql://no.such.host.invalid/db: the host is not known; check "
        "host, port, database, user and password",
    ),
}
