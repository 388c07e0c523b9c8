"""This package: the paper's recipe, and the parts that ``--method ffml`` has by default."""

from typing import Any

import jax
import numpy as np

from ffml.base import Learner, Pair
from ffml.recipe.presets import preset
from ffml.recipe.recipes import Recipe, build_method, build_problem
from ffml.runtime import compiled
from outer.shapes import BOUND, INNER_LR, ITERATIONS, LAMBDA, Contender, Given, Shape, on_devices

STEPS = {"outer_lr": 0.01, "damping": 50.0, "radius": 100.0}
# Steps so long, and a term in λ² so small, that (θ, λ) tells its own slopes after one iteration.
TELLING = {"outer_lr": 1.0, "damping": 0.0, "radius": 1e6}


def paper_recipe(shape: Shape, steps: dict[str, float]) -> Recipe:
    """Return the settings of the paper, in the network and the constraint of all contenders."""
    settings = {
        "inner.lr": INNER_LR,
        "inner.num_steps": shape.steps,
        "model": "mlp",
        "problem.natural_rates": False,
        "initial_multiplier": LAMBDA,
    }
    return Recipe("ffml", (), settings | steps)


def default_recipe(shape: Shape) -> Recipe:
    """Return the default parts and wrappers of the method, with the paper's network and N_step."""
    settings = preset("default", "", "ffml")
    wrappers = settings.pop("wrappers")
    own = {"model": "mlp", "inner.num_steps": shape.steps, "initial_multiplier": LAMBDA}
    return Recipe("ffml", wrappers, settings | own)


def paper(given: Given, devices: int, label: str) -> Contender:
    """Take the paper's recipe."""
    recipe, notion = paper_recipe(given.shape, STEPS), ("dbc", BOUND)
    return _contender("ffml, paper's recipe", label, recipe, notion, given, devices)


def default(given: Given, devices: int, label: str) -> Contender:
    """Take the default parts."""
    recipe, notion = default_recipe(given.shape), ("demographic-parity", 0.05)
    return _contender("ffml, default parts", label, recipe, notion, given, devices)


def paper_slopes(given: Given) -> tuple[Any, Any]:
    """Return ∇_θ L and ∇_λ L, as one iteration of the learner shows them."""
    recipe = paper_recipe(given.shape, TELLING | {"num_outer_steps": 1})
    learner = _learner(recipe, ("dbc", BOUND), given)
    state = _second_round(learner, given)
    after, _ = compiled(learner.update)(given.key, state, _newest(given), given.memory)
    before = Pair(given.params, np.float32(LAMBDA))
    step = jax.tree.map(lambda a, b: a - b, before.params, jax.device_get(after.params))
    return step, jax.device_get(after.multipliers)[0] - before.multipliers


def _contender(
    name: str, label: str, recipe: Recipe, notion: tuple[str, float], given: Given, devices: int
) -> Contender:
    memory = on_devices(given.memory, devices)
    settings = recipe.settings | {"num_outer_steps": ITERATIONS}
    learner = _learner(Recipe(recipe.method, recipe.wrappers, settings), notion, given)
    state = jax.device_get(_second_round(learner, given))
    program = compiled(learner.update).lower(given.key, state, _newest(given), memory).compile()

    def run(count: int) -> None:
        assert count == ITERATIONS, "compiled for a round of so many"
        jax.block_until_ready(program(given.key, state, _newest(given), memory))

    flops = program.cost_analysis()["flops"] * devices
    return Contender(name, label, run, None, flops)


def _learner(recipe: Recipe, notion: tuple[str, float], given: Given) -> Learner:
    problem = build_problem(recipe, given.schema, [notion])
    return build_method(recipe, given.shape.shots)(problem)


def _second_round(learner: Learner, given: Given) -> Any:
    """Return a state from which the next update learns: nothing is learned in the first round."""
    state = learner.init(given.key)
    inner = getattr(state, "inner", state)
    inner = inner._replace(params=given.params, round=inner.round + 1)
    return state._replace(inner=inner) if hasattr(state, "inner") else inner


def _newest(given: Given) -> Any:
    return jax.tree.map(lambda leaf: leaf[-1], given.memory)
