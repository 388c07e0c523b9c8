"""What is asked for reaches every method that can take it."""

import numpy as np
import pytest
from conftest import random_task
from playing import Player

from ffml.base import Schema, SensitiveColumn
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
from ffml.recipe.config import RunConfig
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
