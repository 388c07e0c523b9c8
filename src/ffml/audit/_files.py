"""What an audit leaves on disk."""

from pathlib import Path
from typing import Any

from ffml.audit._judge import Audit, group_rows
from ffml.audit.gate import to_document
from ffml.base import FFMLError
from ffml.metrics import GapAlarm
from ffml.metrics.labels import measurable
from ffml.recipe.plain import plain, to_json
from ffml.store.durable import write_atomically
from ffml.tables.csvfile import number_cell, table_text

AUDIT, GROUPS, REPORT = "audit.json", "groups.csv", "report.html"


def audit_document(audit: Audit) -> dict[str, Any]:
    """Return the audit as plain JSON values."""
    decisions = audit.decisions
    document: dict[str, Any] = {
        "data": decisions.name,
        "positive": decisions.positive,
        "rows": decisions.rows,
        "labelled_rows": decisions.labelled_rows,
        "dropped_rows": decisions.dropped_rows,
        "task": decisions.by,
        "tasks": list(decisions.tasks),
        "limits": audit.limits._asdict(),
    }
    document |= to_document(audit.findings) if audit.findings else {"verdict": None, "findings": []}
    document["answer"] = audit.answer
    document["by_column"] = {
        column.name: {
            "groups": column.groups,
            "ratios": {
                k: dict(zip(("value", "low", "high"), v, strict=True))
                for k, v in column.ratios.items()
            },
            "gaps": {
                notion: [one._asdict() for one in found] for notion, found in column.gaps.items()
            },
            "alarms": [_alarm_document(alarm, decisions.tasks) for alarm in column.alarms],
        }
        for column in audit.columns
    }
    return plain(document)


def write_audit(audit: Audit, folder: Path) -> None:
    """Write ``audit.json`` and ``groups.csv`` (counts and rates of every round and group)."""
    rows, known = [], audit.decisions.labelled_rows > 0
    for column in audit.decisions.columns:
        counts = measurable(audit.decisions.counts[column.name])
        for t, task in enumerate(audit.decisions.tasks):
            for row in group_rows(counts[t], column.groups, known):
                values = {name: number_cell(value) for name, value in row.items()}
                rows.append({"round": t + 1, "task": task, "column": column.name} | values)
    write_atomically(folder / GROUPS, table_text(rows))
    write_atomically(folder / AUDIT, to_json(audit_document(audit)))


def audit_folder(folder: Path) -> Path:
    """Make the folder of an audit, or take that of an earlier one; refuse any other's files."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FFMLError(f"cannot make {folder} ({error.strerror}); choose another --out") from None
    if not (folder / AUDIT).exists() and any(folder.iterdir()):
        raise FFMLError(f"{folder} holds other files than an audit's; choose another --out")
    return folder


def _alarm_document(alarm: GapAlarm, tasks: tuple[str, ...]) -> dict[str, Any]:
    return {
        "comparison": alarm.comparison,
        "round": None if alarm.round is None else alarm.round + 1,
        "task": None if alarm.round is None else tasks[alarm.round],
        "log_wealth": alarm.log_wealth.tolist(),
        "log_needed": alarm.log_needed,
    }
