"""What cannot be used is refused: exact message, exit code 2, nothing written."""

import json

import pytest
from bad_tables import BAD_TABLES, ROLES

# Where columns are guessed, the command line asks before the table is read.
ASKED = {
    "no task given": "which column is the task (which rows belong together)? Candidates: age, "
    "town; give --task",
    "no query": "a database needs --query, such as --query 'SELECT * FROM loans'",
    "no sensitive column": None,  # guessed: there is only one
}


def command(made, roles):
    words = ["--sql", made[0], "--query", made[1]] if isinstance(made, tuple) else [made]
    for name, value in {**ROLES, **roles}.items():
        if value is True:
            words.append(f"--{name.replace('_', '-')}")
        elif value is not None and value is not False:
            for one in [value] if isinstance(value, str | int | float) else value:
                words += [f"--{name.replace('_', '-')}", one]
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
    "unknown key": ({"inner_rl": 0.1}, "method 'ffml' has no setting 'inner_rl'; it takes"),
    "bound out of range": ({"bounds": [-1.0]}, "bound of demographic-parity must be >= 0"),
    "wrong kind": ([1, 2], "holds no settings; it must be an object"),
    "unknown method": ({"method": "fml"}, "unknown method 'fml'; did you mean 'ffml'?"),
    "no data": ({"seed": 1}, "give a data set"),
}


@pytest.mark.parametrize("case", CONFIGS)
def test_bad_configs(case, tmp_path, run_main):
    settings, message = CONFIGS[case]
    (tmp_path / "c.json").write_text(json.dumps(settings))
    data = [] if case == "no data" else ["synthetic"]
    code, _, err = run_main("run", *data, "--config", "c.json", "--out", "run")
    assert code == 2 and message in err and err.count("\n") == 1
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(("text", "message"), [(None, "there is no file"), ("{", "is not JSON")])
def test_configs_that_cannot_be_read(text, message, tmp_path, run_main):
    if text:
        (tmp_path / "c.json").write_text(text)
    code, _, err = run_main("run", "synthetic", "--config", "c.json")
    assert code == 2 and message in err and err.count("\n") == 1


def test_a_config_repeats_a_run(tmp_path, run_main):
    quick = ["--num-outer-steps", "2", "--num-inner-steps", "1", "--rounds", "2", "--shots", "10"]
    small = ["--tasks-per-round", "4", "--rows-per-task", "64", "--seed", "3", "--quiet"]
    assert run_main("run", "synthetic", *quick, *small, "--out", "one")[0] == 0
    assert run_main("run", "--config", "one/config.json", "--quiet", "--out", "two")[0] == 0
    one, two = ((tmp_path / name / "rounds.csv").read_bytes() for name in ("one", "two"))
    assert one == two
