"""Files that are whole but do not make sense: one line, soon, instead of a traceback or a hang."""

import json
import subprocess
import sys

import numpy as np
import pytest
from inside import run_inside
from quick import SMALL, sets

import ffml
from ffml.base import FFMLError
from ffml.limits import LARGEST
from ffml.recipe.config import RunConfig, check_settings
from ffml.scoring import prepare, score
from ffml.scoring.model import load_model
from ffml.store.container import pack, read

QUICK = ["--method", "ffml", *sets("num_outer_steps=1", "inner.num_steps=1", "shots=5"), "--quiet"]
ROLES = ["--label", "y", "--sensitive", "sex", "--task", "town"]
ROWS = [
    f"{20 + i % 50},{'ab'[i % 2]},{'FM'[i % 3 == 0]},{i % 5 < 2:d},{i // 30}" for i in range(90)
]


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    """A folder with a table and the model of a run on it."""
    folder = tmp_path_factory.mktemp("sound")
    (folder / "t.csv").write_text("\n".join(["age,job,sex,y,town", *ROWS]) + "\n")
    run_inside(folder, "run", folder / "t.csv", *ROLES, *QUICK, *SMALL, "--out", folder / "run")
    return folder


def change(document, place, value):
    *path, last = place
    for part in path:
        document = document[part]
    document[last] = value


WIDTH = 3  # age, job=a, job=b
ARRAYS = {
    "weights are missing": ("params['w']", None),
    "weights are too few": ("params['w']", np.zeros(2, np.float32)),
    "weights are a matrix": ("params['w']", np.zeros((WIDTH, 2), np.float32)),
    "weights are whole numbers": ("params['w']", np.zeros(WIDTH, np.int32)),
    "bias is long": ("params['b']", np.zeros(3, np.float32)),
    "multipliers are missing": ("multipliers", None),
    "multipliers are too many": ("multipliers", np.zeros(7, np.float32)),
    "scaler lacks its mean": ("scaler.mean", None),
    "scaler is too short": ("scaler.mean", np.zeros(2)),
    "scaler is of another kind": ("scaler.scaled", np.zeros(WIDTH)),
    "scaler has negative squares": ("scaler.squares", -np.ones(WIDTH)),
}
DOCUMENTS = {
    "no schema": (["schema"], None),
    "features are a number": (["schema", "features"], 3),
    "a feature more": (["schema", "features"], ["age", "job=a", "job=b", "shoe"]),
    "features without names": (["schema", "features"], [1, 2, 3]),
    "one group": (["schema", "sensitive", 0, "groups"], ["F"]),
    "no groups": (["schema", "sensitive"], [{"name": "sex"}]),
    "params of other names": (["model", "params"], {"v": "params['w']"}),
    "params in a loop": (["model", "params"], 5),
    "settings that the model has not": (["model", "settings"], {"hidden": [3]}),
    "too many constraints": (["model", "constraint_names"], ["a", "b"]),
    "no config": (["config"], []),
    "no run in the config": (["config", "run"], "x"),
    "round is no number": (["round"], "many"),
    "renamed column": (["preprocessing", "columns", 0, "name"], "agee"),
    "other categories": (["preprocessing", "columns", 1, "categories"], ["a"]),
    "numbers turned categories": (
        ["preprocessing", "columns", 0],
        {"kind": "categorical", "name": "age", "categories": []},
    ),
    "no columns": (["preprocessing", "columns"], None),
    "median is no number": (["preprocessing", "columns", 0, "median"], "old"),
    "median is not finite": (["preprocessing", "columns", 0, "median"], "nan"),
    "categories are numbers": (["preprocessing", "columns", 1, "categories"], [1, 2]),
    "unknown kind": (["preprocessing", "columns", 0, "kind"], "ordinal"),
    "preprocessing is a list": (["preprocessing"], [1]),
    "format is no number": (["format"], "one"),
}
STEPS = ["recipe", "settings", "inner.num_steps"]
RUNS = {
    "a billion inner steps": (STEPS, 10**9, "must be <= 1000"),
    "steps that are no number": (STEPS, "3", "takes a whole number"),
    "half a step": (STEPS, 1.5, "takes a whole number"),
    "a billion shots": (["shots"], 10**9, "shots must be <= 100000"),
    "wide layers": (
        ["recipe", "settings"],
        {"model": "mlp", "model.hidden": [10**9]},
        "model.hidden must be <= 4096",
    ),
    "seed beyond JAX": (["seed"], 2**64, "'seed' must be less than 2^63"),
    "bounds are no list": (["max_gap"], 0.1, "'max_gap' takes a list of numbers"),
    "no recipe": (["recipe"], [1], "does not say what to run"),
    "settings are no object": (["recipe", "settings"], [1], "'settings' takes an object"),
    "wrappers are no list": (["recipe", "wrappers"], "evened", "'wrappers' takes a list of words"),
    "a wrapper that is not there": (["recipe", "wrappers"], ["evnd"], "unknown wrapper 'evnd'"),
    "another wrapper": (["recipe", "wrappers"], ["evened"], "the saved knowledge "),
    "a recipe of later": (["recipe", "data"], 1, "a setting 'data' that this ffml does not know"),
    "no sensitive columns": (["data_options"], {}, "names fewer sensitive columns"),
    "a method that is not there": (["recipe", "method"], "fml", "unknown method 'fml'"),
}


def damaged(learned, tmp_path, document_change=None, array_change=None):
    """Write a model file with a right checksum, and something wrong in it."""
    document, arrays = read(learned / "run" / "model.safetensors")
    if document_change:
        change(document, *document_change)
    if array_change:
        name, value = array_change
        arrays = {k: v for k, v in arrays.items() if k != name}
        arrays |= {} if value is None else {name: value}
    path = tmp_path / "model.safetensors"
    path.write_bytes(pack(document, arrays).data)
    return path


@pytest.mark.parametrize("case", [*ARRAYS, *DOCUMENTS])
def test_a_whole_file_that_makes_no_sense_is_refused(case, learned, tmp_path, run_main):
    path = damaged(learned, tmp_path, DOCUMENTS.get(case), ARRAYS.get(case))
    code, _, err = run_main("predict", path, learned / "t.csv", "--out", "d.csv")
    assert code == 2 and err.startswith("error: ") and err.count("\n") == 1
    assert [p.name for p in tmp_path.iterdir()] == ["model.safetensors"]


@pytest.mark.parametrize("case", RUNS)
def test_a_model_file_may_not_ask_for_too_much(case, learned, tmp_path, run_main):
    place, value, message = RUNS[case]
    path = damaged(learned, tmp_path, (["config", "run", *place], value))
    table = learned / "t.csv"
    code, _, err = run_main("predict", path, table, "--support", table, "--out", "d.csv")
    assert code == 2 and message in err and err.count("\n") == 1


@pytest.mark.parametrize("case", ["a billion inner steps", "half a step", "bounds are no list"])
def test_nor_may_a_config(case, learned, tmp_path, run_main):
    place, value, message = RUNS[case]
    config = json.loads((learned / "run" / "config.json").read_text())
    change(config, ["run", *place], value)
    (tmp_path / "c.json").write_text(json.dumps(config))
    code, _, err = run_main("run", "--config", "c.json", "--out", "new")
    assert code == 2 and message in err and err.count("\n") == 1
    assert not (tmp_path / "new").exists()


def test_limits_hold_for_data_too():
    check_settings(RunConfig("synthetic", {"num_tasks": LARGEST, "rows_per_task": (10, 20)}))
    for options in ({"num_tasks": LARGEST + 1}, {"rows_per_task": (10, 10**12)}):
        with pytest.raises(FFMLError, match="must be <= 10000000, got"):
            check_settings(RunConfig("synthetic", options))
    with pytest.raises(FFMLError, match="max_gap has 101 entries; the limit is 100"):
        check_settings(RunConfig("synthetic", max_gap=(0.1,) * 101))


# -- models that make sense ------------------------------------------------------------------


def test_a_model_is_read_without_jax(learned):
    probe = (
        "import sys; from ffml.scoring.model import load_model; import numpy as np\n"
        f"model = load_model(sys.argv[1]); model.logits(np.ones((2, {WIDTH})))\n"
        "assert not {'jax', 'optax', 'pandas'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", probe, learned / "run" / "model.safetensors"], check=True)


def test_a_file_decides_as_its_run_does(learned):
    run = ffml.open(learned / "run", write=False)
    file = load_model(learned / "run" / "model.safetensors")
    said = run.decide(str(learned / "t.csv"), record=False)
    decided = next(score(prepare(file), [table(learned)])).to_pydict()
    assert decided["decision"] == said["decision"].tolist()
    assert decided["probability"] == said["probability"].tolist()
    assert (file.version, file.round, file.status) == (run.store.version_number, 3, "complete")


def table(learned):
    import pyarrow.csv

    return pyarrow.csv.read_csv(learned / "t.csv")


def test_a_model_file_names_nobody(learned):
    document, arrays = read(learned / "run" / "model.safetensors")
    assert not [name for name in arrays if name.startswith(("learner", "labels", "memory"))]
    assert document.keys() >= {"config", "schema", "preprocessing"} and "waiting" not in document


def test_what_is_no_model_is_refused(learned, tmp_path):
    (tmp_path / "state").write_bytes(pack({"kind": "state"}, {}).data)
    for path, message in (
        (tmp_path / "nothing", "nothing does not exist; give a run's folder or its model.safe"),
        (learned / "run", "is a folder; open it with ffml.open, or give its model.safetensors"),
        (learned / "t.csv", r"t\.csv is damaged: its checksum does not fit"),
        (tmp_path / "state", "holds no model; give a run's folder"),
    ):
        with pytest.raises(FFMLError, match=message):
            load_model(path)
