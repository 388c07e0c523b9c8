"""The report: one HTML page, and a model card, that a person who was not there can read.

Both are functions of a `RunView` and of nothing else. The same view gives the same bytes, and the
page asks for nothing from elsewhere when it is opened.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ffml.report._view import RunView, Score, Table

if TYPE_CHECKING:
    from ffml.audit import Audit
    from ffml.audit.record import RunRecord

__all__ = [
    "RunView",
    "Score",
    "Table",
    "decision_pictures",
    "model_card_text",
    "report_text",
    "write_audit_report",
]


def report_text(view: "RunView") -> str:
    """Return the report's page."""
    from ffml.report._page import render

    return render(view)


def decision_pictures(record: "RunRecord", shown: slice = slice(None)) -> Sequence[str]:
    """Draw what was decided about whom, as the report does; of some tasks, without who changed."""
    from ffml.report._pictures import evidence_pictures, moved_pictures, rate_pictures

    said = (record.tables, record.columns, record.tasks, record.asked)
    moved = record.moved if shown == slice(None) else {}
    return [
        *rate_pictures(*said, record.favourable, shown=shown),
        *evidence_pictures(*said, shown),
        *moved_pictures(moved, record.favourable),
    ]


def model_card_text(view: "RunView") -> str:
    """Return the model card."""
    from ffml.report._card import model_card

    return model_card(view)


def write_audit_report(audit: "Audit", folder: Path) -> Path:
    """Write ``report.html`` about an audit into ``folder`` and return its path."""
    from ffml.audit import REPORT
    from ffml.report.audit_page import render_audit
    from ffml.store.durable import write_atomically

    page = folder / REPORT
    write_atomically(page, render_audit(audit))
    return page
