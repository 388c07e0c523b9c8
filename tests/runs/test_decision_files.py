"""The file that ``ffml predict`` writes: whole or not at all, and nothing in it is a formula."""

import csv
import io
import os
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from ffml.base import FFMLError
from ffml.scoring.table import write_decisions

IDS = ["=1+1", "-5", "+49 30", "@a", "\tx", "\rx", "'=1", "a=b", None, 'a\x0b,"b\u2028\nc']
SAFE = ["'=1+1", "-5", "'+49 30", "'@a", "'\tx", "'\rx", "''=1", "a=b", "", IDS[-1]]


def decided(rows, **kept):
    columns = {"row": np.arange(rows), **kept, "decision": np.ones(rows, np.int8)}
    return iter([pa.RecordBatch.from_pydict({k: pa.array(v) for k, v in columns.items()})])


@pytest.mark.parametrize("coded", [False, True])
def test_kept_texts_are_no_formulas_in_csv_and_as_they_were_in_parquet(tmp_path, coded):
    ids = pa.array(IDS).dictionary_encode() if coded else pa.array(IDS)
    for name in ("d.csv", "d.parquet"):
        assert write_decisions(decided(len(IDS), **{"=id": ids}), tmp_path / name) == len(IDS)
    text = (tmp_path / "d.csv").read_bytes().decode()
    header, *rows = csv.reader(io.StringIO(text, newline=""))
    assert header == ["row", "'=id", "decision"]
    assert [row[1] for row in rows] == SAFE
    assert parquet.read_table(tmp_path / "d.parquet")["=id"].to_pylist() == IDS


@pytest.mark.parametrize("name", ["d.csv", "d.parquet"])
def test_a_full_disk_leaves_the_old_file_and_says_so(tmp_path, name):
    resource = pytest.importorskip("resource", reason="limits are set on POSIX systems")
    (tmp_path / name).write_text("old")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        with pytest.raises(FFMLError) as caught:
            write_decisions(decided(100_000), tmp_path / name)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    expected = f"cannot write {tmp_path / name}: File too large; mend that, or choose another --out"
    assert str(caught.value) == expected
    assert [path.read_text() for path in tmp_path.iterdir()] == ["old"]


@pytest.mark.skipif(sys.platform != "linux", reason="needs a folder that takes no files")
def test_a_folder_that_cannot_be_written():
    with pytest.raises(FFMLError, match=r"^cannot write /proc/d.csv: .*; mend that, or choose"):
        write_decisions(decided(3), Path("/proc/d.csv"))


def test_a_folder_in_the_place_of_the_file(tmp_path):
    (tmp_path / "d.csv").mkdir()
    with pytest.raises(FFMLError, match=f"cannot write .*: {os.strerror(21)}; mend that"):
        write_decisions(decided(3), tmp_path / "d.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["d.csv"]


def test_a_kept_column_that_csv_cannot_hold(tmp_path):
    with pytest.raises(FFMLError, match=r"a kept column cannot be written to d.csv \(.*list.*\); "):
        write_decisions(decided(2, parts=pa.array([[1], [2]])), tmp_path / "d.csv")
    assert not list(tmp_path.iterdir())


def test_batches_whose_types_differ(tmp_path):
    batches = [next(decided(1, a=pa.array(values))) for values in ([1], [2.0], ["x"])]
    assert write_decisions(iter(batches[:2]), tmp_path / "d.parquet") == 2
    with pytest.raises(FFMLError, match=r"a kept column cannot be written to d.parquet"):
        write_decisions(iter(batches), tmp_path / "d.parquet")
