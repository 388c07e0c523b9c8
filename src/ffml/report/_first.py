"""The first screen: title, verdict, the answer as one would say it, and a table of numbers."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ffml import metrics
from ffml.base import Ratio
from ffml.metrics import phrases, words
from ffml.metrics.labels import why_unmeasured
from ffml.metrics.phrases import in_points, known, rate
from ffml.metrics.summary import typical_gap
from ffml.recipe.asked import aimed_in
from ffml.report._facts import data_name, protected
from ffml.report._view import RunView
from ffml.report.answer import MOST_GROUPS
from ffml.report.numbers import counted, listed

_PERIODS = {
    r"\d{4}": "year",
    r"\d{4}-Q\d": "quarter",
    r"\d{4}-\d{2}": "month",
    r"\d{4}-W\d{2}": "week",
    r"\d{4}-\d{2}-\d{2}": "day",
}


def title(run: RunView) -> str:
    """Name the run by what was decided about whom."""
    columns, what = protected(run), run.summary["answer"]["favourable"] or "decisions"
    name = re.sub(r"\.(csv|parquet|json|xlsx)(\.gz)?$", "", data_name(run))
    return f"{name}: {what}{f', by {listed(columns)}' if columns else ''}"


def span(run: RunView) -> str:
    """Say from when to when; nothing if names of tasks are not times."""
    tasks = run.rounds.text("task")
    return f"{tasks[0]} to {tasks[-1]}" if unit(tasks) != "task" and len(tasks) > 1 else ""


def unit(tasks: Sequence[str]) -> str:
    """Tell what a task is by the names of tasks.

    >>> unit(["2024-01", "2024-02"]), unit(["Cuba", "Laos"])
    ('month', 'task')
    """
    for pattern, name in _PERIODS.items():
        if tasks and all(re.fullmatch(pattern, task) for task in tasks):
            return name
    return "task"


def verdicts(run: RunView) -> list[dict[str, str]]:
    """Return each notion's verdict with the answer in sentences, all from the same object."""
    answer, aimed = run.summary["answer"], dict(aimed_in(run.config))
    return [
        {
            "asked": phrases.asked_words(
                notion["notion"], phrases.bound_of(notion), aimed.get(notion["notion"])
            ),
            "verdict": notion["verdict"] or "",
            "kind": (notion["verdict"] or "none").replace(" ", "-"),
            "headline": headline(run, notion),
            "because": " ".join(words.verdict_sentences(answer, notion)[1:]),
        }
        for notion in answer["notions"]
    ]


def headline(run: RunView, notion: Mapping[str, Any]) -> str:
    """Say the fact as one would say it: how long, which rates, how far apart, what was allowed."""
    answer, fact = run.summary["answer"], notion["fact"]
    if fact is None or not known(fact["gap"]):
        return words.fact_sentence(answer, notion)
    tasks = run.rounds.text("task")
    long = f"{'In' if unit(tasks) == 'task' else 'Over'} {counted(len(tasks), unit(tasks))}"
    needs = "labelled" if fact["label"] is not None else "people"
    over = f"{long} with {answer[needs]:,} {'labels' if needs == 'labelled' else 'people'}"
    return f"{over}, {words.rates_words(fact, answer['favourable'])}. {_apart(notion)}"


def _apart(notion: Mapping[str, Any]) -> str:
    fact, bound = notion["fact"], phrases.bound_of(notion)
    least = bound.least if isinstance(bound, Ratio) else None
    four_fifths = f"the lowest rate was {in_points(fact['ratio'], least)} % of the highest"
    if bound is None:
        column = next(c for c in notion["columns"] if c["column"] == fact["column"])
        ends = _ends(column["pooled"]["so_far"])
        return f"The gap was {in_points(fact['gap'])} points{ends}; {four_fifths}."
    rule = notion["rule"]["so_far"]  # whose upper end the verdict goes by, and says below
    if isinstance(bound, Ratio):
        turned = {"low": _less(rule["high"]), "high": _less(rule["pooled_low"])}
        return f"You asked for {100 * bound.least:g} %; {four_fifths}{_ends(turned, ' %')}."
    gap = f"{in_points(fact['gap'], bound)} points{_ends(rule | {'low': rule['pooled_low']})}"
    return f"You allowed {phrases.limit_words(notion)}; the gap was {gap}."


def _less(apart: float | None) -> float | None:
    return None if apart is None else 1 - apart


def _ends(interval: Mapping[str, Any], unit: str = "") -> str:
    """Say between which ends the rule lies."""
    if not known(interval["low"]) or not known(interval["high"]):
        return ""
    ends = f"{in_points(interval['low'])} to {in_points(interval['high'])}{unit}"
    return f" (of more people like these: {ends})"


def other_name(run: RunView) -> str:
    """Name a run beside this one by its method; the paper's is known by its paper."""
    method = str(run.config.get("method"))
    return "the paper’s FFML" if method == "ffml" else method


def before_sentence(run: RunView) -> str:
    """Say of which tasks everybody got the same decision since no label was known yet."""
    decided = next(iter(run.counts.values())).sum((1, 2))  # (T, decision)
    blind = (decided.min(1) == 0) & (run.rounds.numbers("n_support") == 0)
    first = int(np.argmin(np.append(blind, False)))
    if not first:
        return ""
    tasks = run.rounds.text("task")
    until = f"In {tasks[0]}" if first == 1 else f"From {tasks[0]} to {tasks[first - 1]}"
    return f"{until} everybody got the same decision: no label was known yet to learn from."


def beside(run: RunView) -> dict[str, Any]:
    """Put rates, gap and accuracy beside those without fairness and those of the data."""
    answer, free = run.summary["answer"], run.summary.get("without_fairness")
    notion = answer["notions"][0]
    name = (notion["fact"] or notion["columns"][0])["column"]
    groups, counts = next(c.groups for c in run.columns if c.name == name), run.counts[name]
    small = next(c["small"] for c in notion["columns"] if c["column"] == name)
    compared = [i for i, group in enumerate(groups) if group not in small]
    columns = {"These decisions": _numbers(_with_typical(answer), counts.sum(0), compared)}
    if free:
        table = run.without[name].sum(0) if name in run.without else None
        columns["Without fairness"] = _numbers(free, table, compared)
    if one_by_one := run.summary.get("alone"):
        columns["One by one"] = _numbers(one_by_one, run.alone[name], compared)
    for other in run.beside:
        theirs = _numbers(
            _with_typical(other.summary["answer"]), other.counts[name].sum(0), compared
        )
        columns[other_name(other).replace("the paper", "The paper", 1)] = theirs
    if not why_unmeasured(counts) and answer["labelled"]:
        columns["The data (labels)"] = _numbers(_of_labels(answer), _labels(counts), compared)
    decided = phrases.decided(answer["favourable"])
    shown = compared if len(compared) <= MOST_GROUPS else []
    heads = [f"{decided[0].upper()}{decided[1:]}, of 100"]
    heads += [f"… of 100 {phrases.group_words(groups[i], name)}" for i in shown]
    heads += [f"Gap by {name}, points", "Lowest rate in % of the highest (four-fifths: 80)"]
    heads += ["Typical gap within a task, points", "Accuracy", "Balanced accuracy"]
    rows = zip(heads, *(_cells(one, len(shown)) for one in columns.values()), strict=True)
    return {"columns": list(columns), "rows": list(rows)}


def _labels(counts: np.ndarray) -> np.ndarray:
    """Return counts as if everybody with a label had been decided about by it."""
    known = metrics.labelled(counts).sum((0, 3))  # (k, label)
    table = np.zeros((len(known), 2, 2), int)
    table[:, 0, 0], table[:, 1, 1] = known[:, 0], known[:, 1]
    return table


def _of_labels(answer: Mapping[str, Any]) -> dict[str, Any]:
    unknown = dict.fromkeys(("accuracy", "balanced_accuracy", "typical"))
    return {"positive_share": answer["label_share"], **unknown}


def _with_typical(answer: Mapping[str, Any]) -> dict[str, Any]:
    return {**answer, "typical": typical_gap(answer["notions"][0])}


def _numbers(
    facts: Mapping[str, Any], table: np.ndarray | None, compared: Sequence[int]
) -> dict[str, Any]:
    rates = [] if table is None else metrics.selection_rates(table)[list(compared)].tolist()
    rated = [one for one in rates if known(one)]
    low, high = (min(rated), max(rated)) if len(rated) > 1 else (np.nan, np.nan)
    ratio = low / high if high else np.nan
    return {**facts, "rates": rates, "gap": high - low, "ratio": ratio}


def _cells(found: Mapping[str, Any], shown: int) -> list[str]:
    rates = found["rates"][:shown] or [np.nan] * shown
    numbers = [found["positive_share"], *rates, found["gap"], found["ratio"], found["typical"]]
    return [*map(in_points, numbers), rate(found["accuracy"]), rate(found["balanced_accuracy"])]
