"""The loop behind the estimator: built from its parameters, put aside as arrays, taken up again."""

import numbers
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, NamedTuple

import jax
import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from ffml.base import FFMLError, LabelledTask, Learner, Params, Problem, Schema, Task
from ffml.border import at_least
from ffml.draws import UNLABELLED, draws
from ffml.online.drift import InputWatch
from ffml.online.loop import OnlineLoop
from ffml.online.waiting import Waiting
from ffml.recipe.build import build_loop, check_config
from ffml.recipe.config import RunConfig, configure_run
from ffml.recipe.sharing import shared_functions
from ffml.runs.checkpoint import Saved
from ffml.runs.snapshot import restore
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


class SavedLoop(NamedTuple):
    """All that a loop needs to go on, as plain arrays: nothing that is compiled."""

    round: int
    state: Any
    scaler: RunningScaler | None
    tasks: list[LabelledTask]
    seen: int
    violation: np.ndarray
    clipped_violation: np.ndarray
    waiting: tuple[Waiting, ...] = ()
    watch: InputWatch | None = None


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


def new_loop(config: RunConfig, schema: Schema, preprocessor: Preprocessor) -> OnlineLoop:
    """Start a loop that has not played yet."""
    loop = _named_loop(config, schema, RunningScaler.empty(preprocessor.scaled))
    loop.watch = InputWatch.of(preprocessor)
    return loop


def restored_loop(
    config: RunConfig, schema: Schema, preprocessor: Preprocessor, saved: Saved
) -> OnlineLoop:
    """Take up the loop of a run where its checkpoint stands."""
    if saved.missing:
        raise FFMLError(f"{min(saved.missing)} of the run is damaged; restore a copy, or resume it")
    loop = new_loop(config, schema, preprocessor)
    names = saved.contents.document["memory"]["tasks"]
    restore(loop, saved.contents, [saved.tasks[name] for name in names], saved.waiting)
    return loop


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


def _named_loop(config: RunConfig, schema: Schema, scaler: RunningScaler | None) -> OnlineLoop:
    """Build a loop on shared functions, which do not know the names of features."""
    loop = build_loop(config, *functions(config, schema), scaler)
    loop.schema = schema
    return loop


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
        loop.waiting,
        loop.watch,
    )


def resumed_loop(config: RunConfig, schema: Schema, saved: SavedLoop) -> OnlineLoop:
    """Take up a loop where it was put aside; the next round is the same as it would have been."""
    loop = _named_loop(config, schema, saved.scaler)
    loop.round, loop.state = saved.round, saved.state
    loop.memory.tasks, loop.memory.seen = list(saved.tasks), saved.seen
    loop.violation, loop.clipped_violation = saved.violation, saved.clipped_violation
    loop.waiting, loop.watch = saved.waiting, saved.watch
    return loop


def latest_people(loop: OnlineLoop) -> np.ndarray | None:
    """Return people of the newest task in memory, prepared, as they would come: by label rate.

    Whoever will be decided about is not known before `predict`; these stand for them.
    """
    if not loop.memory.tasks:
        return None
    newest = loop.memory.tasks[-1]
    rows = np.arange(len(newest.x))
    if (newest.totals != newest.counts).any():
        weight = np.repeat(newest.totals / np.maximum(newest.counts, 1), newest.counts)
        rng = draws(loop.seed, loop.round, UNLABELLED)
        rows = np.sort(rng.choice(len(rows), len(rows), p=weight / weight.sum()))
    x = newest.x[rows]
    return x if loop.scaler is None else loop.scaler.transform(x)


def decision(
    loop: OnlineLoop, support: Task | None = None, people: np.ndarray | None = None
) -> Params:
    """Let the method decide for a new task from labelled rows of it, or before any is known.

    Args:
        loop: what was learned so far.
        support: the labelled rows.
        people: features of those to be decided about, prepared, for methods that look at them.

    Returns:
        Parameters with double precision, so that a prediction of one row and of many rows agree.
    """
    width, columns = len(loop.schema.features), len(loop.schema.sensitive)
    nobody = Task("", np.zeros((1, width)), np.zeros(1), np.zeros((1, columns), np.int32))
    task = nobody if support is None else support
    params = loop.decide(
        task._replace(x=loop.prepared(task.x)),
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


def functions(config: RunConfig, schema: Schema) -> tuple[Problem, Learner]:
    """Build the problem and the learner; those of equal classifiers are shared.

    Names of features do not matter for that.
    """
    return shared_functions(config, Schema(("",) * len(schema.features), schema.sensitive))
