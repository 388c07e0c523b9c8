"""A table of texts is parsed once, however often its rows are gone through."""

import pandas as pd
import pytest

from ffml.base import FFMLError
from ffml.tables import open_table, table_stream
from ffml.tables._csv import CsvSource
from ffml.tables._once import ReadOnce

ROLES = {"label": "y", "sensitive": "sex", "task": "month"}


@pytest.fixture
def table(tmp_path):
    rows = range(400)
    frame = pd.DataFrame(
        {
            "month": [f"m{i % 4}" for i in rows],  # rows of a task lie apart
            "sex": ["F" if i % 3 else "M" for i in rows],
            "age": [None if i % 7 == 0 else i % 50 for i in rows],
            "y": [i % 2 for i in rows],
        }
    )
    frame.to_csv(tmp_path / "t.csv", index=False)
    return tmp_path / "t.csv"


def test_a_csv_file_is_parsed_once_for_survey_medians_and_tasks(table, monkeypatch):
    passes = []
    read = CsvSource.batches

    def counted(self, columns):
        passes.append(tuple(columns))
        return read(self, columns)

    monkeypatch.setattr(CsvSource, "batches", counted)
    stream = table_stream(table, **ROLES)
    first, again = list(stream.tasks()), list(stream.tasks())
    assert len(passes) == 1
    assert [t.name for t in first] == [t.name for t in again] == ["m0", "m1", "m2", "m3"]


def test_what_is_read_again_is_what_was_read(table):
    source = ReadOnce(open_table(table))
    first = list(source.batches(["age", "sex", "y"]))
    again = list(source.batches(["sex", "age"]))
    for one, other in zip(first, again, strict=True):
        assert one.select(["sex", "age"]).equals(other)


def test_a_pass_that_stops_early_keeps_nothing(table):
    source = ReadOnce(open_table(table))
    next(iter(source.batches(["age"])))
    assert sum(batch.num_rows for batch in source.batches(["age"])) == 400


def test_a_broken_file_is_refused_every_time(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1,2\n3,4,5\n")
    source = ReadOnce(open_table(tmp_path / "t.csv"))
    for _ in range(2):
        with pytest.raises(FFMLError, match="row 3 has 3 columns"):
            list(source.batches(["a"]))
