"""Refuse JSON files whose parts are not what a run writes, in one line."""

from pathlib import Path
from typing import Any

from ffml.base import FFMLError
from ffml.report import _answer
from ffml.runs.by_column import NOTIONS, gaps_by_column

NUMBER = (int, float)
_CONFIG = {
    "data": dict,
    "settings": dict,
    "versions": dict,
    "run": dict,
    "recipe": dict,
    "wrappers": list,
    "notions": list,
    "rounds": int,
    "warnings": list,
    "guessed": dict,
}
_DATA = {"num_tasks": int, "dropped_rows": int, "roles": dict}


def check_config(config: dict[str, Any], path: Path) -> None:
    """Refuse a config.json that no page can be made of; what it lacks is left out of the page."""
    for name, kind in _CONFIG.items():
        _expect(config.get(name), (kind, type(None)), path, name)
    for name in ("max_gap", "min_ratio"):
        for bound in _expect(config.get(name) or [], (list,), path, name):
            _expect(bound, NUMBER, path, name)
    recipe = config.get("recipe") or {}
    _expect(recipe.get("settings"), (dict, type(None)), path, "settings")
    data = config.get("data") or {}
    for name, kind in _DATA.items():
        _expect(data.get(name), (kind, type(None)), path, name)
    for column in _expect(data.get("sensitive") or [], (list,), path, "sensitive"):
        _expect(column, (dict,), path, "sensitive")
        _expect(column.get("groups") or [], (list,), path, "groups")


def check_summary(summary: dict[str, Any], path: Path) -> None:
    """Refuse a summary.json without what every run writes."""
    for part in ("all", "pooled"):
        _expect(summary.get(part, {}), (dict,), path, part)
    _expect(summary.get("collapsed_rounds", 0), NUMBER, path, "collapsed_rounds")
    _expect(summary.get("seconds", 0), NUMBER, path, "seconds")
    for found in _expect(summary.get("drift", []), (list,), path, "drift"):
        _expect(found, (dict,), path, "drift")
        for name in ("column", "text", "round", "task", "rounds"):
            _expect(found.get(name), (str, *NUMBER), path, "drift")
    if "accuracy" not in summary.get("all", {}):
        raise FFMLError(f"{path} lacks the rounds' means: run again")
    if not summary.get("by_column"):
        raise FFMLError(f"{path} says nothing of each protected column: resume the run to write it")
    try:
        for notion in NOTIONS:
            gaps_by_column(summary, notion)
        for column in summary["by_column"].values():
            for metric in ("dp", "eo"):
                for key in ("mean", "std", "ceiling", "of_ceiling", "defined"):
                    _expect(column[metric][key], (*NUMBER, type(None)), path, metric)
            _expect(column["rounds"], NUMBER, path, "rounds")
    except (LookupError, TypeError, AttributeError):
        raise FFMLError(f"{path} has a damaged 'by_column': resume the run to mend it") from None
    _check_answer(summary, path)
    reliability = _expect(summary.get("reliability", {}), (dict,), path, "reliability")
    for one in reliability.get("bins", ()):
        for key in ("people", "probability", "label_share"):
            _expect(one.get(key), NUMBER, path, "reliability")


def _check_answer(summary: dict[str, Any], path: Path) -> None:
    """Refuse an answer that cannot be written down; a resumed run writes one that is missing."""
    if "answer" not in summary:
        raise FFMLError(f"{path} has no answer: resume the run to write it")
    try:
        _answer.sentences(summary)
        _answer.rows(summary)
    except (LookupError, TypeError, AttributeError, ValueError):
        raise FFMLError(f"{path} has a damaged 'answer': resume the run to mend it") from None


def _expect(value: Any, kinds: tuple[type, ...], path: Path, name: str) -> Any:
    if not isinstance(value, kinds):
        raise FFMLError(f"{path} has a damaged '{name}': restore it or resume the run")
    return value
