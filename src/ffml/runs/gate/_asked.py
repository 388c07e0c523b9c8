"""What can be asked of the rounds of a run: gaps, ratios, and how far constraints were violated."""

from collections.abc import Sequence

import numpy as np

from ffml import metrics
from ffml.metrics import NOTIONS
from ffml.metrics.answer import present_groups
from ffml.runs.gate._finding import (
    Finding,
    at_least,
    at_most,
    decisive,
    if_enough_rounds,
    unmeasured,
)
from ffml.runs.judged import JudgedRounds

_NOTION_OF = {"dp": "demographic-parity", "eo": "equalized-odds"}
_RATES = {
    None: metrics.selection_rates,
    0: metrics.false_positive_rates,
    1: metrics.true_positive_rates,
}


def gap_findings(run: JudgedRounds, most: float, notion: str) -> list[Finding]:
    """Compare the long-run and the typical gap with the largest that is allowed."""
    long_run, typical = [], []
    for column in run.columns:
        tables, names = present_groups(run.tables[column.name], column)
        if why := metrics.undefined_reasons(tables.sum(0), names).get("dp"):
            long_run.append(unmeasured(f"long-run gap ({column.name})", "at most", most, why))
            typical.append(unmeasured(f"typical gap ({column.name})", "at most", most, why))
            continue
        for found in metrics.gap_statistics(tables, names, notion):
            whom = f"({column.name}: {found.comparison})"
            numbers = (found.long_run, found.long_run_low, found.long_run_high)
            finding = at_most(f"long-run gap {whom}", most, *numbers, scale=100)
            long_run.append(if_enough_rounds(finding, found.rounds))
            numbers = (found.typical, found.typical_low, found.typical_high)
            finding = at_most(f"typical gap {whom}", most, *numbers, scale=100)
            typical.append(if_enough_rounds(finding, found.rounds))
    return [decisive(long_run), decisive(typical)]


def one_task_gap_finding(run: JudgedRounds, most: float, notion: str) -> Finding:
    """Compare the gap among all rows with the largest allowed, where they are one population."""
    found = []
    for column in run.columns:
        tables, names = present_groups(run.tables[column.name], column)
        if why := metrics.undefined_reasons(tables.sum(0), names).get("dp"):
            found.append(unmeasured(f"gap ({column.name})", "at most", most, why))
            continue
        for one in metrics.gap_statistics(tables, names, notion):
            what = f"gap ({column.name}: {one.comparison})"
            numbers = (one.long_run, one.long_run_low, one.long_run_high)
            found.append(at_most(what, most, *numbers, scale=100))
    return decisive(found)


def pooled_ratio_finding(run: JudgedRounds, least: float, notion: str) -> Finding:
    """Compare the ratio of rates, all rows pooled, with the least that is allowed."""
    found = []
    for column in run.columns:
        tables, names = present_groups(run.tables[column.name], column)
        if why := metrics.undefined_reasons(tables.sum(0), names).get("dp"):
            found.append(unmeasured(f"ratio ({column.name})", "at least", least, why))
            continue
        for one in metrics.ratio_statistics(tables, names, notion):
            what = f"ratio of the rates ({column.name}: {one.comparison})"
            finding = at_least(what, least, one.ratio, one.low, one.high)
            found.append(if_enough_rounds(finding, one.rounds))
    return decisive(found)


def ratio_findings(run: JudgedRounds, metric: str, least: float) -> list[Finding]:
    """Compare DP or EO with the least that is allowed: of all rows pooled, and within tasks."""
    pooled, within = [], []
    for column in run.columns:
        tables, names = present_groups(run.tables[column.name], column)
        what = f"{metric.upper()} ratio of all rows ({column.name})"
        judgement = metrics.judge(tables.sum(0), names)
        if why := judgement.undefined.get(metric):
            inside = f"{metric.upper()} ratio within tasks ({column.name})"
            pooled.append(unmeasured(what, "at least", least, why))
            within.append(unmeasured(inside, "at least", least, why))
            continue
        numbers = (judgement.values[f"{metric}{end}"] for end in ("", "_low", "_high"))
        pooled.append(at_least(what, least, *numbers))
        within += _within_tasks(tables, column.name, names, metric, least)
    return [decisive(pooled), decisive(within)]


def violation_finding(run: JudgedRounds, most: float) -> Finding:
    """Compare the mean violation of the worst constraint of each round with the largest allowed."""
    measured = run.constraint[np.isfinite(run.constraint).any(1)]
    if not len(measured):
        return unmeasured("mean violation", "at most", most, "no round had a measured constraint")
    clipped = np.maximum(np.nanmax(measured, axis=1), 0)
    draws = np.random.default_rng(0).choice(clipped, (2000, len(clipped))).mean(1)
    low, high = np.quantile(draws, [0.025, 0.975])
    finding = at_most("mean violation", most, float(clipped.mean()), float(low), float(high))
    return if_enough_rounds(finding, len(clipped))


def _within_tasks(
    tables: np.ndarray, column: str, names: Sequence[str], metric: str, least: float
) -> list[Finding]:
    """Turn typical gaps into ratios: by how much of the higher rate is the lower one smaller?"""
    notion = _NOTION_OF[metric]
    findings = []
    rates = _higher_rates(tables.sum(0), notion)
    for found, rate in zip(metrics.gap_statistics(tables, names, notion), rates, strict=True):
        what = f"{metric.upper()} ratio within tasks ({column}: {found.comparison})"
        gaps = (found.typical, found.typical_high, found.typical_low)
        finding = at_least(what, least, *(max(1 - gap / rate, 0.0) for gap in gaps))
        findings.append(if_enough_rounds(finding, found.rounds))
    return findings


def _higher_rates(pooled: np.ndarray, notion: str) -> list[float]:
    """Return the higher rate of each comparison of `metrics.gap_statistics`, all rows pooled."""
    inside = pooled[1:] if len(pooled) == 2 else pooled
    sides = np.stack([inside, pooled.sum(0) - inside], axis=1)  # (m, 2, label, decision)
    return [rate for label in NOTIONS[notion] for rate in _RATES[label](sides).max(1).tolist()]
