"""Every script in benchmarks/ and scripts/ runs, in a small setting (examples: `test_examples`)."""

import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import matplotlib
import pytest
from matplotlib import pyplot

import ffml
from ffml import runtime

ROOT = Path(__file__).parents[1]
FOLDERS = ("benchmarks", "scripts")
# Arguments of a small setting, and what is printed at the end of it.
SMALL = {
    "benchmarks/ablation.py": (
        ["--small", "--seeds", "0", "--jobs", "1"],
        r"refit \+ evened \|",
    ),
    "benchmarks/aim.py": (
        ["synthetic num_tasks=6", "--seeds", "0", "--aims", "0.02", "--small", "--jobs", "1"],
        r"\| synthetic \| 2 \| [01]/1 \| .* \+?-?0\.\d+ ± nan \|",
    ),
    "benchmarks/verdicts.py": (
        ["--streams", "3", "--only", "24 months of 500"],
        "24 months.* 1.00",
    ),
    "benchmarks/alarm_delay.py": (["--streams", "2", "--looks", "50"], "betting .*% of 2 streams"),
    "benchmarks/batches.py": (
        ["--rows", "30", "--batches", "1", "--singles", "2"],
        r"(?s)30 rows, ids random: .*one person: .* sound: True",
    ),
    "benchmarks/boosting.py": (
        ["synthetic num_tasks=4 rows_per_task=100", "--points", "1"],
        r"\| synthetic \| ffml, one-hot \| \d\.\d{3} \| .* \| 0\.\d{4} \|",
    ),
    "benchmarks/calibration.py": (["--small"], r"\| recalibrated \| \d+\.\d \|"),
    "benchmarks/cost_model.py": (["--small", "--hosts", "1", "256"], r"\| 256 \| .* GB \|"),
    "benchmarks/everything.py": (
        [
            *("--small", "synthetic", "--seeds", "0-1", "--jobs", "1", "--tune", "0"),
            *("--asked", "0.02", "--method", "ffml-exact", "--method", "twp", "--method", "refit"),
        ],
        r"(?s)ffml-exact, 5 asked \| 0\.\d+ at .*refit \| 0\.\d+ at.*twp \| [+-]0\.\d+ \(",
    ),
    "benchmarks/engines.py": (
        ["--rows", "3000"],
        r"(?s)spark: 3,000 rows .*same bytes.*ray: 3,000 rows .*same bytes",
    ),
    "benchmarks/family.py": (
        ["synthetic num_tasks=4", "--seeds", "0", "--small", "--jobs", "1", "--out", "out"],
        r"\| all labelled rows \(the default\) \| .* \| 1 \| \d+ \|",
    ),
    "benchmarks/flat.py": (
        ["--rounds", "4", "--refit-rounds", "4", "--window", "2", "--out", "flat.svg"],
        r"(?s)\*\*default\*\*.*\| 4 \|.*\*\*refit\*\*.*\| 4 \|",
    ),
    "benchmarks/kill_points.py": (
        ["--kills", "1", "--rows", "24"],
        r"(?s)threads at once: \d+ times refused, 0 of 1.*1 SIGKILLs .*, 0 different",
    ),
    "benchmarks/large.py": (
        ["--scale", "0.001"],
        "(?s)features: .* MB.*groups: .* MB.*in a task: .* MB.*.parquet: .* MB.*a table of .* MB",
    ),
    "benchmarks/latency.py": (
        ["--repeats", "2", "--tasks", "2", "--people", "20"],
        r"decide about 20 people: median \d+\.\d ms",
    ),
    "benchmarks/ledger.py": (
        ["--rounds", "4", "--rows", "20", "--singles", "3", "--labels"],
        r"(?s)ms a round.*verify 83 decisions.*MB",
    ),
    "benchmarks/living.py": (
        ["--updates", "4", "--warm-up", "1", "--rows", "40", "--singles", "10"],
        r"(?s)updates of 40 rows.*change.*single decisions.*ledger: .* 290 decisions, sound: True",
    ),
    "benchmarks/first_result.py": (["--repeats", "1", "--only", "help"], r"--help \| warm \| \d"),
    "benchmarks/one_sided.py": (
        ["--small", "--seeds", "0"],
        r"\| 1 in 20 \| .* \| \d+\.\d ± nan \|",
    ),
    "benchmarks/outer_iteration.py": (
        ["--small", "--repeats", "1", "--json", "b.json"],
        r"(?s)ffml, paper's recipe \| 1 device .*bare JAX.*written: b.json",
    ),
    "benchmarks/profile_round.py": (
        ["--data", "synthetic", "--rounds", "2", "--out", "trace"],
        r"(?s)default on synthetic.*ffml on synthetic.*learn: update.*matrix products",
    ),
    "benchmarks/prices.py": (
        ["--people", "200", "--groups", "3", "--seeds", "1"],
        r"\| 200 \| 3 \| ratio .8 \| ",
    ),
    "benchmarks/promise.py": (
        ["--small", "--seeds", "0", "--jobs", "1", "--asked", "0.05", "--figure", "f.svg"],
        r"\| default \| 5 \| ",
    ),
    "benchmarks/quality_vs_time.py": (
        ["--small", "--seeds", "0", "--figure", "f.svg"],
        r"fairlearn, refitted \| 1 iteration \| ",
    ),
    "benchmarks/regret.py": (
        ["--seeds", "0", "--tasks", "3", "--rows", "60"],
        r"\| FFML solved \| -?\d+\.\d\d ± 0\.00 \|",
    ),
    "benchmarks/same_gap.py": (
        [
            "--small",
            "--seeds",
            "0-1",
            "--jobs",
            "1",
            "--asked",
            "none,0.05",
            "--recipe",
            "default",
            "--recipe",
            "fairlearn",
            "--recipe",
            "ThresholdOptimizer over boosting, groups known",
        ],
        r"(?s)\| fairlearn \| .*\| ThresholdOptimizer",
    ),
    "benchmarks/service.py": (
        ["--singles=16", "--many=16", "--batches=2", "--rows=50", "--taught=30"],
        r"(?s)in process .*no ledger, batches.*150,000: .*in the ledger; sound: True",
    ),
    "benchmarks/mlflow_scorer.py": (
        ["--python", sys.executable, "--singles", "8", "--batches", "2", "--rows", "50"],
        r"(?s)50 decisions and 50 probabilities equal.*bare function.*with ledger, batches",
    ),
    "benchmarks/service_kills.py": (
        ["--kills", "1", "--clients", "2", "--pause", "0.5"],
        r"(?s)SQLite: 1 kills.* 0 lost or changed, 0 people twice.*sound; replay: equal",
    ),
    "scripts/draw_concepts.py": (["--out", "."], "wrote concept_alarm.svg"),
    "scripts/draw_kept.py": (["--rounds", "3", "--out", "."], "wrote kept.svg"),
    "scripts/draw_gallery.py": (
        ["--example", "audit_table", "--out", "."],
        "wrote audit_table.svg",
    ),
    "benchmarks/switches.py": (
        ["--small", "--seeds=0", "--tasks=6", "--rows=40", "--method=twp", "--how=abrupt"],
        r"(?s)\| abrupt \| groups \| twp \| \w+ \| -?\d+\.\d \|.*drawn: switches.svg",
    ),
    "benchmarks/predict_rows.py": (
        ["--rows", "2000"],
        "default recipe: .* million rows/s from Parq",
    ),
}
# What measures processes, kills them, or sets JAX up in its own way: in a process of its own.
ALONE = tuple(
    f"benchmarks/{name}.py"
    for name in (
        *("batches", "cost_model", "engines", "kill_points", "large", "mlflow_scorer"),
        *("outer_iteration", "service", "service_kills"),
    )
)
NEEDS = {
    "benchmarks/engines.py": ("pyspark", "ray"),
    "benchmarks/mlflow_scorer.py": ("mlflow",),  # without --python the script installs it by itself
}
ELSEWHERE = {  # have tests of their own
    "scripts/build_data.py": "datasets/test_datasets.py",
    "scripts/run_notebooks.py": "test_docs.py",
}


def test_no_script_is_left_out():
    found = {f"{folder}/{p.name}" for folder in FOLDERS for p in (ROOT / folder).glob("*.py")}
    helpers = ("asked", "http_load", "once", "optimizer", "streams")
    imported = {f"benchmarks/{name}.py" for name in helpers}
    assert found == {*SMALL, *ELSEWHERE, *imported}
    for script, test in ELSEWHERE.items():
        assert Path(script).stem in (ROOT / "tests" / test).read_text(encoding="utf-8")


@pytest.mark.parametrize("script", SMALL)
def test_benchmarks_run(script, tmp_path, monkeypatch, capsys):
    arguments, printed = SMALL[script]
    for module in NEEDS.get(script, ()):
        pytest.importorskip(module, reason=f"{module} is not installed")
        if module == "pyspark" and not shutil.which("java"):
            pytest.skip("Spark needs Java, which is not installed")
    if script in ALONE:
        said = alone(script, arguments, tmp_path)
    else:
        monkeypatch.chdir(tmp_path)
        said = in_this_process(script, arguments, monkeypatch, capsys)
    assert re.search(printed, said), said


def alone(script, arguments, folder):
    """Run a script in a process of its own; return what it printed."""
    done = subprocess.run(
        [sys.executable, "-X", "utf8", ROOT / script, *arguments],
        cwd=folder,
        env=os.environ | {"RAY_AUTH_MODE": "disabled"},  # or Ray leaves a token in the home folder
        capture_output=True,
        encoding="utf-8",
        timeout=1800,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def in_this_process(script, arguments, monkeypatch, capsys):
    """Run a script here, without a start-up of its own; return what it printed."""
    for owner in (runtime, ffml):  # JAX has started already
        monkeypatch.setattr(owner, "configure", lambda *args, **kwargs: None)
    monkeypatch.setattr(sys, "argv", [str(ROOT / script), *arguments])
    monkeypatch.syspath_prepend(ROOT / script.partition("/")[0])  # where its helpers are
    with matplotlib.rc_context():
        try:
            runpy.run_path(str(ROOT / script), run_name="__main__")
        except SystemExit as ended:
            assert not ended.code, capsys.readouterr().err
    pyplot.close("all")
    return capsys.readouterr().out
