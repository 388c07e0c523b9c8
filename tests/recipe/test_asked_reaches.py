"""What is asked for reaches every method that can take it."""

from dataclasses import replace

import numpy as np
import pytest
from conftest import random_task
from playing import Player

from ffml.base import FFMLError, Schema, SensitiveColumn
from ffml.methods import METHODS
from ffml.methods._fairlearn_refit import _bound
from ffml.problem.classification import fair_classification
from ffml.problem.models import linear
from ffml.problem.notions import (
    decision_boundary_covariance,
    demographic_parity,
    equal_opportunity,
    ratio,
)
from ffml.recipe.build import build_for, build_loop
from ffml.recipe.config import RunConfig, check_settings
from ffml.recipe.recipes import Recipe, known_settings

SCHEMA = Schema(("a", "b", "c"), (SensitiveColumn("sex", ("M", "F")),))
QUICK = {"inner.num_steps": 1, "num_outer_steps": 5, "num_steps": 5, "max_iter": 5}
STEPS = {"inner.lr": 0.5, "outer_lr": 0.5, "lr": 0.5, "penalty": 5.0, "initial_multiplier": 1.0}
TASKS = [random_task(i, 120, SCHEMA, bias=2.0) for i in range(3)]
NOTIONS = {"fairlearn-eo": "equalized-odds"}


def decided(method, wrappers=(), **asked):
    """Return who is decided positively, of three tasks whose groups differ much."""
    known = known_settings(Recipe(method, wrappers))
    settings = {name: value for name, value in (QUICK | STEPS).items() if name in known}
    notions = (NOTIONS.get(method, "demographic-parity"),)
    config = RunConfig(
        "",
        notions=asked.pop("notions", notions),
        recipe=Recipe(method, wrappers, settings),
        shots=20,
        tasks_per_round=3,
        rows_per_task=128,
        **asked,
    )
    loop = build_loop(config, build_for(config, SCHEMA), SCHEMA)
    rounds = Player(loop).play(TASKS)
    return np.concatenate([record.decided.logits for record in rounds])


@pytest.mark.parametrize("method", METHODS)
def test_a_gap_reaches_every_method_that_can_take_it(method):
    """Methods that learn without bounds take it from a wrapper."""
    unable = method in ("ffml-exact", "m-ftml", "refit", "twp")
    strict, loose = (decided(method, max_gap=(gap,)) for gap in (0.0, 1.0))
    assert np.array_equal(strict, loose) == unable
    if unable:
        strict, loose = (decided(method, ("evened",), max_gap=(gap,)) for gap in (0.0, 1.0))
        assert not np.array_equal(strict, loose)


@pytest.mark.parametrize("method, wrappers", [("ffml", ()), ("ffml-exact", ("evened",))])
def test_an_aim_is_learned_for_as_if_it_were_the_bound(method, wrappers):
    aimed = decided(method, wrappers, max_gap=(0.5,), aim=(0.01,))
    assert np.array_equal(aimed, decided(method, wrappers, max_gap=(0.01,)))
    assert not np.array_equal(aimed, decided(method, wrappers, max_gap=(0.5,)))


def test_what_is_judged_is_the_bound_and_not_the_aim():
    config = RunConfig("", max_gap=(0.05,), aim=(0.03,))
    built = build_for(config, SCHEMA)
    assert [c.bound.width for c in built.problem.constraints] == [0.05]
    assert config.asked == (("demographic-parity", 0.05),)
    assert config.aimed == (("demographic-parity", 0.03),)
    assert replace(config, aim=None).aimed == config.asked


@pytest.mark.parametrize(
    "asked, message",
    [
        ({"aim": (0.06,)}, "got 0.06 for 0.05"),
        ({"aim": (-0.01,)}, "got -0.01 for 0.05"),
        ({"aim": (float("nan"),)}, "must be finite, got nan"),
        ({"max_gap": None, "min_ratio": (0.8,), "aim": (0.7,)}, "got 0.7 for 0.8"),
        ({"max_gap": None, "min_ratio": (0.8,), "aim": (1.1,)}, "got 1.1 for 0.8"),
        ({"max_gap": None, "aim": (0.03,)}, "give max_gap or min_ratio as well"),
        ({"aim": (0.03, 0.03)}, "give one aim; got 2"),
    ],
)
def test_an_aim_that_keeps_nothing_is_refused(asked, message):
    with pytest.raises(FFMLError, match=message):
        check_settings(RunConfig("", **asked))


@pytest.mark.parametrize("method", ["fairlearn-dp", "fairlearn-eo"])
def test_a_ratio_reaches_fairlearn(method):
    strict, loose = (decided(method, max_gap=None, min_ratio=(r,)) for r in (0.95, 0.1))
    assert not np.array_equal(strict, loose)


def test_fairlearn_is_asked_for_what_keeps_groups_apart_by_no_more():
    def asked(*notions, given=None):
        return _bound(fair_classification(SCHEMA, linear(), *notions), given)

    assert asked(demographic_parity(0.05)) == {"difference_bound": 0.025}
    assert asked(demographic_parity(0.05), given=0.3) == {"difference_bound": 0.3}
    assert asked(demographic_parity(0.0)) == {"difference_bound": 0.001}
    assert asked(equal_opportunity(0.2), demographic_parity(0.1)) == {"difference_bound": 0.05}
    assert asked(demographic_parity(ratio(0.81))) == {"ratio_bound": pytest.approx(0.9)}
    assert asked() == asked(decision_boundary_covariance(0.4)) == {"difference_bound": 0.01}
