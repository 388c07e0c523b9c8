"""Sentences. The page speaks of gaps, ratios and ceilings, never of "a fair model"."""

import re
from collections import Counter
from pathlib import PurePath

import numpy as np

from ffml.metrics.phrases import asked_words
from ffml.metrics.words import labels_sentence
from ffml.recipe.asked import asked_bounds
from ffml.report._view import RunView
from ffml.report.numbers import counted, listed, points


def constraint_phrase(run: RunView) -> str:
    """Name what was asked for: each notion with its bound; nothing if there was none."""
    given = (run.config.get(name) for name in ("max_gap", "min_ratio"))
    asked = asked_bounds(run.config.get("notions") or [], *given)
    return listed([asked_words(name, bound) for name, bound in asked])


def data_name(run: RunView) -> str:
    """Name what was learned from: a data set, a query, or a table's file without its folders."""
    data, name = run.config.get("data", {}), str(run.config.get("data", {}).get("name"))
    is_query = (run.config.get("run") or {}).get("data") == "sql"
    return name if "fingerprint" not in data or is_query else PurePath(name).name or name


def label_phrase(run: RunView) -> str:
    """Name what is predicted: the label, and which of its values counts as 1 where that is said."""
    data = run.config.get("data", {})
    positive = (data.get("roles") or {}).get("positive")
    label = data.get("label") or "the label"
    return f"{label} = {positive}" if positive is not None else str(label)


def rounds_within_bounds(run: RunView) -> tuple[int, int]:
    """Count the rounds with all measured constraints <= 0, and those with a measured one."""
    values = [run.rounds.numbers(f"constraint:{name}") for name in run.constraints]
    if not values:
        return 0, 0
    constraint = np.stack(values)
    measured = np.isfinite(constraint).any(axis=0)
    within = ~(constraint > 0).any(axis=0) & measured
    return int(within.sum()), int(measured.sum())


def reasons_by_metric(cell: str) -> dict[str, str]:
    """Take a cell of the column ``undefined`` apart. A reason may itself hold a semicolon.

    >>> reasons_by_metric("dp: no rows; eo: no rows; group F has no rows with the favourable label")
    {'dp': 'no rows', 'eo': 'no rows; group F has no rows with the favourable label'}
    """
    return dict(re.findall(r"(?:^|; )([a-z_]+): (.*?)(?=; [a-z_]+: |$)", cell, flags=re.S))


def undefined_reasons(run: RunView, metric: str) -> Counter[str]:
    """Count the rounds by what kept a metric from being measured; several things may."""
    cells = (reasons_by_metric(cell).get(metric, "") for cell in run.rounds.text("undefined"))
    return Counter(reason for cell in cells for reason in dict.fromkeys(cell.split("; ")) if reason)


def behind_paragraph(run: RunView) -> str:
    """Say in words what was learned, how often bounds were kept, and what is unknown."""
    sentences = (
        _what(run),
        _constraints(run),
        _unmeasured(run),
        _collapsed(run),
        _labels(run),
    )
    return " ".join(filter(None, sentences))


def _what(run: RunView) -> str:
    config, data = run.config, run.config.get("data", {})
    columns = [str(column.get("name")) for column in data.get("sensitive") or []]
    groups = f", comparing groups by {listed(columns)}" if columns else ""
    asked = constraint_phrase(run)
    wrappers = listed([str(name) for name in config.get("wrappers") or []])
    return (
        f"{config.get('method')}{f' with {wrappers}' if wrappers else ''}"
        f" (model {config.get('model')}) learned to predict"
        f" {label_phrase(run)} on {data_name(run)} in"
        f" {counted(len(run.rounds), 'round')}, one task each{groups}; it was "
        + (f"asked to keep {asked}." if asked else "given no fairness constraint.")
    )


def reliability_sentence(run: RunView) -> str:
    """Say how far probabilities are from how often the favourable label came."""
    error = (run.summary.get("reliability") or {}).get("error")
    if error is None:
        return ""
    return (
        "Over all judged people, the probability given and how often the favourable label came"
        f" among those who were given it differ by {points(error)} points on average."
    )


def _constraints(run: RunView) -> str:
    within, measured = rounds_within_bounds(run)
    if not measured:
        return "No constraint could be measured in any round." if run.constraints else ""
    return (
        f"Taken one by one, {within} of {counted(measured, 'round')} had all measured gaps within"
        " their bounds; on few rows chance alone exceeds a small bound, so the long-run gap says"
        " more."
    )


def _unmeasured(run: RunView) -> str:
    parts = []
    for metric, name in (("dp", "demographic parity"), ("eo", "equalized odds")):
        missing = int(np.isnan(run.rounds.numbers(metric)).sum())
        if missing:
            reasons = undefined_reasons(run, metric).most_common()
            shown = [f"{reason}: {count}" for reason, count in reasons[:2]]
            why = ", ".join([*shown, *(["other reasons: see the table"] if reasons[2:] else [])])
            parts.append(f"{name} in {missing} of {len(run.rounds)}{f' ({why})' if why else ''}")
    if not parts:
        return "Both ratios could be measured in every round."
    return f"Rounds that could not be measured: {listed(parts)}."


def _labels(run: RunView) -> str:
    """Say how many labels are missing, and whether those that came are of some people only."""
    return labels_sentence(run.summary["answer"])


def _collapsed(run: RunView) -> str:
    collapsed = int(run.summary.get("collapsed_rounds") or 0)
    if not collapsed:
        return ""
    return (
        f"In {counted(collapsed, 'round')} everybody received the same decision, which leaves"
        " the ratios undefined."
    )
