"""``ffml tune`` on the command line."""

import json
import subprocess
import sys

import pandas as pd
import pytest

from ffml.cli.values import parse_grid, parse_variant
from ffml.store.container import read

SMALL = [
    *("--method", "twp", "--set", "rounds=6", "--set", "num_steps=2", "--set", "shots=4"),
    *("--set", "tasks_per_round=2", "--set", "rows_per_task=32"),
]


def test_the_command(run_main, tmp_path):
    arguments = ["tune", "synthetic", *SMALL, "--seeds", "100,101", "--grid", "lr=0.1,0.5"]
    code, out, err = run_main(*arguments, "--grid", "max_gap=0.02,0.1")
    assert (code, err) == (0, "")
    assert "4 settings of twp (lr, max_gap) × 2 seeds; to compute: 2 chunks of 1 program" in out
    assert "judged in rounds 3 to 4 of 6 with at least 50 validation rows" in out
    assert "Best 4 of 4 settings" in out and "Chosen: lr " in out and "Rule: Among" in out
    folder = tmp_path / "tune" / "synthetic"
    before = (folder / "settings.csv").read_text(encoding="utf-8")
    code, out, err = run_main(*arguments, "--grid", "max_gap=0.02,0.1", "--json")
    assert code == 0 and "8 of 8 runs finished already; to compute: 0 chunks" in err
    chosen = json.loads(out)
    assert chosen["how"]["command"].startswith("ffml tune synthetic --method twp")
    measured = chosen["measured"]
    assert 0 <= measured["typical_gap"]["mean"] < 1 and measured["rounds"]["judged"] == 4
    assert (folder / "settings.csv").read_text(encoding="utf-8") == before
    code, out, _ = run_main(
        *("run", "synthetic", "--config", folder / "chosen.json", "--set", "rounds=1"),
        *("--out", tmp_path / "run", "--quiet"),
    )
    assert code == 0
    saved = json.loads((tmp_path / "run" / "config.json").read_text(encoding="utf-8"))["run"]
    assert saved["recipe"] == chosen["run"]["recipe"]
    assert saved["recipe"]["settings"]["lr"] == chosen["settings"]["lr"]
    assert saved["max_gap"] == chosen["settings"]["max_gap"] and saved["seed"] == 0


def test_methods_outside_of_compiled_programs_are_tuned_run_by_run(run_main, tmp_path):
    arguments = ["tune", "synthetic", "--method", "refit", "--set", "rounds=6", "--seeds", "100"]
    code, out, err = run_main(*arguments, "--grid", "inverse_l2=0.001,1")
    assert (code, err) == (0, "") and "1 seed; to compute: 2 runs" in out
    folder = tmp_path / "tune" / "synthetic"
    [best, _] = pd.read_csv(folder / "settings.csv").to_dict("records")
    assert best["rounds"] == 2 and best["balanced_accuracy"] > 0.6  # rounds 3 and 4 of 6
    cells = [read(path).document for path in (folder / "chunks").glob("*.safetensors")]
    assert {len(cell["rounds"]) for cell in cells} == {4}  # those that tables report are not played
    code, out, _ = run_main(*arguments, "--grid", "inverse_l2=0.001,1")
    assert code == 0 and "2 of 2 runs finished already; to compute: 0 runs" in out


def test_an_interrupted_command_says_how_to_go_on(run_main, tmp_path, monkeypatch):
    import ffml.studies.tuning._study as study

    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(study, "run_and_keep", interrupted)
    code, out, _ = run_main("tune", "synthetic", *SMALL, "--grid", "lr=0.1,0.5")
    assert code == 130 and "Go on with the same command" in out
    assert not (tmp_path / "tune" / "synthetic" / "chosen.json").exists()


def test_a_space_gives_way_to_what_is_given():
    from ffml.studies.tuning import plan_space

    search = plan_space("synthetic", given={"problem.l2": 0.5}, grid={})
    assert "problem.l2" not in search.names and "max_gap" in search.names
    assert all(config.settings["problem.l2"] == 0.5 for config in search.configs)
    assert search.seeds == (100, 101, 102, 103, 104)
    damping = {"damping": (1.0, 2.0)}
    assert plan_space("synthetic", given={}, grid=damping).names == ("damping",)
    both = plan_space("synthetic", given={}, grid=damping, space="paper", random=5)
    assert set(both.names) == {"inner.lr", "outer_lr", "initial_multiplier", "damping"}
    assert len(both.settings) == 5 and both.configs[0].settings["model"] == "mlp"
    assert all(1 <= s["damping"] <= 2 for s in both.settings)
    assert len(plan_space("synthetic", given={}, grid={}, space="paper").settings) == 64
    _, method, own = parse_variant("ogdlc with=evened max_gap=0.1")
    wrapped = plan_space("synthetic", method=method, given=own, grid=parse_grid(["lr=1,2"]))
    assert {c.recipe.wrappers for c in wrapped.configs} == {("evened",)}
    assert (wrapped.method, wrapped.names) == ("ogdlc", ("lr",))
    assert {c.max_gap for c in wrapped.configs} == {(0.1,)}


def test_values_of_a_grid():
    assert parse_grid(("model.hidden=40+40,8", "notions=dbc+equal-opportunity,dbc")) == {
        "model.hidden": ((40, 40), (8,)),
        "notions": (("dbc", "equal-opportunity"), ("dbc",)),
    }
    assert parse_grid(("problem.natural-rates=true,false", "max_gap=1e+1+2")) == {
        "problem.natural_rates": (True, False),
        "max_gap": ((10.0, 2),),
    }


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["adlut"], "unknown data set 'adlut'"),
        (["synthetic", "--method", "fmfl"], "unknown method 'fmfl'; did you mean 'ffml'?"),
        (["synthetic", "--method", "ffml with=evend"], "unknown wrapper 'evend'; did you mean"),
        (["synthetic", "--space", "papr"], "unknown space 'papr'; did you mean 'paper'?"),
        (["synthetic", "--grid", "inner.lr"], "--grid takes NAME=V1,V2,… such as inner.lr=0.1,0.3"),
        (["synthetic", "--grid", "problem.l2=0.1,,1"], "--grid takes NAME=V1,V2,…"),
        (
            ["synthetic", "--grid", "problem.l2=0", "--grid", "problem.l2=1"],
            "--grid has 'problem.l2' twice",
        ),
        (
            ["synthetic", "--grid", "problem.l3=0,1"],
            "unknown setting 'problem.l3'; did you mean 'problem.l2'?",
        ),
        (
            ["synthetic", "--grid", "problem.l2=0,much"],
            "setting 'problem.l2' takes a number, got 'much'",
        ),
        (["synthetic", "--grid", "problem.l2=0,-1"], "l2 must be >= 0, got -1.0"),
        (
            ["synthetic", "--grid", "problem.l2=0,NaN"],
            "problem.l2 must be a finite number, got nan",
        ),
        (["synthetic", "--grid", "seed=1,2"], "'seed' is the same for all settings tried; use"),
        (
            ["synthetic", "--grid", "problem.l2=0,1", "--set", "problem.l2=1"],
            "'problem.l2' has both one value for all",
        ),
        (["synthetic", "--seeds", "5-7"], "seed 5 is one of those that tables report (0-99)"),
        (["synthetic", "--seeds", "x"], "--seeds takes seeds such as"),
        (["synthetic", "--random", "0"], "--random must be >= 1, got 0"),
        (["synthetic", "--chunk", "0"], "--chunk must be >= 1, got 0"),
        (
            ["synthetic", "--target-dp", "1.5"],
            "--target-dp must be above 0 and at most 1.2, got 1.5",
        ),
        (["synthetic", "--min-validation", "0"], "--min-validation must be >= 1, got 0"),
        (["synthetic", "--min-validation", "500"], "none of the rounds 7 to 13 of 20"),
        (["synthetic", "--set", "rounds=0"], "rounds must be >= 1, got 0"),
        (["synthetic", "--label", "y"], "--label is for tables of your own"),
        (["synthetic", "--preset", "papr"], "unknown preset 'papr'; did you mean 'paper'?"),
    ],
)
def test_bad_input_is_one_line_and_leaves_nothing(arguments, message, run_main, tmp_path):
    code, out, err = run_main("tune", *arguments)
    assert code == 2 and err.startswith(f"error: {message}") and err.count("\n") == 1, err
    assert list(tmp_path.iterdir()) == [] and "compute" not in out


def test_a_process_of_its_own_gets_as_far_as_the_data(tmp_path):
    """Here JAX has long been set up; there it must be before any setting is checked."""
    done = subprocess.run(
        [sys.executable, "-m", "ffml", "tune", "synthetic", "--min-validation", "500"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("error: none of the rounds 7 to 13 of 20")
