"""JSON and Excel: read as the same table in CSV is, by everything that reads a table."""

import gzip
import json

import pandas as pd
import pyarrow as pa
import pytest

from ffml.base import FFMLError
from ffml.tables import look, open_data, open_table, table_stream

ROLES = {"label": "hired", "sensitive": "sex", "task": "town"}
FRAME = pd.DataFrame(
    {
        "age": [20.5, 30, None, 50] * 5,
        "job": ["cook", "nurse", None, "007"] * 5,
        "member": [True, False, True, True] * 5,
        "sex": ["F", "M"] * 10,
        "hired": [0, 0, 1, 1] * 5,
        "town": ["a"] * 8 + ["b"] * 12,
    }
)
ROWS = [
    {key: value for key, value in row.items() if not pd.isna(value)}
    for row in FRAME.to_dict("records")
]


def lines(folder, name="t.jsonl"):
    (folder / name).write_text("\n".join(map(json.dumps, ROWS)))
    return folder / name


def array(folder):
    (folder / "t.json").write_text(json.dumps(ROWS, indent=2))
    return folder / "t.json"


def gzipped(folder):
    path = folder / "t.ndjson.gz"
    path.write_bytes(gzip.compress(lines(folder).read_bytes()))
    return path


def excel(folder):
    pytest.importorskip("openpyxl", reason="needs ffml[excel]")
    FRAME.to_excel(folder / "t.xlsx", index=False)
    return folder / "t.xlsx"


FORMATS = {"lines": lines, "array": array, "gzipped": gzipped, "excel": excel}


@pytest.mark.parametrize("kind", FORMATS)
def test_tasks_are_those_of_a_frame(tmp_path, kind):
    stream = table_stream(FORMATS[kind](tmp_path), **ROLES)
    expected = table_stream(FRAME, **ROLES)
    assert stream.schema == expected.schema
    for task, other in zip(stream.tasks(), expected.tasks(), strict=True):
        assert task.name == other.name
        assert task.x.tolist() == other.x.tolist() and task.y.tolist() == other.y.tolist()
        assert task.missing.tolist() == other.missing.tolist()


def test_a_folder_of_json(tmp_path):
    for town, rows in FRAME.drop(columns="town").groupby(FRAME["town"]):
        rows.to_json(tmp_path / f"{town}.jsonl", orient="records", lines=True)
    assert table_stream(tmp_path, label="hired", sensitive="sex").task_names == ("a", "b")


@pytest.mark.parametrize("chunk", [1, 2, 65536])
def test_types_of_json_are_those_that_hold_all_values(tmp_path, monkeypatch, chunk):
    monkeypatch.setattr("ffml.tables.sources._json.BATCH_ROWS", chunk)
    rows = [
        {"whole": 1, "part": 1, "text": "2024-01-05", "mixed": 1, "none": None, "list": [1]},
        {"whole": -2, "part": 2.5, "text": "007", "mixed": "x", "late": True},
        {"whole": 2**63 + 1, "part": None},
    ]
    (tmp_path / "t.jsonl").write_text("\n".join(map(json.dumps, rows)))
    source = open_table(tmp_path / "t.jsonl")
    table = pa.Table.from_batches(list(source.batches(source.columns)))
    found = table.to_pydict()
    assert list(found) == ["whole", "part", "text", "mixed", "none", "list", "late"]
    assert found["whole"] == [1, -2, 2**63 + 1]
    assert found["part"] == [1.0, 2.5, None]
    assert found["text"] == ["2024-01-05", "007", None]
    assert found["mixed"] == ["1", "x", None]
    assert found["none"] == [None] * 3
    assert found["list"] == [b"[1]", None, None]
    assert found["late"] == [None, True, None]
    assert look(source)["list"].distinct == 0


@pytest.mark.parametrize("chunk", [1, 65536])
def test_mixed_values_are_the_same_texts_however_rows_are_cut(tmp_path, monkeypatch, chunk):
    monkeypatch.setattr("ffml.tables.sources._json.BATCH_ROWS", chunk)
    rows = [{"v": value, "n": 1} for value in ("x", 1, 1.0, 2.5, True, None)]
    (tmp_path / "t.json").write_text(json.dumps(rows))
    batches = open_table(tmp_path / "t.json").batches(["v"])
    values = [value for batch in batches for value in batch.column("v").to_pylist()]
    assert values == ["x", "1", "1", "2.5", "true", None]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"a": 1}\n\n{"a": }', r"\(line 3, column 7: Expecting value\); correct it"),
        (b'[\n{"a": 1},\n{"a" 1}\n]', r"\(line 3, column 6: Expecting ':' delimiter\)"),
        (b'{"a": 1' + b"0" * 5000 + b"}", "Exceeds the limit"),
        (b'{"a": ' + b"[" * 100_000, "recursion"),
        (b'{"a": 1}\n7', "holds no objects"),
    ],
)
def test_json_that_cannot_be_read_is_refused_with_its_line(tmp_path, content, message):
    (tmp_path / "t.json").write_bytes(content)
    with pytest.raises(FFMLError, match=message):
        open_table(tmp_path / "t.json").columns  # noqa: B018


def test_damaged_gzip_of_json(tmp_path):
    path = gzipped(tmp_path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(FFMLError, match="cannot be decompressed; compress it again with gzip"):
        open_table(path).columns  # noqa: B018


def test_excel_without_its_library(tmp_path, monkeypatch):
    def read_excel(_):
        raise ImportError

    monkeypatch.setattr(pd, "read_excel", read_excel)
    (tmp_path / "t.xlsx").write_bytes(b"PK")
    with pytest.raises(FFMLError, match=r"needs openpyxl; install it with ffml\[excel\], or save"):
        open_table(tmp_path / "t.xlsx").columns  # noqa: B018


def test_one_function_opens_everything(tmp_path):
    path = lines(tmp_path)
    assert open_data(str(path)).columns == open_data(path).columns
    assert open_data(FRAME).columns == tuple(FRAME)
    source = open_table(path)
    assert open_data(source) is source
    assert open_data("sqlite:///t.db", "select 1").name == "the query on sqlite:///t.db"
    with pytest.raises(FFMLError, match="a database needs --query"):
        open_data("postgresql://ann:secret@h/db")
    for typo in ("postgresql:/ann:secret@h/db", "ann:secret@h/db", "ann:se/secret@h"):
        for query in (None, "select 1"):
            with pytest.raises(FFMLError) as caught:
                open_data(typo, query)
            assert "secret" not in str(caught.value)
    with pytest.raises(FFMLError, match="--query asks a database, and a data frame is none"):
        open_data(FRAME, "select 1")
