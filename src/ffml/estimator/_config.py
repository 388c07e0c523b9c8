"""The parameters of the estimator as a run's configuration, and back."""

import numbers
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from ffml.base import FFMLError, Schema
from ffml.border import at_least
from ffml.online.state import Loop
from ffml.recipe.build import build_loop, check_config, shared_functions
from ffml.recipe.config import RunConfig, configure_run
from ffml.recipe.policy import OPTIONS, options_of, policy_of

# Settings that the classifier has as parameters of its own, by their names in a run.
_PARAMETERS = {
    "method": "method",
    "wrappers": "wrappers",
    "model": "model",
    "notions": "notion",
    "max_gap": "max_gap",
    "min_ratio": "min_ratio",
    "aim": "aim",
    "shots": "shots",
    "validation_fraction": "validation_fraction",
    "seed": "random_state",
    "decide_with_groups": "decide_with_groups",
    "policy": "approve=, cost= or threshold",
}
_DEFAULTS = {f.name: getattr(RunConfig(""), f.name) for f in fields(RunConfig)}
_INAPPLICABLE = (
    *("data", "data_options", "plugins", "rounds", "augment_to", "judge_from", "judge_min_rows"),
)


def configure(parameters: Mapping[str, Any]) -> RunConfig:
    """Turn the estimator's parameters into a run's configuration, refusing what cannot work."""
    given = {name: value for name, value in parameters.items() if name != "positive"}
    given["notions"] = _names(given.pop("notion"))
    for name in ("max_gap", "min_ratio", "aim"):
        given[name] = _numbers(name, given[name])
    if given["min_ratio"] is not None and given["max_gap"] == _DEFAULTS["max_gap"]:
        given["max_gap"] = None
    given["seed"] = _seed(given.pop("random_state"))
    if policy := policy_of({name: given.pop(name) for name in OPTIONS}):
        given["policy"] = policy
    if given["shots"] is None:
        given.pop("shots")  # that of the method
    wrappers = given.pop("wrappers")
    if wrappers is not None:
        given["wrappers"] = _names(wrappers)
    settings = dict(given.pop("settings") or {})
    for name in settings:
        if name in _PARAMETERS:
            raise FFMLError(f"settings holds {name!r}; pass {_PARAMETERS[name]}= instead")
        if name in _INAPPLICABLE:
            raise FFMLError(f"{name!r} is not a setting of FairMetaClassifier; leave it out")
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
    """Build the loop; equal classifiers share functions, which do not know the features' names."""
    nameless = replace(schema, features=("",) * len(schema.features), label="")
    return build_loop(config, shared_functions(config, nameless), schema)


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
        "aim": _one(config.aim),
        "shots": config.shots,
        "validation_fraction": config.validation_fraction,
        "settings": settings or None,
        "random_state": config.seed,
        "decide_with_groups": config.decide_with_groups,
        **options_of(config.policy),
    }


def _one(bound: tuple[float, ...] | None) -> float | tuple[float, ...] | None:
    return bound[0] if bound and len(bound) == 1 else bound


def _seed(random_state: Any) -> int:
    if isinstance(random_state, numbers.Integral):
        at_least(0, random_state=random_state)
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))
