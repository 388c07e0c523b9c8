"""Tables of a run are made again where they are not what the checkpoint says, and only there."""

import pytest

from ffml.report.files import TABLES
from ffml.runs.tables import RunTables


def texts(rounds, header):
    """A line for each round, in every table."""
    head = "round\n" if header and rounds else ""
    return {name: head + "".join(f"{name} {r}\n" for r in rounds) for name in TABLES}


def contents(folder):
    return {name: (folder / name).read_text() for name in TABLES}


@pytest.fixture
def written(tmp_path):
    """Two rounds; return their fingerprints."""
    tables = RunTables(tmp_path, texts)
    tables.append(tables.plan(1, first=True))
    tables.append(tables.plan(2, first=False))
    assert contents(tmp_path) == texts([1, 2], True)
    return tables.fingerprints()


def asked(calls):
    def counted(rounds, header):
        calls.append(list(rounds))
        return texts(rounds, header)

    return counted


def test_right_tables_are_not_written_again(tmp_path, written):
    calls = []
    tables = RunTables(tmp_path, asked(calls))
    tables.trust(written)
    tables.mend([1, 2])
    tables.append(tables.plan(3, first=False))
    tables.mend([1, 2, 3])
    assert calls == [[3]] and contents(tmp_path) == texts([1, 2, 3], True)


@pytest.mark.parametrize("damage", ["half a line", "edited", "gone", "a round behind"])
def test_wrong_tables_are(tmp_path, written, damage):
    path = tmp_path / TABLES[1]
    text = path.read_text()
    if damage == "gone":
        path.unlink()
    else:
        wrong = {"half a line": text[:-3], "edited": text.replace("1", "7")}
        path.write_text(wrong.get(damage, texts([1], True)[TABLES[1]]))
    tables = RunTables(tmp_path, texts)
    tables.trust(written)
    tables.mend([1, 2])
    assert contents(tmp_path) == texts([1, 2], True)
    assert tables.fingerprints() == written


def test_runs_of_an_earlier_ffml_have_no_fingerprints(tmp_path, written):
    tables = RunTables(tmp_path, texts)
    tables.trust({})
    tables.mend([1, 2])
    assert tables.fingerprints() == written


def test_labels_change_rounds_of_the_past(tmp_path, written):
    tables = RunTables(tmp_path, texts)
    tables.trust(written)
    tables.write(tables.plan_all([1, 5]))
    assert contents(tmp_path) == texts([1, 5], True)
    tables.write(tables.plan_all([]))
    assert not any((tmp_path / name).exists() for name in TABLES)
