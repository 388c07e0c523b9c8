"""A person's own table, from the command line to decisions."""

import csv
import json
import shutil
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from inside import run_inside
from loans import ROLES, write_loans
from quick import SMALL, sets

import ffml

QUICK = ["--method", "ffml", *sets("num_outer_steps=3", "inner.num_steps=1", "shots=20")]


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    """One run on a table, shared by the tests that only look at it."""
    folder = tmp_path_factory.mktemp("own")
    table = write_loans(folder / "loans.csv")
    arguments = [table, *ROLES, "--drop", "applicant", *QUICK, *SMALL, "--out", folder / "run"]
    run_inside(folder, "run", *arguments)
    return folder


def test_config_keeps_roles_and_fingerprint(learned):
    config = json.loads((learned / "run" / "config.json").read_text())
    assert config["data"]["roles"]["label"] == "approved"
    assert len(config["data"]["fingerprint"]) == 64
    assert config["data"]["sensitive"] == [{"name": "sex", "groups": ["F", "M"]}]


def test_predict_without_jax_equals_the_loop_with_it(learned, tmp_path):
    probe = f"""
import sys
from ffml.cli import main
sys.argv = ["ffml", "predict", {str(learned / "run")!r}, {str(learned / "loans.csv")!r},
            "--keep", "applicant", "--out", {str(tmp_path / "decisions.csv")!r}]
try: main()
except SystemExit as end: assert not end.code, end.code
assert "jax" not in sys.modules, "predict started JAX"
"""
    subprocess.run([sys.executable, "-c", probe], check=True, capture_output=True)
    rows = list(csv.DictReader((tmp_path / "decisions.csv").read_text().splitlines()))
    assert [row["applicant"] for row in rows[:3]] == ["0", "1", "2"] and len(rows) == 240
    import jax

    from ffml.problem.models import MODELS
    from ffml.runs.models import model_at
    from ffml.scoring.model import preprocessor_of
    from ffml.tables import open_table

    model = model_at(learned / "run")
    preprocessor = preprocessor_of(model)
    (batch,) = open_table(learned / "loans.csv").batches(preprocessor.names)
    x = model.scaler.transform(preprocessor.transform(batch))
    apply = jax.jit(MODELS[model.model](**model.model_settings).apply)
    expected = jax.nn.sigmoid(apply(jax.tree.map(np.asarray, model.params), x))
    probability = np.array([float(row["probability"]) for row in rows])
    np.testing.assert_allclose(probability, expected, atol=1e-5)
    decided = np.array([int(row["decision"]) for row in rows])
    np.testing.assert_array_equal(decided, probability > 0.5)


def test_inputs_unlike_those_learned_from_are_said(learned, tmp_path, run_main):
    new = pd.read_csv(learned / "loans.csv")
    new.to_csv(tmp_path / "same.csv", index=False)
    changed = new.assign(income=new.income * 1000, job=new.job.where(new.index > 80, "pilot"))
    changed.to_csv(tmp_path / "changed.csv", index=False)
    for model in (learned / "run", learned / "run" / "model.safetensors"):
        code, _, err = run_main("predict", model, "same.csv", "--out", "d.csv")
        assert (code, err) == (0, "")
        code, out, err = run_main("predict", model, "changed.csv", "--out", "d.csv", "--json")
        begin = "warning: unlike what was learned from, "
        assert code == 0 and f"{begin}income: about 1,000 times larger than before" in err
        assert f"{begin}job: " in err and len(json.loads(out)["warnings"]) == 2


def test_adapting_to_support_rows_changes_decisions_but_not_the_model(learned, tmp_path, run_main):
    before = (learned / "run" / "model.safetensors").read_bytes()
    support = write_loans(tmp_path / "support.csv", months=1, seed=9)
    for name, more in (("plain", []), ("adapted", ["--support", support])):
        code, _, err = run_main(
            "predict", learned / "run", learned / "loans.csv", "--out", f"{name}.parquet", *more
        )
        assert code == 0, err
    import pyarrow.parquet as parquet

    plain, adapted = (
        parquet.read_table(tmp_path / f"{name}.parquet")["probability"].to_numpy()
        for name in ("plain", "adapted")
    )
    assert np.abs(plain - adapted).max() > 1e-4
    assert (learned / "run" / "model.safetensors").read_bytes() == before


@pytest.mark.parametrize("place", ["run", "run/model.safetensors"])
def test_a_saved_model_adapts_as_the_loop_would(learned, tmp_path, place):
    """From θ, λ, and what else the learner knows, in the ledger and in the file alike."""
    from ffml.online.decide import NO_ROWS, decide_by, find_rule
    from ffml.online.loop import known
    from ffml.runs.models import model_at
    from ffml.scoring import prepare
    from ffml.scoring.model import preprocessor_of
    from ffml.tables import labelled_task, open_table

    support = write_loans(tmp_path / "support.csv", months=1, seed=9)
    model, session = model_at(learned / place), ffml.open(learned / "run").session()
    task = labelled_task(
        open_table(support),
        preprocessor_of(model),
        model.schema,
        sensitive=("sex",),
        positive="yes",
    )
    loop = session.loop
    rule = find_rule(loop, known(loop, session.state), task, np.arange(len(task.y)), NO_ROWS)
    expected = decide_by(loop, rule, task.x).probability
    found = prepare(model, support=support).decide(task.x).probability
    np.testing.assert_array_equal(found, expected)
    assert np.abs(found - prepare(model).decide(task.x).probability).max() > 1e-3


def test_people_to_be_decided_about_are_looked_at_if_the_model_wants_it(tmp_path, run_main):
    """Their features alone: a table without labels and groups will do."""
    from ffml.scoring import prepare

    table = write_loans(tmp_path / "loans.csv")
    arguments = [table, *ROLES, "--drop", "applicant", *QUICK, *SMALL, "--out", "run"]
    code, _, err = run_main("run", *arguments, "--with", "evened", "--max-gap", "0")
    assert code == 0, err
    support = write_loans(tmp_path / "support.csv", months=1, seed=9)
    lines = write_loans(tmp_path / "new.csv", months=1, seed=10).read_text().splitlines()
    kept = [",".join(line.split(",")[2:5]) for line in lines]  # age, income, job
    (tmp_path / "new.csv").write_text("\n".join(kept) + "\n")
    code, _, err = run_main("predict", "run", "new.csv", "--support", support)
    assert code == 0, err
    decided = pd.read_csv(tmp_path / "decisions.csv")
    model = tmp_path / "run" / "model.safetensors"
    scorers = [prepare(model, people, support) for people in (None, tmp_path / "new.csv")]
    x = np.random.default_rng(0).normal(size=(50, len(scorers[0].model.schema.features)))
    alone, among = (scorer.decide(x).decision for scorer in scorers)
    assert (alone != among).any()  # prices are found on other people
    assert 0 < decided["decision"].mean() < 1
    (tmp_path / "new.csv").write_text("age,job\n30,shop\n")
    code, _, err = run_main("predict", "run", "new.csv", "--support", support)
    assert code == 2 and "has no column 'income', which the model needs" in err


def test_some_rows_of_a_large_table_are_each_as_likely(tmp_path):
    from ffml.scoring.rules import some_rows
    from ffml.tables import Preprocessor, open_table

    (tmp_path / "numbers.csv").write_text(
        "\n".join(["number,more", *(f"{i}.0,{i}.5" for i in range(1000))])
    )
    source = open_table(tmp_path / "numbers.csv")
    preprocessor = Preprocessor.fit(pd.DataFrame({"number": np.arange(1000.0)}))
    everybody = some_rows(source, preprocessor, 1000, np.random.default_rng(0))
    np.testing.assert_array_equal(everybody[:, 0], range(1000))
    samples = [
        some_rows(source, preprocessor, 50, np.random.default_rng(seed)) for seed in range(40)
    ]
    assert all(len(np.unique(rows)) == 50 for rows in samples)
    assert np.mean(samples) == pytest.approx(499.5, abs=3 * 289 / np.sqrt(50 * 40))


def test_rows_are_decided_one_by_one(learned):
    """A decision does not depend on the rows around it."""
    from ffml.scoring import prepare

    scorer = prepare(learned / "run" / "model.safetensors")
    x = np.random.default_rng(0).normal(size=(50, len(scorer.model.schema.features)))
    whole = scorer.decide(x).probability
    alone = np.concatenate([scorer.decide(x[i : i + 1]).probability for i in range(50)])
    np.testing.assert_array_equal(whole, alone)


def test_check_and_inspect_speak_json(learned, run_main):
    code, out, _ = run_main("check", learned / "run", "--min-dp", "0", "--json")
    rounds, fact, rule, *_ = json.loads(out)["findings"]
    assert rounds["answer"] == "met" and rounds["value"] == 4 and fact["answer"] == "fact"
    assert code == 3 and "takes 5 tasks" in rule["words"]  # four tasks are too few to tell
    code, out, _ = run_main("check", learned / "run", "--min-dp", "1")
    assert code in (1, 3) and "you asked for 100 %" in out
    arguments = ["inspect", learned / "loans.csv", *ROLES]
    code, out, _ = run_main(*arguments, "--json")
    assert code == 0 and len(json.loads(out)["tasks"]) == 4
    code, out, _ = run_main(*arguments)
    assert code == 0 and "applicant" in out and "id" in out  # an id column is a likely mistake


def test_sqlite_and_folder_give_the_same_rounds_as_the_file(learned, tmp_path, run_main):
    import sqlite3

    rows = list(csv.reader((learned / "loans.csv").read_text().splitlines()))
    database = sqlite3.connect(tmp_path / "loans.db")
    database.execute(
        "CREATE TABLE loans (applicant INT, month TEXT, age REAL, income REAL, job TEXT, "
        "sex TEXT, approved TEXT)"
    )
    cells = [[cell or None for cell in row] for row in rows[1:]]
    database.executemany("INSERT INTO loans VALUES (?, ?, ?, ?, ?, ?, ?)", cells)
    database.commit()
    database.close()
    (tmp_path / "folder").mkdir()
    for month in sorted({row[1] for row in rows[1:]}):
        with (tmp_path / "folder" / f"{month}.csv").open("w", newline="") as file:
            body = [[*r[:1], *r[2:]] for r in rows[1:] if r[1] == month]
            csv.writer(file).writerows([[*rows[0][:1], *rows[0][2:]], *body])
    roles = ["--label", "approved", "--positive", "yes", "--sensitive", "sex"]
    quick = ["--drop", "applicant", *QUICK, *SMALL, "--quiet"]
    query = [f"sqlite:///{tmp_path / 'loans.db'}", "--query", "SELECT * FROM loans"]
    assert run_main("run", *query, *roles, "--task", "month", *quick, "--out", "sql")[0] == 0
    assert run_main("run", tmp_path / "folder", *roles, *quick, "--out", "folder-run")[0] == 0
    expected = (learned / "run" / "rounds.csv").read_bytes()
    assert (tmp_path / "sql" / "rounds.csv").read_bytes() == expected
    assert (tmp_path / "folder-run" / "rounds.csv").read_bytes() == expected


def test_resume_of_a_table_run_refuses_changed_data(learned, tmp_path, run_main):
    import shutil

    shutil.copytree(learned / "run", tmp_path / "run")
    table = write_loans(tmp_path / "loans.csv")
    arguments = ["run", table, *ROLES, "--drop", "applicant", *QUICK, *SMALL, "--quiet"]
    assert run_main(*arguments, "--set", "rounds=2", "--out", "two")[0] == 0
    table.write_text(table.read_text().replace("office", "outdoors"))
    code, _, err = run_main("run", "--resume", tmp_path / "two")
    assert code == 2 and "the past has changed: " in err and "in job=office" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["missing.csv"], "missing.csv"),
        (["loans.csv", "--label", "aproved"], "there is no label column 'aproved'; did you mean"),
        (["loans.csv", *ROLES[:-2]], "--task"),
        (
            ["adult", "--label", "income"],
            "label is for tables of your own; 'adult' is a data set",
        ),
        (["sqlite:///x.db", *ROLES], "a database needs --query"),
        (["loans.csv", "--query", "SELECT 1"], "--query asks a database, and 'loans.csv' is none"),
        (["predict", "nowhere", "loans.csv"], "nowhere does not exist"),
        (["check", "nowhere", "--min-dp", "0.5"], "nowhere holds no run (run.db is missing)"),
    ],
)
def test_mistakes_with_tables(arguments, message, tmp_path, run_main):
    write_loans(tmp_path / "loans.csv", rows=10)
    before = sorted(tmp_path.rglob("*"))
    words = arguments if arguments[0] in ("predict", "check") else ["run", *arguments]
    code, _, err = run_main(*words)
    assert code == 2 and err.startswith("error: ") and message in err and err.count("\n") == 1
    assert sorted(tmp_path.rglob("*")) == before


def test_a_run_whose_first_task_cannot_be_read_leaves_nothing(tmp_path, run_main, monkeypatch):
    from ffml.base import FFMLError
    from ffml.recipe import build as experiment

    def broken(*args, **kwargs):
        stream, scaler = opened(*args, **kwargs)

        def tasks():
            raise FFMLError("the disk was unplugged; plug it in")
            yield

        return replace(stream, tasks=tasks), scaler

    opened = experiment.open_stream
    monkeypatch.setattr(experiment, "open_stream", broken)
    code, _, err = run_main("run", "synthetic", "--out", "run")
    assert (code, err) == (2, "error: the disk was unplugged; plug it in\n")
    assert not (tmp_path / "run").exists()


def with_gaps(path):
    """Write loans whose incomes are missing here and there, and higher in later months."""
    loans = pd.read_csv(write_loans(path))
    loans["income"] += 10 * pd.factorize(loans["month"])[0]
    loans.loc[::5, "income"] = np.nan
    loans.to_csv(path, index=False)
    return path


def test_a_run_goes_on_with_the_preprocessing_that_it_began_with(tmp_path, run_main):
    from ffml.store.container import read

    table = with_gaps(tmp_path / "loans.csv")
    loans = pd.read_csv(table)
    months = loans["month"].unique()
    loans[loans["month"] < months[3]].to_csv(tmp_path / "begun.csv", index=False)
    given = [*ROLES, "--drop", "applicant", *QUICK, *SMALL, "--out", "run", "--quiet"]
    assert run_main("run", "begun.csv", *given)[0] == 0
    expected = loans[loans["month"] == months[0]]["income"].median()
    for _ in range(2):
        document, _ = read(tmp_path / "run" / "model.safetensors")
        medians = {c["name"]: c.get("median") for c in document["preprocessing"]["columns"]}
        assert medians["income"] == pytest.approx(expected)
        assert run_main("update", "run", table, "--quiet")[0] == 0
    assert document["round"] == 4


def test_a_run_stopped_in_its_first_round_can_be_resumed_and_then_predict(tmp_path, run_main):
    """As a kill leaves it before the first round is done: a ledger without a task."""
    from ffml.recipe.config import configure_run
    from ffml.recipe.sources import find_data
    from ffml.runs.starting import start

    table = with_gaps(tmp_path / "loans.csv")
    roles = {"label": "approved", "positive": "yes", "sensitive": ("sex",), "task": "month"}
    found = find_data(str(table), {**roles, "drop": ("applicant",)})
    settings = {"method": "ffml-exact", "shots": 20, "data_options": found.options}
    start(found, configure_run(found.data, settings, "default"), tmp_path / "run").run.close()
    for words in (["check", "run"], ["predict", "run", table], ["report", "run"]):
        code, _, err = run_main(*words)
        assert code == 2 and err.count("\n") == 1, err
    code, _, err = run_main("run", "--resume", "run", "--quiet")
    assert code == 0, err
    assert run_main("predict", "run", table)[0] == 0


@pytest.mark.parametrize("out", ["loans.csv", "run/rounds.csv", "known.csv"])
def test_decisions_do_not_replace_what_they_are_made_from(out, learned, tmp_path, run_main):
    here = shutil.copytree(learned, tmp_path / "here")
    shutil.copy(here / "loans.csv", here / "known.csv")
    before = (here / out).read_bytes()
    arguments = [here / "run", here / "loans.csv", "--support", here / "known.csv"]
    code, _, err = run_main("predict", *arguments, "--out", here / out)
    assert code == 2 and "would replace what it is made from; choose another --out" in err
    assert (here / out).read_bytes() == before
