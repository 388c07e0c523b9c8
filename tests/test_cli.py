"""The command line as a person meets it: what it prints, what it leaves behind, how it fails."""

import csv
import json
import os
import signal
import subprocess
import sys
import time

import pytest

QUICK = ["--model", "linear", "--num-outer-steps", "2", "--num-inner-steps", "1"]
SMALL = ["--tasks-per-round", "4", "--rows-per-task", "64", "--shots", "10"]


def ffml(*arguments, cwd, **environment):
    return subprocess.run(
        [sys.executable, "-m", "ffml", *map(str, arguments)],
        cwd=cwd,
        env=os.environ | {"COLUMNS": "100"} | environment,
        capture_output=True,
        text=True,
        timeout=300,
    )


def read_rows(path):
    return list(csv.DictReader(path.read_text().splitlines()))


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cli")
    out = ffml("run", "synthetic", *QUICK, *SMALL, "--rounds", 4, "--out", "one", cwd=folder)
    assert out.returncode == 0, out.stderr
    return folder, out


def test_run_shows_rounds_summary_and_report(finished):
    folder, out = finished
    for word in ("round", "/ceil", "Mean over the rounds", "balanced accuracy", "report.html"):
        assert word in out.stdout
    assert (folder / "one" / "report.html").read_text().startswith("<!doctype html>")


def test_run_leaves_the_files_it_promises(finished):
    folder = finished[0] / "one"
    config = json.loads((folder / "config.json").read_text())
    assert config["run"]["seed"] == 0 and config["settings"]["num_outer_steps"] == 2
    rows = read_rows(folder / "rounds.csv")
    assert [row["round"] for row in rows] == ["1", "2", "3", "4"]
    promised = (
        "round task n_support n_validation dp eo disc accuracy balanced_accuracy loss dbc "
        "dp_ceiling eo_ceiling"
    )
    assert set(promised.split()) <= set(rows[0])
    assert "multiplier:demographic-parity[group=g1]" in rows[0]
    summary = json.loads((folder / "summary.json").read_text())
    assert summary["status"] == "complete" and summary["rounds"] == 4
    groups = read_rows(folder / "groups.csv")
    assert sum(int(g["n"]) for g in groups) == sum(int(r["n_validation"]) for r in rows)


def test_same_seed_gives_the_same_bytes(finished):
    folder = finished[0]
    again = ffml(
        "run", "synthetic", *QUICK, *SMALL, "--rounds", 4, "--out", "two", "--json", cwd=folder
    )
    assert json.loads(again.stdout)["rounds"] == 4  # nothing but JSON on stdout
    for name in ("rounds.csv", "groups.csv"):
        assert (folder / "one" / name).read_bytes() == (folder / "two" / name).read_bytes()


def test_quiet_says_nothing(finished):
    out = ffml(
        "run", "synthetic", *QUICK, *SMALL, "--rounds", 1, "--quiet", "--overwrite", cwd=finished[0]
    )
    assert (out.returncode, out.stdout, out.stderr) == (0, "", "")
    assert (finished[0] / "runs" / "synthetic-ffml-0" / "report.html").exists()


BAD = [
    (["adlt"], "unknown data set 'adlt': did you mean 'adult'?"),
    (["adult", "--method", "fml"], "unknown method 'fml'; did you mean 'ffml'?"),
    (["adult", "--constraint", "equalised-odds"], "did you mean 'equalized-odds'?"),
    (["adult", "--model", "mpl"], "unknown model 'mpl'; did you mean 'mlp'?"),
    (["adult", "--bound", "-0.1"], "bound of demographic-parity must be >= 0, got -0.1"),
    (["synthetic", "--bound", "0", "--bound", "1"], "give one bound; got 2"),
    (
        ["synthetic", "--constraint", "dbc", "--constraint", "equal-opportunity"]
        + ["--bound", "1"] * 3,
        "give one bound, or one for each of the 2 constraints; got 3",
    ),
    (["bank", "--data-home", "corrupt", "--gap-spread", "-1"], "gap_spread must be >= 0, got -1"),
    (["adult", "--positive-weight", "0"], "positive_weight must be > 0, got 0.0"),
    (["adult", "--inner-lr", "0"], "inner_lr must be > 0, got 0.0"),
    (["adult", "--num-inner-steps", "0"], "num_inner_steps must be >= 1, got 0"),
    (["adult", "--seed", "x"], "Invalid value for '--seed'"),
    (["adult", "--seed", "-1"], "seed must be >= 0, got -1"),
    (["adult", "--rounds", "0"], "rounds must be >= 1, got 0"),
    (["adult", "--hidden", "a,b"], "--hidden takes widths such as 40,40, got 'a,b'"),
    (["adult", "--model", "mlp", "--hidden", "0"], "hidden must be one or more widths >= 1"),
    (["adult", "--model", "linear", "--hidden", "4"], "model 'linear' has no setting 'hidden'"),
    (["adult", "--validation-fraction", "1"], "validation_fraction must be between 0 and 1"),
    (["adult", "--noise-allowance", "-1"], "noise_allowance must be >= 0, got -1.0"),
    (["bank", "--data-home", "corrupt", "--shots", "0"], "shots must be >= 1, got 0"),
    (["adult", "--temperature", "0"], "temperature must be > 0, got 0.0"),
    (["adult", "--preset", "papr"], "unknown preset 'papr'; did you mean 'paper'?"),
    (["adult", "--sensitive", "age"], "sensitive must be among ['sex', 'race'], got ['age']"),
    (["crime", "--sensitive", "sex"], "data set 'crime' has no option 'sensitive'"),
    (["adult", "--out", "file"], "file is a file, not a folder; choose another --out"),
    (["adult", "--nonsense"], "No such option"),
    ([], "give a data set (see 'ffml datasets'), a table's path, or --sql"),
    (["bank", "--data-home", "corrupt"], "bank-additional-full.csv"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD, ids=[" ".join(a) for a, _ in BAD])
def test_mistakes_are_one_line_with_code_two_and_leave_nothing(arguments, message, refuses):
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


def test_interrupted_run_leaves_whole_files(tmp_path):
    child = subprocess.Popen(
        [sys.executable, "-m", "ffml", "run", "adult", *QUICK, "--out", "run"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    rounds = tmp_path / "run" / "rounds.csv"
    deadline = time.monotonic() + 200
    while time.monotonic() < deadline and (
        not rounds.exists() or rounds.read_text().count("\n") < 3
    ):
        time.sleep(0.1)
    child.send_signal(signal.SIGINT)
    output, _ = child.communicate(timeout=100)
    assert child.returncode == 130 and "Traceback" not in output
    assert "interrupted after" in output
    done = len(read_rows(rounds))
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert summary["status"] == "interrupted" and summary["rounds"] == done >= 2
    assert (tmp_path / "run" / "report.html").exists()


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("datasets", ["adult", "41", "crime", "43", "bank", "50", "synthetic"]),
        ("methods", ["ffml"]),
        ("constraints", ["dbc", "demographic-parity", "equal-opportunity", "equalized-odds"]),
    ],
)
def test_listings(command, words, run_main, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    code, out, _ = run_main(command)
    assert code == 0 and all(word in out for word in words)
    code, out, _ = run_main(command, "--json")
    assert code == 0 and {row["name"] for row in json.loads(out)} >= {
        w for w in words if not w.isdigit()
    }


def test_help_groups_the_options(run_main, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    code, out, _ = run_main("run", "--help")
    assert code == 0
    for word in (
        "What to learn",
        "Algorithm",
        "Memory and protocol",
        "Ablations",
        "--inner-lr",
        "η₁",
    ):
        assert word in out


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


def test_a_typo_is_refused_before_anything_starts(run_main):
    code, out, err = run_main("run", "adlt")
    assert (code, out) == (2, "") and "did you mean 'adult'?" in err
