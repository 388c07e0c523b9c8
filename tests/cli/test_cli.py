"""The command line as a person meets it: what it prints, what it leaves behind, how it fails."""

import csv
import io
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import typer
from quick import QUICK, SMALL, sets
from rich.console import Console

from ffml.cli import app, options_of_commands
from ffml.cli._table import table
from ffml.methods import METHODS, PARTS
from ffml.problem.models import MODELS
from ffml.recipe.configfile import setting_kinds
from ffml.recipe.recipes import known_settings
from ffml.wrappers import WRAPPERS

FFML = ["--method", "ffml"]


def ffml(*arguments, cwd, **environment):
    return subprocess.run(
        [sys.executable, "-m", "ffml", *map(str, arguments)],
        cwd=cwd,
        env=os.environ | {"COLUMNS": "100"} | environment,
        capture_output=True,
        text=True,
        timeout=1800,
    )


def read_rows(path):
    return list(csv.DictReader(path.read_text().splitlines()))


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cli")
    out = ffml("run", "synthetic", *QUICK, *SMALL, "--set", "rounds=4", "--out", "one", cwd=folder)
    assert out.returncode == 0, out.stderr
    return folder, out


def test_run_shows_rounds_summary_and_report(finished):
    folder, out = finished
    for word in ("round", "so far", "accuracy", "report.html"):
        assert word in out.stdout
    assert (folder / "one" / "report.html").read_text().startswith("<!doctype html>")


def test_a_line_a_round_says_what_the_tables_say(finished):
    """People, favourable decisions, gap and gap so far by hand, from the counts of groups.csv."""
    folder, out = finished
    rounds = [line.split() for line in out.stdout.splitlines() if line.startswith("    ")]
    shown = [words for words in rounds if words[0] in "1234"]
    groups = read_rows(folder / "one" / "groups.csv")
    accuracies = [float(row["accuracy"]) for row in read_rows(folder / "one" / "rounds.csv")]
    assert len(shown) == 4
    so_far = np.zeros((2, 2))  # group, of whom and favourably
    for words, accuracy in zip(shown, accuracies, strict=True):
        rows = [row for row in groups if row["round"] == words[0]]
        counts = np.array([[int(row["n"]), int(row["n_selected"])] for row in rows])
        so_far += counts
        gap, whole = (100 * abs(np.diff(n[:, 1] / n[:, 0]))[0] for n in (counts, so_far))
        people, favourable = counts.sum(0)
        numbers = [float(word.replace(",", "")) for word in words[-7:] if word != "%"]
        expected = [people, 100 * favourable / people, gap, whole, 100 * accuracy]
        np.testing.assert_allclose(numbers, expected, atol=0.051)


def test_the_lines_and_the_answer_compare_the_same_groups(run_main):
    """A few people of a third group show gaps of 50 points, which the answer leaves out."""
    rng = np.random.default_rng(0)
    rows = [
        f"{month},{group},{rng.integers(90)},{rng.choice(['yes', 'no'])}"
        for month in ("2024-01", "2024-02", "2024-03")
        for group in ["F"] * 100 + ["M"] * 100 + ["X"] * 2
    ]
    Path("loans.csv").write_text("\n".join(["month,sex,income,approved", *rows]))
    roles = ("--label", "approved", "--sensitive", "sex", "--task", "month")
    code, out, err = run_main("run", "loans.csv", *roles, "--method", "ffml-exact", "--out", "run")
    assert code == 0, err
    lines = [line.split() for line in out.splitlines() if line.startswith("    ")]
    so_far = next(words[6] for words in lines if words[0] == "3")
    assert f": {so_far} points apart" in " ".join(out.split())
    assert "too small to tell (X)" in " ".join(out.split())


def test_lines_fit_a_narrow_terminal(run_main, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    small = sets("rounds=1", "data.num_tasks=2")
    code, out, err = run_main("run", "synthetic", *QUICK, *SMALL, *small, "--out", "run")
    assert code == 0, err
    lines = out.splitlines()
    header = next(i for i, line in enumerate(lines) if line.startswith("round"))
    assert all(len(line) <= 60 for line in lines[header : header + 2])


def test_run_leaves_the_files_it_promises(finished):
    folder = finished[0] / "one"
    config = json.loads((folder / "config.json").read_text())
    assert config["run"]["seed"] == 0 and config["settings"]["num_outer_steps"] == 2
    assert config["wrappers"] == ["corrected"]
    rows = read_rows(folder / "rounds.csv")
    assert [row["round"] for row in rows] == ["1", "2", "3", "4"]
    promised = (
        "round task n_support n_validation dp eo disc accuracy balanced_accuracy loss dbc "
        "dp_ceiling eo_ceiling"
    )
    assert set(promised.split()) <= set(rows[0])
    assert not [name for name in rows[0] if name.endswith("_of_ceiling")]  # not to be averaged
    assert "multiplier:demographic-parity[group=g1]" in rows[0]
    summary = json.loads((folder / "summary.json").read_text())
    assert summary["status"] == "complete" and summary["rounds"] == 4
    groups = read_rows(folder / "groups.csv")
    assert sum(int(g["n"]) for g in groups) == sum(int(r["n_validation"]) for r in rows)


def test_same_seed_gives_the_same_bytes_in_another_process(finished, run_main):
    folder = finished[0]
    words = [*QUICK, *SMALL, *sets("rounds=4"), "--out", folder / "two", "--json"]
    code, out, err = run_main("run", "synthetic", *words)
    assert code == 0 and json.loads(out)["rounds"] == 4, err  # nothing but JSON on stdout
    for name in ("rounds.csv", "groups.csv"):
        assert (folder / "one" / name).read_bytes() == (folder / "two" / name).read_bytes()


def test_quiet_says_nothing(run_main, tmp_path):
    arguments = ["run", "synthetic", *QUICK, *SMALL, "--set", "rounds=1", "--quiet", "--overwrite"]
    assert run_main(*arguments) == (0, "", "")
    assert (tmp_path / "runs" / "synthetic-ffml-0" / "report.html").exists()


BAD = [
    (["adlt"], "unknown data set 'adlt'; did you mean 'adult'?"),
    (["adult", "--method", "fml"], "unknown method 'fml'; did you mean 'ffml'?"),
    (["adult", "--notion", "equalised-odds"], "did you mean 'equalized-odds'?"),
    (["adult", "--with", "evend"], "unknown wrapper 'evend'; did you mean 'evened'?"),
    (
        ["synthetic", "--method", "refit", "--with", "corrected"],
        "the wrapper 'corrected' moves the bounds of a method's constraints, and this method",
    ),
    (["adult", *sets("model=mpl")], "unknown model 'mpl'; did you mean 'mlp'?"),
    (["adult", *FFML, *sets("inner=grad")], "unknown inner 'grad'; did you mean 'gradient'?"),
    (["adult", *sets("outr_lr=1")], "unknown setting 'outr_lr'; did you mean 'outer_lr'? See 'f"),
    (["adult", *sets("shot=1")], "unknown setting 'shot'; did you mean 'shots'? See 'ffml methods"),
    (["adult", *FFML, *sets("lr=1")], "unknown setting of ffml 'lr'; known: outer_lr, dual_lr"),
    (["adult", *sets("outer_lr")], "--set takes NAME=VALUE such as rounds=10, got 'outer_lr'"),
    (["adult", *sets("outer_lr=a")], "setting 'outer_lr' takes a number, got 'a'"),
    (["adult", *sets("method=twp")], "'method' is no setting; give it as --method"),
    (["adult", *sets("wrappers=evened")], "'wrappers' is no setting; give it as --with"),
    (
        ["adult", "--with", "none", *sets("corrected.memory=0.5")],
        "'corrected.memory' is a setting of the wrapper 'corrected'; add --with corrected",
    ),
    (["adult", "--max-gap", "5"], "max_gap must be <= 1, got 5; 0.05 is 5 points"),
    (
        ["adult", "--max-gap", "none", "--max-gap", "1"],
        "--max-gap takes a number such as 0.05, or none",
    ),
    (["adult", "--set", "bounds=0.1"], "setting 'bounds' is called 'max_gap' now"),
    (["adult", "--max-gap", "-0.1"], "max_gap must be >= 0, got -0.1"),
    (["synthetic", "--max-gap", "0", "--max-gap", "1"], "give one max_gap; got 2"),
    (
        ["synthetic", "--notion", "dbc", "--notion", "equal-opportunity"] + ["--max-gap", "1"] * 3,
        "give one max_gap, or one for each of the 2 notions; got 3",
    ),
    (["bank", *FFML, *sets("outer.penalty=-1")], "outer.penalty must be >= 0, got -1"),
    (["adult", *sets("problem.positive_weight=0")], "positive_weight must be > 0, got 0.0"),
    (["adult", *FFML, *sets("inner.lr=0")], "inner.lr must be > 0, got 0.0"),
    (["adult", *FFML, *sets("inner.num_steps=0")], "inner.num_steps must be >= 1, got 0"),
    (["adult", *sets("seed=x")], "setting 'seed' takes a whole number, got 'x'"),
    (["adult", *sets("seed=-1")], "seed must be >= 0, got -1"),
    (["adult", "--set", "rounds=0"], "rounds must be >= 1, got 0"),
    (["adult", *sets("model=mlp", "model.hidden=a,b")], "'model.hidden' takes a whole number, g"),
    (["adult", *sets("model=mlp", "model.hidden=0")], "hidden must be one or more widths >= 1"),
    (["adult", *FFML, *sets("model.hidden=4")], "unknown setting of ffml 'model.hidden'"),
    (["adult", *sets("validation_fraction=1")], "validation_fraction must be between 0 and 1"),
    (["bank", *sets("shots=0")], "shots must be >= 1, got 0"),
    (["adult", *sets("notion.temperature=0")], "temperature must be > 0, got 0.0"),
    (["adult", "--preset", "papr"], "unknown preset 'papr'; did you mean 'paper'?"),
    (["adult", "--sensitive", "age"], "sensitive must be among ['sex', 'race'], got ['age']"),
    (["crime", "--sensitive", "sex"], "data set 'crime' has no option 'sensitive'"),
    (["adult", *sets("data.order=sex")], "data.order is for tables of your own; 'adult' is a"),
    (["synthetic", *sets("data.num_tasks=x")], "setting 'num_tasks' takes a whole number, got 'x'"),
    (["adult", "--out", "file"], "file is a file, not a folder; choose another --out"),
    (["adult", "--nonsense"], "No such option: --nonsense (see 'ffml run --help')"),
    (["adult", "--sensitve", "sex"], "No such option: --sensitve; did you mean --sensitive? (see"),
    ([], "give a data set (see 'ffml datasets'), a table's path, or a database"),
    (["bank"], "bank-additional-full.csv"),
    (["sqlite:///x.db"], "a database needs --query, such as --query 'SELECT * FROM loans'"),
    (["--query", "SELECT 1"], "give the database's address, such as sqlite:///loans.db, as DATA"),
    (["t.csv", "--query", "SELECT 1"], "--query asks a database, and 't.csv' is none; leave it"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD, ids=[" ".join(a) for a, _ in BAD])
def test_mistakes_are_one_line_with_code_two_and_leave_nothing(
    arguments, message, refuses, monkeypatch
):
    monkeypatch.setenv("FFML_DATA_HOME", "corrupt")
    refuses(message, "run", *arguments)


def test_a_folder_with_a_run_is_not_overwritten_unasked(finished, run_main):
    folder = finished[0] / "one"
    before = (folder / "rounds.csv").read_bytes()
    code, _, err = run_main("run", "synthetic", "--out", folder)
    assert code == 2 and "already holds a run; add --overwrite" in err
    assert (folder / "rounds.csv").read_bytes() == before


def test_an_unwritable_folder_is_refused(run_main, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # root may write everywhere
    code, _, err = run_main("run", "synthetic", "--out", tmp_path / "locked" / "run")
    assert code == 2 and "is not writable; choose another --out" in err


LONG = sets("data.num_tasks=5000")  # it is still going on when the signal comes


def test_interrupted_run_leaves_whole_files(tmp_path):
    child = subprocess.Popen(
        [sys.executable, "-m", "ffml", "run", "synthetic", *LONG, *QUICK, *SMALL, "--out", "run"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
        text=True,
    )
    while not child.stdout.readline().startswith("    2  "):
        assert child.poll() is None  # a line a round
    child.send_signal(signal.SIGINT)
    output, _ = child.communicate(timeout=600)
    assert child.returncode == 130 and "Traceback" not in output
    assert "what was done is safe. Go on with: ffml run --resume run" in " ".join(output.split())
    done = len(read_rows(tmp_path / "run" / "rounds.csv"))
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert summary["status"] == "interrupted" and summary["rounds"] == done >= 2
    assert (tmp_path / "run" / "report.html").exists()


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("datasets", ["adult", "41", "crime", "43", "bank", "50", "synthetic"]),
        ("methods", ["ffml", "gradient", "pooled", "mlp", "corrected", "evened"]),
        ("notions", ["dbc", "demographic-parity", "equal-opportunity", "equalized-odds"]),
    ],
)
def test_listings(command, words, run_main, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    code, out, _ = run_main(command)
    assert code == 0 and all(word in out for word in words), out
    code, out, _ = run_main(command, "--json")
    assert code == 0 and {row["name"] for row in json.loads(out)} >= {
        w for w in words if not w.isdigit()
    }


def test_help_is_short_enough_to_be_read():
    """At most 28 options a command, and each says what it is for."""
    for name, command in typer.main.get_command(app).commands.items():
        options = [p for p in command.params if p.param_type_name == "option"]
        assert len([p for p in options if p.name != "help"]) <= 28, name
        assert all(p.help for p in options), name


def test_help_of_every_command_fits_a_terminal(run_main, monkeypatch):
    """The list of commands is one page, no option is cut off, and no kind is one of Python."""
    monkeypatch.setenv("COLUMNS", "80")
    _, out, _ = run_main("--help")
    assert len(out.splitlines()) <= 60
    for name, options in options_of_commands().items():
        assert f"│ {name} " in out
        _, page, _ = run_main(name, "--help")
        assert all(word in page for word in options if word.startswith("-")), name
        own = re.findall(r"^│ [* ]*--.*", page, re.MULTILINE)
        assert not [line for line in own if "<" in line and "--help" not in line], name


def test_help_groups_the_options(run_main, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    code, out, _ = run_main("run", "--help")
    assert code == 0
    for word in ("What is asked", "Your own table", "How to learn", "--with", "NAME=VALUE"):
        assert word in out


@pytest.mark.parametrize("name", [*METHODS, *PARTS["inner"], *PARTS["outer"], *MODELS, *WRAPPERS])
def test_every_setting_is_listed_with_what_it_is(name, run_main, monkeypatch):
    code, out, err = run_main("methods", name, "--json")
    assert code == 0, err
    for row in json.loads(out):
        assert row["what it is"], row["setting"]
        assert row["setting"] in setting_kinds()
    code, out, _ = run_main("methods", name)
    assert code == 0 and ("Settings of" in out or f"{name} has no settings" in out)


def test_listed_defaults_are_those_of_a_run(run_main):
    _, out, _ = run_main("methods", "ffml", "--json")
    listed = {row["setting"]: row["default"] for row in json.loads(out)}
    assert listed["inner.lr"] == "0.1" and listed["outer"] == "pooled" and "shots" in listed
    assert (listed["outer.penalty"], listed["rounds"]) == ("0.0", "null")


def test_a_new_method_is_reached_from_the_command_line(run_main, monkeypatch):
    """Its own settings need no line of code there."""

    def careful(problem, *, patience: float = 0.5, shots: int = 100):
        """Wait and see.

        Args:
            problem: loss and constraints.
            patience: how long to wait.
            shots: rows drawn for each class.
        """
        raise AssertionError(f"patience {patience}")

    monkeypatch.setitem(METHODS, "careful", careful)
    setting_kinds.cache_clear()
    try:
        _, out, _ = run_main("methods", "careful", "--json")
        assert json.loads(out)[0] == {
            "setting": "patience",
            "default": "0.5",
            "takes": "a number",
            "what it is": "how long to wait.",
        }
        with pytest.raises(AssertionError, match=r"patience 2\.0"):
            run_main("run", "synthetic", "--method", "careful", *sets("patience=2"))
    finally:
        setting_kinds.cache_clear()


@pytest.mark.parametrize(
    ("given", "wrappers"),
    [
        ([], ["evened", "boosted"]),
        (FFML, ["corrected"]),
        (["--with", "none"], []),
        ([*FFML, "--with", "evened"], ["corrected", "evened"]),
        (["--with", "none", "--with", "evened"], ["evened"]),
        ([*FFML, "--with", "corrected"], ["corrected"]),
        (["--method", "twp"], []),
        (["--config", "c.json"], ["evened"]),
        (["--config", "c.json", "--with", "none"], []),
    ],
)
def test_wrappers_are_added_to_those_of_the_preset_or_the_file(given, wrappers, planned, tmp_path):
    (tmp_path / "c.json").write_text(json.dumps({"wrappers": ["evened"], "evened.memory": 0.5}))
    assert list(planned("synthetic", *given).recipe.wrappers) == wrappers


def test_what_a_file_says_of_parts_that_are_exchanged_is_left_out(planned, tmp_path):
    settings = {"method": "ffml", "inner": "primal-dual", "inner.lr": 0.5}
    settings |= {"seed": 3, "data": "synthetic"}
    (tmp_path / "c.json").write_text(json.dumps(settings))
    kept = planned("--config", "c.json")
    assert (kept.recipe.settings["inner.lr"], kept.seed, kept.data) == (0.5, 3, "synthetic")
    changed = planned("--config", "c.json", *sets("inner=gradient", "seed=4"))
    assert changed.recipe.settings["inner.lr"] == 0.1 and changed.seed == 4
    assert "inner.num_steps" in known_settings(changed.recipe)


def test_the_config_of_a_run_is_the_whole_recipe(planned, tmp_path):
    """No preset adds to it what the run did without."""
    paper = planned("crime", "--preset", "paper")
    (tmp_path / "config.json").write_text(json.dumps({"run": paper.to_json()}))
    assert planned("--config", "config.json") == paper
    wider = planned("--config", "config.json", "--max-gap", "0.5", "--with", "evened")
    assert wider.max_gap == (0.5,) and wider.recipe.settings == paper.recipe.settings


def test_options_of_the_data(planned):
    config = planned("synthetic", *sets("data.num_tasks=4", "data.rows_per_task=10,20"))
    assert config.data_options == {"num_tasks": 4, "rows_per_task": (10, 20)}
    crossed = planned(
        "adult", "--sensitive", "sex", "--sensitive", "race", *sets("data.intersect=true")
    )
    assert crossed.data_options == {"sensitive": ("sex", "race"), "intersect": True}


@pytest.fixture
def planned(run_main, monkeypatch):
    """Return what a run would be configured as, without running it."""
    from ffml.runs import starting

    class Planned(Exception):
        pass

    def stop(config, *args, **kwargs):
        raise Planned(config)

    monkeypatch.setattr(starting, "build", stop)

    def plan(*arguments):
        with pytest.raises(Planned) as stopped:
            run_main("run", *arguments, "--out", "never")
        return stopped.value.args[0]

    return plan


def test_help_and_listings_do_not_start_jax(tmp_path):
    probe = (
        "import sys; sys.argv = ['ffml', 'datasets', '--json']\n"
        "from ffml.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "assert 'jax' not in sys.modules and 'pandas' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", probe], check=True, capture_output=True, cwd=tmp_path)


def test_an_unknown_command_points_to_the_list_of_commands(run_main):
    code, _, err = run_main("rnu")
    assert code == 2 and "Did you mean 'run'" in err and "(see 'ffml --help')" in err


def test_without_a_command_the_help_is_shown(run_main):
    code, out, err = run_main()
    assert (code, err) == (2, "") and "Usage: " in out and "reproduce" in out


def test_a_typo_is_refused_before_anything_starts(run_main):
    code, out, err = run_main("run", "adlt")
    assert (code, out) == (2, "") and "did you mean 'adult'?" in err


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no full device")
def test_a_full_disk_is_one_line():
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "ffml", "datasets"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert done.stderr.startswith("error: No space left on device; make room and try again")


def test_a_table_breaks_no_short_word():
    rows = [{"compared": "sex: M against F", "typical gap": "31.7 [19.1, 72.2]", "rounds": 6}]
    for width in (36, 40, 80):
        with io.StringIO() as file:
            Console(file=file, width=width).print(table(rows))
            words = re.findall(r"[^\s│┃]+", file.getvalue())
        assert {"compared", "typical", "against", "[19.1,", "72.2]", "rounds"} <= set(words)
