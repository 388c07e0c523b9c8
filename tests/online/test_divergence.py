"""Steps that are too large are said in one line, and what was learned before is kept."""

import json
from dataclasses import replace

import jax
import numpy as np
import pytest
from playing import Player
from quick import SMALL, sets
from tiny import CONFIG, exact

import ffml
from ffml.base import FFMLError
from ffml.divergence import all_finite
from ffml.estimator import FairMetaClassifier
from ffml.methods import METHODS
from ffml.online.decide import find_rule
from ffml.online.loop import known
from ffml.online.trees import leaves_by_name
from ffml.recipe.build import build
from ffml.recipe.config import RunConfig, configure_run
from ffml.recipe.recipes import Recipe
from ffml.scoring.model import load_model, model_bytes
from ffml.store.container import pack, read
from ffml.studies.compare import RunSpec, Store, run_cells

STEEP = {
    "inner.lr": 1e30,
    "outer_lr": 1e30,
    "optimizer": "sgd",
    "num_outer_steps": 2,
    "inner.num_steps": 1,
}
TINY = {
    "method": "ffml",
    "data_options": CONFIG.data_options,
    "num_outer_steps": 2,
    "inner.num_steps": 1,
    "tasks_per_round": 2,
    "shots": 4,
}
STEPS = sets("inner.lr=1e30", "outer_lr=1e30", "optimizer=sgd")
QUICK = ["--method", "ffml", *sets("num_outer_steps=2", "inner.num_steps=1", "shots=10"), "--quiet"]
RATES = "outer_lr, dual_lr or inner.lr"
LOWER = "diverged: its numbers are no longer finite; lower"


@pytest.mark.parametrize("method", METHODS)
def test_every_method_starts_finite(method):
    assert all_finite(
        jax.tree.leaves(build(RunConfig("synthetic", recipe=Recipe(method))).state.learner)
    )


@pytest.mark.parametrize(
    ("method", "settings", "names"),
    [
        ("ffml", {"inner.lr": 1e30, "inner.num_steps": 1}, RATES),
        (
            "m-ftml",
            {"inner.lr": 1e30, "inner.num_steps": 1, "optimizer": "adam"},
            "outer_lr or inner.lr",
        ),
        ("twp", {"lr": 1e38, "penalty": 1e6}, "lr"),
    ],
)
def test_a_round_that_diverges_changes_nothing(method, settings, names):
    steps = "num_outer_steps" if method in ("ffml", "m-ftml") else "num_steps"
    options = {"num_tasks": 9, "rows_per_task": (20, 40)}
    recipe = Recipe(method, settings=settings | {steps: 2})
    config = RunConfig("synthetic", options, recipe=recipe, tasks_per_round=3, shots=4)
    experiment = build(config)
    player, stream = Player.of(experiment), experiment.stream
    before = None
    with pytest.raises(FFMLError, match=rf"^round \d \(task 'task \d'\) {LOWER} {names}$"):
        for task in stream.tasks():
            before = kept(player.state)
            player.step(task)
    assert kept(player.state) == before
    assert all_finite(jax.tree.leaves(player.state.learner))


def kept(state):
    memory = [exact(task._asdict()) for task in state.memory.tasks]
    sums = state.violation.tolist(), state.clipped_violation.tolist()
    return state.round, state.memory.seen, memory, exact(leaves_by_name(state.learner, "")), sums


def test_features_that_are_not_finite_are_named():
    built = build(CONFIG)
    tasks = list(built.stream.tasks())
    spoilt = tasks[0]._replace(x=np.full_like(tasks[0].x, np.nan))
    with pytest.raises(
        FFMLError, match=r"^round 1 \(task 'task 1'\) has features that are not finite; fill"
    ):
        Player.of(built).step(spoilt)


def test_a_run_stops_with_one_line_and_keeps_its_good_rounds(tmp_path, run_main):
    arguments = ["run", "synthetic", *QUICK, *SMALL, *STEPS, "--out", "run"]
    code, _, err = run_main(*arguments)
    assert (code, err) == (
        2,
        f"error: round 2 (task 'task 2') {LOWER} {RATES}\n",
    )
    assert json.loads((tmp_path / "run" / "summary.json").read_text())["rounds"] == 1
    assert load_model(tmp_path / "run" / "model.safetensors").round == 1
    code, _, err = run_main("run", "--resume", "run")
    assert code == 2 and f"round 2 (task 'task 2') {LOWER}" in err
    steeper = [f"inner.{value}" for value in ("lr=3e38", "shrinkage=0", "num_steps=60")]
    more = [word for value in steeper for word in ("--set", value)]
    code, _, err = run_main(*arguments[:-1], "first", *more)
    assert code == 2 and "round 1 (task 'task 1') diverged" in err
    assert not (tmp_path / "first").exists()


def test_a_model_that_is_not_finite_is_not_loaded(tmp_path):
    run = ffml.run("synthetic", preset=None, out=tmp_path / "run", **TINY)
    path = tmp_path / "model.safetensors"
    path.write_bytes(model_bytes(run.model()))
    document, arrays = read(path)
    path.write_bytes(pack(document, arrays | {"params['b']": np.array(np.inf, np.float32)}).data)
    with pytest.raises(FFMLError, match=r"not finite: .* start another with smaller step"):
        load_model(path)


def test_the_classifier_keeps_what_it_had_learned():
    rng = np.random.default_rng(0)
    x, sex = rng.normal(size=(80, 2)), rng.choice(["f", "m"], 80)
    y = x[:, 0] > 0
    steep = FairMetaClassifier("ffml", shots=10, settings=STEEP | {"tasks_per_round": 2})
    with pytest.raises(FFMLError, match=rf"^round 2 \(task 'part 2'\) {LOWER} outer_lr"):
        steep.fit(x, y, sensitive_features=sex)
    model = FairMetaClassifier(**steep.get_params()).partial_fit(x, y, sensitive_features=sex)
    before = model.predict_proba(x).tolist()
    for _ in range(2):
        with pytest.raises(FFMLError, match=rf"^round 2 \(task 'task 2'\) {LOWER} outer_lr"):
            model.partial_fit(x, y, sensitive_features=sex)
        assert (model.n_rounds_, len(model.rounds_), model.state_.round) == (1, 1, 1)
        assert model.predict_proba(x).tolist() == before


def test_a_cell_that_diverges_fails_with_the_reason(tmp_path):
    given = TINY | STEEP
    config = configure_run("synthetic", given)
    with pytest.raises(FFMLError, match=r"1 of 1 runs failed.*steep on .*round 2 .* diverged: its"):
        run_cells([RunSpec("steep", config)], Store(tmp_path / "cells"), workers=1)


def test_an_adaptation_that_diverges_is_refused():
    experiment = build(CONFIG)
    learner = experiment.loop.learner

    def adapt(knowledge, batch):
        return jax.tree.map(lambda leaf: leaf / 0, knowledge)

    steep = replace(experiment.loop, learner=learner._replace(adapt=adapt))
    first = known(experiment.loop, experiment.state)
    with pytest.raises(FFMLError, match=rf"^adapting to wild.csv {LOWER} outer_lr"):
        find_rule(steep, first, what="adapting to wild.csv")
