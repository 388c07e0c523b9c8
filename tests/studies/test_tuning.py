"""Tuning: many settings in one program, spaces, resuming."""

from dataclasses import replace
from itertools import islice

import jax
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from playing import Player

from ffml.base import FFMLError
from ffml.methods import METHODS
from ffml.online.judge import NO_DECISION
from ffml.online.learn import learn_or_wait
from ffml.online.loop import arrive, is_judged, pair
from ffml.recipe.build import build
from ffml.recipe.config import configure_run
from ffml.recipe.recipes import Recipe, known_settings
from ffml.studies.cells import Store
from ffml.studies.compare import known_kinds
from ffml.studies.jobs import HERE
from ffml.studies.play import open_cell, run_and_keep
from ffml.studies.tuning import (
    SPACES,
    Span,
    _play,
    check_search,
    draw_settings,
    grid_settings,
    load_search,
    number_settings,
    plan_search,
    space_axes,
    unfinished_chunks,
)
from ffml.studies.tuning._chunks import _even_size
from ffml.studies.tuning._play import ChunkPlayer, judge_each, many_loop
from ffml.studies.tuning._program import compile_program, traceable

PURE = ("ffml", "m-ftml", "fairsaoml", "twp", "ogdlc", "adp-olc", "gen-olc", "sinha-vaze")
OPTIONS = {"num_tasks": 6, "rows_per_task": (30, 40), "num_features": 3}
TINY = {"shots": 4, "tasks_per_round": 2, "rows_per_task": 32}
FAST = TINY | {"num_steps": 2}


def tiny_search(settings, method="twp", seeds=(100,), given=FAST, **more):
    return plan_search(
        "synthetic",
        settings,
        method=method,
        given=given,
        seeds=seeds,
        min_validation=10,
        data_options=OPTIONS,
        **more,
    )


@pytest.fixture
def one_compilation(monkeypatch):
    """Compile the program of a test once, however often it is run."""
    programs = {}

    def compiled(config, schema, names, size, num_devices):
        place = (config.recipe.method, names, size, num_devices)
        if place not in programs:
            programs[place] = compile_program(config, schema, names, size, num_devices)
        return programs[place]

    monkeypatch.setattr(_play, "compile_program", compiled)


def computed(search, store, **more):
    schema = check_search(search).schema
    chunks = unfinished_chunks(search, store, schema, more.pop("most", None))
    run_and_keep(ChunkPlayer(), chunks, store, backend=HERE, **more)
    return chunks


# -- one program for many settings -----------------------------------------------------------------


def assert_same_as_alone(search, store, members, tolerance=2e-4, people=0):
    """These settings of the program learn, and decide, as they do in loops of their own."""
    schema = check_search(search).schema
    [chunk] = unfinished_chunks(search, store, schema)
    experiment = open_cell(chunk.cells[0])
    names = tuple(chunk.values)
    program = compile_program(experiment.config, schema, names, chunk.size, chunk.num_devices)
    many, state = many_loop(chunk, program, experiment)
    configs = {i: replace(chunk.cells[i].config, judge_from=0.0) for i in members}
    alone = {i: Player.of(build(config)) for i, config in configs.items()}
    judgements = None
    for task in islice(experiment.stream.tasks(), 4):
        before = state
        state, arrived = arrive(many, before, task)
        if is_judged(many, state.round, arrived):
            judgements = judge_each(many, before, arrived, len(chunk.cells))
        state, _ = learn_or_wait(many, state, arrived.as_it_came, NO_DECISION)
        for i, loop in alone.items():
            record = loop.step(task)
            pairs = jax.tree.leaves(pair(many, state)), jax.tree.leaves(loop.pair)
            for ours, theirs in zip(*pairs, strict=True):
                np.testing.assert_allclose(ours[i], theirs, rtol=tolerance, atol=tolerance)
            if judgements:
                for name, table in judgements[i].tables.items():
                    assert np.abs(table - record.tables[name]).max() <= people
    assert judgements and state.round == 4
    return chunk, state


def test_settings_of_ffml_learn_together_as_alone(tmp_path):
    tried = [
        {"inner.lr": 0.05, "max_gap": (0.0,), "problem.l2": 0.0, "notion.temperature": 0.5}
        | {"damping": 0.1, "outer.penalty": 0.0, "problem.positive_weight": 1.0},
        {"inner.lr": 0.5, "max_gap": (0.1,), "problem.l2": 0.1, "notion.temperature": 2.0}
        | {"damping": 5.0, "outer.penalty": 3.0, "problem.positive_weight": 2.0},
        {"inner.lr": 0.1, "max_gap": (0.02,), "problem.l2": 0.01, "notion.temperature": 1.0}
        | {"damping": 0.02, "outer.penalty": 10.0, "problem.positive_weight": 1.5},
    ]
    common = TINY | {"inner.num_steps": 1, "num_outer_steps": 3, "initial_multiplier": 0.5}
    search = tiny_search(tried, "ffml", given=common | {"wrappers": ()})
    chunk, state = assert_same_as_alone(search, Store(tmp_path), members=(1,))
    assert (len(chunk.cells), chunk.size, chunk.num_devices) == (3, 4, 2)
    assert state.learner.round.shape == ()  # counted, and so rows drawn, once for all settings
    assert len({float(loop) for loop in state.learner.multipliers[:3, 0]}) == 3


def test_settings_of_wrapped_methods_learn_together_as_alone(tmp_path):
    common = FAST | {"wrappers": ("corrected",)}
    tried = [
        {"max_gap": (bound,), "corrected.memory": memory} | {"problem.positive_weight": weight}
        for bound, memory, weight in ((0.0, 0.5, 1.0), (0.3, 0.9, 3.0))
    ]
    search = tiny_search(tried, "twp", given=common)
    chunk, _ = assert_same_as_alone(search, Store(tmp_path), members=(1,), people=1)
    assert set(chunk.values) == set(tried[0])


def test_settings_of_an_online_method_learn_together_as_alone(tmp_path):
    tried = [
        {"strong_convexity": 0.7, "gradient_bound": 2.0},
        {"strong_convexity": 0.35, "gradient_bound": 1.0},
    ]
    search = tiny_search(tried, "gen-olc")
    chunk, _ = assert_same_as_alone(search, Store(tmp_path), members=(1,))
    assert set(chunk.values) == set(tried[0])


@pytest.mark.parametrize("method", PURE)
def test_every_number_of_a_recipe_can_be_traced(method):
    common = {"method": method, "data_options": OPTIONS} | TINY
    if "inner.num_steps" in known_settings(Recipe(method)):
        common["inner.num_steps"] = 1
    if method == "ffml":
        common["wrappers"] = ("corrected",)
    names = number_settings(known_kinds("synthetic", common, "default"))
    known = known_settings(Recipe(method, common.get("wrappers", ())))
    own = {name for name, setting in known.items() if setting.kind is float}
    assert own <= names and {"max_gap", "problem.l2", "notion.temperature"} <= names
    assert not names & {"shots", "seed", "rounds", "validation_fraction", "judge_from", "model"}
    config = configure_run("synthetic", common)
    schema = build(config).stream.schema
    assert traceable(config, schema, tuple(sorted(names))) == tuple(sorted(names))


def choosy(problem, *, lr: float = 0.1, penalty: float = 1.0, shots: int = 100):
    """Decides by the value of a number what to compute."""
    if penalty > 0:
        return METHODS["twp"](problem, lr=lr, penalty=penalty, num_steps=2, shots=shots)
    return METHODS["twp"](problem, lr=lr, penalty=0.0, num_steps=1, shots=shots)


def test_a_number_that_changes_the_program_gets_programs_of_its_own(tmp_path, monkeypatch):
    monkeypatch.setitem(METHODS, "choosy", choosy)
    settings = grid_settings({"lr": (0.1, 0.2), "penalty": (0.0, 1.0)})
    search = tiny_search(settings, "choosy", given=TINY)
    chunks = unfinished_chunks(search, Store(tmp_path), check_search(search).schema)
    assert [(chunk.program, list(chunk.values)) for chunk in chunks] == [(0, ["lr"]), (1, ["lr"])]
    penalties = [{c.config.settings["penalty"] for c in chunk.cells} for chunk in chunks]
    assert penalties == [{0.0}, {1.0}]


def test_what_changes_the_program_is_apart(tmp_path):
    axes = {
        "strong_convexity": (None, 1, 2.0),
        "max_gap": ((0.1,), (0.1, 0.2)),
        "model": ("linear",),
    }
    common = FAST | {"notions": ("dbc", "demographic-parity")}
    tried = grid_settings(axes)
    search = tiny_search(tried, "gen-olc", seeds=(100, 101), given=common)
    chunks = unfinished_chunks(search, Store(tmp_path), check_search(search).schema)
    shapes = [{n: v.shape for n, v in chunk.values.items()} for chunk in chunks if chunk.seed > 100]
    assert shapes == [
        {"max_gap": (1, 1)},
        {"max_gap": (1, 2)},
        {"strong_convexity": (2,), "max_gap": (2, 1)},
        {"strong_convexity": (2,), "max_gap": (2, 2)},
    ]
    assert len({chunk.program for chunk in chunks}) == 4 and len(chunks) == 8
    assert sorted(c.key for chunk in chunks for c in chunk.cells) == sorted(
        c.key for c in search.cells
    )


def test_settings_without_a_number_are_computed_one_by_one(tmp_path):
    store = Store(tmp_path)
    search = tiny_search(grid_settings({"notions": (("dbc",),)}))
    assert [(chunk.size, chunk.values) for chunk in computed(search, store)] == [(1, {})]
    assert set(load_search(store, search)["setting"]) == {1}


@settings(deadline=None)
@given(st.integers(1, 300), st.integers(1, 80), st.integers(1, 9))
def test_chunks_are_even_and_bounded(count, limit, num_devices):
    size, devices = _even_size(count, limit, num_devices)
    assert 1 <= devices <= num_devices and size % devices == 0 and size <= limit
    assert -(-count // size) <= -(-count // (limit // devices * devices))  # as few as can be


# -- spaces ----------------------------------------------------------------------------------------


def test_the_papers_lists():
    axes = SPACES["paper"].axes
    assert axes["inner.lr"] == pytest.approx(
        [1e-4, 5e-4, 1e-3, 5e-3, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 50, 100, 500, 1000]
    )
    assert axes["initial_multiplier"] == pytest.approx([10.0**e for e in range(-4, 5)])


def kinds_of(method="ffml", **given):
    return known_kinds("adult", given | {"method": method}, "default")


@pytest.mark.parametrize("space", SPACES)
def test_spaces_fit_every_method(space):
    known = {method: kinds_of(method) for method in METHODS}
    assert set(SPACES[space].axes) <= set().union(*known.values())  # no name of yesterday
    for kinds in known.values():
        assert 1 < len(grid_settings(space_axes("default", kinds))) <= 200


def test_draws_are_log_uniform_and_go_on():
    axes = {
        "problem.l2": (0.0, 1e-4, 1.0),
        "model": ("linear", "mlp"),
        "max_gap": ((0.01,), (0.1,)),
    }
    axes |= {"inner.num_steps": (1, 9)}
    few, many = draw_settings(axes, 3, kinds_of()), draw_settings(axes, 600, kinds_of())
    assert many[:3] == few
    l2 = np.array([s["problem.l2"] for s in many])
    assert 0.25 < np.mean(l2 == 0) < 0.42
    positive = np.log10(l2[l2 > 0])
    assert positive.min() >= -4 and positive.max() <= 0
    assert abs(positive.mean() + 2) < 0.2 and abs(positive.std() - 4 / 12**0.5) < 0.15
    assert {s["model"] for s in many} == {"linear", "mlp"}
    assert {s["inner.num_steps"] for s in many} == {1, 9}
    assert all(0.01 <= s["max_gap"][0] <= 0.1 for s in many)
    assert draw_settings({"dual_lr": (None,)}, 1, kinds_of()) == [{"dual_lr": None}]


@pytest.mark.parametrize(
    ("axes", "message"),
    [
        ({"inner.lrr": (1,)}, "unknown setting of ffml 'inner.lrr'; did you mean 'inner.lr'?"),
        ({"lr": (1,)}, "unknown setting of ffml 'lr'"),
        ({"gap": ((1,),)}, "unknown setting of ffml 'gap'; did you mean 'max_gap'?"),
        ({"seed": (1,)}, "'seed' is the same for all settings tried; use --seeds"),
        ({"method": ("twp",)}, "'method' is the same for all settings tried; use --method"),
        ({"problem.l2": ()}, "'problem.l2' has no values to try"),
        ({}, "there is nothing to try; give values such as --grid"),
    ],
)
def test_axes_that_cannot_be_tried(axes, message):
    for make in (grid_settings, lambda axes: draw_settings(axes, 2, kinds_of())):
        with pytest.raises(FFMLError) as error:
            plan_search("adult", make(axes))
        assert str(error.value).startswith(message)


def test_parts_and_wrappers_can_be_tried_too(tmp_path):
    axes = {"wrappers": ((), ("corrected",)), "inner": ("primal-dual", "gradient")}
    common = TINY | {"inner.num_steps": 1}
    search = tiny_search(grid_settings(axes | {"damping": (0.1, 1.0)}), "ffml", given=common)
    chunks = unfinished_chunks(search, Store(tmp_path), check_search(search).schema)
    assert [(chunk.size, list(chunk.values)) for chunk in chunks] == [(2, ["damping"])] * 4
    assert {c.config.recipe.wrappers for c in search.cells} == {(), ("corrected",)}


# -- what a choice may look at ---------------------------------------------------------------------


@settings(deadline=None)
@given(st.integers(2, 400))
def test_the_rounds_that_judge_are_the_middle_third(rounds):
    span = Span(None, rounds)
    judge = [t for t in range(1, rounds + 1) if span.first <= t <= span.last]
    assert judge == [t for t in range(1, rounds + 1) if rounds < 3 * t <= 2 * rounds]
    assert judge and not any(3 * t > 2 * rounds for t in judge)  # none that tables report


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"seeds": (100, 9)}, r"seed 9 is one of those that tables report \(0-99\)"),
        ({"seeds": ()}, "at least one seed"),
        ({"settings": []}, "one setting"),
        ({"settings": [{"problem.l2": float("nan")}]}, "problem.l2 must be a finite number"),
        ({"settings": [{"problem.l2": -1.0}], "check": True}, "l2 must be >= 0, got -1.0"),
        ({"settings": [{"lr": -1.0}], "check": True}, "lr must be > 0, got -1.0"),
        ({"settings": [{"shots": 3}]}, "'shots' has both one value for all and several to try"),
        ({"settings": [{"max_gap": (0.1, 0.2, 0.3)}]}, "give one max_gap"),
        ({"given": FAST | {"rounds": 1}, "check": True}, "needs 2 tasks or more; .* has 1"),
        ({"method": "twq"}, "unknown method 'twq'"),
    ],
)
def test_searches_that_cannot_be(changed, message):
    changed = {"settings": [{"lr": 0.1}]} | changed
    check = changed.pop("check", False)
    with pytest.raises(FFMLError, match=message):
        search = tiny_search(changed.pop("settings"), **changed)
        assert check
        check_search(search)


def test_rounds_too_small_to_judge_are_refused_before_anything_runs():
    search = replace(tiny_search([{"lr": 0.1}]), min_validation=21)
    with pytest.raises(FFMLError, match=r"rounds 3 to 4 of 6 .* has 21 validation rows; give more"):
        check_search(search)


def test_only_rounds_that_count_are_judged_and_later_ones_not_played(tmp_path):
    search, seen = tiny_search([{"lr": 0.1}, {"lr": 0.1}, {"lr": 0.2}]), []
    assert len(search.settings) == 2  # the same twice counts once
    store = Store(tmp_path)
    computed(search, store, tell=lambda kind, chunk, *at: seen.append((kind, *at[:2])))
    assert seen[1:-1] == [("said", t, 4) for t in (1, 2, 3, 4)]
    assert (seen[0], seen[-1][0]) == (("started",), "finished")
    assert store.seconds(search.cells) > 0 == store.seconds([])
    frame = load_search(store, search)
    assert list(frame["round"]) == [3, 4, 3, 4] and (frame["n_validation"] >= 10).all()


# -- results are kept ------------------------------------------------------------------------------


def test_what_is_finished_is_not_computed_again(tmp_path, one_compilation):
    store = Store(tmp_path)
    small = tiny_search(grid_settings({"lr": (0.1, 0.2)}))
    [chunk] = computed(small, store)
    assert [cell.config.settings["lr"] for cell in chunk.cells] == [0.1, 0.2]
    before = load_search(store, small)
    wider = tiny_search(grid_settings({"lr": (0.3, 0.2, 0.1)}), seeds=(100, 101))
    left = computed(wider, store, most=2)
    assert [(c.seed, len(c.cells)) for c in left] == [(100, 1), (101, 2), (101, 1)]
    assert computed(wider, store) == []
    after = load_search(store, wider)
    same = after[(after["setting"] > 1) & (after["seed"] == 100)].sort_values(
        ["setting", "round"], ascending=[False, True]
    )
    columns = before.columns.drop("setting")
    pd.testing.assert_frame_equal(
        same[columns].reset_index(drop=True), before[columns].reset_index(drop=True)
    )


def test_an_interrupted_search_goes_on_and_ends_the_same(tmp_path, one_compilation):
    search = tiny_search(grid_settings({"lr": (0.1, 0.2, 0.4)}), seeds=(100, 101))
    whole, broken = Store(tmp_path / "whole"), Store(tmp_path / "broken")
    computed(search, whole, most=2)

    def interrupt(kind, chunk, *at):
        if kind == "said" and chunk.seed == 101 and at[0] == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        computed(search, broken, most=2, tell=interrupt)
    kept = {path: path.stat().st_mtime_ns for path in broken.folder.glob("*.safetensors")}
    assert len(kept) == 3  # all settings of the first seed
    with pytest.raises(FFMLError, match="no results of 1 on synthetic, seed 101; run"):
        load_search(broken, search)
    assert [chunk.seed for chunk in computed(search, broken, most=2)] == [101, 101]
    assert all(path.stat().st_mtime_ns == time for path, time in kept.items())
    pd.testing.assert_frame_equal(load_search(broken, search), load_search(whole, search))

    damaged = next(iter(kept))
    damaged.write_bytes(damaged.read_bytes()[:-1])
    (broken.folder / "other.safetensors").write_bytes(b"not a file of ours")
    assert [chunk.seed for chunk in computed(search, broken, most=2)] == [100]
    ours, theirs = load_search(broken, search), load_search(whole, search)
    pd.testing.assert_frame_equal(ours, theirs, rtol=1e-3)  # computed alone, not two at once


def test_a_setting_that_diverges_does_not_stop_the_others(tmp_path):
    """It is judged by its decisions, which are all the same."""
    store = Store(tmp_path)
    search = tiny_search(
        [{"inner.lr": 0.1}, {"inner.lr": 1e36}],
        "ffml",
        given=TINY | {"num_outer_steps": 2, "inner.num_steps": 1, "wrappers": ()},
    )
    computed(search, store)
    table = load_search(store, search)
    losses = table.groupby("setting")["loss"].apply(lambda loss: np.isfinite(loss).all())
    assert losses.tolist() == [True, False]
