"""The loop behind the estimator: built from its parameters, put aside as arrays, taken up again."""

import numbers
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import jax
import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from ffml.base import FFMLError, LabelledTask, Learner, Params, Problem, Schema, Task
from ffml.border import at_least
from ffml.data.scaling import RunningScaler
from ffml.experiment.build import build_for, build_loop, check_config
from ffml.experiment.config import RunConfig, configure_run
from ffml.experiment.recipes import Recipe
from ffml.methods import DEFAULT_PARTS, METHODS, PARTS
from ffml.online.loop import OnlineLoop
from ffml.problem.models import MODELS
from ffml.problem.notions import CONSTRAINTS
from ffml.wrappers import WRAPPERS

# Settings that the classifier has as parameters of its own, by their names in a run.
_PARAMETERS = {
    "method": "method",
    "wrappers": "wrappers",
    "model": "model",
    "notions": "notion",
    "max_gap": "max_gap",
    "shots": "shots",
    "validation_fraction": "validation_fraction",
    "seed": "random_state",
}
_INAPPLICABLE = ("data", "data_options", "rounds", "augment_to", "judge_from", "judge_min_rows")


class SavedLoop(NamedTuple):
    """All that a loop needs to go on, as plain arrays: nothing that is compiled."""

    round: int
    state: Any
    scaler: RunningScaler | None
    tasks: list[LabelledTask]
    seen: int
    violation: np.ndarray
    clipped_violation: np.ndarray


def configure(parameters: Mapping[str, Any]) -> RunConfig:
    """Turn the estimator's parameters into a run's configuration, refusing what cannot work."""
    given = dict(parameters)
    given["notions"] = _names(given.pop("notion"))
    given["max_gap"] = _numbers(given["max_gap"])
    given["seed"] = _seed(given.pop("random_state"))
    wrappers = given.pop("wrappers")
    if wrappers is not None:
        given["wrappers"] = _names(wrappers)
    settings = dict(given.pop("settings") or {})
    for name in settings:
        if name in _PARAMETERS:
            raise FFMLError(f"settings holds {name!r}; pass {_PARAMETERS[name]}= instead")
        if name in _INAPPLICABLE:
            raise FFMLError(f"settings holds {name!r}, which a classifier has not; leave it out")
    # An estimator of the caller's own may change once this one is fitted: keep a copy.
    settings = {k: clone(v, safe=False) if hasattr(v, "fit") else v for k, v in settings.items()}
    config = configure_run("", given | settings)
    check_config(config)
    return config


def _names(given: str | Sequence[str] | None) -> tuple[str, ...]:
    return () if given is None else tuple(np.ravel(given).tolist())


def _numbers(max_gap: float | Sequence[float] | None) -> tuple[float, ...] | None:
    if max_gap is None:
        return None
    try:
        return tuple(float(value) for value in np.ravel(max_gap).tolist())
    except (TypeError, ValueError) as error:
        raise FFMLError(f"max_gap must be a number, or one for each notion: {error}") from error


def new_loop(config: RunConfig, schema: Schema, scaled: np.ndarray) -> OnlineLoop:
    """Start a loop that has not played yet."""
    return build_loop(config, *functions(config, schema), RunningScaler.empty(scaled))


def save_loop(loop: OnlineLoop) -> SavedLoop:
    """Put a loop aside. Its arrays are never changed in place, so they need no copy."""
    return SavedLoop(
        loop.round,
        loop.state,
        loop.scaler,
        list(loop.memory.tasks),
        loop.memory.seen,
        loop.violation,
        loop.clipped_violation,
    )


def resumed_loop(config: RunConfig, schema: Schema, saved: SavedLoop) -> OnlineLoop:
    """Take up a loop where it was put aside; the next round is the same as it would have been."""
    loop = build_loop(config, *functions(config, schema), saved.scaler)
    loop.round, loop.state = saved.round, saved.state
    loop.memory.tasks, loop.memory.seen = list(saved.tasks), saved.seen
    loop.violation, loop.clipped_violation = saved.violation, saved.clipped_violation
    return loop


def decision(
    loop: OnlineLoop, support: Task | None = None, people: np.ndarray | None = None
) -> Params:
    """Let the method decide for a new task from labelled rows of it, or before any is known.

    Args:
        loop: what was learned so far.
        support: the labelled rows.
        people: features of those to be decided about, for methods that look at them.

    Returns:
        Parameters with double precision, so that a prediction of one row and of many rows agree.
    """
    width, columns = len(loop.schema.features), len(loop.schema.sensitive)
    nobody = Task("", np.zeros((1, width)), np.zeros(1), np.zeros((1, columns), np.int32))
    task = nobody if support is None else support
    params = loop.decide(
        task._replace(x=loop.prepared(task.x)),
        rows=np.arange(0) if support is None else None,
        people=None if people is None else loop.prepared(people),
    )
    return jax.tree.map(_double, params)


def _double(leaf: Any) -> Any:
    is_float = isinstance(leaf, np.ndarray | np.generic) and leaf.dtype.kind == "f"
    return np.asarray(leaf, np.float64) if is_float else leaf


def _seed(random_state: Any) -> int:
    if isinstance(random_state, numbers.Integral):
        at_least(0, random_state=random_state)
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))


def functions(config: RunConfig, schema: Schema) -> tuple[Problem, Learner]:
    """Build the problem and the learner; equal classifiers share them, so JAX compiles them once.

    Names of features do not matter. A name that was registered anew stands for something else.
    With an estimator among the settings nothing is compiled, and nothing shared.
    """
    recipe = config.recipe
    settings = {k: tuple(v) if isinstance(v, list) else v for k, v in recipe.settings.items()}
    slots = DEFAULT_PARTS.get(recipe.method, {})
    factories = (
        METHODS[recipe.method],
        MODELS[recipe.part("model")],
        *(PARTS[slot][recipe.part(slot)] for slot in slots),
        *(WRAPPERS[name] for name in recipe.wrappers),
        *(CONSTRAINTS[name] for name, _ in config.asked),
    )
    foreign = any(hasattr(value, "fit") for value in settings.values())
    build = _shared_functions.__wrapped__ if foreign else _shared_functions
    return build(
        (recipe.method, recipe.wrappers, tuple(sorted(settings.items()))),
        (config.notions, config.max_gap, config.shots),
        Schema(("",) * len(schema.features), schema.sensitive),
        factories,
    )


@lru_cache(maxsize=32)
def _shared_functions(
    recipe: tuple, asked: tuple, schema: Schema, factories: tuple
) -> tuple[Problem, Learner]:
    del factories  # they belong to the key alone
    method, wrappers, settings = recipe
    notions, max_gap, shots = asked
    built = Recipe(method, wrappers, dict(settings))
    return build_for(RunConfig("", {}, notions, max_gap, built, shots=shots), schema)
