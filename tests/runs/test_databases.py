"""Databases in and out: every command reads them, decisions go to tables, no password is told."""

import json
import shutil
import sqlite3
from contextlib import closing

import pandas as pd
import pytest
from months import MONTHS, OPTIONS, begin, labels, loans, of, unlabelled

import ffml

FRAME = loans(4, 60)
APRIL = of(FRAME, MONTHS[3])
URL = "postgresql://someone:verysecret@127.0.0.1:1/none"


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    """A run over three months, and a database with the fourth."""
    folder = tmp_path_factory.mktemp("databases")
    begin(of(FRAME, *MONTHS[:3]), folder / "run", label_delay=1).close()
    with closing(sqlite3.connect(folder / "in.db")) as database, database:
        unlabelled(APRIL).to_sql("people", database, index=False)
        labels(APRIL).to_sql("outcomes", database, index=False)
    unlabelled(APRIL).to_csv(folder / "april.csv", index=False)
    return folder


@pytest.fixture
def here(learned, tmp_path):
    """The same in a folder of the test, where commands are called."""
    return shutil.copytree(learned, tmp_path, dirs_exist_ok=True)


def rows_of(path, table="decisions"):
    with closing(sqlite3.connect(path)) as database:
        return pd.read_sql(f'select * from "{table}"', database)


def test_update_label_and_audit_read_a_database(here, run_main):
    people, outcomes = (["sqlite:///in.db", "--query", f"select * from {t}"] for t in TABLES)
    code, out, err = run_main("update", "run", *people)
    assert code == 0 and "2024-04: 60 people decided; " in out, err
    code, out, err = run_main("label", "run", *outcomes)
    assert code == 0 and "60 new labels, 0 known before" in out, err
    query = "select task, decision, label, json_extract(groups, '$.sex') as sex from people"
    words = ["--decision", "decision", "--positive", 1, "--sensitive", "sex", "--label", "label"]
    address = ["sqlite:///run/run.db", "--query", query]
    code, out, err = run_main("audit", *address, *words, "--task", "task", "--json")
    assert code == 0 and json.loads(out)["rows"] == json.loads(out)["labelled_rows"] == 240, err


TABLES = ("people", "outcomes")


def test_predict_and_decide_read_a_database_and_write_to_one(here, run_main):
    people = ["sqlite:///in.db", "--query", "select * from people"]
    for words in (["predict", "run", *people], ["predict", "run", "april.csv"]):
        code, _, err = run_main(*words, "--keep", "applicant", "--to", "sqlite:///out.db")
        assert code == 0, err
    said = rows_of("out.db")
    assert len(said) == 120 and (said[:60].decision == said[60:].decision.to_numpy()).all()
    assert said.applicant[:60].tolist() == APRIL.applicant.tolist()
    code, _, err = run_main("decide", "run", *people, "--to", "sqlite:///out.db", "--table", "kept")
    assert code == 0, err
    kept = rows_of("out.db", "kept")
    assert kept.decision.tolist() == said[:60].decision.tolist()
    assert kept.id.tolist() == APRIL.applicant.astype(str).tolist()
    decided = ffml.open("run").decisions
    assert decided[decided.task == MONTHS[3]].decision.tolist() == kept.decision.tolist()


def test_a_table_of_another_shape_is_refused_and_stays(here, run_main):
    with closing(sqlite3.connect("out.db")) as database, database:
        database.execute("create table decisions (something int)")
    for words in (["predict", "run", "april.csv"], ["decide", "run", "april.csv"]):
        code, _, err = run_main(*words, "--to", "sqlite:///out.db")
        assert code == 2 and "cannot write to table 'decisions' of sqlite:///out.db" in err
        assert err.count("\n") == 1 and len(rows_of("out.db")) == 0
    code, _, err = run_main("predict", "run", "april.csv", "--to", "mysql://a:verysecret@b/c")
    assert code == 2 and "--to is a database: sqlite:///" in err and "verysecret" not in err


@pytest.mark.parametrize(
    "words",
    [
        ["run", URL, "--query", "select 1", *OPTIONS, "--out", "x"],
        ["run", "in.csv", *OPTIONS, "--out", URL],
        ["run", "--resume", URL],
        ["update", URL, "april.csv"],
        ["update", "run", URL, "--query", "select 1"],
        ["update", "run", URL],
        ["label", URL, "april.csv"],
        ["label", "run", URL, "--query", "select 1"],
        ["label", "run", URL],
        ["label", "run", "april.csv", "--id", URL],
        ["decide", URL, "april.csv"],
        ["decide", "run", URL, "--query", "select 1"],
        ["decide", "run", "april.csv", "--to", URL],
        ["decide", "run", "april.csv", "--support", URL],
        ["decide", "run", "april.csv", "--out", URL],
        ["predict", URL, "april.csv"],
        ["predict", "run", URL, "--query", "select 1"],
        ["predict", "run", URL],
        ["predict", "run", "april.csv", "--to", URL],
        ["predict", "run", "april.csv", "--support", URL],
        ["predict", "run", "april.csv", "--out", URL],
        ["predict", "run", "april.csv", "--keep", URL],
        ["audit", URL, "--query", "select 1", "--decision", "d", "--sensitive", "s"],
        ["audit", URL, "--decision", "d", "--sensitive", "s"],
        ["audit", "april.csv", "--decision", "job", "--sensitive", "sex", "--out", URL],
        ["check", URL],
        ["report", URL],
        ["report", "run", "--out", URL],
        ["verify", URL],
        ["replay", URL],
        ["replay", "run", URL],
        ["forget", URL, "7"],
        ["upgrade", URL],
        ["start", URL],
        ["start", "april.csv", "--out", URL],
        ["inspect", URL, "--query", "select 1", *OPTIONS[:8]],
        ["inspect", URL],
        ["compare", URL],
        ["tune", URL],
        ["run", "adult", "--config", URL],
        ["chekc", URL],
    ],
    ids=lambda words: " ".join(w if w != URL else "URL" for w in words[:5]),
)
def test_a_password_is_never_told(words, here, run_main):
    before = sorted(path.name for path in here.rglob("*") if "db-" not in path.name)
    code, out, err = run_main(*words)
    assert code == 2, out + err
    assert "verysecret" not in out + err and "someone" not in out + err
    assert err.count("\n") == 1 and err.startswith("error: "), err
    after = sorted(path.name for path in here.rglob("*") if "db-" not in path.name)
    assert after == before
