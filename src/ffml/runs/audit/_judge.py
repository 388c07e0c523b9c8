"""Judge decisions by group, and compare them with what is asked."""

from typing import Any, NamedTuple

import numpy as np

from ffml import metrics
from ffml.base import FFMLError
from ffml.metrics import NOTIONS, GapAlarm, GapStatistics
from ffml.metrics.alarm import column_alarms
from ffml.metrics.summary import last_third
from ffml.runs.gate import Finding
from ffml.runs.gate._alarm import alarm_finding
from ffml.runs.gate._asked import gap_findings, one_task_gap_finding, ratio_findings
from ffml.runs.judged import JudgedRounds
from ffml.tables import Decisions

DEFAULT_NOTION = "demographic-parity"


class Limits(NamedTuple):
    """What is asked of the decisions; None: nothing."""

    max_gap: float | None = None
    notion: str | None = None
    min_dp: float | None = None
    min_eo: float | None = None


def check_limits(limits: Limits, labelled: bool) -> None:
    """Refuse limits that are out of range, or that need labels where there are none."""
    for name, limit in limits._replace(notion=None)._asdict().items():
        if limit is not None and not 0 <= limit <= 1:
            raise FFMLError(f"--{name.replace('_', '-')} must be between 0 and 1, got {limit}")
    if limits.notion is not None and limits.max_gap is None:
        raise FFMLError("--notion says whom --max-gap compares; give --max-gap too")
    if limits.notion is not None and limits.notion not in NOTIONS:
        raise FFMLError(f"--notion must be one of {', '.join(NOTIONS)}, got '{limits.notion}'")
    for name, asked in (
        (f"--notion {limits.notion}", limits.notion not in (None, DEFAULT_NOTION)),
        ("--min-eo", limits.min_eo is not None),
    ):
        if asked and not labelled:
            raise FFMLError(f"{name} compares people of the same label; give --label")


class ColumnAudit(NamedTuple):
    """What the decisions look like by one protected attribute."""

    name: str
    groups: list[dict[str, Any]]  # counts and rates of each group, all rounds pooled
    ratios: dict[str, tuple[float, float, float]]  # dp, eo -> value, low, high
    gaps: dict[str, list[GapStatistics]]  # notion -> comparisons, all rounds
    last_gaps: dict[str, list[GapStatistics]]  # likewise, of the last third
    alarms: list[GapAlarm]  # of the notion that is asked about; none without a limit


class Audit(NamedTuple):
    """All that an audit found."""

    decisions: Decisions
    limits: Limits
    columns: list[ColumnAudit]
    findings: list[Finding]  # none where nothing is asked


def audit_decisions(decisions: Decisions, limits: Limits) -> Audit:
    """Judge decisions by group, and compare them with what is asked.

    Rows without a label count for demographic parity, and for nothing that needs labels.
    """
    check_limits(limits, labelled=decisions.labelled_rows > 0)
    decided, labelled = decisions.decided(), decisions.labelled()
    by_label = decisions.labelled_rows > 0
    notions = [DEFAULT_NOTION, *(["equalized-odds"] if by_label else [])]
    alarms = _alarms(decisions, limits)
    columns = []
    for column in decisions.columns:
        tables = {
            notion: decided[column.name] if notion == DEFAULT_NOTION else labelled[column.name]
            for notion in notions
        }
        columns.append(
            ColumnAudit(
                column.name,
                group_rows(tables, column.groups),
                _ratios(tables, column.groups),
                {n: metrics.gap_statistics(t, column.groups, n) for n, t in tables.items()},
                {
                    n: metrics.gap_statistics(last_third(t), column.groups, n)
                    for n, t in tables.items()
                },
                alarms.get(column.name, []),
            )
        )
    return Audit(decisions, limits, columns, _findings(decisions, limits))


def _findings(decisions: Decisions, limits: Limits) -> list[Finding]:
    """Ask what `ffml check` asks of a run; without tasks, of all rows as one population."""
    findings: list[Finding] = []
    if limits.max_gap is not None:
        notion = limits.notion or DEFAULT_NOTION
        rounds = _rounds(decisions, notion)
        if decisions.by is None:
            findings.append(one_task_gap_finding(rounds, limits.max_gap, notion))
        else:
            findings += gap_findings(rounds, limits.max_gap, notion)
        tasks = decisions.tasks if decisions.by else None
        findings.append(alarm_finding(rounds, limits.max_gap, notion, tasks))
    for metric, least, notion in (
        ("dp", limits.min_dp, DEFAULT_NOTION),
        ("eo", limits.min_eo, "equalized-odds"),
    ):
        if least is not None:
            found = ratio_findings(_rounds(decisions, notion), metric, least)
            findings += found[:1] if decisions.by is None else found
    return findings


def _alarms(decisions: Decisions, limits: Limits) -> dict[str, list[GapAlarm]]:
    if limits.max_gap is None:
        return {}
    notion = limits.notion or DEFAULT_NOTION
    rounds = _rounds(decisions, notion)
    return column_alarms(rounds.tables, rounds.columns, limits.max_gap, notion)


def _rounds(decisions: Decisions, notion: str) -> JudgedRounds:
    tables = decisions.decided() if notion == DEFAULT_NOTION else decisions.labelled()
    done = len(decisions.tasks)
    return JudgedRounds(decisions.columns, tables, np.zeros((done, 0)), done, done, True, [])


def group_rows(tables: dict[str, np.ndarray], groups: tuple[str, ...]) -> list[dict[str, Any]]:
    """Return counts and rates of each group, rounds pooled; what needs labels only with them."""
    rows = metrics.group_rows(tables[DEFAULT_NOTION].sum(0), groups)
    names = ("group", "n", "n_selected", "selection_rate")
    rows = [{name: row[name] for name in names} for row in rows]
    if "equalized-odds" not in tables:
        return rows
    labelled = metrics.group_rows(tables["equalized-odds"].sum(0), groups)
    names = ("true_positive_rate", "false_positive_rate", "accuracy", "n_label_1")
    return [
        row | {"n_labelled": of_label["n"]} | {name: of_label[name] for name in names}
        for row, of_label in zip(rows, labelled, strict=True)
    ]


def _ratios(
    tables: dict[str, np.ndarray], groups: tuple[str, ...]
) -> dict[str, tuple[float, float, float]]:
    found = {}
    for metric, notion in (("dp", DEFAULT_NOTION), ("eo", "equalized-odds")):
        if notion in tables:
            values = metrics.judge(tables[notion].sum(0), groups).values
            found[metric] = (values[metric], values[f"{metric}_low"], values[f"{metric}_high"])
    return found
