"""The tiles on top of the page: the answer in a few large numbers."""

from collections.abc import Mapping
from typing import Any

from ffml.metrics import phrases
from ffml.metrics.phrases import hundred, in_points, known
from ffml.report._view import RunView
from ffml.report.answer import MOST_GROUPS, rate

_KINDS = {
    "long_run": ("Long-run gap within tasks", "Mean of the signed gaps; opposite ones cancel."),
    "typical": ("Typical gap", "How far apart groups are within a task, chance taken out."),
}


def tiles(run: RunView) -> list[dict[str, Any]]:
    """Return rates, gaps, accuracy, the share of positive decisions, and without fairness."""
    answer = run.summary["answer"]
    notion = answer["notions"][0]
    column = _decisive(notion)
    found = [_rates_tile(fact, answer["favourable"]) for fact in column["facts"]]
    found += [_apart_tile(fact, notion, column) for fact in column["facts"]]
    found += [_gap_tile(kind, notion, column) for kind in _KINDS]
    found += [_accuracy_tile(answer), _share_tile(answer)]
    if without := run.summary.get("without_fairness"):
        found.append(_without_tile(without))
    return found


def verdicts(run: RunView) -> list[dict[str, str]]:
    """Return what was asked for with its verdict, one line for each notion."""
    answer = run.summary["answer"]
    return [
        {
            "asked": phrases.asked_words(notion["notion"], phrases.bound_of(notion)),
            "verdict": notion["verdict"],
            "kind": notion["verdict"].replace(" ", "-"),
            "where": f"{answer['people']:,} people decided in rounds 1 to {answer['rounds']}",
        }
        for notion in answer["notions"]
        if notion["verdict"] is not None
    ]


def _decisive(notion: Mapping[str, Any]) -> Mapping[str, Any]:
    """Find the column of the fact that answers."""
    name = (notion["fact"] or {}).get("column")
    return next((c for c in notion["columns"] if c["column"] == name), notion["columns"][0])


def _rates_tile(fact: Mapping[str, Any], favourable: str) -> dict[str, Any]:
    groups = sorted(fact["groups"], key=lambda g: -(g["rate"] or 0.0))
    hidden = len(groups) - MOST_GROUPS
    if hidden > 0:
        groups = [groups[0], groups[-1]]
    decided = phrases.were_decided(favourable).removeprefix("were ")
    among = phrases.whom_words(fact["label"], favourable)
    return {
        "label": f"{decided[0].upper()}{decided[1:]}, by {fact['column']}{among}",
        "bars": [
            {
                "name": group["group"],
                "rate": hundred(group["rate"]),
                "width": _percent(group["rate"]) or "0",
            }
            for group in groups
        ],
        "note": f"Highest and lowest of {hidden + MOST_GROUPS} groups" if hidden > 0 else "",
    }


def _apart_tile(
    fact: Mapping[str, Any], notion: Mapping[str, Any], column: Mapping[str, Any]
) -> dict[str, Any]:
    """Show the fact; beside it, between which ends the rule lies."""
    by_ratio, pooled = notion.get("min_ratio") is not None, column["pooled"]
    label = f"Lowest rate in % of the highest, by {fact['column']}" if by_ratio else ""
    tile: dict[str, Any] = {
        "label": label or f"Gap by {fact['column']}",
        "value": f"{in_points(fact['ratio'])} %"
        if by_ratio
        else f"{in_points(fact['gap'])} points",
        "main": "" if phrases.bound_of(notion) is None else f"Asked: {phrases.limit_words(notion)}",
        "note": "Among everybody decided so far: a fact.",
    }
    if not known(fact["gap"]):
        return tile | {"value": "undefined", "main": column["unmeasured"].capitalize()}
    tile["note"] += f" {fact['highest']} above {fact['lowest']}."
    if by_ratio:
        gauge = {"fill": _percent(fact["ratio"]), "mark": _percent(notion["min_ratio"])}
        return tile | {"gauge": gauge}
    if known(pooled["high"]):
        tile["note"] += f" The rule: {in_points(pooled['low'])} to {in_points(pooled['high'])}."
        tile["scale"] = _scale(pooled, notion["max_gap"])
    return tile


def _gap_tile(kind: str, notion: Mapping[str, Any], column: Mapping[str, Any]) -> dict[str, Any]:
    label, meaning = _KINDS[kind]
    gap, most = column[kind], notion["max_gap"]
    tile = {"label": f"{label} by {column['column']}", "note": meaning}
    if not known(gap["value"]):
        why = column["unmeasured"] or "nobody can be compared within a task"
        return tile | {"value": "undefined", "main": why.capitalize()}
    told = known(gap["high"])
    # No gap beyond chance on few rows is not the absence of one.
    shown = in_points(gap["value"]) if gap["value"] or not told else f"≤ {in_points(gap['high'])}"
    asked = "" if most is None else f"Asked: at most {100 * most:g}. "
    ends = f"Interval {in_points(gap['low'])} to {in_points(gap['high'])}" if told else ""
    direction = f" {gap['higher']} above {gap['lower']}." if kind == "long_run" else ""
    tile |= {"value": f"{shown} points", "main": f"{asked}{ends}", "note": f"{meaning}{direction}"}
    return tile | ({"scale": _scale(gap, most)} if told else {})


def _scale(gap: Mapping[str, Any], most: float | None) -> dict[str, str]:
    """Place a gap, its interval and what was asked for on a line that begins with 0."""
    reach = 1.1 * max([gap["high"], gap["value"]] + ([] if most is None else [1.5 * most])) or 1.0

    def place(value: float) -> float:
        return 100 * max(value, 0.0) / reach

    found = {
        "zero": "0.0",
        "left": f"{place(gap['low']):.1f}",
        "width": f"{place(gap['high']) - place(gap['low']):.1f}",
        "dot": f"{place(gap['value']):.1f}",
    }
    return found if most is None else found | {"start": "0.0", "span": f"{place(most):.1f}"}


def _accuracy_tile(answer: Mapping[str, Any]) -> dict[str, Any]:
    if answer["unmeasured"]:
        why = answer["unmeasured"].capitalize()
        return {"label": "Balanced accuracy", "value": "cannot be measured", "note": f"{why}."}
    return {
        "label": "Balanced accuracy",
        "value": rate(answer["balanced_accuracy"]),
        "main": f"Accuracy {rate(answer['accuracy'])}",
        "note": f"Among the {answer['labelled']:,} with a label. Deciding by a coin has a balanced"
        " accuracy of 0.5.",
        "gauge": {"fill": _percent(answer["balanced_accuracy"]), "mark": "50"},
    }


def _share_tile(answer: Mapping[str, Any]) -> dict[str, Any]:
    share, labels = answer["positive_share"], answer["label_share"]
    return {
        "label": "Positive decisions",
        "value": hundred(share),
        "main": f"Positive labels: {hundred(labels)}",
        "note": f"Of {answer['people']:,} people decided so far.",
        "gauge": {"fill": _percent(share), "mark": _percent(labels)},
    }


def _without_tile(found: Mapping[str, Any]) -> dict[str, Any]:
    gap, typical, ratio = (in_points(found.get(kind)) for kind in ("gap", "typical", "ratio"))
    return {
        "label": "The same learner without fairness",
        "value": f"{gap} points",
        "main": f"Lowest rate {ratio} % of the highest; typical gap {typical}",
        "note": f"Balanced accuracy {rate(found.get('balanced_accuracy'))}, accuracy "
        f"{rate(found.get('accuracy'))}, {hundred(found.get('positive_share'))} decided "
        "favourably.",
    }


def _percent(value: float | None) -> str | None:
    """Return a width or a place in per cent for the style sheet."""
    return f"{100 * min(max(value, 0.0), 1.0):.1f}" if value is not None and known(value) else None
