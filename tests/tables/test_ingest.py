"""A table of texts is parsed once, however often its rows are gone through."""

import pandas as pd
import pytest

from ffml.tables import table_stream
from ffml.tables.sources._csv import CsvSource

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


def test_a_column_whose_late_rows_are_texts_is_a_column_of_texts(tmp_path, monkeypatch):
    monkeypatch.setattr("ffml.tables.sources._csv.BATCH_BYTES", 1000)
    monkeypatch.setattr("ffml.tables.sources._csv.BLOCK_BYTES", 1000)
    lines = [f"m{i // 500},{'FM'[i % 2]},{i % 3:03},{i // 2 % 2}" for i in range(1000)]
    lines[900] = lines[900].replace(",00", ",x")
    (tmp_path / "t.csv").write_text("\n".join(["month,sex,code,y", *lines]))
    stream = table_stream(tmp_path / "t.csv", **ROLES)
    assert stream.schema.features == ("code=000", "code=001", "code=002", "code=x0")
    assert sum(task.x.sum() for task in stream.tasks()) == 1000
