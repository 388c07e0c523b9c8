"""The loop behind the estimator: built from its parameters, put aside as arrays, taken up again."""

import numbers
from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import lru_cache
from typing import Any, NamedTuple

import jax
import numpy as np
from sklearn.utils import check_random_state

from ffml.base import (
    FFMLError,
    LabelledTask,
    Learner,
    Params,
    Problem,
    Schema,
    SensitiveColumn,
    Sides,
    Task,
)
from ffml.checks import at_least, one_of
from ffml.constraints import CONSTRAINTS, Constraint, demographic_parity
from ffml.evaluation import support_batch, with_people
from ffml.experiment import (
    RunConfig,
    build_constraint,
    build_learner,
    build_loop,
    build_model,
    configure_run,
    memory_settings,
)
from ffml.methods import METHODS
from ffml.models import MODELS
from ffml.online import CROWD, SUPPORT, OnlineLoop
from ffml.scaling import RunningScaler

# What leaves the compiled functions as they are.
_PROTOCOL = {"augment_to", "judge_from", "judge_min_rows"}
_DATA = {"data", "data_options", "rounds", "seed", "validation_fraction"} | _PROTOCOL
_MEMORY = {"tasks_per_round", "rows_per_task", "memory_policy", "memory_capacity"}
_INAPPLICABLE = {"data", "data_options", "rounds", "method_settings", "model_settings"} | _PROTOCOL
_PARAMETER = {"constraints": "constraint", "bounds": "bound", "seed": "random_state"}
_SHAPING = tuple(f.name for f in fields(RunConfig) if f.name not in _DATA | _MEMORY)


def _without_entries(function: Callable) -> Callable:
    def nothing(*given: Any) -> Any:
        entries = function(*given)
        if isinstance(entries, Sides):
            return Sides(*(part[:, :0] for part in entries))
        return entries[:0]

    return nothing


_UNCONSTRAINED = Constraint(*(_without_entries(f) for f in demographic_parity(0.0)))


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
    names, bounds = given.pop("constraint"), given.pop("bound")
    given["constraints"] = () if names is None else tuple(np.ravel(names).tolist())
    try:
        given["bounds"] = tuple(float(bound) for bound in np.ravel(bounds).tolist())
    except (TypeError, ValueError) as error:
        raise FFMLError(f"bound must be a number, or one for each constraint: {error}") from error
    given["seed"] = _seed(given.pop("random_state"))
    settings = dict(given.pop("settings") or {})
    for name in settings:
        if name in given:
            raise FFMLError(f"settings holds {name!r}; pass {_PARAMETER.get(name, name)}= instead")
        if name in _INAPPLICABLE:
            raise FFMLError(f"settings holds {name!r}, which a classifier has not; leave it out")
    config = configure_run("", given | settings)
    build_model(config)
    memory_settings(config)
    if config.constraints:
        build_constraint(config)
    return config


def new_loop(config: RunConfig, schema: Schema, scaled: np.ndarray) -> OnlineLoop:
    """Start a loop that has not played yet."""
    problem, learner = _functions(config, schema)
    return build_loop(config, schema, problem, learner, RunningScaler.empty(scaled))


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
    problem, learner = _functions(config, schema)
    loop = build_loop(config, schema, problem, learner, saved.scaler)
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
    scaled = (lambda x: x) if loop.scaler is None else loop.scaler.transform
    task = task._replace(x=scaled(task.x))
    rows = np.arange(0 if support is None else len(task.y))
    rng = np.random.default_rng([loop.seed, loop.round + 1, SUPPORT])
    batch = support_batch(task, loop.schema, rows, loop.shots, rng)
    if people is not None:
        rng = np.random.default_rng([loop.seed, loop.round + 1, CROWD])
        batch = with_people(batch, loop.learner, scaled(people), rng)
    adapt = jax.jit(loop.learner.adapt) if loop.learner.pure else loop.learner.adapt
    return jax.tree.map(_double, jax.device_get(adapt(loop.state, batch)))


def _double(leaf: Any) -> Any:
    is_float = isinstance(leaf, np.ndarray | np.generic) and leaf.dtype.kind == "f"
    return np.asarray(leaf, np.float64) if is_float else leaf


def _seed(random_state: Any) -> int:
    if isinstance(random_state, numbers.Integral):
        at_least(0, random_state=random_state)
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))


def _functions(config: RunConfig, schema: Schema) -> tuple[Problem, Learner]:
    """Find or make the problem and the learner for a configuration."""
    key = tuple(
        tuple(sorted(value.items())) if isinstance(value, dict) else value
        for value in (getattr(config, name) for name in _SHAPING)
    )
    factories = (
        one_of("method", config.method, METHODS),
        one_of("model", config.model, MODELS),
        *(one_of("constraint", name, CONSTRAINTS) for name in config.constraints),
    )
    return _shared_functions(key, factories, len(schema.features), schema.sensitive)


@lru_cache(maxsize=32)
def _shared_functions(
    key: tuple, factories: tuple, num_features: int, sensitive: tuple[SensitiveColumn, ...]
) -> tuple[Problem, Learner]:
    """Make them once: equal classifiers have the same functions, so JAX compiles them once.

    ``factories`` belong to the key alone: a name may have been registered anew.
    """
    values = dict(zip(_SHAPING, key, strict=True))
    values |= {name: dict(values[name]) for name in ("method_settings", "model_settings")}
    config = RunConfig("", **values)
    constraint = build_constraint(config) if config.constraints else _UNCONSTRAINED
    schema = Schema(("",) * num_features, sensitive)
    return build_learner(config, schema, build_model(config), constraint)
