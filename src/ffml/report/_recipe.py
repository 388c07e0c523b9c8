"""How the learner was put together: method, parts, wrappers, and settings beyond the defaults."""

import re
from typing import Any

from ffml.report._view import RunView

WITH_GROUPS = "known when people are decided about: each group has a threshold of its own"
PARTS = {"inner": "Adaptation (inner)", "outer": "Learning (outer)", "model": "Model"}


def recipe_facts(run: RunView) -> dict[str, Any]:
    """Return the recipe as names and values of config.json; what a run does not know is left out.

    Settings are those that a preset or a person gave; all others have their defaults.
    """
    config, recipe = run.config, run.config.get("recipe") or {}
    settings = config.get("settings") or {}
    parts = {title: settings.get(slot) for slot, title in PARTS.items()}
    facts = {
        "Method": config.get("method"),
        **(parts | {PARTS["model"]: config.get("model")}),
        "Wrappers": config.get("wrappers"),
        "Protected columns": WITH_GROUPS if _with_groups(run) else None,
    }
    given = {n: v for n, v in (recipe.get("settings") or {}).items() if n not in PARTS}
    return {name: value for name, value in facts.items() if value not in (None, [])} | given


def use_of_groups(run: RunView) -> str:
    """Say whether decisions look at the group that a person is of."""
    return WITH_GROUPS if _with_groups(run) else "not as an input of a prediction"


def _with_groups(run: RunView) -> bool:
    return bool((run.config.get("run") or {}).get("decide_with_groups"))


def wrapper_lines(run: RunView) -> list[str]:
    """Say in a sentence each what the wrappers do."""
    return [f"With {name}: {text.splitlines()[0]}" for name, text in _docstrings(run).items()]


def wrapper_limits(run: RunView) -> list[str]:
    """Return what the wrappers' docstrings say under "Limits:"."""
    texts = _docstrings(run).values()
    found = [re.search(r"^Limits: (.*?)(?:\n\n|\Z)", text, re.S | re.M) for text in texts]
    return [" ".join(limits[1].split()) for limits in found if limits]


def _docstrings(run: RunView) -> dict[str, str]:
    """Return the docstrings of the run's wrappers; one that this ffml does not have is left out."""
    names = run.config.get("wrappers") or []
    if not names:
        return {}
    from inspect import getdoc

    from ffml.recipe.recipes import additions  # here: it starts JAX

    known = additions()
    return {n: getdoc(known[n]) or "" for n in map(str, names) if n in known}
