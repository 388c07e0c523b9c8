"""The settings that a run may be given: its own, and those of its recipe."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from ffml.recipe.config import OWN_SETTINGS, RunConfig
from ffml.recipe.presets import default_method, preset
from ffml.recipe.recipes import Recipe, known_settings


def known_kinds(data: str, given: Mapping[str, Any], preset_name: str) -> dict[str, Any]:
    """Return the kind of value that each setting takes, whether it is given or not.

    What a recipe has depends on its method, parts and wrappers.

    Args:
        data: a data set or a table.
        given: as `ffml.recipe.config.configure_run` takes it; names of no setting are ignored.
        preset_name: see `ffml.recipe.presets`.

    >>> known_kinds("adult", {"method": "twp"}, "default")["lr"]
    <class 'float'>
    """
    method = given.get("method", default_method(preset_name))
    merged = preset(preset_name, data, method) | dict(given)
    recipe = Recipe(method, tuple(merged.get("wrappers", ())), merged)
    own = {f.name: f.type for f in fields(RunConfig) if f.name in OWN_SETTINGS}
    of_recipe = {name: setting.kind for name, setting in known_settings(recipe).items()}
    return own | {"wrappers": tuple[str, ...]} | of_recipe
