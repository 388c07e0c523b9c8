"""The loop behind the estimator: built from its parameters."""

import numbers
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

import jax
import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from ffml.base import FFMLError, Params, Schema, Task
from ffml.border import at_least
from ffml.draws import UNLABELLED, draws
from ffml.online.drift import InputWatch
from ffml.online.loop import Loop, decide, prepared, start
from ffml.online.state import LoopState
from ffml.recipe.build import Built, build_loop, check_config
from ffml.recipe.config import RunConfig, configure_run
from ffml.recipe.sharing import shared_functions
from ffml.runs.checkpoint import Saved
from ffml.runs.snapshot import restored
from ffml.tables import Preprocessor
from ffml.tables.scaling import RunningScaler

# Settings that the classifier has as parameters of its own, by their names in a run.
_PARAMETERS = {
    "method": "method",
    "wrappers": "wrappers",
    "model": "model",
    "notions": "notion",
    "max_gap": "max_gap",
    "min_ratio": "min_ratio",
    "shots": "shots",
    "validation_fraction": "validation_fraction",
    "seed": "random_state",
}
_DEFAULTS = {f.name: getattr(RunConfig(""), f.name) for f in fields(RunConfig)}
_INAPPLICABLE = ("data", "data_options", "rounds", "augment_to", "judge_from", "judge_min_rows")


def configure(parameters: Mapping[str, Any]) -> RunConfig:
    """Turn the estimator's parameters into a run's configuration, refusing what cannot work."""
    given = {name: value for name, value in parameters.items() if name != "positive"}
    given["notions"] = _names(given.pop("notion"))
    for name in ("max_gap", "min_ratio"):
        given[name] = _numbers(name, given[name])
    if given["min_ratio"] is not None and given["max_gap"] == _DEFAULTS["max_gap"]:
        given["max_gap"] = None
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


def _numbers(name: str, bound: float | Sequence[float] | None) -> tuple[float, ...] | None:
    if bound is None:
        return None
    try:
        return tuple(float(value) for value in np.ravel(bound).tolist())
    except (TypeError, ValueError) as error:
        raise FFMLError(f"{name} must be a number, or one for each notion: {error}") from error


def loop_of(config: RunConfig, schema: Schema) -> Loop:
    """Build the loop on shared functions, which do not know the names of features."""
    return build_loop(config, functions(config, schema), schema)


def new_state(loop: Loop, preprocessor: Preprocessor) -> LoopState:
    """Return what is known before the first round."""
    return start(loop, RunningScaler.empty(preprocessor.scaled), InputWatch.of(preprocessor))


def restored_state(loop: Loop, preprocessor: Preprocessor, saved: Saved) -> LoopState:
    """Return what a run's checkpoint knows."""
    if saved.missing:
        raise FFMLError(f"{min(saved.missing)} of the run is damaged; restore a copy, or resume it")
    names = saved.contents.document["memory"]["tasks"]
    tasks = tuple(saved.tasks[name] for name in names)
    return restored(new_state(loop, preprocessor), saved.contents, tasks, saved.waiting)


def parameters_of(config: RunConfig) -> dict[str, Any]:
    """Return the estimator's parameters that a run's configuration amounts to."""
    own = {f.name: getattr(config, f.name) for f in fields(RunConfig)}
    left_out = {*_PARAMETERS, *_INAPPLICABLE, "recipe"}
    more = {n: v for n, v in own.items() if n not in left_out and v != _DEFAULTS[n]}
    settings = {n: v for n, v in config.recipe.settings.items() if n != "model"} | more
    return {
        "method": config.recipe.method,
        "wrappers": config.recipe.wrappers,
        "model": config.recipe.part("model"),
        "notion": config.notions[0] if len(config.notions) == 1 else config.notions,
        "max_gap": _one(config.max_gap),
        "min_ratio": _one(config.min_ratio),
        "shots": config.shots,
        "validation_fraction": config.validation_fraction,
        "settings": settings or None,
        "random_state": config.seed,
    }


def _one(bound: tuple[float, ...] | None) -> float | tuple[float, ...] | None:
    return bound[0] if bound and len(bound) == 1 else bound


def latest_people(loop: Loop, state: LoopState) -> np.ndarray | None:
    """Return people of the newest task in memory, prepared, as they would come: by label rate.

    Whoever will be decided about is not known before `predict`; these stand for them.
    """
    if not state.memory.tasks:
        return None
    newest = state.memory.tasks[-1]
    rows = np.arange(len(newest.x))
    if (newest.totals != newest.counts).any():
        weight = np.repeat(newest.totals / np.maximum(newest.counts, 1), newest.counts)
        rng = draws(loop.seed, state.round, UNLABELLED)
        rows = np.sort(rng.choice(len(rows), len(rows), p=weight / weight.sum()))
    return state.scaled(newest.x[rows])


def decision(
    loop: Loop,
    state: LoopState,
    support: Task | None = None,
    people: np.ndarray | None = None,
) -> Params:
    """Let the method decide for a new task from labelled rows of it, or before any is known.

    Args:
        loop: how it is played.
        state: what was learned so far.
        support: the labelled rows.
        people: features of those to be decided about, prepared, for methods that look at them.

    Returns:
        Parameters with double precision, so that a prediction of one row and of many rows agree.
    """
    width, columns = len(loop.schema.features), len(loop.schema.sensitive)
    nobody = Task("", np.zeros((1, width)), np.zeros(1), np.zeros((1, columns), np.int32))
    task = nobody if support is None else support
    params = decide(
        loop,
        state,
        task._replace(x=prepared(loop, state, task.x)),
        rows=np.arange(0) if support is None else None,
        people=people,
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


def functions(config: RunConfig, schema: Schema) -> Built:
    """Build the functions; those of equal classifiers are shared.

    Names of features do not matter for that.
    """
    nameless = replace(schema, features=("",) * len(schema.features), label="")
    return shared_functions(config, nameless)
