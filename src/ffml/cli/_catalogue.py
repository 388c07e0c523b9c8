"""Methods, parts, models and wrappers with their settings, read from signatures and docstrings."""

import inspect
import json
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from ffml.border import one_of
from ffml.kinds import described
from ffml.methods import DEFAULT_PARTS, METHODS, PARTS
from ffml.methods.classifiers import CLASSIFIERS
from ffml.problem.classification import fair_classification
from ffml.problem.models import MODELS
from ffml.problem.notions import decision_constraint
from ffml.recipe.config import OWN_SETTINGS, RunConfig
from ffml.recipe.presets import preset
from ffml.recipe.recipes import Recipe, Setting, additions, known_settings

# What a slot is filled with, in the words of a setting's line.
SLOTS = {
    "inner": "how a task adapts",
    "outer": "what the tasks ask for together",
    "stop": "when a round of learning ends",
    "model": "what turns features into a decision",
}


class Entry(NamedTuple):
    """Something that a run is put together from."""

    kind: str  # "method", "inner", "outer", "stop", "model" or "wrapper"
    factory: Callable[..., Any]


def everything() -> dict[str, Entry]:
    """Return methods, parts, models and wrappers by name."""
    registries = {"method": METHODS, **PARTS, "model": MODELS, "wrapper": additions()}
    return {
        name: Entry(kind, factory)
        for kind, registry in registries.items()
        for name, factory in registry.items()
    }


def settings_of(name: str) -> list[dict[str, str]]:
    """Return the settings of a method, part, model or wrapper: name, default, kind and meaning."""
    entry = one_of("method, part, model or wrapper", name, everything())
    recipe = _recipe(name, entry.kind)
    settings = known_settings(recipe)
    if entry.kind != "method":
        owner = name if entry.kind == "wrapper" else entry.kind
        settings = {n: setting for n, setting in settings.items() if n.startswith(f"{owner}.")}
    else:
        settings |= _own_settings()
    meanings = _meanings(recipe)
    given = recipe.settings if entry.kind == "method" else {}
    return [
        {
            "setting": setting,
            "default": _text(given.get(setting, known.default)),
            "takes": _choices(setting) or described(known.kind) or "a word",
            "what it is": meanings.get(setting, ""),
        }
        for setting, known in settings.items()
    ]


def first_line(factory: Callable[..., Any]) -> str:
    """Return the first line of a docstring."""
    return (factory.__doc__ or "").strip().split("\n")[0].replace("``", "")


def argument_lines(documented: Callable[..., Any]) -> dict[str, str]:
    """Return what a docstring says of each argument.

    >>> argument_lines(MODELS["mlp"])
    {'hidden': 'widths of the layers.'}
    """
    section = inspect.cleandoc(documented.__doc__ or "").partition("\nArgs:\n")[2]
    section = re.split(r"\n(?=\S)", section)[0]
    arguments = re.findall(r"^    \**(\w+): (.*(?:\n {8}.*)*)", section, re.MULTILINE)
    return {name: " ".join(text.replace("``", "").split()) for name, text in arguments}


def _recipe(name: str, kind: str) -> Recipe:
    """Return a recipe that has the settings of something; of a method, with `ffml run`'s values."""
    if kind == "method":
        chosen = preset("default", "", name)
        wrappers = chosen.pop("wrappers", ())
        return Recipe(name, wrappers, chosen)
    if kind == "wrapper":
        return Recipe(wrappers=(name,))
    method = next((m for m in METHODS if kind in DEFAULT_PARTS.get(m, {})), "ffml")
    return Recipe(method, settings={kind: name})


def _own_settings() -> dict[str, Setting]:
    """Return what every run has besides its recipe."""
    fields = RunConfig.__dataclass_fields__
    return {name: Setting(fields[name].default, fields[name].type) for name in OWN_SETTINGS}


def _meanings(recipe: Recipe) -> dict[str, str]:
    """Return what the docstrings of a recipe's parts say of its settings."""
    parts: dict[str, Callable[..., Any]] = {"problem": fair_classification}
    parts |= {"notion": decision_constraint, "model": MODELS[recipe.part("model")]}
    parts |= {name: additions()[name] for name in recipe.wrappers}
    for slot in DEFAULT_PARTS.get(recipe.method, {}):
        parts[slot] = PARTS[slot][recipe.part(slot)]
    meanings = argument_lines(RunConfig) | argument_lines(METHODS[recipe.method]) | SLOTS
    for owner, part in parts.items():
        meanings |= {f"{owner}.{n}": text for n, text in argument_lines(part).items()}
    return meanings


def _choices(setting: str) -> str:
    """Name what a slot can be filled with."""
    registry = {**PARTS, "model": MODELS, "classifier": CLASSIFIERS}.get(setting, {})
    return " or ".join(registry)


def _text(value: Any) -> str:
    """Write a value as ``--set`` reads it."""
    if isinstance(value, tuple):
        return ",".join(map(_text, value))
    return value if isinstance(value, str) else json.dumps(value)
