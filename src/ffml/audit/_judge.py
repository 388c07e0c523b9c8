"""Judge decisions by group, and compare them with what is asked."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ffml import metrics
from ffml.audit._limits import DEFAULT_NOTION, Limits
from ffml.audit.gate import Finding, notion_findings
from ffml.base import SensitiveColumn
from ffml.metrics import GapAlarm, GapStatistics
from ffml.metrics.alarm import column_alarms
from ffml.metrics.answer import answer
from ffml.metrics.facts import pooled_metrics
from ffml.metrics.labels import measurable
from ffml.metrics.phrases import favourable_words
from ffml.tables import Decisions

LABEL_RATES = ("n_label_1", "true_positive_rate", "false_positive_rate", "accuracy")


class ColumnAudit(NamedTuple):
    """What the decisions look like by one protected attribute."""

    name: str
    groups: list[dict[str, Any]]  # counts and rates of each group, all rounds pooled
    ratios: dict[str, tuple[float, float, float]]  # dp, eo -> value, low, high
    gaps: dict[str, list[GapStatistics]]  # notion -> any two groups
    alarms: list[GapAlarm]  # of what is asked about; none without a limit


class Audit(NamedTuple):
    """All that an audit found."""

    decisions: Decisions
    limits: Limits
    answer: Mapping[str, Any]  # see `ffml.metrics.answer`
    columns: list[ColumnAudit]
    findings: list[Finding]  # none where nothing is asked


def audit_decisions(decisions: Decisions, limits: Limits) -> Audit:
    """Judge decisions by group, and compare them with what is asked.

    Rows without a label count for demographic parity, and for nothing that needs labels.
    """
    limits.refuse_misuse(labelled=decisions.labelled_rows > 0)
    asked, by_task = limits.asked(), decisions.by is not None
    summary = answer(
        decisions.counts,
        decisions.columns,
        asked,
        decisions.tasks,
        favourable=favourable_words(decisions.decision, decisions.positive),
        by_task=by_task,
    )
    if decisions.label:
        summary["outcome"] = favourable_words(*decisions.label)
    findings = [
        one
        for notion in summary["notions"]
        if notion["verdict"] is not None
        for one in notion_findings(summary, notion)
    ]
    alarms = column_alarms(decisions.counts, decisions.columns, asked)
    notions = [DEFAULT_NOTION, *(["equalized-odds"] if decisions.labelled_rows else [])]
    columns = []
    for column in decisions.columns:
        counts = measurable(decisions.counts[column.name])
        columns.append(
            ColumnAudit(
                column.name,
                group_rows(counts.sum(0), column.groups, decisions.labelled_rows > 0),
                _ratios(counts, column, notions),
                {
                    n: metrics.gap_statistics(counts, column.groups, n, by_task=by_task)
                    for n in notions
                },
                [
                    one
                    for (*_, name), several in alarms.items()
                    if name == column.name
                    for one in several
                ],
            )
        )
    return Audit(decisions, limits, summary, columns, findings)


def group_rows(table: np.ndarray, groups: tuple[str, ...], labelled: bool) -> list[dict[str, Any]]:
    """Return counts and rates of each group; what needs labels only where some are there."""
    names: tuple[str, ...] = ("group", "n", "n_selected", "selection_rate")
    names += ("n_labelled", *LABEL_RATES) if labelled else ()
    return [{name: row[name] for name in names} for row in metrics.group_rows(table, groups)]


def _ratios(
    counts: np.ndarray, column: SensitiveColumn, notions: list[str]
) -> dict[str, tuple[float, float, float]]:
    values = pooled_metrics(counts, column)
    return {
        metric: (values[metric], values[f"{metric}_low"], values[f"{metric}_high"])
        for metric, notion in (("dp", DEFAULT_NOTION), ("eo", "equalized-odds"))
        if notion in notions
    }
