"""What a run was made with, as names and values: for the page's last section and the card."""

import math
import re
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from ffml.metrics.phrases import UNDEFINED
from ffml.recipe.asked import asked_phrases
from ffml.report._view import RunView
from ffml.report.numbers import listed, number

WITH_GROUPS = "known when people are decided about: each group has a threshold of its own"
PARTS = {"inner": "Adaptation (inner)", "outer": "Learning (outer)", "model": "Model"}


def constraint_phrase(run: RunView) -> str:
    """Name what was asked for, and aimed at if that was less; nothing if there was none."""
    return listed(asked_phrases(run.config))


def data_name(run: RunView) -> str:
    """Name what was learned from: a data set, a query, or a table's file without its folders."""
    data, name = run.config.get("data", {}), str(run.config.get("data", {}).get("name"))
    is_query = (run.config.get("run") or {}).get("data") == "sql"
    return name if "fingerprint" not in data or is_query else PurePath(name).name or name


def label_phrase(run: RunView) -> str:
    """Name what is predicted: the label, and which of its values counts as 1 where that is said."""
    data = run.config.get("data", {})
    positive = (data.get("roles") or {}).get("positive")
    label = data.get("label") or "the label"
    return f"{label} = {positive}" if positive is not None else str(label)


def protected(run: RunView) -> list[str]:
    """Name the protected columns."""
    return [str(c.get("name")) for c in run.config.get("data", {}).get("sensitive") or []]


def data_facts(run: RunView) -> dict[str, str]:
    """Say what was learned from; what a run does not know is left out."""
    data, roles = run.config.get("data", {}), run.config.get("data", {}).get("roles")
    groups = [
        f"{column.get('name')}: {', '.join(map(str, column.get('groups') or []))}"
        for column in data.get("sensitive") or []
    ]
    facts = {
        "Name": data_name(run),
        "Path": data.get("name") if data.get("name") != data_name(run) else None,
        "Query": (run.config.get("run") or {}).get("data_options", {}).get("query"),
        "Description": data.get("summary"),
        "Label": data.get("label"),
        **(_role_facts(run, roles) if roles else {}),
        "Protected columns": "; ".join(groups),
        "Features": data.get("features"),
        "Tasks": data.get("num_tasks"),
        "Fingerprint (SHA-256)": data.get("fingerprint"),
        "Citation": data.get("citation"),
        "Licence": data.get("licence"),
    }
    return _texts({name: value for name, value in facts.items() if value not in (None, "")})


def _role_facts(run: RunView, roles: dict[str, Any]) -> dict[str, Any]:
    """Say which column of someone's own table played which part."""
    order = roles.get("time") or roles.get("order")
    return {
        "Favourable label": roles.get("positive") or "1 or true",
        "Task column": roles.get("task"),
        "Tasks are": f"one for each {roles['by']}" if roles.get("by") else None,
        "Order of the tasks": f"by {order}" if order else "as in the table",
        "Input columns": ", ".join(run.inputs),
        "Columns left out": ", ".join(map(str, roles.get("drop") or [])) or "none",
        "Rows left out": f"{run.config['data'].get('dropped_rows') or 0:,}",
    }


def run_facts(run: RunView) -> dict[str, str]:
    """Say how it was learned, and with which versions."""
    config = run.config
    facts = {
        "Command": config.get("command"),
        "Constraints": constraint_phrase(run) or "none",
        "Seed": config.get("seed"),
        "Rounds asked for": config.get("rounds") or "all",
        "Created": config.get("created"),
        "Seconds": number(float(run.summary.get("seconds") or math.nan), 1),
        "Devices": config.get("devices"),
        "ffml": config.get("ffml_version"),
    }
    return _texts(facts | (config.get("versions") or {}))


def recipe_facts(run: RunView) -> dict[str, str]:
    """Say how the learner was put together, and which settings a preset or a person gave."""
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
    return _texts({name: value for name, value in facts.items() if value not in (None, [])} | given)


def setting_facts(run: RunView) -> dict[str, str]:
    """List all settings, defaults among them."""
    return _texts(run.config.get("settings") or {})


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
    matches = [re.search(r"^Limits: (.*?)(?:\n\n|\Z)", text, re.S | re.M) for text in texts]
    return [" ".join(limits[1].split()) for limits in matches if limits]


def _docstrings(run: RunView) -> dict[str, str]:
    """Return the docstrings of the run's wrappers; one that this ffml does not have is left out."""
    names = run.config.get("wrappers") or []
    if not names:
        return {}
    from inspect import getdoc

    from ffml.recipe.recipes import additions  # here: it starts JAX

    known = additions()
    return {n: getdoc(known[n]) or "" for n in map(str, names) if n in known}


def _texts(facts: Mapping[str, Any]) -> dict[str, str]:
    return {name: as_text(value) for name, value in facts.items()}


def as_text(value: Any) -> str:
    """Write a value of config.json.

    >>> as_text(None), as_text(0.5), as_text(["a", "b"]), as_text(True), as_text(3)
    ('–', '0.5', 'a, b', 'yes', '3')
    """
    if value is None or value == "" or value == []:
        return UNDEFINED
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(as_text(part) for part in value)
    return f"{value:g}" if isinstance(value, float) else str(value)
