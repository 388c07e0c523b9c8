"""Parts of one's own from a Python file: registered, remembered, refused in one line."""

import json
import sys
from pathlib import Path

import pytest
from loans import ROLES, write_loans
from quick import SMALL, sets

import ffml
from ffml.base import FFMLError
from ffml.recipe.configfile import read_config, setting_kinds
from ffml.recipe.plugins import _LOADED, REGISTRIES, load_plugins, register, restore_plugins

PAGE = Path(__file__).parents[2] / "docs" / "extending.md"
NOTION = PAGE.read_text(encoding="utf-8").split("```python\n")[1].split("```")[0]
METHOD = """
from ffml.methods import METHODS, twp


def mine(problem, *, my_lr: float = 0.1, shots: int = 100):
    \"\"\"TWP under another name.\"\"\"
    return twp(problem, lr=my_lr, num_steps=1, shots=shots)


METHODS["mine"] = mine
"""
TINY = [*SMALL, *sets("shots=4", "rounds=3")]


@pytest.fixture(autouse=True)
def forgotten():
    """Forget what a test registers."""
    before = {kind: dict(registry) for kind, registry in REGISTRIES.items()}
    yield
    for kind, registry in REGISTRIES.items():
        registry.clear()
        registry.update(before[kind])
    _LOADED.clear()
    setting_kinds.cache_clear()


@pytest.fixture
def write(tmp_path):
    def write(text, name="mine.py"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


BAD = {
    "syntax": ("x = 1\ndef broken(:\n", ", line 2: SyntaxError: invalid syntax"),
    "bytes": ("x = '\0'", "SyntaxError"),
    "crash": ("x = 1\n\nx.y\n", ", line 3: AttributeError: 'int' object has no attribute 'y'"),
    "exit": ("import sys\nsys.exit(3)\n", ", line 2: SystemExit: 3"),
    "nothing": ("x = 1\n", "registers nothing; see ffml.register"),
    "taken": (
        "import ffml\nffml.register('method', 'ffml')\n",
        ", line 2: there is a method 'ffml' already; choose another name",
    ),
    "replaced": (
        "from ffml.problem.models import MODELS\nMODELS['linear'] = print\n",
        ": there is a model 'linear' already",
    ),
    "kind": (
        "import ffml\nffml.register('methods', 'x')\n",
        "unknown kind of plug-in 'methods'; did you mean 'method'?",
    ),
    "multi-line": ("raise ValueError('a\\nb')", "ValueError: a b"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_wrong_with_a_file_is_one_line_and_leaves_nothing(case, write):
    text, message = BAD[case]
    path, modules = write(text), {*sys.modules}
    before = {kind: dict(registry) for kind, registry in REGISTRIES.items()}
    with pytest.raises(FFMLError) as caught:
        load_plugins([path])
    assert str(caught.value).startswith(f"the plug-in {path}") and message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert {kind: dict(registry) for kind, registry in REGISTRIES.items()} == before
    assert not [name for name in {*sys.modules} - modules if name.startswith("ffml_plugin")]


def test_a_file_that_fails_at_its_end_has_registered_nothing(write):
    with pytest.raises(FFMLError, match="line 11: ZeroDivisionError"):
        load_plugins([write(METHOD + "1 / 0\n")])
    assert "mine" not in REGISTRIES["method"]


def test_loaded_once_and_anew_when_it_has_changed(write):
    path = write(METHOD)
    plugins = load_plugins([path])
    first = REGISTRIES["method"]["mine"]
    assert load_plugins([path]) == plugins == {str(path): plugins[str(path)]}
    assert REGISTRIES["method"]["mine"] is first
    assert setting_kinds()["my_lr"] is float
    write(METHOD.replace("mine", "other"))
    load_plugins([path])
    assert "other" in REGISTRIES["method"] and "mine" not in REGISTRIES["method"]
    with pytest.raises(FFMLError, match="has changed since the run began; put it back, or start"):
        restore_plugins(plugins)


def test_two_files_cannot_share_a_name(write):
    first, second = write(METHOD), write(METHOD, "again.py")
    with pytest.raises(FFMLError, match=r"again.py: there is a method 'mine' already"):
        load_plugins([first, second])


def test_register_from_python():
    kept = ffml.register("classifier", "own")(print)
    assert kept is print and REGISTRIES["classifier"]["own"] is print
    with pytest.raises(FFMLError, match="there is a classifier 'own' already"):
        register("classifier", "own")


def test_a_config_file_names_plugins_beside_it(write, tmp_path, monkeypatch):
    write(METHOD)
    write(NOTION, "notion.py")
    (tmp_path / "c.toml").write_text('plugin = ["mine.py", "notion.py"]\nmy_lr = 0.5\n')
    monkeypatch.chdir("/")
    settings = read_config(tmp_path / "c.toml").settings
    assert list(settings["plugins"]) == [str(tmp_path / "mine.py"), str(tmp_path / "notion.py")]
    assert settings["my_lr"] == 0.5
    (tmp_path / "d.toml").write_text("plugin = 5\n")
    with pytest.raises(FFMLError, match="setting 'plugin' takes a word or a list of words, got 5"):
        read_config(tmp_path / "d.toml")
    (tmp_path / "e.json").write_text(json.dumps({"run": {"plugins": [1]}}))
    with pytest.raises(FFMLError, match="setting 'plugins' takes an object"):
        read_config(tmp_path / "e.json")


def test_a_run_says_what_was_asked_for_and_remembers_the_file(write, tmp_path, run_main):
    """The notion of the page on extensions is not "no fairness"."""
    path = write(NOTION)
    words = ["run", "synthetic", "--method", "refit", *TINY, "--plugin", "mine.py", "--out", "r"]
    code, out, err = run_main(*words, "--notion", "predictive-equality", "--max-gap", "0.1")
    assert (code, err) == (0, "")
    pages = [(tmp_path / "r" / name).read_text() for name in ("report.html", "model_card.md")]
    for said in (" ".join(out.split()), *pages):
        assert "no fairness" not in said and "predictive equality within 0.1" in said
    config = json.loads((tmp_path / "r" / "config.json").read_text())
    assert config["run"]["plugins"] == load_plugins([path])
    again = ["run", "--config", "r/config.json", "--out", "again", "--quiet"]
    assert run_main(*again)[0] == 0
    same = [(tmp_path / run / "rounds.csv").read_text().splitlines() for run in ("r", "again")]
    assert len(same[0]) == len(same[1]) == 4


def begun(write, tmp_path, run_main):
    """Learn two months of loans with a method of one's own; return the file and new rows."""
    lines = write_loans(tmp_path / "all.csv", 3).read_text().splitlines()
    (tmp_path / "two.csv").write_text("\n".join(lines[:121]))
    (tmp_path / "third.csv").write_text("\n".join([lines[0], *lines[121:]]))
    path = write(METHOD)
    words = ["run", "two.csv", *ROLES, "--method", "mine", "--plugin", path, "--out", "r"]
    assert run_main(*words, *SMALL, *sets("shots=4"), "--quiet")[0] == 0
    return path


def test_what_goes_on_from_a_run_finds_its_plugin(write, tmp_path, run_main):
    path = begun(write, tmp_path, run_main)
    for registry in REGISTRIES.values():
        registry.pop("mine", None)
    _LOADED.clear()  # as in another process
    code, out, err = run_main("predict", "r", "third.csv", "--support", "two.csv")
    assert code == 2 and "unknown method 'mine'" in err  # a model file loads no code by itself
    code, out, err = run_main("update", "r", "third.csv")
    assert (code, err) == (0, "") and "30 people decided" in out
    assert run_main("predict", "r", "third.csv", "--plugin", path)[0] == 0


@pytest.mark.parametrize("command", [["run", "--resume", "r"], ["update", "r", "third.csv"]])
def test_a_plugin_that_is_gone_or_changed(command, write, tmp_path, run_main):
    path = begun(write, tmp_path, run_main)
    path.write_text(METHOD + "\n# another\n")
    code, _, err = run_main(*command)
    assert code == 2 and err.count("\n") == 1
    assert f"the plug-in {path} has changed since the run began; put it back" in err
    path.unlink()
    code, _, err = run_main(*command)
    assert code == 2 and f"the plug-in {path} cannot be read (No such file or directory)" in err


def test_workers_of_a_comparison_load_it(write, tmp_path, run_main):
    write(METHOD)
    words = ["compare", "--data", "synthetic", "--method", "mine my_lr=0.2", "--plugin", "mine.py"]
    code, out, err = run_main(*words, *TINY, "--seeds", "0", "--jobs", "1", "--out", "c")
    assert code == 0, (out, err)
    assert "mine my_lr=0.2" in (tmp_path / "c" / "summary.md").read_text()


def test_tuning_and_running_what_was_chosen(write, tmp_path, run_main):
    write(METHOD)
    words = ["tune", "synthetic", "--method", "mine", "--plugin", "mine.py", "--seeds", "100"]
    small = [*TINY, "--min-validation", "5"]
    code, out, err = run_main(*words, *small, "--grid", "my_lr=0.1,0.5", "--out", "t")
    assert (code, err) == (0, ""), out
    code, _, err = run_main("run", "--config", "t/chosen.json", "--out", "r", "--quiet")
    assert (code, err) == (0, "")
