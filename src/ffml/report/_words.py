"""Numbers and sentences. The page speaks of gaps, ratios and ceilings, never of "a fair model"."""

import math
from collections import Counter

import numpy as np

from ffml.report._files import Run

UNDEFINED = "—"


def number(value: float, digits: int = 3) -> str:
    """Write a number for people; what is undefined stays visibly so.

    >>> number(0.12345), number(-2.0, 1), number(float("nan")), number(0.0000123), number(12345.6)
    ('0.123', '−2.0', '—', '1.2e−05', '12,346')
    """
    if not math.isfinite(value):
        return UNDEFINED
    size = abs(value)
    if size >= 1000:
        text = f"{value:,.0f}" if size < 1e7 else f"{value:.2e}"
    else:
        text = f"{value:.{digits}f}" if size == 0 or size >= 10**-digits else f"{value:.1e}"
    return text.replace("-", "−")


def whole(value: float) -> str:
    """Write a count.

    >>> whole(1234.0), whole(float("nan"))
    ('1,234', '—')
    """
    return f"{value:,.0f}" if math.isfinite(value) else UNDEFINED


def percent(value: float) -> str:
    """Write a share.

    >>> percent(0.9712)
    '97 %'
    """
    return f"{100 * value:.0f} %" if math.isfinite(value) else UNDEFINED


def interval(low: float, high: float, joint: str = " to ") -> str:
    """Write an interval, or nothing where there is none.

    >>> interval(0.5, 0.75), interval(float("nan"), 1.0)
    ('0.500 to 0.750', '')
    """
    return f"{number(low)}{joint}{number(high)}" if math.isfinite(low + high) else ""


def counted(count: int, noun: str) -> str:
    """Write a count with its noun.

    >>> counted(1, "round"), counted(3, "round")
    ('1 round', '3 rounds')
    """
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def listed(items: list[str]) -> str:
    """Join with commas and a last "and".

    >>> listed(["a", "b", "c"])
    'a, b and c'
    """
    return " and ".join([", ".join(items[:-1]), items[-1]] if len(items) > 1 else items)


def constraint_phrase(run: Run) -> str:
    """Name what was asked for: each notion with its bound, or that there was none."""
    names = [str(name) for name in run.config.get("constraint") or []]
    bounds = list(run.config.get("bound") or [])
    bounds = bounds * len(names) if len(bounds) == 1 else bounds
    if len(bounds) != len(names):
        return listed(names)
    return listed([f"{name} ≤ {bound:g}" for name, bound in zip(names, bounds, strict=True)])


def last_rounds(run: Run) -> int:
    """Return how many rounds the last third holds."""
    defined, undefined = (
        run.statistic("last_third", "balanced_accuracy", key) for key in ("defined", "undefined")
    )
    total = defined + undefined
    return int(total) if math.isfinite(total) else max(1, len(run.rounds) // 3)


def rounds_within_bounds(run: Run) -> tuple[int, int]:
    """Count the rounds with all measured constraints <= 0, and those with a measured one."""
    values = [run.rounds.numbers(f"constraint:{name}") for name in run.constraints]
    if not values:
        return 0, 0
    constraint = np.stack(values)
    measured = np.isfinite(constraint).any(axis=0)
    within = ~(constraint > 0).any(axis=0) & measured
    return int(within.sum()), int(measured.sum())


def undefined_reasons(run: Run) -> dict[str, Counter[str]]:
    """Count why a metric could not be measured, by metric: ``dp: no positive decisions; eo: …``."""
    reasons: dict[str, Counter[str]] = {}
    for cell in run.rounds.text("undefined"):
        for part in filter(None, (part.strip() for part in cell.split(";"))):
            metric, colon, reason = part.partition(":")
            metric, reason = (metric.strip(), reason.strip()) if colon else ("other", part)
            reasons.setdefault(metric, Counter())[reason or "no reason given"] += 1
    return reasons


def summary_paragraph(run: Run) -> str:
    """Say in words what was learned, how large the gaps are, how certain, and what is unknown."""
    return " ".join(
        filter(
            None,
            (
                _what(run),
                _ratio(run, "dp", "ratio between the groups' selection rates (demographic parity)"),
                _gap(run),
                _ratio(run, "eo", "ratio between the groups' error rates (equalized odds)"),
                _accuracy(run),
                _constraints(run),
                _unmeasured(run),
                _collapsed(run),
            ),
        )
    )


def _what(run: Run) -> str:
    config, data = run.config, run.config.get("data", {})
    columns = [str(column.get("name")) for column in data.get("sensitive") or []]
    groups = f", comparing groups by {listed(columns)}" if columns else ""
    asked = constraint_phrase(run)
    return (
        f"The method {config.get('method')} with the model {config.get('model')} learned to predict"
        f" {data.get('label') or 'the label'} on {data.get('name')} in"
        f" {counted(len(run.rounds), 'round')}, one task per round{groups}."
        + (f" It was asked to keep {asked}." if asked else " It was given no fairness constraint.")
    )


def _ratio(run: Run, metric: str, meaning: str) -> str:
    mean = run.statistic("last_third", metric)
    if not math.isfinite(mean):
        return f"Over the last {counted(last_rounds(run), 'round')} the {meaning} is undefined."
    of_ceiling = run.statistic("last_third", f"{metric}_of_ceiling")
    ceiling = (
        f"; that is {percent(of_ceiling)} of what decisions unrelated to the groups would show on"
        " as many rows"
        if math.isfinite(of_ceiling)
        else ""
    )
    spread = number(run.statistic("last_third", metric, "std"))
    return (
        f"Over the last {counted(last_rounds(run), 'round')} the {meaning} averaged {number(mean)}"
        f" (standard deviation {spread}; 1 means equal rates){ceiling}."
        f"{_pooled(run, metric, 'it is')}"
    )


def _pooled(run: Run, metric: str, verb: str) -> str:
    value = run.statistic("pooled", metric)
    if not math.isfinite(value):
        return ""
    low, high = (run.statistic("pooled", f"{metric}_{end}") for end in ("low", "high"))
    between = f" (interval {interval(low, high)})" if math.isfinite(low + high) else ""
    return (
        f" Over all rows pooled {verb} {number(value)}{between}."
    )


def _gap(run: Run) -> str:
    gap, low, high = (100 * run.statistic("pooled", f"disc{end}") for end in ("", "_low", "_high"))
    if not math.isfinite(gap):
        return ""
    between = f" (interval {low:.1f} to {high:.1f})" if math.isfinite(low + high) else ""
    return f"The selection rates, pooled, lie {gap:.1f} percentage points apart{between}."


def _accuracy(run: Run) -> str:
    mean = run.statistic("last_third", "balanced_accuracy")
    if not math.isfinite(mean):
        return "Balanced accuracy is undefined over the last rounds."
    pooled = _pooled(run, "balanced_accuracy", "it is")
    return f"Balanced accuracy averaged {number(mean)} over the same rounds.{pooled}"


def _constraints(run: Run) -> str:
    within, measured = rounds_within_bounds(run)
    if not measured:
        return "No constraint could be measured in any round." if run.constraints else ""
    return (
        f"Every constraint that could be measured was within its bound in {within} of"
        f" {counted(measured, 'round')}."
    )


def _unmeasured(run: Run) -> str:
    parts = []
    reasons = undefined_reasons(run)
    for metric, name in (("dp", "demographic parity"), ("eo", "equalized odds")):
        missing = int(np.isnan(run.rounds.numbers(metric)).sum())
        if missing:
            why = ", ".join(f"{n} × {text}" for text, n in reasons.get(metric, Counter()).items())
            parts.append(f"{name} in {missing} of {len(run.rounds)}{f' ({why})' if why else ''}")
    if not parts:
        return "Both ratios could be measured in every round."
    return f"Rounds that could not be measured: {listed(parts)}."


def _collapsed(run: Run) -> str:
    collapsed = int(run.summary.get("collapsed_rounds") or 0)
    if not collapsed:
        return ""
    return (
        f"In {counted(collapsed, 'round')} everybody received the same decision; a ratio says"
        " nothing about the model there."
    )
