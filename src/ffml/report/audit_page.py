"""The page of an audit: the answer first, then gaps, curves and groups."""

from pathlib import Path, PurePath
from typing import Any

from ffml.audit import REPORT, Audit
from ffml.audit.gate import to_document
from ffml.metrics.phrases import asked_words
from ffml.report._groups import group_table
from ffml.report._research import gap_row
from ffml.report.answer import labels_sentence
from ffml.report.numbers import counted, listed
from ffml.report.page import fill
from ffml.report.pictures import evidence_pictures, headline_first, rate_pictures
from ffml.store.durable import write_atomically


def write_audit_report(audit: Audit, folder: Path) -> Path:
    """Write ``report.html`` about an audit into ``folder`` and return its path."""
    page = folder / REPORT
    write_atomically(page, fill("audit.html", _context(audit)))
    return page


def _context(audit: Audit) -> dict[str, Any]:
    from ffml import __version__

    decisions = audit.decisions
    columns = headline_first(decisions.columns, audit.answer)
    people = decisions.counts, columns, decisions.tasks
    return {
        "title": f"Decisions in {PurePath(decisions.name).name or decisions.name}",
        "date": "",
        "version": __version__,
        "verdict": to_document(audit.findings)["verdict"] if audit.findings else None,
        "asked": listed([asked_words(*one) for one in audit.limits.asked()]),
        "findings": audit.findings,
        "what": what_was_read(audit),
        "gaps": [
            gap_row(notion, column.name, gap._asdict())
            for column in audit.columns
            for notion, gaps in column.gaps.items()
            for gap in gaps
        ],
        "over_time": len(decisions.tasks) > 1,
        "rates": rate_pictures(*people, audit.limits.asked(), audit.answer["favourable"]),
        "evidence": evidence_pictures(*people, audit.limits.asked()),
        "group_tables": [group_table(c, decisions.counts[c.name], {}) for c in decisions.columns],
    }


def what_was_read(audit: Audit) -> str:
    """Say in a sentence or two what the audit looked at."""
    decisions = audit.decisions
    text = f"{decisions.rows:,} decisions ({decisions.positive} is favourable)"
    if decisions.by is not None:
        text += f" in {counted(len(decisions.tasks), 'round')}, by {decisions.by}"
    text += f", compared by {listed([column.name for column in decisions.columns])}."
    if 0 < decisions.labelled_rows < decisions.rows:
        text += f" {labels_sentence(audit.answer)}"
    if decisions.dropped_rows:
        text += f" {counted(decisions.dropped_rows, 'row')} with missing values left out."
    return text
