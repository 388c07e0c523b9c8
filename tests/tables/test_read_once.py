"""A run opens its data once: a query is asked once, a CSV file is parsed once."""

import sqlite3

import pandas as pd
import pytest
from loans import ROLES, write_loans

from ffml.tables.sources import _csv, _sql

SMALL = ["--method", "twp", "--set", "num_steps=1", "--set", "shots=10"]


@pytest.fixture
def counts(monkeypatch):
    counted = {"queries": 0, "passes": 0}
    ask, parse = _sql.SqlSource.chunks, _csv.CsvSource.batches

    def asked(*arguments):
        counted["queries"] += 1
        return ask(*arguments)

    def parsed(source, columns):
        counted["passes"] += 1
        return parse(source, columns)

    monkeypatch.setattr(_sql.SqlSource, "chunks", asked)
    monkeypatch.setattr(_csv.CsvSource, "batches", parsed)
    return counted


def test_a_csv_file(tmp_path, run_main, counts):
    table = write_loans(tmp_path / "loans.csv")
    arguments = [*ROLES, "--drop", "applicant", *SMALL, "--out", "run", "--quiet"]
    assert run_main("run", table, *arguments)[0] == 0
    assert counts == {"queries": 0, "passes": 1}


def test_a_query(tmp_path, run_main, counts):
    loans = pd.read_csv(write_loans(tmp_path / "loans.csv"), keep_default_na=False)
    with sqlite3.connect(tmp_path / "loans.db") as database:
        loans.drop(columns="applicant").to_sql("loans", database, index=False)
    url, query = f"sqlite:///{tmp_path / 'loans.db'}", "SELECT * FROM loans ORDER BY month"
    arguments = ["--query", query, *ROLES, *SMALL, "--out", "run", "--quiet"]
    assert run_main("run", url, *arguments)[0] == 0
    assert counts == {"queries": 1, "passes": 0}
