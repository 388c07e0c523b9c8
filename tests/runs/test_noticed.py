"""What a run notices about its table, before the first round and during it, and who is told."""

import csv
import json

import numpy as np
import pandas as pd
from loans import write_loans
from months import WORDS, loans, of
from quick import SMALL, sets

import ffml

QUICK = [*SMALL, *sets("num_steps=2", "shots=10"), "--method", "twp"]
DATES = ["--time", "day", "--by", "month", "--positive", "yes", "--label", "approved"]


def changing_loans(folder):
    """Months as dates, in disorder; incomes of the last month are in other units."""
    loans = pd.read_csv(write_loans(folder / "raw.csv"), keep_default_na=False)
    days = pd.to_datetime(loans.pop("month")) + pd.to_timedelta(loans.index % 28, "D")
    loans["day"] = days.dt.strftime("%d.%m.%Y")
    loans.loc[days.dt.month == 4, "income"] *= 1000
    path = folder / "loans.csv"
    loans.sample(frac=1, random_state=0).to_csv(path, index=False)
    return path


def test_a_run_in_time_order_that_says_what_it_noticed(tmp_path, run_main):
    path = changing_loans(tmp_path)
    code, out, err = run_main("run", path, *DATES, *QUICK, "--out", "run")
    assert code == 0, err
    assert "note: taken by the columns' names: --sensitive sex\n" in out
    assert "warning: feature 'applicant' is a different whole number in every row" in out
    assert "warning: income: about 1,000 times larger than before\n" in out
    rows = list(csv.DictReader((tmp_path / "run" / "rounds.csv").read_text().splitlines()))
    assert [row["task"] for row in rows] == ["2024-01", "2024-02", "2024-03", "2024-04"]
    assert [bool(row["drift"]) for row in rows] == [False, False, False, True]
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert summary["drift"] == [
        {
            "column": "income",
            "text": "about 1,000 times larger than before",
            "rounds": 1,
            "round": 4,
            "task": "2024-04",
        }
    ]
    said = "Input 'income' changed in round 4 (2024-04): about 1,000 times larger than before."
    page = (tmp_path / "run" / "report.html").read_text()
    assert '<section id="warnings">' in page and said.replace("'", "&#39;") in page
    assert ">2024-01<" in page  # the axes of the charts
    card = (tmp_path / "run" / "model_card.md").read_text()
    assert "## Warnings" in card and "about 1,000 times larger" in card
    # A run that is resumed, and a decision about new people, know the same.
    assert run_main("run", "--resume", "run")[0] == 0
    pd.read_csv(path).drop(columns=["day", "approved", "sex"]).to_csv("new.csv", index=False)
    assert run_main("predict", "run", "new.csv", "--out", "one.csv")[0] == 0
    assert run_main("predict", "run", path, "--keep", "day", "--out", "two.csv")[0] == 0
    assert pd.read_csv("two.csv")["day"].str.fullmatch(r"\d\d\.\d\d\.2024").all()


def test_a_run_of_a_data_set_has_no_warnings(tmp_path, run_main):
    code, out, err = run_main("run", "synthetic", *QUICK, *sets("rounds=2"), "--out", "run")
    assert code == 0, err
    assert "warning" not in out and "note" not in out
    assert '<section id="warnings">' not in (tmp_path / "run" / "report.html").read_text()
    assert "## Warnings" not in (tmp_path / "run" / "model_card.md").read_text()


def test_periods_in_which_nobody_came_are_said(tmp_path, run_main):
    """In the first table, and between it and a later one."""
    frame = loans(5, 40)
    of(frame, "2024-01", "2024-03").to_csv("begun.csv", index=False)
    words = [*WORDS, "--method", "leader", "--set", "shots=10", "--drop", "applicant"]
    code, out, err = run_main("run", "begun.csv", *words, "--out", "run")
    assert code == 0 and "warning: nobody came in 2024-02; is a table missing?" in out, err
    code, out, _ = run_main("inspect", "begun.csv", *WORDS)
    assert code == 0 and "nobody came in 2024-02" in " ".join(out.split())
    of(frame, "2024-05").to_csv("may.csv", index=False)
    code, out, err = run_main("update", "run", "may.csv")
    assert code == 0 and "warning: nobody came in 2024-04; is a table missing?" in out, err
    assert "2024-02" not in out
    of(frame, "2024-05").assign(month="2024-06").to_csv("june.csv", index=False)
    assert "nobody came" not in run_main("update", "run", "june.csv")[1]


def some_labels(share, folder):
    """Write five months of 80 people, of whom a share has a label; nobody else ever gets one."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"month": np.repeat([f"2024-0{i}" for i in range(1, 6)], 80)})
    frame["sex"], frame["pay"] = rng.choice(["F", "M"], 400), rng.normal(size=400)
    known = np.arange(400) % 10 < 10 * share
    frame["repaid"] = np.where(known, rng.choice(["yes", "no"], 400), None)
    frame.to_csv(folder / "loans.csv", index=False)
    roles = ("--label", "repaid", "--sensitive", "sex", "--task", "month", "--out", "run")
    return "run", "loans.csv", *roles, *("--with", "evened", "--set", "label_delay=1")


def test_tasks_that_are_never_learned_from_are_said(tmp_path, run_main):
    code, out, err = run_main(*some_labels(0.4, tmp_path))
    said = "4 tasks have labels and were not learned from, the newest among them: that takes half"
    assert code == 0 and f"warning: {said}" in " ".join(out.split()), err
    assert "nothing useful was learned" not in out
    assert said in (tmp_path / "run" / "report.html").read_text()


def test_half_of_the_labels_are_enough_once_those_of_a_later_task_come(tmp_path, run_main):
    code, _, err = run_main(*some_labels(0.5, tmp_path))
    assert code == 0, err
    with ffml.open(tmp_path / "run") as run:
        assert [one.status for one in run.store.rounds()] == ["learned"] * 3 + ["decided"] * 2
