"""The page of an audit: the answer first, then gaps, curves and groups."""

from pathlib import PurePath
from typing import Any

import numpy as np

from ffml import metrics
from ffml.audit import Audit
from ffml.audit.gate import to_document
from ffml.metrics.phrases import asked_words
from ffml.metrics.words import labels_sentence
from ffml.report._gaps import NOTIONS, gap_cells
from ffml.report._page import fill
from ffml.report._pictures import Z, group_pictures
from ffml.report._tables import MAX_ROUNDS
from ffml.report.numbers import counted, interval, listed, points, points_interval, rate


def render_audit(audit: Audit) -> str:
    """Return the page. It has the style and the charts of a run's report."""
    return fill("audit.html", _context(audit))


def _context(audit: Audit) -> dict[str, Any]:
    from ffml import __version__

    decisions = audit.decisions
    return {
        "title": f"Decisions in {PurePath(decisions.name).name or decisions.name}",
        "date": "",
        "version": __version__,
        "verdict": to_document(audit.findings)["verdict"] if audit.findings else None,
        "asked": _asked(audit),
        "findings": audit.findings,
        "what": what_was_read(audit),
        "gaps": _gap_rows(audit),
        "over_time": len(decisions.tasks) > 1,
        "pictures": group_pictures(
            decisions.counts,
            decisions.columns,
            decisions.tasks,
            audit.limits.asked(),
            audit.answer["favourable"],
        ),
        "columns": [_column(column) for column in audit.columns],
        "labelled": decisions.labelled_rows > 0,
        "rounds": _round_rows(audit),
        "shown_rounds": MAX_ROUNDS if len(decisions.tasks) > MAX_ROUNDS else None,
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


def _asked(audit: Audit) -> str:
    return listed([asked_words(notion, bound) for notion, bound in audit.limits.asked()])


def _gap_rows(audit: Audit) -> list[dict[str, str]]:
    return [
        {"whose": NOTIONS[notion], "column": column.name, "comparison": found.comparison}
        | gap_cells(found)
        for column in audit.columns
        for notion, gaps in column.gaps.items()
        for found in gaps
    ]


def _column(column: Any) -> dict[str, Any]:
    names = ("selection_rate", "true_positive_rate", "false_positive_rate", "accuracy")
    rows = [
        {name: f"{v:,}" if isinstance(v, int) else v for name, v in row.items()}
        | {name: rate(row[name]) for name in names if name in row}
        | {"bar": f"{100 * row['selection_rate']:.1f}" if row["n"] else "0"}
        for row in column.groups
    ]
    ratios = [
        f"{metric.upper()} ratio {rate(value)}" + (f" (interval {known})" if known else "")
        for metric, (value, low, high) in column.ratios.items()
        for known in [interval(low, high)]
    ]
    return {"name": column.name, "rows": rows, "ratios": "; ".join(ratios)}


def _round_rows(audit: Audit) -> dict[str, Any]:
    """Write every round's gaps as text."""
    names, cells = [], []
    decided = audit.decisions.counts
    for column in audit.decisions.columns:
        gaps = metrics.round_gaps(decided[column.name])
        reach = Z * np.sqrt(np.maximum(gaps.gap**2 - gaps.square, 0))
        compared = metrics.comparisons(len(column.groups), column.groups, "demographic-parity")
        for name, _, i in compared:
            names.append(f"{column.name}: {name}")
            cells.append(
                [
                    (points(gap), points_interval(gap - wide, gap + wide))
                    for gap, wide in zip(gaps.gap[:, i], reach[:, i], strict=True)
                ]
            )
    sizes = next(iter(decided.values())).sum((1, 2, 3))
    rows = [
        {"round": t + 1, "task": task, "rows": f"{sizes[t]:,}", "gaps": [c[t] for c in cells]}
        for t, task in enumerate(audit.decisions.tasks)
    ]
    return {"names": names, "rows": rows[-MAX_ROUNDS:]}
