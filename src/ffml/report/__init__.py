"""The report: one HTML page, and a model card, that a person who was not there can read.

Both are functions of the files in a run directory and of nothing else. The same files give the
same bytes, and the page asks for nothing from elsewhere when it is opened.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from ffml.report._files import RunView

if TYPE_CHECKING:
    from ffml.runs.audit import Audit

__all__ = [
    "RunView",
    "model_card_text",
    "report_text",
    "write_audit_report",
    "write_model_card",
    "write_pages",
    "write_report",
]


def report_text(view: "RunView") -> str:
    """Return the report's page."""
    from ffml.report._page import render

    return render(view)


def model_card_text(view: "RunView") -> str:
    """Return the model card."""
    from ffml.report._card import model_card

    return model_card(view)


def write_pages(run_dir: Path) -> Path:
    """Write report and model card of a run; return the report's path."""
    from ffml.report._files import read_run

    run = read_run(Path(run_dir))
    report = _write_report(run, Path(run_dir))
    _write_model_card(run, Path(run_dir))
    return report


def write_report(run_dir: Path) -> Path:
    """Write ``report.html`` into ``run_dir`` from the files of that run and return its path."""
    from ffml.report._files import read_run

    return _write_report(read_run(Path(run_dir)), Path(run_dir))


def write_model_card(run_dir: Path) -> Path:
    """Write ``model_card.md`` into ``run_dir`` from the files of that run and return its path."""
    from ffml.report._files import read_run

    return _write_model_card(read_run(Path(run_dir)), Path(run_dir))


def _write_report(run: "RunView", run_dir: Path) -> Path:
    from ffml.report._page import render
    from ffml.runs.files import REPORT
    from ffml.store.durable import write_atomically

    write_atomically(run_dir / REPORT, render(run))
    return run_dir / REPORT


def _write_model_card(run: "RunView", run_dir: Path) -> Path:
    from ffml.report._card import model_card
    from ffml.runs.files import CARD
    from ffml.store.durable import write_atomically

    write_atomically(run_dir / CARD, model_card(run))
    return run_dir / CARD


def write_audit_report(audit: "Audit", folder: Path) -> Path:
    """Write ``report.html`` about an audit into ``folder`` and return its path."""
    from ffml.report._audit import render_audit
    from ffml.runs.audit import REPORT
    from ffml.store.durable import write_atomically

    page = folder / REPORT
    write_atomically(page, render_audit(audit))
    return page
