"""What cannot be used is refused: exact message, exit code 2, nothing written."""

import json

import pytest
from bad_tables import BAD_TABLES, ROLES
from quick import QUICK, SMALL, sets

from ffml.base import FFMLError
from ffml.recipe.configfile import read_config
from ffml.recipe.sources import FLAGS

# Where columns are guessed, the command line asks before the table is read.
ASKED = {
    "no task given": "which column is the task (which rows belong together)? Candidates: "
    "town; give --task",
    "no sensitive column": None,  # guessed: there is only one
}


def command(made, roles):
    words = [made[0], "--query", made[1]] if isinstance(made, tuple) else [made]
    for name, value in {**ROLES, **roles}.items():
        if name not in FLAGS:
            words += ["--set", f"data.{name}={str(value).lower() if value is True else value}"]
        elif value is not None:
            for one in [value] if isinstance(value, str | int | float) else value:
                words += [f"--{name}", one]
    return words


@pytest.mark.parametrize("case", [case for case in BAD_TABLES if ASKED.get(case, "") is not None])
def test_bad_tables(case, tmp_path, run_main):
    bad = BAD_TABLES[case]
    made = bad.make(tmp_path)
    path = made[0] if isinstance(made, tuple) else made
    before = sorted(tmp_path.rglob("*"))
    code, out, err = run_main("run", *command(made, bad.roles), "--out", tmp_path / "run")
    expected = ASKED.get(case, bad.message)
    expected = expected.replace("{path}", str(path)).replace("{folder}", str(tmp_path))
    assert (code, err) == (2, f"error: {expected}\n")
    assert "secret" not in out + err
    assert sorted(tmp_path.rglob("*")) == before


CONFIGS = {
    "unknown key": ({"outr_lr": 0.1}, "unknown setting 'outr_lr'; did you mean 'outer_lr'? See"),
    "unknown key of a run": ({"run": {"sed": 1}}, "unknown setting 'sed'; did you mean 'seed'?"),
    "another's setting": ({"method": "ffml", "penalty": 0.1}, "unknown setting of ffml 'penalty'"),
    "bound out of range": ({"max_gap": [-1.0]}, "max_gap must be >= 0, got -1"),
    "wrong kind": ([1, 2], "holds no settings; it must be an object"),
    "unknown method": ({"method": "fml"}, "unknown method 'fml'; did you mean 'ffml'?"),
    "unknown wrapper": ({"wrappers": ["evend"]}, "unknown wrapper 'evend'; did you mean 'evened'?"),
    "one wrapper": ({"wrappers": "evened"}, "setting 'wrappers' takes a list of words, got 'even"),
    "no data": ({"seed": 1}, "give a data set"),
    "nested data": ({"data": {"name": "adult"}}, "setting 'data' takes a word or null, got {'name"),
    "nested method": ({"method": {"name": "ffml"}}, "setting 'method' takes a word, got {'name'"),
    "nested part": ({"inner": {"lr": 1}}, "setting 'inner' takes a word, got {'lr': 1}"),
    "earlier version": (
        {"run": {"method_settings": {}}},
        "c.json is of an earlier version of ffml",
    ),
    "list for a recipe": (
        {"run": {"recipe": [1]}},
        "setting 'recipe' takes an object with names and values, got [1]",
    ),
    "list of settings": (
        {"run": {"recipe": {"settings": [1]}}},
        "setting 'settings' takes an object with names and values, got [1]",
    ),
    "list of options": ({"data_options": [1]}, "setting 'data_options' takes an object with names"),
    "one bound": ({"max_gap": 0.1}, "setting 'max_gap' takes a list of numbers or null, got 0.1"),
    "a list for a number": ({"problem.l2": [1]}, "setting 'problem.l2' takes a number, got (1,)"),
    "a word for a number": ({"inner.lr": "a"}, "setting 'inner.lr' takes a number, got 'a'"),
    "words for widths": (
        {"model": "mlp", "model.hidden": ["a"]},
        "setting 'model.hidden' takes a list of whole numbers, got ('a',)",
    ),
    "half a round": ({"rounds": 2.5}, "setting 'rounds' takes a whole number or null, got 2.5"),
    "true for a number": ({"seed": True}, "setting 'seed' takes a whole number, got True"),
    "a number for true": (
        {"problem.natural_rates": 1},
        "setting 'problem.natural_rates' takes true or false, got 1",
    ),
    "a number for an optimizer": ({"optimizer": 5}, "setting 'optimizer' takes a word, got 5"),
    "no bound": (
        {"max_gap": [None]},
        "setting 'max_gap' takes a list of numbers or null, got (None,)",
    ),
    "infinite": ({"run": {"max_gap": [float("inf")]}}, "setting 'max_gap' must be finite, got inf"),
    "too large": ({"seed": 10**30}, "setting 'seed' must be less than 2^63, got 1000"),
    "option of another kind": (
        {"data.num_tasks": "x"},
        "setting 'num_tasks' takes a whole number, got 'x'",
    ),
    "range of one end": (
        {"data_options": {"rows_per_task": [1]}},
        "setting 'rows_per_task' takes a whole number or a list of 2 whole numbers, got (1,)",
    ),
}


@pytest.mark.parametrize("case", CONFIGS)
def test_bad_configs(case, tmp_path, run_main):
    settings, message = CONFIGS[case]
    (tmp_path / "c.json").write_text(json.dumps(settings))
    data = [] if case in ("no data", "nested data") else ["synthetic"]
    code, _, err = run_main("run", *data, "--config", "c.json", "--out", "run")
    assert code == 2 and message in err and err.count("\n") == 1
    assert not (tmp_path / "run").exists()


TOMLS = {
    "no TOML": (
        "data = ",
        "c.toml is not TOML (Invalid value (at end of document)); give --config",
    ),
    "unknown": ("sed = 1", "unknown setting 'sed'; did you mean 'seed'?"),
    "unknown part": ("[inner]\nrate = 1", "unknown setting 'inner.rate'; did you mean"),
    "a date": ("seed = 2024-01-01", "setting 'seed' takes a whole number, got datetime.date(2024"),
    "another kind": ("[data_options]\nlabel = 5", "setting 'data.label' takes a word, got 5"),
    "no table": ("data_options = 5", "setting 'data_options' takes an object with names"),
    "deeper": ("[inner.lr]\na = 1", "setting 'inner.lr' takes a number, got {'a': 1}"),
    "several runs": ("[[run]]\nseed = 1", "unknown setting 'run'; did you mean"),
}


@pytest.mark.parametrize("case", TOMLS)
def test_bad_configs_in_toml(case, tmp_path):
    text, message = TOMLS[case]
    (tmp_path / "c.toml").write_text(text)
    with pytest.raises(FFMLError) as caught:
        read_config(tmp_path / "c.toml")
    assert message in str(caught.value) and "\n" not in str(caught.value)


def test_a_config_in_toml(tmp_path):
    text = 'data = "t.csv"\nseed = 3\ninner.lr = 0.1\n[data_options]\nlabel = "y"\ndrop = ["a"]\n'
    (tmp_path / "c.toml").write_text(text)
    assert read_config(tmp_path / "c.toml") == (
        "t.csv",
        {"seed": 3, "inner.lr": 0.1},
        {"label": "y", "drop": ("a",)},
        False,
    )


@pytest.mark.parametrize(("text", "message"), [(None, "there is no file"), ("{", "is not JSON")])
def test_configs_that_cannot_be_read(text, message, tmp_path, run_main):
    if text:
        (tmp_path / "c.json").write_text(text)
    code, _, err = run_main("run", "synthetic", "--config", "c.json")
    assert code == 2 and message in err and err.count("\n") == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"label": 5}, "setting 'data.label' takes a word, got 5"),
        ({"sensitive": [1]}, "'data.sensitive' takes a word or a list of words, got (1,)"),
        ({"rows": 5}, "a table has no option 'rows'; it takes label, task"),
    ],
)
def test_bad_options_of_a_table(options, message, tmp_path, run_main):
    (tmp_path / "c.json").write_text(json.dumps({"data_options": options}))
    (tmp_path / "t.csv").write_text("age,sex,y,town\n1,F,1,a\n2,M,0,a\n")
    code, _, err = run_main("run", "t.csv", "--config", "c.json", "--out", "run")
    assert code == 2 and message in err and err.count("\n") == 1


NUMBERS = {
    "ffml": "max_gap notion.temperature problem.l2 problem.positive_weight validation_fraction "
    "judge_from inner.lr inner.shrinkage outer.penalty outer_lr dual_lr damping radius "
    "initial_multiplier corrected.memory",
    "twp": "lr penalty",
    "adp-olc": "gradient_bound exponent",
    "gen-olc": "strong_convexity",
    "fairlearn-dp": "difference_bound inverse_l2",
}


@pytest.mark.parametrize("value", ["inf", "nan", "-inf"])
@pytest.mark.parametrize(
    ("method", "name"), [(method, name) for method in NUMBERS for name in NUMBERS[method].split()]
)
def test_numbers_must_be_finite(method, name, value, tmp_path, run_main):
    code, _, err = run_main("run", "synthetic", "--method", method, "--set", f"{name}={value}")
    assert (code, err) == (2, f"error: setting '{name}' must be finite, got {value}\n")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("command", [["run", "--resume"], ["update"], ["check"], ["verify"]])
def test_a_folder_without_a_ledger(command, tmp_path, run_main):
    (tmp_path / "run").mkdir()
    code, _, err = run_main(*command, "run")
    message = "run holds no run (run.db is missing); check the path, or start one there"
    assert (code, err) == (2, f"error: {message}\n")
    (tmp_path / "run" / "checkpoint").mkdir()
    code, _, err = run_main(*command, "run")
    assert code == 2 and err.endswith("convert it once with: ffml upgrade run\n")
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["checkpoint"]


def test_a_config_repeats_a_run(tmp_path, run_main):
    small = [*QUICK, *SMALL, *sets("rounds=2", "seed=3"), "--quiet"]
    assert run_main("run", "synthetic", *small, "--out", "one")[0] == 0
    assert run_main("run", "--config", "one/config.json", "--quiet", "--out", "two")[0] == 0
    one, two = ((tmp_path / name / "rounds.csv").read_bytes() for name in ("one", "two"))
    assert one == two


@pytest.mark.parametrize("words", [["run", "adult", "--out"], ["inspect"], ["label", "runs/x"]])
def test_a_name_that_is_no_text_is_refused(words, tmp_path, run_main):
    code, _, err = run_main(*words, "a\udcff")
    assert (code, err) == (2, "error: the name 'a\\udcff' is not in UTF-8; choose another\n")
    assert not list(tmp_path.iterdir())
