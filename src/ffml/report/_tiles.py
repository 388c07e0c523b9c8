"""The tiles on top of the page: the answer in a few large numbers."""

import math
from collections.abc import Mapping
from typing import Any

from ffml.metrics.promise import VERDICTS
from ffml.report._answer import MOST_GROUPS, compared_words, hundred, rounds_words
from ffml.report._asked import asked_words, bound_of
from ffml.report._files import Run
from ffml.report._numbers import points, points_interval, rate

_KINDS = {
    "long_run": ("Long-run gap", "Mean of the signed gaps; opposite ones cancel."),
    "typical": ("Typical gap", "How far apart groups are within a task, chance taken out."),
}


def tiles(run: Run) -> list[dict[str, Any]]:
    """Return rates, both gaps, accuracy, the share of positive decisions, and without fairness."""
    last, ever = (run.summary["answer"][part] for part in ("last_third", "all"))
    place, (notion, column) = _decisive(last)
    before = ever["notions"][place[0]]["columns"][place[1]]
    found = [_rates_tile(column, rates) for rates in column["rates"]]
    if notion.get("min_ratio") is not None:
        found.append(_ratio_tile(notion["min_ratio"], column, before))
    found += [_gap_tile(kind, notion, column, before) for kind in _KINDS]
    found += [_accuracy_tile(last, ever), _share_tile(last, ever)]
    if without := run.summary.get("without_fairness"):
        found.append(_without_tile(without, notion.get("min_ratio") is not None))
    return found


def _decisive(part: Mapping[str, Any]) -> tuple[tuple[int, int], tuple[Any, Any]]:
    """Find the notion and the column with the worst verdict, then with the largest typical gap."""
    places = {
        (i, j): (notion, column)
        for i, notion in enumerate(part["notions"])
        for j, column in enumerate(notion["columns"])
    }

    def how_good(place: tuple[int, int]) -> tuple[int, float]:
        column = places[place][1]
        verdict = column["verdict"]
        typical = (column["typical"] or {}).get("value")
        return VERDICTS.index(verdict) if verdict else 0, -(typical or 0.0)

    worst = min(places, key=how_good)
    return worst, places[worst]


def _rates_tile(column: Mapping[str, Any], rates: Mapping[str, Any]) -> dict[str, Any]:
    groups = sorted(rates["groups"], key=lambda g: -(g["rate"] or 0.0))
    hidden = len(groups) - MOST_GROUPS
    if hidden > 0:
        groups = [groups[0], groups[-1]]
    among = "" if rates["label"] is None else f", among label {rates['label']}"
    return {
        "label": f"Decided positively, by {column['column']}{among}",
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


def _gap_tile(
    kind: str, notion: Mapping[str, Any], column: Mapping[str, Any], before: Mapping[str, Any]
) -> dict[str, Any]:
    label, meaning = _KINDS[kind]
    gap, most = column[kind], notion["max_gap"]
    tile = {"label": f"{label} by {column['column']}", "note": meaning}
    if gap is None or column["unmeasured"] or gap["value"] is None:
        return tile | {"value": "undefined", "main": column["unmeasured"].capitalize()}
    known = points_interval(gap["low"], gap["high"])
    ever = before[kind]["value"] if before[kind] and not before["unmeasured"] else None
    # No gap beyond chance on few rows is not the absence of one.
    shown = points(gap["value"]) if gap["value"] else f"≤ {points(gap['high'])}"
    asked = "" if most is None else f"Asked: at most {100 * most:g}. "
    return tile | {
        "value": f"{shown} points",
        "main": f"{asked}Interval {known}",
        "note": f"{meaning} {compared_words(gap, column)}. All rounds: "
        f"{points(math.nan if ever is None else ever)}.",
        "scale": _scale(gap, most, signed=kind == "long_run"),
    }


def _ratio_tile(
    least: float, column: Mapping[str, Any], before: Mapping[str, Any]
) -> dict[str, Any]:
    ratio, ever = column["ratio"], (before["ratio"] or {}).get("value")
    tile = {
        "label": f"Lower rate in % of the higher, by {column['column']}",
        "note": "The lower rate of positive decisions as a share of the higher, all people pooled.",
    }
    if ratio is None or column["unmeasured"] or ratio["value"] is None:
        return tile | {"value": "undefined", "main": column["unmeasured"].capitalize()}
    return tile | {
        "value": f"{points(ratio['value'])} %",
        "main": f"Asked: at least {100 * least:g} %. Interval "
        f"{points_interval(ratio['low'], ratio['high'])}",
        "note": f"{tile['note']} {compared_words(ratio, column)}. All rounds: {_points(ever)} %.",
        "gauge": {"fill": _percent(ratio["value"]), "mark": _percent(least)},
    }


def _scale(gap: Mapping[str, Any], most: float | None, signed: bool) -> dict[str, str]:
    """Place a gap, its interval and what was asked for on a line; 0 is its middle or its start."""
    ends = [abs(gap["low"]), abs(gap["high"]), abs(gap["value"])]
    reach = 1.1 * max(ends + ([] if most is None else [1.5 * most])) or 1.0

    def place(value: float) -> float:
        return 50 + 50 * value / reach if signed else 100 * max(value, 0.0) / reach

    found = {
        "zero": f"{place(0.0):.1f}",
        "left": f"{place(gap['low']):.1f}",
        "width": f"{place(gap['high']) - place(gap['low']):.1f}",
        "dot": f"{place(gap['value']):.1f}",
    }
    if most is not None:
        found |= {"start": f"{place(-most):.1f}", "span": f"{place(most) - place(-most):.1f}"}
    return found


def _accuracy_tile(last: Mapping[str, Any], ever: Mapping[str, Any]) -> dict[str, Any]:
    accuracy, before = (_rate(part["accuracy"]) for part in (last, ever))
    return {
        "label": "Balanced accuracy",
        "value": _rate(last["balanced_accuracy"]),
        "main": f"Accuracy {accuracy}",
        "note": f"Deciding by a coin has a balanced accuracy of 0.5. All rounds: "
        f"{_rate(ever['balanced_accuracy'])}, accuracy {before}.",
        "gauge": {"fill": _percent(last["balanced_accuracy"]), "mark": "50"},
    }


def _share_tile(last: Mapping[str, Any], ever: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "label": "Positive decisions",
        "value": hundred(last["positive_share"]),
        "main": f"Positive labels: {hundred(last['label_share'])}",
        "note": f"All rounds: {hundred(ever['positive_share'])} decisions, "
        f"{hundred(ever['label_share'])} labels.",
        "gauge": {"fill": _percent(last["positive_share"]), "mark": _percent(last["label_share"])},
    }


def _without_tile(found: Mapping[str, Any], by_ratio: bool) -> dict[str, Any]:
    long_run, typical, ratio = (
        _points(found.get(kind)) for kind in ("long_run", "typical", "ratio")
    )
    return {
        "label": "The same learner without fairness",
        "value": f"{ratio} %" if by_ratio else f"{long_run} points",
        "main": f"Lower rate in % of the higher; long-run gap {long_run} points"
        if by_ratio
        else f"Long-run gap; typical gap {typical}",
        "note": f"Balanced accuracy {_rate(found.get('balanced_accuracy'))}, accuracy "
        f"{_rate(found.get('accuracy'))}, {hundred(found.get('positive_share'))} decisions "
        "positive.",
    }


def verdicts(run: Run) -> list[dict[str, str]]:
    """Return what was asked for with its verdict, one line for each notion."""
    part = run.summary["answer"]["last_third"]
    return [
        {
            "asked": asked_words(notion["notion"], bound_of(notion)),
            "verdict": notion["verdict"],
            "kind": notion["verdict"].replace(" ", "-"),
            "where": f"last third of the stream, {rounds_words(part)}",
        }
        for notion in part["notions"]
        if notion["verdict"] is not None
    ]


def _rate(value: float | None) -> str:
    return rate(math.nan if value is None else value)


def _points(value: float | None) -> str:
    return points(math.nan if value is None else value)


def _percent(value: float | None) -> str | None:
    """Return a width or a place in per cent for the style sheet."""
    known = value is not None and math.isfinite(value)
    return f"{100 * min(max(value, 0.0), 1.0):.1f}" if known and value is not None else None
