"""The curves of an audit: gaps, rates and evidence, round by round."""

from collections.abc import Sequence
from statistics import NormalDist

import numpy as np

from ffml import metrics
from ffml.audit import Audit
from ffml.base import SensitiveColumn
from ffml.metrics.phrases import asked_words
from ffml.report._evidence import evidence_chart
from ffml.report.charts import DASHES, NUM_COLOURS, Chart, Series
from ffml.report.numbers import listed

Z = NormalDist().inv_cdf(0.975)


def audit_charts(audit: Audit) -> list[Chart]:
    """Return the charts of an audit over time; none where all rows are one round."""
    if len(audit.decisions.tasks) < 2:
        return []
    charts = []
    decided = audit.decisions.counts
    for i, (column, found) in enumerate(zip(audit.decisions.columns, audit.columns, strict=True)):
        charts.append(_gap_chart(f"gap-{i}", audit, column, decided[column.name]))
        charts.append(_rate_chart(f"rate-{i}", audit, column, decided[column.name]))
        if found.alarms:
            asked = listed([asked_words(n, bound) for n, bound in audit.limits.asked()])
            charts.append(
                evidence_chart(
                    f"evidence-{i}", found.name, asked, found.alarms, audit.decisions.tasks
                )
            )
    return charts


def gaps_with_intervals(tables: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return each round's gaps in points and their 95 % intervals, ``(T, m)`` each."""
    found = metrics.round_gaps(tables)
    chance = np.sqrt(np.maximum(found.gap**2 - found.square, 0))
    return 100 * found.gap, 100 * (found.gap - Z * chance), 100 * (found.gap + Z * chance)


def _gap_chart(key: str, audit: Audit, column: SensitiveColumn, tables: np.ndarray) -> Chart:
    pairs = metrics.comparisons(len(column.groups), column.groups, "demographic-parity")
    compared = [name for name, _, _ in pairs]
    numbers = gaps_with_intervals(tables)
    few = len(compared) == 1  # the bands of many would hide each other
    series = [
        Series(
            name,
            numbers[0][:, i],
            numbers[1][:, i] if few else None,
            numbers[2][:, i] if few else None,
            **_style(i),
        )
        for i, name in enumerate(compared)
    ]
    most, notion = audit.limits.max_gap, audit.limits.notion
    if most is not None and notion in (None, "demographic-parity"):
        series += [
            Series(label, np.full(len(tables), 100 * bound), colour="muted", dots=False)
            for label, bound in (("Asked", most), ("Asked, on the other side", -most))
        ]
    return _chart(
        key,
        f"Gap by {column.name}",
        "Decision rate of one group minus that of another, in percentage points.",
        series,
        audit.decisions.tasks,
    )


def _rate_chart(key: str, audit: Audit, column: SensitiveColumn, tables: np.ndarray) -> Chart:
    rates = metrics.selection_rates(tables)
    series = [Series(g, rates[:, i], **_style(i)) for i, g in enumerate(column.groups)]
    caption = "Share of positive decisions in each group."
    return _chart(
        key,
        f"Decision rates by {column.name}",
        caption,
        series,
        audit.decisions.tasks,
        unit_interval=True,
    )


def _chart(
    key: str,
    title: str,
    caption: str,
    series: list[Series],
    names: Sequence[str],
    unit_interval: bool = False,
) -> Chart:
    return Chart(
        key=key,
        title=title,
        caption=caption,
        places=np.arange(1, len(names) + 1),
        names=tuple(names),
        series=series,
        undefined=np.isnan(np.stack([line.values for line in series])).any(axis=0),
        unit_interval=unit_interval,
    )


def _style(place: int) -> dict:
    return {"colour": f"c{place % NUM_COLOURS + 1}", "dash": DASHES[place % len(DASHES)]}
