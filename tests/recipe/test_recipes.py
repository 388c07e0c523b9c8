"""Recipes, presets and configurations: what they know, refuse, and leave out."""

import json
from dataclasses import asdict

import pytest

from ffml.base import FFMLError, Ratio, Schema, SensitiveColumn
from ffml.cli._run import merged_settings
from ffml.methods import METHODS
from ffml.recipe.asked import asked_bounds
from ffml.recipe.build import build_for
from ffml.recipe.config import OWN_SETTINGS, RunConfig, configure_run
from ffml.recipe.configfile import read_config
from ffml.recipe.presets import PRESETS, preset
from ffml.recipe.recipes import (
    Recipe,
    build_method,
    build_problem,
    check_recipe,
    known_settings,
    step_sizes,
)
from ffml.recipe.saved import run_config
from ffml.wrappers import WRAPPERS

SCHEMA = Schema(("a", "b"), (SensitiveColumn("sex", ("M", "F")),))
TABLE_3 = {
    "inner.lr",
    "outer_lr",
    "damping",
    "inner.num_steps",
    "num_outer_steps",
    "lr",
    "num_steps",
}


@pytest.mark.parametrize("data", ["bank", "adult", "crime", "my.csv"])
@pytest.mark.parametrize("method", METHODS)
def test_the_paper_preset_switches_nothing_off(method, data):
    """What it says is in Table 3, or differs from the default."""
    said = preset("paper", data, method)
    defaults = configure_run(data, {"method": method}, "paper").settings
    plain = Recipe(method).values() | asdict(RunConfig(data))
    for name, value in said.items():
        assert defaults[name] == value
        assert name in TABLE_3 or plain[name] != value, name
    assert "wrappers" not in said


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("method", METHODS)
def test_presets_name_only_what_there_is(method, name):
    said = preset(name, "adult", method)
    config = configure_run("adult", {"method": method}, name)
    known = {*known_settings(config.recipe), *OWN_SETTINGS, "wrappers"}
    assert set(said) <= known
    build_for(config, SCHEMA)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"outer_lrr": 1.0}, "unknown setting of ffml 'outer_lrr'; did you mean 'outer_lr'? Known"),
        ({"inner.lrr": 1.0}, "unknown setting of ffml 'inner.lrr'; did you mean 'inner.lr'?"),
        ({"method": "twp", "outer_lr": 1.0}, "unknown setting of twp 'outer_lr'"),
        ({"method": "fmml"}, "unknown method 'fmml'; did you mean 'ffml'?"),
        ({"inner": "primal"}, "unknown inner 'primal'; did you mean 'primal-dual'?"),
        ({"model": "lineer"}, "unknown model 'lineer'; did you mean 'linear'?"),
        ({"wrappers": ("evend",)}, "unknown wrapper 'evend'; did you mean 'evened'?"),
        (
            {"wrappers": ("evened", "evened")},
            "a wrapper is given twice: evened, evened; give it once",
        ),
        (
            {"evened.memory": 0.5},
            "'evened.memory' is a setting of the wrapper 'evened'; add --with evened",
        ),
        (
            {"method": "twp", "corrected.memory": 0.5},
            "'corrected.memory' is a setting of the wrapper 'corrected'; add --with corrected",
        ),
        ({"outer_lr": "fast"}, "setting 'outer_lr' takes a number, got 'fast'"),
        (
            {"wrappers": (), "outer.penalty": "much"},
            "setting 'outer.penalty' takes a number, got 'much'",
        ),
    ],
)
def test_what_does_not_exist_is_refused_with_the_nearest(given, message):
    with pytest.raises(FFMLError) as caught:
        configure_run("adult", {"method": "ffml"} | given)
    assert str(caught.value).startswith(message) and "\n" not in str(caught.value)


def test_a_part_that_is_exchanged_takes_the_presets_settings_of_the_old_one_with_it():
    default = configure_run("adult", {"method": "ffml"})
    assert default.recipe.part("outer") == "pooled"
    exchanged = configure_run("adult", {"method": "ffml", "outer": "loss-only", "model": "mlp"})
    assert exchanged.settings["outer"] == "loss-only"
    assert not [name for name in exchanged.settings if name.startswith("outer.pen")]
    kept = configure_run("adult", {"method": "m-ftml", "outer": "pooled"})
    assert "outer.by_size" not in kept.settings  # the preset's, of loss-only
    assert kept.settings["inner.lr"] == 0.1
    with pytest.raises(FFMLError, match=r"unknown setting of m-ftml 'outer.by_size'"):
        configure_run("adult", {"method": "m-ftml", "outer": "pooled", "outer.by_size": True})


def test_a_ratio_is_asked_for_in_place_of_a_gap(tmp_path):
    asked = (("demographic-parity", Ratio(0.8)),)
    for given in ({"min_ratio": (0.8,)}, {"min_ratio": (0.8,), "max_gap": None}):
        assert configure_run("adult", given).asked == asked
    of_decisions = {"min_ratio": (0.8,), "notions": ("demographic-parity",)}
    assert configure_run("adult", of_decisions, "paper").asked == asked  # whose gap does not count
    with pytest.raises(FFMLError, match=r"^max_gap and min_ratio are two ways to ask for the same"):
        configure_run("adult", {"min_ratio": (0.8,), "max_gap": (0.05,)})
    (tmp_path / "c.toml").write_text("min_ratio = [0.8]\nseed = 1\n")
    written = read_config(tmp_path / "c.toml").settings
    assert configure_run("adult", written).asked == asked
    merged = merged_settings(written, {"max_gap": (0.1,)}, (), "default", "adult")
    assert configure_run("adult", merged).asked == (("demographic-parity", 0.1),)
    saved = json.loads(json.dumps(configure_run("adult", written).to_json()))
    assert run_config(saved).asked == asked
    (tmp_path / "c.json").write_text(json.dumps({"run": saved}))
    again = merged_settings(
        read_config(tmp_path / "c.json").settings, {"min_ratio": (0.9,)}, (), None, "adult"
    )
    assert configure_run("adult", again, None).asked == (("demographic-parity", Ratio(0.9)),)


def test_what_is_given_wins_over_the_preset_and_that_over_defaults():
    config = configure_run("adult", {"outer_lr": 0.5, "seed": 3, "max_gap": (0.1,)}, "paper")
    assert config.settings["outer_lr"] == 0.5  # given
    assert config.settings["damping"] == 60.0  # the paper's
    assert config.settings["radius"] == 100.0  # the method's
    assert (config.seed, config.max_gap) == (3, (0.1,))
    assert configure_run("adult", {"method": "ffml"}).recipe.wrappers == ("corrected",)
    assert configure_run("adult", {}).recipe == Recipe("ffml-exact", ("evened", "boosted"))
    assert configure_run("adult", {"wrappers": ()}).recipe.wrappers == ()


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("method", METHODS)
def test_recipes_survive_json(method, name):
    config = configure_run("adult", {"method": method}, name)
    document = json.loads(json.dumps(config.to_json()))
    stored = document.pop("recipe")
    again = Recipe(stored["method"], tuple(stored["wrappers"]), stored["settings"])
    assert again == config.recipe
    check_recipe(again)


def test_every_setting_of_parts_and_wrappers_can_be_given():
    recipe = Recipe(
        "ffml",
        tuple(WRAPPERS),
        {
            "inner": "gradient",
            "inner.shrinkage": 3.0,
            "outer": "pooled",
            "outer.penalty": 2.0,
            "model": "mlp",
            "model.hidden": (4,),
            "problem.positive_weight": 2.0,
            "notion.temperature": 0.5,
            "corrected.memory": 0.5,
            "evened.memory": 1.0,
        },
    )
    problem = build_problem(recipe, SCHEMA, (("demographic-parity", 0.1), ("dbc", 0.1)))
    assert problem.positive_weight == 2.0 and problem.num_constraints == 2
    learner = build_method(recipe, shots=7)(problem)
    assert learner.traits.uses_unlabelled
    assert step_sizes(recipe) == ("outer_lr", "dual_lr", "inner.lr")
    assert set(recipe.settings) <= set(recipe.values()) == set(known_settings(recipe))


def test_bounds_are_one_or_one_for_each_notion():
    both = "demographic-parity", "equal-opportunity"
    problem = build_problem(Recipe(), SCHEMA, asked_bounds(both, (0.1, 0.2)))
    assert [notion.bound.width for notion in problem.constraints] == [0.1, 0.2]
    assert asked_bounds(both, (0.1,)) == tuple((name, 0.1) for name in both)
    message = "^give one max_gap, or one for each of the 2 notions; got 3$"
    with pytest.raises(FFMLError, match=message):
        asked_bounds(both, (0.1, 0.2, 0.3))


def test_no_gap_asks_for_no_fairness_and_files_of_earlier_versions_say_it_otherwise(tmp_path):
    path = tmp_path / "config.json"
    path.write_text('{"constraints": [], "bounds": [0.02]}')
    for config in (
        configure_run("synthetic", {"max_gap": None}),
        configure_run("synthetic", read_config(path).settings),
    ):
        assert config.asked == () and config.max_gap is None
        assert build_for(config, SCHEMA)[0].num_constraints == 0
    path.write_text('{"constraints": ["equal-opportunity"], "bounds": [0.1]}')
    assert configure_run("adult", read_config(path).settings).asked == (("equal-opportunity", 0.1),)


def test_the_default_is_meant_by_its_earlier_name_too():
    today = configure_run("adult", {"seed": 3})
    assert configure_run("adult", {"method": "leader", "seed": 3}) == today
    saved = json.loads(json.dumps(today.to_json(), default=list))
    saved["recipe"]["method"] = "leader"
    assert run_config(saved) == today
