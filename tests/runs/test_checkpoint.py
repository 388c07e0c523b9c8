"""What is in a checkpoint comes back to the last bit, and damage is seen, mended or refused."""

import hashlib
import json
import shutil
import subprocess
import sys
from dataclasses import fields, replace
from pathlib import Path

import jax
import numpy as np
import pytest
from workshop import CONFIG, ROUNDS, Workshop, exact, hurry, outcome, play

from ffml.base import FFMLError, pair_of
from ffml.methods import METHODS
from ffml.online.loop import knowledge, step
from ffml.recipe.build import build, build_for
from ffml.recipe.recipes import Recipe
from ffml.scoring.rules import settle
from ffml.scoring.model import load_model
from ffml.runs.checkpoint import Checkpoints
from ffml.runs.config import rebuilt_experiment, refuse_changes, run_config, saved_config
from ffml.store.container import FORMAT, DamagedFileError, pack, read, unpack
from ffml.runs.directory import RunDirectory, differences
from ffml.report.files import plain
from ffml.runs.generations import generations
from ffml.runs.history import history_arrays, history_document, rounds_from
from ffml.online.trees import leaves_by_name, restored_tree


@pytest.fixture(scope="module")
def workshop():
    return Workshop()


@pytest.fixture(autouse=True)
def in_a_hurry(monkeypatch):
    hurry(monkeypatch)


@pytest.fixture(scope="module")
def runs(workshop, tmp_path_factory):
    """A whole run, and the same run stopped after three of its rounds."""
    folder = tmp_path_factory.mktemp("runs")
    with pytest.MonkeyPatch.context() as patch:
        hurry(patch)
        workshop.run(folder / "whole")
        workshop.run(folder / "stopped", rounds=3)
    return folder


# -- one file --------------------------------------------------------------------------------

ARRAYS = {
    "scalar": np.float32(1.5),
    "empty": np.zeros((0, 3), np.float32),
    "flags": np.array([True, False]),
    "undefined": np.array([np.nan, np.inf, -0.0]),
    "columns": np.asfortranarray(np.arange(6, dtype=np.int32).reshape(2, 3)),
}


def test_a_file_gives_back_what_was_put_in():
    document, arrays = unpack(pack({"words": "größer \ud800", "none": None}, ARRAYS).data)
    assert document["words"] == "größer \ud800" and document["none"] is None
    assert exact(arrays) == exact({name: np.asarray(array) for name, array in ARRAYS.items()})
    assert pack(document, arrays) == pack(document, dict(reversed(arrays.items())))


def test_every_flipped_byte_and_every_cut_is_seen():
    data = pack({"kind": "example"}, {"x": np.arange(5.0)}).data
    assert unpack(data)
    for i in range(len(data)):
        for flipped in (data[i] ^ 1, data[i] ^ 0x80):
            with pytest.raises(DamagedFileError):
                unpack(data[:i] + bytes([flipped]) + data[i + 1 :])
        with pytest.raises(DamagedFileError):
            unpack(data[:i])
    with pytest.raises(DamagedFileError):
        unpack(data + b"\0")


# -- a learner's state -----------------------------------------------------------------------


RECIPES = [
    *(Recipe(method, settings={"model": "mlp"}) for method in METHODS),
    Recipe("ffml", ("corrected", "evened")),
    Recipe("refit", ("evened",)),
]


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda r: "-".join([r.method, *r.wrappers]))
def test_the_state_of_every_method_comes_back(recipe, workshop):
    learner = build_for(replace(CONFIG, recipe=recipe), workshop.built.stream.schema).learner
    state = jax.device_get(learner.init(jax.random.key(1)))
    named = unpack(pack({}, leaves_by_name(state, "state")).data).arrays
    again = restored_tree(jax.device_get(learner.init(jax.random.key(2))), "state", named)
    assert jax.tree.structure(again) == jax.tree.structure(state)
    assert exact(leaves_by_name(again, "")) == exact(leaves_by_name(state, ""))


def test_a_state_that_is_one_array_comes_back():
    named = leaves_by_name(np.arange(3.0), "state")
    assert restored_tree(np.zeros(3), "state", named).tolist() == [0.0, 1.0, 2.0]


def test_a_state_of_another_kind_is_refused():
    saved = leaves_by_name({"w": np.zeros(3, np.float32)}, "state")
    for like, message in (
        ({}, r"the saved state has state\['w'\], unlike that of this method; use the settings"),
        ({"w": np.zeros(3, np.float32), "v": np.zeros(1)}, r"the saved state lacks state\['v'\]"),
        ({"w": np.zeros(4, np.float32)}, r"is float32\[3\], but this method has float32\[4\]"),
        ({"w": np.zeros(3)}, r"is float32\[3\], but this method has float64\[3\]"),
        ({"w": "text"}, r"holds numbers only, and state\['w'\]"),
    ):
        with pytest.raises(FFMLError, match=message):
            restored_tree(like, "state", saved)


# -- a run's checkpoints ---------------------------------------------------------------------


def test_rounds_come_back_as_they_were(runs, workshop):
    rounds = workshop.resumed(copy(runs / "whole")).rounds
    again = rounds_from(json.loads(json.dumps(history_document(rounds))), history_arrays(rounds))
    for before, after in zip(rounds, again, strict=True):
        for f in fields(before):
            old, new = getattr(before, f.name), getattr(after, f.name)
            assert type(old) is type(new) and repr(old) == repr(new)


def copy(folder):
    target = folder.with_name(f"{folder.name}-copy")
    shutil.rmtree(target, ignore_errors=True)
    return shutil.copytree(folder, target)


def test_everything_that_the_next_round_needs_is_restored(runs, workshop, tmp_path):
    played = workshop.run(tmp_path, rounds=3).state
    restored = workshop.resumed(tmp_path).state
    assert exact(leaves_by_name(played.learner, "")) == exact(leaves_by_name(restored.learner, ""))
    assert exact(played.scaler._asdict()) == exact(restored.scaler._asdict())
    assert played.memory.seen == restored.memory.seen == played.round == restored.round == 3
    for one, other in zip(played.memory.tasks, restored.memory.tasks, strict=True):
        assert exact(one._asdict()) == exact(other._asdict())
    for name in ("violation", "clipped_violation"):
        assert getattr(played, name).tobytes() == getattr(restored, name).tobytes()
    assert played.features is restored.features is None and played.waiting == restored.waiting == ()


def test_two_generations_and_their_tasks_are_kept_and_nothing_else(runs):
    for folder, newest in ((runs / "whole", ROUNDS), (runs / "stopped", 3)):
        kept = generations(folder)
        assert [path.name for path in kept] == [
            f"round-{t:06d}.safetensors" for t in (newest, newest - 1)
        ]
        tasks = {name for path in kept for name in read(path).document["memory"]["tasks"]}
        assert {path.name for path in (folder / "checkpoint").glob("task-*")} == tasks
        assert len(tasks) == 3  # capacity 2, one of them shared


def test_the_checkpoint_says_what_it_was_made_with(runs):
    document = read(generations(runs / "stopped")[0]).document
    assert document["format"] == FORMAT and document["random"] == {"seed": 0, "round": 3}
    assert document["versions"].keys() == {"ffml", "jax", "numpy", "optax"}
    assert document["stream"]["num_tasks"] == 3 and document["preprocessing"] is None
    assert run_config(document["config"]["run"]) == CONFIG


# -- damage ----------------------------------------------------------------------------------

FILES = {
    "newest checkpoint": lambda run: generations(run)[0],
    "checkpoint before": lambda run: generations(run)[1],
    "newest task": lambda run: run / "checkpoint" / newest_tasks(run)[-1],
    "older task": lambda run: run / "checkpoint" / newest_tasks(run)[0],
    "config": lambda run: run / "config.json",
    "rounds": lambda run: run / "rounds.csv",
    "groups": lambda run: run / "groups.csv",
    "timings": lambda run: run / "timings.csv",
}
DAMAGE = {
    "truncated": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    "emptied": lambda path: path.write_bytes(b""),
    "flipped": lambda path: path.write_bytes(flip(path.read_bytes())),
    "removed": lambda path: path.unlink(),
}


def newest_tasks(run):
    return read(generations(run)[0]).document["memory"]["tasks"]


def flip(data):
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 0x10]) + data[middle + 1 :]


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("file", FILES)
def test_no_single_damaged_file_stops_a_run(file, damage, runs, workshop, tmp_path):
    run = shutil.copytree(runs / "stopped", tmp_path / "run")
    DAMAGE[damage](FILES[file](run))
    directory = workshop.resumed(run)
    expected = {"newest checkpoint": 2}.get(file, 3)
    assert directory.resumed_at == expected
    if file == "newest checkpoint" and damage != "removed":
        assert any("is damaged" in n and "going back to round 2" in n for n in directory.notes)
    if "task" in file:
        assert any("rebuilding it from the data" in note for note in directory.notes)
    play(directory)
    assert outcome(run) == outcome(runs / "whole")


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("name", ["summary.json", "model.safetensors"])
def test_what_a_finished_run_lacks_is_written_again(name, damage, runs, workshop, tmp_path):
    run = shutil.copytree(runs / "whole", tmp_path / "run")
    (run / "report.html").touch()
    assert workshop.resumed(run).is_finished()
    DAMAGE[damage](run / name)
    directory = workshop.resumed(run)
    assert directory.nothing_left and not directory.is_finished()
    play(directory)
    (run / "report.html").unlink()
    assert outcome(run) == outcome(runs / "whole")


def test_damage_to_both_checkpoint_and_its_task(runs, workshop, tmp_path):
    """The task's file is there when its round is played again, but must not be trusted."""
    run = shutil.copytree(runs / "stopped", tmp_path / "run")
    for file in ("newest task", "newest checkpoint"):
        DAMAGE["flipped"](FILES[file](run))
    play(workshop.resumed(run))
    assert outcome(run) == outcome(runs / "whole")


def test_a_task_without_a_checkpoint_is_not_trusted(runs, workshop, tmp_path):
    """Killed in its first round, after the task's file was written; then that file is damaged."""
    workshop.run(tmp_path, rounds=1)
    for path in (*generations(tmp_path), *tmp_path.glob("*.csv")):
        path.unlink()
    for path in tmp_path.rglob("task-*"):
        DAMAGE["flipped"](path)
    play(workshop.resumed(tmp_path))
    assert outcome(tmp_path) == outcome(runs / "whole")


def test_damage_to_all_checkpoints_is_refused_and_nothing_touched(runs, workshop, tmp_path):
    run = shutil.copytree(runs / "stopped", tmp_path / "run")
    for path in generations(run):
        DAMAGE["flipped"](path)
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    for attempt in (workshop.resumed, load_model, saved_config):
        with pytest.raises(FFMLError, match=r"no checkpoint of .* can be used: .* --overwrite"):
            attempt(run)
    shutil.rmtree(run / "checkpoint")
    with pytest.raises(FFMLError, match="has rounds but no checkpoint to go on from; start again"):
        workshop.resumed(run)
    assert all(path.read_bytes() == data for path, data in before.items() if path.exists())


def test_a_flip_anywhere_in_the_config_is_mended_or_refused(runs, tmp_path):
    run = shutil.copytree(runs / "stopped", tmp_path / "run")
    config = run / "config.json"
    data, kept = config.read_bytes(), json.loads(config.read_bytes())
    refused = 0
    for i in range(0, len(data), 7):
        config.write_bytes(data[:i] + bytes([data[i] ^ 0x02]) + data[i + 1 :])
        try:
            assert saved_config(run) == kept
        except FFMLError as error:
            refused += 1
            known = ("were done with", "does not know", "takes a", "an older ffml wrote this")
            assert any(words in str(error) for words in known)
    assert refused > 10


def test_a_checkpoint_of_a_newer_version_is_refused(runs, workshop, tmp_path):
    run = shutil.copytree(runs / "stopped", tmp_path / "run")
    newest = generations(run)[0]
    document, arrays = read(newest)
    newest.write_bytes(pack(document | {"format": FORMAT + 1}, arrays).data)
    before = newest.read_bytes()
    said = rf"newer ffml \(file format {FORMAT + 1}, .* {FORMAT}\); upgrade ffml"
    for attempt in (workshop.resumed, load_model, saved_config):
        with pytest.raises(FFMLError, match=said):
            attempt(run)
    assert newest.read_bytes() == before


# -- models ----------------------------------------------------------------------------------


def test_a_model_is_read_without_jax(runs):
    probe = (
        "import sys; from ffml.scoring.model import load_model; import numpy as np\n"
        "model = load_model(sys.argv[1]); model.logits(np.ones((2, 5)))\n"
        "assert not {'jax', 'optax', 'pandas', 'pyarrow'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", probe, runs / "whole"], check=True)


def test_a_model_predicts_as_the_learner_does(runs, workshop):
    x = np.random.default_rng(0).normal(size=(50, 5)).astype(np.float32)
    directory = workshop.resumed(copy(runs / "whole"))
    loop, pair = directory.experiment.loop, pair_of(directory.state.learner, 2)
    x_scaled = jax.numpy.asarray(directory.state.scaler.transform(x))
    expected = loop.learner.predict(pair.params, x_scaled).logits
    folder, file = load_model(runs / "whole"), load_model(runs / "whole" / "model.safetensors")
    for model in (folder, file):
        np.testing.assert_allclose(model.logits(x), expected, rtol=1e-5, atol=1e-6)
        assert (model.model, model.round, model.schema) == ("linear", ROUNDS, loop.schema)
        assert model.constraint_names == loop.problem.constraint_names
        assert model.multipliers.tolist() == pair.multipliers.tolist()
    assert (folder.status, file.status) == ("running", "complete")


def test_what_is_no_model_is_refused(runs, tmp_path):
    task = runs / "whole" / "checkpoint" / newest_tasks(runs / "whole")[0]
    (tmp_path / "table.csv").write_text("a,b\n1,2\n")
    for path, message in (
        (tmp_path / "nothing", "nothing does not exist; give a run's folder or its model.safe"),
        (tmp_path, "holds no checkpoint; give the folder of a run with a round done"),
        (tmp_path / "table.csv", "table.csv is damaged: its checksum does not fit"),
        (task, "the file holds no model; give a run's folder"),
    ):
        with pytest.raises(FFMLError, match=message):
            load_model(path)


@pytest.mark.parametrize("method", ["refit", "twp"])
def test_a_model_file_holds_what_decisions_need_and_nobodys_rows(method, tmp_path, workshop):
    config = replace(CONFIG, recipe=Recipe(method, ("evened",)), notions=CONFIG.notions[:1])
    directory = RunDirectory(tmp_path, build(config))
    directory.start()
    play(directory)
    known = knowledge(directory.experiment.loop, directory.state)
    arrays = read(tmp_path / "model.safetensors").arrays
    assert not [name for name in arrays if name.startswith("state")]
    kept = {name: a for name, a in arrays.items() if name.startswith("knowledge")}
    assert exact(kept) == ({} if method == "refit" else exact(leaves_by_name(known, "knowledge")))


# -- a checkpoint of the first version -------------------------------------------------------

GOLDEN = Path(__file__).parents[1] / "golden" / "checkpoint-1"


def golden_rows():
    """Numbers that every machine and every version makes alike."""
    i, j = np.arange(12)[:, None], np.arange(3)
    return (((7 * i + 3 * j + i * i * (j + 1)) % 11 - 5) / 4).astype(np.float32)


def test_the_golden_checkpoint_still_loads():
    expected = json.loads((GOLDEN / "expected.json").read_text())
    model = load_model(GOLDEN / "run")
    data = b"".join(leaf.tobytes() for leaf in jax.tree.leaves(model.params))
    assert hashlib.sha256(data).hexdigest() == expected["params_sha256"]
    np.testing.assert_allclose(model.logits(golden_rows()), expected["logits"], rtol=1e-5)
    assert model.preprocessing == expected["preprocessing"] and model.round == 3
    assert sum(path.stat().st_size for path in GOLDEN.rglob("*") if path.is_file()) < 50_000


def test_the_golden_run_predicts_but_does_not_learn_on():
    message = "^an older ffml wrote this run, .* its model still predicts .* start a new run$"
    for attempt in (
        lambda: rebuilt_experiment(saved_config(GOLDEN / "run")),
        lambda: settle(load_model(GOLDEN / "run"), None),
    ):
        with pytest.raises(FFMLError, match=message):
            attempt()


def test_a_run_of_earlier_names_goes_on(tmp_path):
    """Its settings are called constraints and bounds; config.json, checkpoint and model say so."""
    run = Path(shutil.copytree(GOLDEN.with_name("checkpoint-2") / "run", tmp_path / "run"))
    saved = saved_config(run)
    assert saved["run"]["bounds"] == [0.02, 0.05]
    experiment = rebuilt_experiment(saved)
    assert experiment.config.asked == (("demographic-parity", 0.02), ("equal-opportunity", 0.05))
    checkpoints = Checkpoints(run)
    loaded = checkpoints.load()
    state = checkpoints.restore(loaded, experiment.loop, experiment.state)
    assert [len(r.multipliers) for r in loaded.rounds] == [2, 2]
    assert not any(r.reliability.any() for r in loaded.rounds)  # it had not counted them
    _, record = step(experiment.loop, state, next(iter(experiment.stream.tasks())))
    assert record.round == 3 and np.isfinite(record.multipliers).all()
    assert load_model(run).round == 2


def test_changes_are_named_as_people_know_them(tmp_path):
    now = plain(CONFIG.to_json())
    refuse_changes({k: v for k, v in now.items() if k != "augment_to"}, now, tmp_path)
    for recipe, message in (
        (Recipe("ffml", ("corrected",)), "num_outer_steps is not set now, but .* with 2; put"),
        (replace(CONFIG.recipe, wrappers=()), r"wrappers is \[\] now, but .* \['corrected'\]; put"),
        (replace(CONFIG.recipe, method="twp"), "method is 'twp' now, but .* done with 'ffml'; put"),
    ):
        with pytest.raises(FFMLError, match=message):
            refuse_changes(now, plain(replace(CONFIG, recipe=recipe).to_json()), tmp_path)


def test_another_version_or_machine_is_mentioned(runs):
    config = json.loads((runs / "whole" / "config.json").read_text())
    assert differences(config, config) == []
    other = config | {"devices": 64, "versions": config["versions"] | {"jax": "99.0"}}
    jax_note, devices_note = differences(config, other)
    assert f"began with jax {jax.__version__} and goes on with 99.0: last digits" in jax_note
    assert "goes on with 64" in devices_note
