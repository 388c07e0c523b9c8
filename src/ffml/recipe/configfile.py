"""Settings that people write down: their kinds, and the files they are read from."""

import json
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import fields
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from ffml.base import FFMLError
from ffml.kinds import refuse_other_kinds
from ffml.recipe.policy import with_policy
from ffml.recipe.renamed import RENAMED, todays_names
from ffml.recipe.sources import TABLE_KINDS

if TYPE_CHECKING:
    from ffml.recipe.recipes import Recipe

_OBJECTS = ("run", "recipe", "data_options")  # what a config holds besides settings
DATA = "data."  # what the names of data options begin with: data.order


class Written(NamedTuple):
    """What a file says.

    Args:
        data: the data, if the file names them.
        settings: ``method``, ``wrappers`` and settings by name.
        data_options: options of the data.
        is_run: whether the file is of a run, and so says everything that is not a default.
    """

    data: str | None = None
    settings: Mapping[str, Any] = MappingProxyType({})
    data_options: Mapping[str, Any] = MappingProxyType({})
    is_run: bool = False


@cache
def setting_kinds() -> dict[str, Any]:
    """Return the kinds of all settings that any run can have, by name.

    >>> setting_kinds()["inner.lr"], setting_kinds()["data.intersect"]
    (<class 'float'>, <class 'bool'>)
    """
    from ffml.recipe.config import OWN_SETTINGS, RunConfig  # here: it starts JAX
    from ffml.recipe.recipes import known_settings

    kinds: dict[str, Any] = {f.name: f.type for f in fields(RunConfig) if f.name in OWN_SETTINGS}
    for recipe in _recipes():
        for name, setting in known_settings(recipe).items():
            kinds[name] = kinds[name] | setting.kind if name in kinds else setting.kind
    return kinds | {DATA + name: kind for name, kind in TABLE_KINDS.items()}


def _recipes() -> list["Recipe"]:
    """Return recipes that have all settings between them."""
    from ffml.methods import DEFAULT_PARTS, METHODS, PARTS
    from ffml.problem.models import MODELS
    from ffml.recipe.recipes import Recipe, additions

    parts = [
        Recipe(method, settings={slot: part})
        for method, slots in DEFAULT_PARTS.items()
        for slot in slots
        for part in PARTS[slot]
    ]
    models = [Recipe(settings={"model": model}) for model in MODELS]
    return [*(Recipe(method, tuple(additions())) for method in METHODS), *parts, *models]


def refuse_unknown_settings(names: Iterable[str]) -> None:
    """Refuse names that are no setting of any run; options of the data are left to the data.

    >>> refuse_unknown_settings(["shot"])
    Traceback (most recent call last):
    ffml.base.FFMLError: unknown setting 'shot'; did you mean 'shots'? See 'ffml methods'
    """
    known = setting_kinds()
    for name in names:
        if name in RENAMED:
            raise FFMLError(f"setting '{name}' is called '{RENAMED[name]}' now")
        if name not in known and not name.startswith(DATA):
            near = get_close_matches(name, known, n=1, cutoff=0.5)
            hint = f"did you mean '{near[0]}'? See" if near else "see"
            raise FFMLError(f"unknown setting '{name}'; {hint} 'ffml methods'")


def read_config(path: Path) -> Written:
    """Read a file of settings such as ``{"inner.lr": 0.1}``, a run's config.json, or TOML.

    Raises:
        FFMLError: the file cannot be read, is neither JSON nor TOML, holds no object, or a setting
            of another kind than its own.
    """
    is_toml = path.suffix.lower() == ".toml"
    kind, read = ("TOML", _read_toml) if is_toml else ("JSON", json.loads)
    try:
        document = read(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise FFMLError(f"there is no file {path}; give --config a JSON or TOML file") from None
    except (OSError, ValueError, RecursionError) as error:
        why = " ".join(str(error).split())
        raise FFMLError(f"{path} is not {kind} ({why}); give --config a .json or .toml file") from (
            None
        )
    if not isinstance(document, dict):
        raise FFMLError(f"{path} holds no settings; it must be an object such as {{'seed': 1}}")
    is_run = isinstance(document.get("run"), dict)
    settings = todays_names(_flat(dict(with_policy(document["run"])) if is_run else document))
    if "method_settings" in settings:
        raise FFMLError(
            f"{path} is of an earlier version of ffml, where settings had other names; see 'ffml "
            "methods ffml' for today's"
        )
    plugins = _load_plugins(settings, path.parent)
    kinds = {"data": str | None, "method": str, "wrappers": tuple[str, ...]} | setting_kinds()
    refuse_unknown_settings(name for name in settings if name not in kinds)
    refuse_other_kinds(settings, kinds)
    data = settings.pop("data", None)
    settings |= {"plugins": plugins} if plugins else {}
    return Written(data, *split_data(settings), is_run)


def _load_plugins(settings: dict[str, Any], folder: Path) -> dict[str, str]:
    """Take out and load the plug-ins that a file names, relative to it, or that a run had."""
    from ffml.recipe.plugins import load_plugins, restore_plugins  # here: it starts JAX

    named, kept = settings.pop("plugin", ()), settings.pop("plugins", {})
    refuse_other_kinds({"plugin": named}, {"plugin": str | tuple[str, ...]})
    restore_plugins(kept)
    files = (named,) if isinstance(named, str) else named
    return kept | load_plugins(folder / file for file in files)


def _read_toml(text: str) -> dict[str, Any]:
    """Read TOML, whose ``inner.lr = 0.1`` is a setting of this name.

    >>> _read_toml("inner.lr = 0.1\\n[data_options]\\nlabel = 'y'")
    {'data_options': {'label': 'y'}, 'inner.lr': 0.1}
    """
    document = tomllib.loads(text)
    nested = [
        name for name in document if isinstance(document[name], dict) and name not in _OBJECTS
    ]
    dotted = {f"{name}.{part}": v for name in nested for part, v in document[name].items()}
    return {name: value for name, value in document.items() if name not in nested} | dotted


def _flat(settings: dict[str, Any]) -> dict[str, Any]:
    """Bring the recipe's settings and the data's options to the top, lists as tuples."""
    settings = dict(settings)
    recipe, options = settings.pop("recipe", {}), settings.pop("data_options", {})
    objects = {"recipe": recipe, "data_options": options}
    refuse_other_kinds(objects, dict.fromkeys(objects, dict[str, Any]))
    own = recipe.get("settings", {})
    refuse_other_kinds({"settings": own}, {"settings": dict[str, Any]})
    named = {name: recipe[name] for name in recipe if name != "settings"}
    flat = settings | named | own | {DATA + name: value for name, value in options.items()}
    return {name: tuple(v) if isinstance(v, list) else v for name, v in flat.items()}


def split_data(settings: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Tell settings from options of the data, whose names begin with ``data.``.

    >>> split_data({"seed": 1, "data.order": "month"})
    ({'seed': 1}, {'order': 'month'})
    """
    options = {k.removeprefix(DATA): v for k, v in settings.items() if k.startswith(DATA)}
    return {k: v for k, v in settings.items() if not k.startswith(DATA)}, options
