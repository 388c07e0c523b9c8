"""Comparing methods: cells and their store, plans, the pool of processes, the command."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import fields, replace

import numpy as np
import pytest
from comparisons import tiny_plan, two_methods
from pandas.testing import assert_frame_equal
from playing import Player

from ffml.base import FFMLError
from ffml.methods import METHODS
from ffml.metrics import round_gaps
from ffml.recipe.build import _shared, build
from ffml.recipe.config import RunConfig, configure_run
from ffml.recipe.recipes import Recipe
from ffml.studies import cells as cells_module
from ffml.studies.compare import (
    PROTOCOLS,
    RunSpec,
    Store,
    Variant,
    check_cells,
    plan,
    plan_on_tables,
    unfinished,
)
from ffml.studies.play import compute


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    return two_methods(tmp_path_factory.mktemp("store"))


# -- cells and their store -----------------------------------------------------------------------


@pytest.mark.parametrize("method", ["ffml-exact", "twp"])
def test_runs_of_one_process_share_functions_and_nothing_else(method, tmp_path):
    all_judge = {"judge_min_rows": 0, "judge_from": 0.0}
    first, second = tiny_plan([method], (0, 1), settings=all_judge)
    for cell, store in ((first, "a"), (second, "a"), (second, "b"), (first, "b")):
        Store(tmp_path / store).save(cell, *compute(cell, lambda *at: None))
    both = [Store(tmp_path / name).load([first, second]) for name in "ab"]
    assert_frame_equal(*(frame.drop(columns="seconds") for frame in both))
    shared = [build(cell.config) for cell in (first, second)]
    _shared.cache_clear()
    alone = build(second.config)
    assert shared[0].loop.learner is shared[1].loop.learner is not alone.loop.learner
    losses = [r.metrics["loss"] for r in Player.of(alone).play(alone.stream.tasks())]
    assert losses == both[0]["loss"][both[0]["seed"] == 1].tolist()


def test_every_setting_makes_another_key():
    config = RunConfig("adult")
    changed = {
        "data": "crime",
        "data_options": {"sensitive": ("race",)},
        "recipe": Recipe("twp"),
        "notions": ("dbc",),
        "min_ratio": (0.8,),
        "aim": (0.03,),
        "rounds": 3,
        "memory_policy": "recent",
        "policy": "balanced",
        "plugins": {"mine.py": "its SHA-256"},
    }
    keys = {RunSpec("x", config).key, RunSpec("x", config, "changed table").key}
    for f in fields(RunConfig):
        value = changed.get(f.name)
        if value is None:
            default = getattr(config, f.name)
            value = tuple(b + 1 for b in default) if f.name == "max_gap" else default + 1
        keys.add(RunSpec("x", replace(config, **{f.name: value})).key)
    recipes = [
        Recipe(settings={"inner.lr": 0.5}),
        Recipe(settings={"inner": "gradient"}),
        Recipe(settings={"model": "mlp"}),
        Recipe(wrappers=("corrected",)),
        Recipe(wrappers=("corrected", "evened")),
        Recipe(wrappers=("evened", "corrected")),
    ]
    keys |= {RunSpec("x", replace(config, recipe=recipe)).key for recipe in recipes}
    assert len(keys) == len(fields(RunConfig)) + 2 + len(recipes)
    assert RunSpec("another label", config).key in keys


def test_a_default_that_is_given_makes_no_other_key():
    given = Recipe(settings={"damping": Recipe().values()["damping"], "inner": "primal-dual"})
    assert (
        RunSpec("x", RunConfig("adult", recipe=given)).key == RunSpec("x", RunConfig("adult")).key
    )


def test_a_changed_default_or_format_makes_another_key(monkeypatch):
    cell = RunSpec("x", RunConfig("adult", recipe=Recipe("twp")))
    before = cell.key
    monkeypatch.setitem(METHODS, "twp", lambda problem, *, lr=123.0: None)
    other_default = cell.key
    monkeypatch.setattr(cells_module, "RESULTS_FORMAT", 1000)
    assert len({before, other_default, cell.key}) == 3


def test_the_store_gives_back_every_number(stored):
    store, cells = stored
    frame = store.load(cells)
    assert len(frame) == 16 and list(frame["label"].unique()) == ["twp", "refit"]
    experiment = build(cells[0].config)
    player = Player.of(experiment)
    names = experiment.problem.constraint_names
    for task, (_, row) in zip(experiment.stream.tasks(), frame.iterrows(), strict=False):
        record = player.step(task)
        for name in ("round", "task", "n_rows", "n_support", "n_validation", "iterations"):
            assert row[name] == getattr(record, name)
        found = {name: row[name] for name in record.metrics}
        np.testing.assert_array_equal(list(found.values()), list(record.metrics.values()))
        assert row[f"multiplier:{names[0]}"] == record.multipliers[0]
        [table], [column] = record.tables.values(), experiment.stream.schema.sensitive
        gaps = round_gaps(table[None])
        name = f"{column.name}={column.groups[1]}"
        assert [row[f"{kind}:{name}"] for kind in ("gap", "gap_square", "gap_rows")] == [
            part.item() for part in gaps
        ]
        assert (row["rounds"], row["seed"], row["validation"]) == (4, 0, 0.5)
        assert row["selected"] == table[..., 1].sum() / table.sum()
    not_judged = frame[(frame["label"] == "refit") & (3 * frame["round"] <= 8)]
    assert not_judged["accuracy"].isna().all() and not not_judged["n_validation"].any()
    assert not_judged["undefined"].str.contains("dp: not judged").all()
    assert store.seconds(cells[:1]) >= frame[frame["label"] == "twp"]["seconds"][:4].sum()


def test_what_is_damaged_or_of_another_config_is_not_there(stored, tmp_path):
    store, cells = stored
    whole = store.path(cells[0]).read_bytes()
    other = Store(tmp_path)
    path = other.path(cells[0])
    flipped = bytearray(whole)
    flipped[-9] ^= 1
    for data in (b"", whole[:-1], whole[:50], bytes(flipped), b"x" * 300):
        path.write_bytes(data)
        assert not other.finished(cells[0])
    path.write_bytes(whole)
    assert other.finished(cells[0])
    other.path(cells[1]).write_bytes(whole)  # a true file under another cell's name
    assert not other.finished(cells[1])
    with pytest.raises(FFMLError, match="no results of twp on synthetic, seed 1; run that cell"):
        other.load(cells[:2])


def test_cells_that_a_table_would_mix_up_are_refused(stored):
    store, cells = stored
    frame = store.load([cells[0], cells[0]])
    assert len(frame) == 4
    changed = replace(cells[0], config=replace(cells[0].config, shots=5))
    with pytest.raises(FFMLError, match="two different cells are twp on synthetic, seed 0; give"):
        store.load([cells[0], changed])
    with pytest.raises(FFMLError, match="give at least one cell"):
        store.load([])


# -- plans ---------------------------------------------------------------------------------------


def test_protocols():
    clean, paper = (plan(["adult"], ["ffml"], protocol=name) for name in ("clean", "paper"))
    assert [cell.config.seed for cell in clean] == [0, 1, 2, 3, 4]
    assert clean[0].config == configure_run("adult", {"method": "ffml"})
    assert len(paper) == 20 and {cell.config.seed for cell in paper} == set(range(10))
    assert {cell.config.validation_fraction for cell in paper} == {0.9, 0.3}
    expected = {"augment_to": 2500, "validation_fraction": 0.9}
    assert paper[0].config == configure_run("adult", expected, "paper")
    own = plan(["adult"], ["ffml"], protocol="paper", preset="default", validation=[0.3], seeds=[3])
    assert [cell.config for cell in own] == [
        configure_run("adult", expected | {"method": "ffml", "seed": 3, "validation_fraction": 0.3})
    ]
    assert len({cell.key for cell in plan()}) == 3 * 5 * len(METHODS)
    assert set(PROTOCOLS) == {"clean", "paper"}


def test_methods_that_are_slow_decide_where_the_summary_looks():
    cells = plan(["adult", "crime"], ["ffml", "refit", "fairlearn-dp"], seeds=[0])
    judged = {
        (c.config.data, c.label): (c.config.judge_from, c.config.judge_min_rows) for c in cells
    }
    assert judged["adult", "ffml"] == judged["crime", "ffml"] == (0, 0)
    assert judged["adult", "refit"] == judged["adult", "fairlearn-dp"] == (2 / 3, 50)
    assert judged["crime", "fairlearn-dp"] == (2 / 3, 10)
    [everywhere] = plan(["crime"], ["refit"], seeds=[0], settings={"judge_from": 0.0})
    assert everywhere.config.judge_from == 0


def test_settings_go_to_those_that_have_them():
    settings = {"num_outer_steps": 7, "problem.l2": 0.1, "model": "mlp", "model.hidden": (3,)}
    ffml, twp = plan(["synthetic"], ["ffml", "twp"], seeds=[0], settings=settings)
    assert ffml.config.settings.items() >= settings.items()
    assert twp.config.recipe.settings == dict(list(settings.items())[1:])
    with pytest.raises(
        FFMLError, match="has a setting 'num_outer_step'; did you mean 'num_outer_st"
    ):
        plan(["adult"], ["ffml"], settings={"num_outer_step": 7})
    with pytest.raises(FFMLError, match="none of the methods has a setting 'num_outer_steps'"):
        plan(["adult"], ["twp"], settings={"num_outer_steps": 7})
    with pytest.raises(FFMLError, match="'seed' differs between the cells; change it by seeds"):
        plan(["adult"], ["twp"], settings={"seed": 7})


def test_variants_have_settings_and_names_of_their_own():
    loose = Variant("loose", "ffml", {"max_gap": (0.3,), "problem.l2": 0.0})
    plain, varied, twp = plan(
        ["adult"], ["ffml", loose, "twp", "ffml"], seeds=[0], settings={"problem.l2": 0.1}
    )
    assert [c.label for c in (plain, varied, twp)] == ["ffml", "loose", "twp"]
    assert varied.config.max_gap == (0.3,) and varied.config.settings["problem.l2"] == 0.0
    same = {"max_gap": plain.config.max_gap, "problem.l2": 0.1}
    assert varied.config.settings | same == plain.config.settings
    with pytest.raises(FFMLError, match="'loose' is the name of two variants"):
        plan(["adult"], [loose, Variant("loose", "ffml", {"max_gap": (0.2,)})])


def test_variants_have_parts_and_wrappers_of_their_own():
    parts = Variant("parts", "ffml", {"outer": "mean-over-tasks", "wrappers": ()})
    evened = Variant("evened", "refit", {"wrappers": ("evened",), "evened.memory": 0.5})
    ffml, without, refit, wrapped = plan(["adult"], ["ffml", parts, "refit", evened], seeds=[0])
    assert ffml.config.recipe.wrappers == ("corrected",) and without.config.recipe.wrappers == ()
    assert without.config.recipe.part("outer") == "mean-over-tasks"
    assert (refit.config.recipe.wrappers, wrapped.config.recipe.wrappers) == ((), ("evened",))
    assert wrapped.config.judge_from == refit.config.judge_from > 0
    check_cells([wrapped])
    for settings, message in (
        ({"evened.memory": 0.5}, "'evened.memory' is a setting of the wrapper 'evened'; add with="),
        ({"wrappers": ("evend",)}, "unknown wrapper 'evend'; did you mean 'evened'"),
        ({"outer.penalty": 1.0, "outer": "loss-only"}, "has a setting 'outer.penalty'"),
    ):
        with pytest.raises(FFMLError, match=message):
            plan(["adult"], [Variant("x", "ffml", settings)])
    with pytest.raises(FFMLError, match="the wrapper 'corrected' moves the bounds"):
        plan(["adult"], [Variant("x", "m-ftml", {"wrappers": ("corrected",)})])


def test_the_order_compiles_every_program_once_then_takes_the_longest(tmp_path):
    cells = tiny_plan(["twp", "ffml", "fairlearn-dp"], (5, 6, 7))
    order = [(cell.label, cell.config.seed) for cell in unfinished(cells, Store(tmp_path))]
    assert order[:3] == [("fairlearn-dp", 5), ("ffml", 5), ("twp", 5)]
    assert [label for label, _ in order[3:]] == ["fairlearn-dp"] * 2 + ["ffml"] * 2 + ["twp"] * 2
    assert len(unfinished([*cells, *cells], Store(tmp_path))) == 9


def test_cells_are_checked_before_any_runs(monkeypatch):
    check_cells(tiny_plan(["ffml", "refit"], (0, 1)))
    with pytest.raises(FFMLError, match=r"inner\.num_steps must be >= 1, got 0"):
        check_cells(tiny_plan(["refit", "ffml"], settings={"inner.num_steps": 0}))
    monkeypatch.setitem(sys.modules, "fairlearn", None)
    with pytest.raises(FFMLError, match=r"needs fairlearn, .* pip install 'ffml\[fairlearn\]'"):
        tiny_plan(["fairlearn-dp"])


# -- processes -----------------------------------------------------------------------------------

SCRIPT = """
import os, signal
from ffml.base import FFMLError
from ffml.studies.compare import Store, plan, run_cells
from ffml.methods import METHODS, refit

def failing(problem, *, how="refused"):
    def adapt(knowledge, support):
        if how == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        raise FFMLError("mend it") if how == "refused" else ValueError("an\\nerror")
    return refit(problem)._replace(adapt=adapt)

METHODS["failing"] = failing

if __name__ == "__main__":
    cells = []
    for how in ("refused", "killed", "broken"):
        cells += plan(["synthetic"], ["failing"], seeds=[0], settings={"how": how, "rounds": 2})
    cells += plan(["synthetic"], ["refit"], seeds=[0, 1], settings={"rounds": 2})
    try:
        run_cells(cells, Store("cells"), workers=1)
    except FFMLError as error:
        print(error)
    print([Store("cells").finished(cell) for cell in cells])
"""


def test_failing_and_killed_cells_do_not_keep_others_from_finishing(tmp_path):
    """Also: methods that a script registers are known to its worker processes."""
    (tmp_path / "script.py").write_text(SCRIPT)
    done = python(tmp_path, "script.py")
    message, finished = done.stdout.splitlines()
    assert message.startswith("3 of 5 runs failed, the others are kept: ")
    for reason in (
        "failing on synthetic, seed 0: mend it",
        "its process was killed (signal 9), perhaps for want of memory; use fewer --jobs",
        "failing on synthetic, seed 0: ValueError: an error",
    ):
        assert reason in message
    assert finished == "[False, False, False, True, True]"
    [trace] = (tmp_path / "cells").glob("*.error.txt")
    assert 'in adapt\n    raise FFMLError("mend it")' in trace.read_text()


def python(folder, *words, **more):
    environment = os.environ | {"COLUMNS": "200"}
    command = [sys.executable, *map(str, words)]
    if more:
        return subprocess.Popen(command, cwd=folder, env=environment, text=True, **more)
    done = subprocess.run(
        command, cwd=folder, env=environment, text=True, capture_output=True, timeout=1800
    )
    assert done.returncode == 0, done.stderr
    return done


COMPARE = ["compare", "--data", "synthetic", "--method", "refit", "--seeds", "0-7", "--jobs", "1"]
COMPARE += ["--rounds", "9", "--out", "out"]


def test_a_comparison_goes_on_after_a_kill_and_after_an_interruption(
    tmp_path, run_main, monkeypatch
):
    cells = tmp_path / "out" / "cells"
    kept = {}
    for stop in (signal.SIGKILL, signal.SIGINT):
        pipe = subprocess.PIPE
        child = python(
            tmp_path, "-m", "ffml", *COMPARE, stdout=pipe, stderr=pipe, start_new_session=True
        )
        deadline = time.monotonic() + 600
        while len(list(cells.glob("*.safetensors"))) <= len(kept) and time.monotonic() < deadline:
            assert child.poll() is None, child.stderr.read()
            time.sleep(0.01)
        if stop == signal.SIGKILL:
            child.kill()  # the parent alone: its worker must notice
        else:
            os.killpg(child.pid, signal.SIGINT)  # as Ctrl-C does
        out, err = child.communicate(timeout=600)  # the pipes close when the last process ends
        for name, data in kept.items():
            assert (cells / name).read_bytes() == data
        kept |= {path.name: path.read_bytes() for path in cells.glob("*.safetensors")}
        assert 0 < len(kept) < 8 and not (tmp_path / "out" / "results.csv").exists()
        assert "Traceback" not in err
    assert child.returncode == 130
    assert f"interrupted; {len(kept)} of 8 runs are finished and kept in out/cells" in out
    code, out, err = run_main(*COMPARE)
    assert code == 0, err
    assert f"8 runs, {len(kept)} of them finished already; computing {8 - len(kept)} on 1" in out
    for name, data in kept.items():
        assert (cells / name).read_bytes() == data
    code, out, _ = run_main(*COMPARE, "--json")
    assert code == 0 and json.loads(out)["computed"] == 0
    assert len({row["seeds"] for row in json.loads(out)["summary"]} & {8}) == 1
    assert len((tmp_path / "out" / "results.csv").read_text().splitlines()) == 1 + 8 * 9


def test_a_table_of_ones_own(tmp_path, run_main, monkeypatch):
    rng = np.random.default_rng(0)
    rows = [
        f"{m},{rng.integers(100)},{'FM'[rng.integers(2)]},{rng.integers(2)}"
        for m in range(3)
        for _ in range(120)
    ]
    table = tmp_path / "loans.csv"
    table.write_text("\n".join(["month,income,sex,approved", *rows]) + "\n")
    words = ["--label", "approved", "--sensitive", "sex", "--task", "month"]
    command = ["compare", "--data", "loans.csv", "--method", "refit", "--jobs", "1", *words]
    code, out, err = run_main(*command, "--seeds", "0")
    assert code == 0, err
    assert "loans" in out and "refit" in out
    # As the table was named, not by its full path.
    _, out, _ = run_main(*command, "--seeds", "0-4", "--seeds", "loans.csv=0")
    assert "all 1 runs are finished already; nothing is computed again" in out
    table.write_text(table.read_text().replace("month,income", "month,pay"))
    code, out, err = run_main(*command, "--protocol", "paper")
    assert code == 2 and "leave it out for a table of your own" in err


def test_noisy_data_may_have_more_seeds():
    cells = plan(["adult", "crime"], ["refit"], seeds=[3], seeds_of={"crime": [3, 4]})
    assert [cell.name for cell in cells] == [
        "refit on adult, seed 3",
        "refit on crime, seed 3",
        "refit on crime, seed 4",
    ]
    assert [cell.key for cell in cells[:2]] == [
        plan([data], ["refit"], seeds=[3])[0].key for data in ("adult", "crime")
    ]


# -- the command ---------------------------------------------------------------------------------


def test_options_of_a_data_set_reach_it():
    cells = plan_on_tables(["synthetic"], {"change": "abrupt"}, {}, methods=["twp"], seeds=[0])
    assert [cell.config.data_options for cell in cells] == [{"change": "abrupt"}]


BAD = [
    (["--data", "adlt"], "unknown data set 'adlt'; did you mean 'adult'?"),
    (["--data", "nowhere.csv"], "nowhere.csv"),
    (["--method", "fml"], "unknown method 'fml'; did you mean 'ffml'?"),
    (["--method", "fml max_gap=0.1"], "unknown method 'fml'; did you mean 'ffml'?"),
    (["--method", "ffml max_gap"], "--method 'ffml …' takes NAME=VALUE such as rounds=10"),
    (["--method", "ffml bound=0.1"], "setting 'bound' is called 'max_gap' now"),
    (["--method", "twp damping=1"], "none of the methods has a setting 'damping'"),
    (["--method", "ffml with=evend"], "unknown wrapper 'evend'; did you mean 'evened'?"),
    (["--method", "refit with=corrected"], "the wrapper 'corrected' moves the bounds"),
    (["--method", "ffml seed=1"], "'seed' differs between the cells; change it by seeds"),
    (["--protocol", "papr"], "unknown protocol 'papr'; did you mean 'paper'?"),
    (["--preset", "papr"], "unknown preset 'papr'; did you mean 'paper'?"),
    (["--seeds", "4-0"], "--seeds takes seeds such as 0-4 or 0,1,2, got '4-0'"),
    (["--seeds", "a"], "--seeds takes seeds such as 0-4 or 0,1,2, got 'a'"),
    (["--seeds", "crime="], "--seeds takes seeds such as 0-4 or 0,1,2, got ''"),
    (["--seeds", "crme=0-4"], "unknown data set in seeds 'crme'; did you mean 'crime'?"),
    (["--set", "rounds"], "--set takes NAME=VALUE such as rounds=10, got 'rounds'"),
    (["--set", "zzz=1"], "unknown setting 'zzz'; see 'ffml methods'"),
    (["--set", "problem.l2=small"], "setting 'problem.l2' takes a number, got 'small'"),
    (["--set", "num_outer_steps=2.5"], "setting 'num_outer_steps' takes a whole number, got '2.5'"),
    (["--set", "inner.lr=null"], "setting 'inner.lr' takes a number, got 'null'"),
    (["--set", "max_gap=0.1,a"], "setting 'max_gap' takes a number, got 'a'"),
    (["--set", "rounds=many"], "setting 'rounds' takes a whole number or null, got 'many'"),
    (["--set", "seed=1"], "'seed' differs between the cells; change it by seeds"),
    (["--set", "notions=dpc"], "unknown notion 'dpc'; did you mean 'dbc'?"),
    (["--set", "inner.num_steps=0"], "inner.num_steps must be >= 1, got 0"),
    (["--rounds", "0"], "rounds must be >= 1, got 0"),
    (["--validation", "1"], "validation_fraction must be between 0 and 1, got 1.0"),
    (["--jobs", "0"], "--jobs must be >= 1, got 0"),
    (["--label", "approved"], "label is for tables of your own; give one with --data"),
    (["--out", "file"], "file is a file, not a folder; choose another --out"),
    (["--nonsense"], "No such option: --nonsense"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD, ids=[" ".join(a) for a, _ in BAD])
def test_mistakes_are_one_line_with_code_two_and_leave_nothing(arguments, message, refuses):
    data = [] if "--data" in arguments or "--label" in arguments else ["--data", "crime"]
    method = [] if "--method" in arguments else ["--method", "ffml"]
    refuses(message, "compare", *data, *method, *arguments)


def test_damaged_data_are_refused_before_anything_runs(refuses, monkeypatch):
    monkeypatch.setenv("FFML_DATA_HOME", "corrupt")
    refuses("bank-additional-full.csv is damaged", "compare", "--data", "bank", "--method", "ffml")
