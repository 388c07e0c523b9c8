"""`ffml audit`: decisions of any model, judged as runs are, over time or as one table."""

import csv
import json
import sqlite3
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from ffml.audit import Limits, audit_decisions
from ffml.base import FFMLError
from ffml.metrics import contingency_table, labelled
from ffml.tables import DecisionRoles, open_table, read_decisions

HEADER = ["month", "sex", "region", "approved", "repaid"]
ROLES = ["--decision", "approved", "--positive", "yes", "--sensitive", "sex"]


def rows_of(months=12, size=80, gap=0.0, seed=0, labels="all"):
    """Draw decisions: men have a rate that is higher by ``gap``."""
    rng = np.random.default_rng(seed)
    rows = []
    for month in range(months):
        for _ in range(size):
            sex, region = rng.choice(["F", "M"]), rng.choice(["north", "south", "west"])
            label = rng.random() < 0.5
            decision = rng.random() < 0.3 + 0.2 * label + gap * (sex == "M")
            known = labels == "all" or (labels == "approved" and decision)
            name = f"2024-{month + 1:02d}"
            repaid = str(int(label)) if known else ""
            rows.append([name, sex, region, "yes" if decision else "no", repaid])
    return rows


def write(path, rows, header=HEADER):
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    return path


def read(path, **roles):
    given = {"decision": "approved", "sensitive": ("sex",), "positive": "yes"} | roles
    return read_decisions(open_table(path), DecisionRoles(**given))


def test_counts_are_those_of_the_rows(tmp_path):
    rows = rows_of()
    path = write(tmp_path / "d.csv", rows)
    found = read(path, label="repaid", time="month", sensitive=("sex", "region"))
    assert found.rows == found.labelled_rows == len(rows) and found.tasks[0] == "2024-01"
    for i, column in enumerate(found.columns, start=1):
        codes = {group: code for code, group in enumerate(column.groups)}
        for t, task in enumerate(found.tasks):
            some = [row for row in rows if row[0] == task]
            expected = contingency_table(
                [int(row[4]) for row in some],
                [row[3] == "yes" for row in some],
                [codes[row[i]] for row in some],
                len(codes),
            )
            assert (found.counts[column.name][t] == expected).all()


def test_rows_without_a_label_count_for_decisions_alone(tmp_path):
    rows = rows_of(labels="approved")
    found = read(write(tmp_path / "d.csv", rows), label="repaid", task="month")
    assert found.rows == len(rows)
    assert found.labelled_rows == sum(row[3] == "yes" for row in rows)
    assert labelled(found.counts["sex"]).sum() == found.labelled_rows
    assert found.counts["sex"].sum() == len(rows)
    nobody = read(write(tmp_path / "d.csv", rows), task="month")
    assert (nobody.counts["sex"].sum(2) == found.counts["sex"].sum(2)).all()
    assert not nobody.labelled_rows


def test_every_kind_of_table_gives_the_same_counts(tmp_path):
    rows = rows_of(months=3, labels="approved")
    path = write(tmp_path / "d.csv", rows)
    one = read(path, label="repaid", time="month")
    columns = dict(zip(HEADER, map(list, zip(*rows, strict=True)), strict=True))
    columns["repaid"] = [int(v) if v else None for v in columns["repaid"]]
    parquet.write_table(pa.table(columns), tmp_path / "d.parquet")
    (tmp_path / "folder").mkdir()
    for month in one.tasks:
        some = [row for row in rows if row[0] == month]
        write(tmp_path / "folder" / f"{month}.csv", some)
    others = [
        read(tmp_path / "d.parquet", label="repaid", time="month"),
        read(tmp_path / "folder", label="repaid"),  # a file is a round
    ]
    for other in others:
        assert other.tasks == one.tasks
        assert (other.counts["sex"] == one.counts["sex"]).all()


def test_time_puts_rounds_in_order_and_a_task_keeps_that_of_the_rows(tmp_path):
    days = ["17.10.2024 08:30", "3.9.2024", "1.11.2024", "30.9.2024"]
    rows = [[day, "FM"[i % 2], "n", "yes" if i else "no", ""] for i, day in enumerate(days)]
    path = write(tmp_path / "d.csv", rows)
    assert read(path, task="month").tasks == tuple(days)
    assert read(path, time="month", by="month").tasks == ("2024-09", "2024-10", "2024-11")
    assert read(path, time="month", by="year").counts["sex"].sum() == len(rows)
    assert read(path).tasks == ("all rows",) and read(path).by is None


def test_combinations_of_columns(tmp_path):
    path = write(tmp_path / "d.csv", rows_of())
    (column,) = read(path, sensitive=("sex", "region"), intersect=True).columns
    assert column.name == "sex×region" and len(column.groups) == 6


@pytest.mark.parametrize(("gap", "limit", "code"), [(0.0, 0.25, 0), (0.3, 0.05, 1), (0.0, 0.01, 3)])
@pytest.mark.parametrize("over_time", [True, False])
def test_verdict_and_exit_code(tmp_path, run_main, gap, limit, code, over_time):
    path = write(tmp_path / "d.csv", rows_of(gap=gap))
    when = ["--time", "month"] if over_time else []
    found, out, _ = run_main("audit", path, *ROLES, *when, "--max-gap", limit)
    assert found == code, out
    last = out.strip().splitlines()[-1]
    assert last.startswith("violated: Alarm" if code == 1 else "no alarm: No alarm so")
    assert not list(tmp_path.glob("*/")), "nothing is written unasked"


def test_ratios_can_be_asked_for(tmp_path, run_main):
    path = write(tmp_path / "d.csv", rows_of(gap=0.3))
    assert run_main("audit", path, *ROLES, "--min-dp", 0.8)[0] == 1
    assert run_main("audit", path, *ROLES, "--min-dp", 0.3)[0] == 0
    code, out, _ = run_main("audit", path, *ROLES, "--label", "repaid", "--min-eo", 0.9)
    assert code == 1 and "the lowest rate is" in out and "you asked for 90 %" in out
    assert run_main("audit", path, *ROLES, "--min-ratio", 0.8)[0] == 1
    assert run_main("audit", path, *ROLES, "--min-ratio", 0.3)[0] == 0


def test_the_tables_fit_a_terminal_and_say_what_people_know(tmp_path, run_main, monkeypatch):
    """Rates and impact ratios by hand; group names stay whole with four groups."""
    monkeypatch.setenv("COLUMNS", "80")
    names = ("White", "Black", "Hispanic", "Pacific Islander")
    rows = [[f"2024-0{1 + i % 3}", names[i % 4], "", "yes" if i % 7 < 3 - i % 2 else "no", ""]
            for i in range(1200)]  # fmt: skip
    path = write(tmp_path / "d.csv", rows, ["month", "race", "x", "approved", "y"])
    _, out, _ = run_main("audit", path, *ROLES[:-1], "race", "--time", "month", "--max-gap", 0.05)
    table = [line for line in out.splitlines() if line[:1] in "│┃┏┡└"]
    assert table and max(map(len, table)) <= 80
    assert "Pacific Islander against Hispanic" in out or "Hispanic against Pacific Islander" in out
    assert "impact ratio" in out and "DP" not in out
    chosen = {name: sum(row[3] == "yes" for row in rows if row[1] == name) for name in names}
    for name, number in chosen.items():
        cells = [f"{number:,}", f"{number / 3:.1f}", f"{number / max(chosen.values()):.3f}"]
        line = next(line for line in table if line.startswith(f"│ {name} "))
        assert [cell.strip() for cell in line.split("│")[3:6]] == cells


def test_labels_may_be_asked_about(tmp_path, run_main):
    path = write(tmp_path / "d.csv", rows_of(gap=0.3, labels="approved"))
    asked = ["--label", "repaid", "--max-gap", 0.05, "--notion", "equal-opportunity"]
    code, out, _ = run_main("audit", path, *ROLES, *asked)
    assert code == 3  # everybody with a label was approved: nothing to compare
    assert "cannot be measured" in out and "Labels came for 100 % of those approved" in out
    assert "true pos." not in out and "accuracy ┃" not in out


def test_the_label_is_called_by_its_own_name(tmp_path, run_main):
    path = write(tmp_path / "d.csv", rows_of(gap=0.3))
    asked = ["--label", "repaid", "--max-gap", 0.05, "--notion", "equal-opportunity"]
    code, out, _ = run_main("audit", path, *ROLES, *asked)
    assert code == 1 and "whose label is repaid were approved" in " ".join(out.split())


def test_an_alarm_about_one_population_speaks_of_no_task(tmp_path, run_main):
    path = write(tmp_path / "d.csv", rows_of(gap=0.3))
    code, out, _ = run_main("audit", path, *ROLES, "--max-gap", 0.05)
    assert code == 1 and "task" not in out and "5 points were broken by more than chance" in out


def test_files_and_page(tmp_path, run_main):
    rows = rows_of(gap=0.3)
    rows[0][2] = "<b>north & co</b>"
    path = write(tmp_path / "d.csv", rows)
    command = ["audit", path, *ROLES, "--sensitive", "region", "--label", "repaid", "--time"]
    command += ["month", "--max-gap", 0.05, "--out", tmp_path / "out"]
    code, out, _ = run_main(*command)
    assert code == 1 and "report.html" in out
    files = {p.name: p.read_bytes() for p in (tmp_path / "out").iterdir()}
    assert set(files) == {"report.html", "audit.json", "groups.csv"}
    page = files["report.html"].decode()
    assert (
        ">violated</strong> Asked for: demographic parity" in page and page.count('role="img"') == 6
    )
    before = page[: page.index('<p class="headline">Of 960 people')]
    assert "<table" not in before  # what would have to be scrolled on a phone
    assert "&lt;b&gt;north" in page and "<b>north" not in page
    assert "http" not in page.replace("http://www.w3.org", "")
    document = json.loads(files["audit.json"])
    assert document["verdict"] == "violated" and document["rows"] == len(rows)
    (alarm,) = document["by_column"]["sex"]["alarms"]
    assert alarm["task"] == document["tasks"][alarm["round"] - 1]
    counts = list(csv.DictReader(files["groups.csv"].decode().splitlines()))
    assert sum(int(row["n"]) for row in counts if row["column"] == "sex") == len(rows)
    run_main(*command)  # an audit may be renewed, and is the same
    assert {p.name: p.read_bytes() for p in (tmp_path / "out").iterdir()} == files
    code, out, _ = run_main(*command[:-2], "--json")
    assert code == 1 and json.loads(out) == document


def test_a_page_of_one_round_has_no_curves(tmp_path, run_main):
    path = write(tmp_path / "d.csv", rows_of())
    code, out, _ = run_main("audit", path, *ROLES, "--out", tmp_path / "out")
    page = (tmp_path / "out" / "report.html").read_text()
    assert code == 0 and "Nothing was asked" in out
    assert (
        'role="img"' not in page and "there is no verdict" in page and "Round by round" not in page
    )


def test_a_database(tmp_path, run_main, monkeypatch):
    with sqlite3.connect(tmp_path / "d.db") as connection:
        connection.execute(f"CREATE TABLE d ({', '.join(HEADER)})")
        connection.executemany("INSERT INTO d VALUES (?, ?, ?, ?, ?)", rows_of(gap=0.3))
    connection.close()
    asked = ["--query", "SELECT * FROM d", *ROLES, "--max-gap", 0.05]
    assert run_main("audit", f"sqlite:///{tmp_path / 'd.db'}", *asked)[0] == 1
    monkeypatch.setenv("FFML_SQL_URL", f"sqlite:///{tmp_path / 'd.db'}")
    assert run_main("audit", *asked)[0] == 1


def test_an_audit_needs_no_jax(tmp_path):
    write(tmp_path / "d.csv", rows_of(months=2))
    code = (
        "import sys; from ffml.cli import main; sys.argv = ['ffml', 'audit', 'd.csv', "
        f"*{[*ROLES, '--max-gap', '0.1', '--out', 'out']}]\n"
        "try: main()\nexcept SystemExit: print('jax' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.stdout.endswith("False\n"), done.stderr


BAD = {
    "no data": ([], "give a table of decisions: a path, or a database with --query"),
    "no such file": (["x.csv", *ROLES], "no such file or folder: x.csv"),
    "nothing said": (["d.csv"], "give --decision and --sensitive; the table has month, sex,"),
    "no groups": (["d.csv", "--decision", "approved"], "give --sensitive; the table has month"),
    "unknown column": (
        ["d.csv", "--decision", "aproved", "--sensitive", "sex"],
        "did you mean 'ap",
    ),
    "two parts": (
        ["d.csv", *ROLES, "--label", "sex"],
        "column 'sex' is given as label and as sens",
    ),
    "task and time": (["d.csv", *ROLES, "--task", "month", "--time", "month"], "give one of them"),
    "which is positive": (
        ["d.csv", "--decision", "sex", "--sensitive", "region"],
        "decision column 'sex' holds 'F' and 'M'; say which one is the favourable outcome "
        "(--positive)",
    ),
    "many decisions": (
        ["d.csv", "--decision", "region", "--sensitive", "sex"],
        "decision column 'region' holds more than two values",
    ),
    "many groups": (
        ["many.csv", "--decision", "approved", "--positive", "yes", "--sensitive", "id"],
        "sensitive column 'id' has more than 50 groups",
    ),
    "one decision": (["same.csv", *ROLES], "holds one value only ('yes'); there is nothing to com"),
    "one group": (["one.csv", *ROLES], "sensitive column 'sex' has one group only ('F')"),
    "no rows": (["empty.csv", *ROLES], "empty.csv has no rows; at least one is needed"),
    "missing groups": (
        ["holes.csv", *ROLES],
        "1 in sensitive column 'sex'; fill them in, or leave",
    ),
    "no label at all": (
        ["unlabelled.csv", *ROLES, "--label", "repaid"],
        "'repaid' is empty; leave",
    ),
    "time that is none": (["d.csv", *ROLES, "--time", "region"], "time column 'region' holds '"),
    "period": (["d.csv", *ROLES, "--time", "month", "--by", "moon"], "--by must be one of day, "),
    "by alone": (["d.csv", *ROLES, "--by", "month"], "name it with --time COLUMN"),
    "no setting of an audit": (
        ["d.csv", *ROLES, "--set", "data.order=month"],
        "'data.order' has no use in an audit; --set takes data.intersect, data.drop_missing, ",
    ),
    "no setting of a table": (["d.csv", *ROLES, "--set", "seed=1"], "'seed' has no use in an aud"),
    "too many rounds": (["many.csv", *ROLES, "--task", "id"], "holds more than 10,000 different"),
    "gap": (["d.csv", *ROLES, "--max-gap", "5"], "--max-gap must be between 0 and 1, got 5.0"),
    "notion alone": (["d.csv", *ROLES, "--notion", "equalized-odds"], "give one of these too"),
    "notion without label": (
        ["d.csv", *ROLES, "--max-gap", "0.1", "--notion", "equalized-odds"],
        "--notion equalized-odds compares people of the same label; give --label",
    ),
    "odds without label": (["d.csv", *ROLES, "--min-eo", "0.8"], "--min-eo compares people of the"),
    "query on a file": (["d.csv", *ROLES, "--query", "SELECT 1"], "--query asks a database, and"),
    "positive label": (["d.csv", *ROLES, "--positive-label", "1"], "give --label too"),
    "another's folder": (["d.csv", *ROLES, "--out", "taken"], "taken holds other files than an au"),
    "a file as folder": (["d.csv", *ROLES, "--out", "d.csv"], "cannot make d.csv"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_line_and_leaves_nothing(case, tmp_path, run_main):
    rows = rows_of(months=2, size=30)
    write(tmp_path / "d.csv", rows)
    write(tmp_path / "same.csv", [[*row[:3], "yes", row[4]] for row in rows])
    write(tmp_path / "one.csv", [[row[0], "F", *row[2:]] for row in rows])
    write(tmp_path / "empty.csv", [])
    write(tmp_path / "holes.csv", [["2024-01", "", "north", "no", "1"], *rows])
    write(tmp_path / "unlabelled.csv", rows_of(months=2, labels="none"))
    if "many.csv" in BAD[case][0]:
        many = [[i, *row] for i, row in enumerate(rows_of(months=2, size=6000))]
        write(tmp_path / "many.csv", many, ["id", *HEADER])
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "report.html").write_text("a run's")
    before = sorted(tmp_path.rglob("*"))
    words, message = BAD[case]
    code, out, err = run_main("audit", *words)
    assert code == 2 and not out, out
    assert err.startswith("error: ") and message in err and err.count("\n") == 1
    assert sorted(tmp_path.rglob("*")) == before


def test_rows_with_holes_can_be_left_out(tmp_path):
    rows = [["2024-01", "", "north", "no", "1"], *rows_of()]
    found = read(write(tmp_path / "d.csv", rows), drop_missing=True, task="month")
    assert (found.rows, found.dropped_rows) == (len(rows) - 1, 1)


def test_seldom_options_are_given_with_set(tmp_path, run_main):
    path = write(tmp_path / "d.csv", [["2024-01", "", "north", "no", "1"], *rows_of(months=2)])
    sets = ["--set", "data.drop_missing=true", "--set", "data.intersect=true"]
    code, out, _ = run_main("audit", path, *ROLES, "--sensitive", "region", *sets)
    assert code == 0 and "F×south against" in out and "1 row with missing values" in out


def test_labels_take_the_value_of_decisions_where_they_share_it(tmp_path):
    rows = [[*row[:4], "yes" if row[4] == "1" else "no"] for row in rows_of()]
    path = write(tmp_path / "d.csv", rows)
    found = read(path, label="repaid")
    assert found.counts["sex"][:, :, 1].sum() == sum(row[4] == "yes" for row in rows)
    with pytest.raises(FFMLError, match=r"favourable outcome \(--positive-label\)"):
        rows = [[*row[:4], "good" if row[4] == "yes" else "bad"] for row in rows]
        read(write(path, rows), label="repaid")


def test_limits_of_labels_are_refused_without_labels(tmp_path):
    found = read(write(tmp_path / "d.csv", rows_of()))
    with pytest.raises(FFMLError, match="give --label"):
        audit_decisions(found, Limits(max_gap=0.1, notion="equal-opportunity"))
