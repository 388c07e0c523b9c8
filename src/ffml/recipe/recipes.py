"""A recipe is data: a method, its parts, wrappers, features, and settings of all of these by name.

Names of settings are dotted. ``outer_lr`` is the method's own; ``inner`` names a part of it and
``inner.lr`` is that part's; ``model``, ``model.hidden``; ``problem.l2``; ``notion.temperature``;
``corrected.memory`` is a wrapper's, ``boosted.growth`` is that of features.
"""

import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from ffml.base import Features, FFMLError, Method, Problem, Ratio, Schema
from ffml.border import one_of
from ffml.features import FEATURES
from ffml.kinds import refuse_other_kinds
from ffml.limits import refuse_large
from ffml.methods import DEFAULT_PARTS, METHODS, PARTS
from ffml.problem.classification import fair_classification
from ffml.problem.models import MODELS
from ffml.problem.notions import CONSTRAINTS, demographic_parity, gap, ratio
from ffml.wrappers import WRAPPERS

# What is no setting of a factory: what it is applied to, and what the run itself decides.
_GIVEN = ("problem", "method", "schema", "model", "constraints", "bound", "shots", "policy", *PARTS)


class Setting(NamedTuple):
    """What a setting is when nobody gives it, and what kind of value it takes."""

    default: Any
    kind: Any


@dataclass(frozen=True)
class Recipe:
    """How a learner is put together.

    Args:
        method: a name of `ffml.methods.METHODS`.
        wrappers: names of `ffml.wrappers.WRAPPERS`, the first one innermost, and perhaps one of
            `ffml.features.FEATURES`.
        settings: by dotted name; what is not given has its default.
    """

    method: str = "ffml"
    wrappers: tuple[str, ...] = ()
    settings: dict[str, Any] = field(default_factory=dict)

    def part(self, slot: str) -> str:
        """Return the name of the part in a slot: "inner", "outer", "stop" or "model"."""
        default = "linear" if slot == "model" else DEFAULT_PARTS[self.method][slot]
        name = self.settings.get(slot, default)
        refuse_other_kinds({slot: name}, {slot: str})
        return name

    @property
    def features(self) -> str | None:
        """The name of the features among the wrappers, if there is one."""
        return next((name for name in self.wrappers if name in FEATURES), None)

    def values(self) -> dict[str, Any]:
        """Return all settings, with defaults filled in."""
        return {name: s.default for name, s in known_settings(self).items()} | self.settings


def additions() -> dict[str, Callable[..., Any]]:
    """Return what can be added to a method, by name: features and wrappers."""
    return FEATURES | WRAPPERS


def known_settings(recipe: Recipe) -> dict[str, Setting]:
    """Return the settings that a recipe has, in the order of its parts.

    >>> known = known_settings(Recipe("ffml", wrappers=("corrected",)))
    >>> known["inner"].default, known["inner.num_steps"].default, known["corrected.memory"].default
    ('primal-dual', 5, 0.9)
    """
    settings = dict(_settings_of(one_of("method", recipe.method, METHODS)))
    for slot in DEFAULT_PARTS.get(recipe.method, {}):
        settings[slot] = Setting(DEFAULT_PARTS[recipe.method][slot], str)
        settings |= _prefixed(slot, one_of(slot, recipe.part(slot), PARTS[slot]))
    settings["model"] = Setting("linear", str)
    settings |= _prefixed("model", one_of("model", recipe.part("model"), MODELS))
    settings |= _prefixed("problem", fair_classification)
    settings |= _prefixed("notion", demographic_parity)
    for name in recipe.wrappers:
        settings |= _prefixed(name, one_of("wrapper", name, additions()))
    return settings


def check_recipe(recipe: Recipe) -> None:
    """Refuse names that do not exist, and settings that the recipe does not have."""
    if len(set(recipe.wrappers)) < len(recipe.wrappers):
        raise FFMLError(f"a wrapper is given twice: {', '.join(recipe.wrappers)}; give it once")
    if len(described := [name for name in recipe.wrappers if name in FEATURES]) > 1:
        raise FFMLError(f"one of {', '.join(described)} can describe people; leave out the others")
    settings = known_settings(recipe)
    for name in recipe.settings:
        owner = name.partition(".")[0]
        if name not in settings and owner in additions():
            raise FFMLError(
                f"'{name}' is a setting of the wrapper '{owner}'; add --with {owner}, or "
                f"with={owner} after the method's name"
            )
        one_of(f"setting of {recipe.method}", name, settings)
    refuse_other_kinds(recipe.settings, {name: s.kind for name, s in settings.items()})
    refuse_large(recipe.settings)


def build_problem(
    recipe: Recipe, schema: Schema, asked: Sequence[tuple[str, float | Ratio]]
) -> Problem:
    """State the problem: the recipe's model and loss, and these notions with their bounds."""
    smooth = _own(recipe, "notion")
    constraints = []
    for name, bound in asked:
        factory = one_of("notion", name, CONSTRAINTS)
        takes = inspect.signature(factory).parameters
        own = {k: v for k, v in smooth.items() if k in takes}
        band = ratio(bound.least) if isinstance(bound, Ratio) else gap(bound)
        constraints.append(factory(band, **own))
    model = _part(recipe, "model", MODELS)
    return fair_classification(schema, model, *constraints, **_own(recipe, "problem"))


def takes_policy(recipe: Recipe) -> bool:
    """Tell whether it can be said who is decided favourably: a wrapper takes a policy.

    >>> takes_policy(Recipe("ffml-exact", ("evened",))), takes_policy(Recipe("ffml"))
    (True, False)
    """
    wrappers = (WRAPPERS[name] for name in recipe.wrappers if name in WRAPPERS)
    return any("policy" in inspect.signature(wrapper).parameters for wrapper in wrappers)


def build_method(recipe: Recipe, shots: int | None, policy: str | None = None) -> Method:
    """Put the method together: its parts, its settings, and the wrappers around it."""
    check_recipe(recipe)
    factory = METHODS[recipe.method]
    slots = DEFAULT_PARTS.get(recipe.method, {})
    parts = {slot: _part(recipe, slot, PARTS[slot]) for slot in slots}
    own = {k: v for k, v in recipe.settings.items() if "." not in k and k not in (*slots, "model")}
    method: Method = partial(factory, **parts, **own, **_shots(recipe.method, factory, shots))
    for name in recipe.wrappers:
        if name != recipe.features:
            wrapper = WRAPPERS[name]
            own = _own(recipe, name) | _shots(name, wrapper, shots)
            if policy is not None and "policy" in inspect.signature(wrapper).parameters:
                own["policy"] = policy
            method = wrapper(method, **own)
    return method


def build_features(recipe: Recipe, schema: Schema) -> Features | None:
    """Build the features that the recipe adds to people of this schema, if any."""
    name = recipe.features
    return None if name is None else FEATURES[name](schema, **_own(recipe, name))


def step_sizes(recipe: Recipe) -> tuple[str, ...]:
    """Name the settings that the steps are as large as.

    >>> step_sizes(Recipe("ffml")), step_sizes(Recipe("adp-olc")), step_sizes(Recipe("refit"))
    (('outer_lr', 'dual_lr', 'inner.lr'), ('radius',), ())
    """
    names = known_settings(recipe)
    rates = tuple(name for name in names if re.search(r"(^|[._])lr$", name))
    return rates or tuple(name for name in names if name == "radius")


def _part(recipe: Recipe, slot: str, registry: Mapping[str, Callable[..., Any]]) -> Any:
    return one_of(slot, recipe.part(slot), registry)(**_own(recipe, slot))


def _own(recipe: Recipe, owner: str) -> dict[str, Any]:
    """Return the settings of one part, without its name in front."""
    start = f"{owner}."
    return {k.removeprefix(start): v for k, v in recipe.settings.items() if k.startswith(start)}


def _shots(name: str, factory: Callable[..., Any], shots: int | None) -> dict[str, Any]:
    taken = inspect.signature(factory, eval_str=True).parameters.get("shots")
    if taken is None:
        return {}
    if shots is None and taken.annotation is int:
        raise FFMLError(f"{name} learns from as many rows of each class; give shots, such as 100")
    return {"shots": shots}


def _settings_of(factory: Callable[..., Any]) -> Iterator[tuple[str, Setting]]:
    for p in inspect.signature(factory, eval_str=True).parameters.values():
        if p.default is not p.empty and p.name not in _GIVEN:
            yield p.name, Setting(p.default, p.annotation)


def _prefixed(owner: str, factory: Callable[..., Any]) -> dict[str, Setting]:
    return {f"{owner}.{name}": setting for name, setting in _settings_of(factory)}
