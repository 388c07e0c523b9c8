"""What a run was made with, as names and values: for the page's last section and the card."""

import math
from typing import Any

from ffml.report import _recipe, _words, numbers
from ffml.report._view import RunView


def data_facts(run: RunView) -> dict[str, str]:
    """Say what was learned from; what a run does not know is left out."""
    data, roles = run.config.get("data", {}), run.config.get("data", {}).get("roles")
    groups = [
        f"{column.get('name')}: {', '.join(map(str, column.get('groups') or []))}"
        for column in data.get("sensitive") or []
    ]
    facts = {
        "Name": _words.data_name(run),
        "Path": data.get("name") if data.get("name") != _words.data_name(run) else None,
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
    return {name: as_text(value) for name, value in facts.items() if value not in (None, "")}


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
        "Constraints": _words.constraint_phrase(run) or "none",
        "Seed": config.get("seed"),
        "Rounds asked for": config.get("rounds") or "all",
        "Created": config.get("created"),
        "Seconds": numbers.number(float(run.summary.get("seconds") or math.nan), 1),
        "Devices": config.get("devices"),
        "ffml": config.get("ffml_version"),
    } | (config.get("versions") or {})
    return {name: as_text(value) for name, value in facts.items()}


def recipe_facts(run: RunView) -> dict[str, str]:
    """Say how the learner was put together."""
    return {name: as_text(value) for name, value in _recipe.recipe_facts(run).items()}


def setting_facts(run: RunView) -> dict[str, str]:
    """List all settings, defaults among them."""
    return {name: as_text(value) for name, value in (run.config.get("settings") or {}).items()}


def as_text(value: Any) -> str:
    """Write a value of config.json.

    >>> as_text(None), as_text(0.5), as_text(["a", "b"]), as_text(True), as_text(3)
    ('—', '0.5', 'a, b', 'yes', '3')
    """
    if value is None or value == "" or value == []:
        return numbers.UNDEFINED
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(as_text(part) for part in value)
    return f"{value:g}" if isinstance(value, float) else str(value)
