"""What looked wrong before a run and during it, for terminal, page and card."""

from collections.abc import Mapping
from typing import Any

from ffml.report._view import RunView
from ffml.report.numbers import counted


def warning_lines(run: RunView) -> list[str]:
    """Say what was noticed about the table, and which inputs changed along the stream."""
    lines = [_sentence(line) for line in (learning_warning(run.summary),) if line]
    lines += [_sentence(str(warning)) for warning in run.config.get("warnings") or []]
    if guessed := run.config.get("guessed"):
        columns = ", ".join(f"{part} {column!r}" for part, column in guessed.items())
        lines.append(f"Columns taken by their names, since nobody named them: {columns}.")
    for drift in run.summary.get("drift") or []:
        more = int(drift["rounds"]) - 1
        since = f", and in {counted(more, 'later round')}" if more else ""
        lines.append(
            f"Input {drift['column']!r} changed in round {drift['round']} ({drift['task']})"
            f"{since}: {drift['text']}."
        )
    return lines


def learning_warning(summary: Mapping[str, Any]) -> str:
    """Say that tasks are not learned from, or that nothing useful was; empty if neither is so.

    >>> print(learning_warning({"unlearned": 18}))
    18 tasks have labels and were not learned from, the newest among them: that takes half of a
    task's labels; bring those that are missing (ffml label)
    """
    if tasks := summary.get("unlearned"):
        return (
            f"{tasks:,} tasks have labels and were not learned from, the newest among them: that"
            " takes half of a task's labels; bring those that are missing (ffml label)"
        )
    return useless_warning(summary)


def useless_warning(summary: Mapping[str, Any]) -> str:
    """Say that a learner never told people apart: its numbers are finite and mean nothing."""
    judged = summary["all"]["accuracy"]["defined"]
    if not judged or summary.get("collapsed_rounds") != judged:
        return ""
    each = "the one round that was" if judged == 1 else f"each of the {judged} rounds that were"
    return (
        f"everybody got the same decision in {each} judged, so that nothing useful was"
        " learned; look for a label that hardly varies, features that say nothing, or step sizes"
        " that are too large or too small"
    )


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "?", ")")) else ".")
