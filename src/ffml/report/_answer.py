"""The answer in words and as rows of a table, for terminal, report and model card alike."""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from ffml.online.alarm import alarm_sentence
from ffml.online.metrics import NOTIONS
from ffml.online.promise import KEPT, MIN_ROUNDS, NOT_KEPT
from ffml.report._numbers import UNDEFINED, listed, points, points_interval, rate

PARTS = ("last_third", "all")
MOST_GROUPS = 6  # of a column that are listed one by one
Part = Mapping[str, Any]


class Row(NamedTuple):
    """A line of the table: what it is, in the last third of the rounds, and in all of them."""

    what: str
    last_third: str
    all: str


def sentences(summary: Mapping[str, Any]) -> list[str]:
    """Say rates, the gap asked for and got, whether it was kept, and how often it was right."""
    part = summary["answer"]["last_third"]
    judged = f"{part['people']:,} {'person was' if part['people'] == 1 else 'people were'} judged"
    said = [f"In the last third of the stream ({rounds_words(part)}), {judged}."]
    for notion in part["notions"]:
        said += [rates_sentence(c["column"], r) for c in notion["columns"] for r in c["rates"]]
        said.append(f"Asked for: {asked_words(notion['notion'], notion['max_gap'])}.")
        said += [_got_sentence(column) for column in notion["columns"]]
        if notion["verdict"] is not None:
            said.append(verdict_sentence(notion))
    said += [_of_scores(*one) for one in summary["answer"]["of_scores"]]
    said += [alarm_sentence(one) for one in summary.get("alarms", ())]
    said.append(_right_sentence(part))
    if found := summary.get("without_fairness"):
        said.append(_without_sentence(found))
    return said + list(summary.get("remarks", ()))


def rates_sentence(column: str, rates: Mapping[str, Any]) -> str:
    """Write the rates of a column's groups, of many the lowest and the highest.

    >>> groups = [{"group": "F", "rate": 0.306}, {"group": "M", "rate": 0.307}]
    >>> rates_sentence("sex", {"label": 1, "groups": groups})
    'By sex, 30.6 of 100 F and 30.7 of 100 M with label 1 were decided positively.'
    """
    among = "" if rates["label"] is None else f" with label {rates['label']}"
    known = [group for group in rates["groups"] if _finite(group["rate"])]
    if not known:
        return f"By {column}, nobody{among} was judged."
    if len(known) > 2:
        ends = sorted(known, key=lambda group: group["rate"])
        known = [ends[0], ends[-1]]
    each = [f"{hundred(group['rate'])} {group['group']}" for group in known]
    more = len(rates["groups"]) > 2
    which = f" (the lowest and the highest of {len(rates['groups'])} groups)" if more else ""
    return f"By {column}, {listed(each)}{among} were decided positively{which}."


def asked_words(notion: str, max_gap: float | None) -> str:
    """Name what was asked for; the gap of a notion of scores has no unit.

    >>> asked_words("equal-opportunity", 0.05), asked_words("dbc", 0.02)
    ('equal opportunity within 5 points', 'dbc within 0.02')
    """
    if max_gap is None:
        return "no fairness"
    gap = f"{100 * max_gap:g} points" if notion in NOTIONS else f"{max_gap:g}"
    return f"{notion.replace('-', ' ')} within {gap}"


def verdict_sentence(notion: Mapping[str, Any]) -> str:
    """Say whether the gap was kept, and if that cannot be told, why."""
    verdict, most = notion["verdict"], f"{100 * notion['max_gap']:g} points"
    if verdict == KEPT:
        return f"Kept: both gaps are within {most}, and so are their 95 % intervals."
    if verdict == NOT_KEPT:
        return f"Not kept: the 95 % interval of a gap lies beyond {most}."
    return f"Whether it was kept cannot be told yet: {_why(notion)}."


def _why(notion: Mapping[str, Any]) -> str:
    if why := next((c["unmeasured"] for c in notion["columns"] if c["unmeasured"]), ""):
        return why
    gaps = [c[kind] for c in notion["columns"] for kind in ("long_run", "typical")]
    rounds = min(gap["rounds"] for gap in gaps)
    if rounds < MIN_ROUNDS:
        return f"that takes {MIN_ROUNDS} rounds, and {rounds} could be measured"
    within = all(abs(gap["value"]) <= notion["max_gap"] for gap in gaps)
    where = (
        "both gaps are within it, but not their whole 95 % intervals"
        if within
        else "a gap is beyond it, but not its whole 95 % interval"
    )
    return f"{where}; that takes more people or rounds"


def _got_sentence(column: Mapping[str, Any]) -> str:
    if column["long_run"] is None or column["unmeasured"]:
        return f"The gap by {column['column']} could not be measured ({column['unmeasured']})."
    typical = f"of {gap_words(column['typical'])}"
    if column["typical"]["value"] == 0:  # on few rows that is not the absence of a gap
        most = points(_number(column["typical"]["high"]))
        typical = f"that cannot be told from chance, which leaves room for up to {most} points"
    return (
        f"Got by {column['column']}: a long-run gap of {gap_words(column['long_run'])}, and a"
        f" typical gap within a task {typical}."
    )


def gap_words(gap: Mapping[str, Any]) -> str:
    """Write a gap with its interval.

    >>> gap_words({"value": -0.011, "low": -0.03, "high": 0.01})
    '−1.1 points (95 % interval −3.0 to 1.0)'
    """
    known = points_interval(*(_number(gap[end]) for end in ("low", "high")))
    return f"{points(_number(gap['value']))} points" + (
        f" (95 % interval {known})" if known else ""
    )


def _right_sentence(part: Part) -> str:
    return (
        f"Accuracy {rate(_number(part['accuracy']))}, balanced accuracy"
        f" {rate(_number(part['balanced_accuracy']))}; {hundred(part['positive_share'])} decisions"
        f" were positive, and {hundred(part['label_share'])} labels."
    )


def _without_sentence(found: Mapping[str, Any]) -> str:
    gaps = (points(_number(found.get(kind))) for kind in ("long_run", "typical"))
    accuracies = (rate(_number(found.get(kind))) for kind in ("accuracy", "balanced_accuracy"))
    long_run, typical = gaps
    accuracy, balanced = accuracies
    return (
        f"The same learner without fairness: long-run gap {long_run} points, typical gap {typical},"
        f" accuracy {accuracy}, balanced accuracy {balanced}, and"
        f" {hundred(found.get('positive_share'))} decisions positive."
    )


def _of_scores(notion: str, most: float | None) -> str:
    asked = asked_words(notion, most)
    return f"Asked for: {asked}, which is about scores; the rates above are of decisions."


def rows(summary: Mapping[str, Any]) -> list[Row]:
    """Return the same as lines of a table, all rounds beside the last third."""
    parts = [summary["answer"][part] for part in PARTS]
    found = [
        Row("rounds", *(rounds_words(part).removeprefix("rounds ") for part in parts)),
        Row("people judged", *(f"{part['people']:,}" for part in parts)),
    ]
    for notions in zip(*(part["notions"] for part in parts), strict=True):
        for columns in zip(*(notion["columns"] for notion in notions), strict=True):
            found += _rate_rows(columns) + _gap_rows(columns)
        if notions[0]["max_gap"] is not None:
            asked = asked_words(notions[0]["notion"], notions[0]["max_gap"])
            verdicts = (notion["verdict"] for notion in notions)
            found.append(Row(f"{asked}: kept?", *verdicts))
    for name in ("accuracy", "balanced_accuracy"):
        numbers = (rate(_number(part[name])) for part in parts)
        found.append(Row(name.replace("_", " "), *numbers))
    for name, what in (("positive_share", "decisions"), ("label_share", "labels")):
        found.append(Row(f"positive {what}", *(hundred(part[name]) for part in parts)))
    return found


def _rate_rows(columns: tuple[Mapping[str, Any], ...]) -> list[Row]:
    """Return a line for each group; of many groups, the lowest and the highest."""
    found = []
    for rates in zip(*(column["rates"] for column in columns), strict=True):
        among = "" if rates[0]["label"] is None else f", label {rates[0]['label']}"
        by_part = [{g["group"]: g["rate"] for g in one["groups"]} for one in rates]
        names = list(by_part[1])
        if len(names) > MOST_GROUPS:
            order = sorted(names, key=lambda name: _number(by_part[1][name]))
            names = [order[0], order[-1]]
        found += [
            Row(
                f"{columns[0]['column']} {name}{among}: decided positively",
                *(hundred(one.get(name)) for one in by_part),
            )
            for name in names
        ]
    return found


def _gap_rows(columns: tuple[Mapping[str, Any], ...]) -> list[Row]:
    found = []
    for kind, name in (("long_run", "long-run gap"), ("typical", "typical gap")):
        cells = [_gap_cell(column[kind], column["unmeasured"]) for column in columns]
        found.append(Row(f"{name} by {columns[0]['column']}", *cells))
    return found


def _gap_cell(gap: Mapping[str, Any] | None, unmeasured: str) -> str:
    if gap is None or unmeasured or not _finite(gap["value"]):
        return UNDEFINED
    known = points_interval(*(_number(gap[end]) for end in ("low", "high")))
    return points(gap["value"]) + (f" ({known})" if known else "")


def rounds_words(part: Part) -> str:
    """Name the rounds."""
    first, last = part["first_round"], part["last_round"]
    return f"rounds {first} to {last}" if first < last else f"round {last}"


def hundred(share: float | None) -> str:
    """Write a share as so many of 100.

    >>> hundred(0.3071), hundred(None)
    ('30.7 of 100', '—')
    """
    return f"{100 * share:.1f} of 100" if share is not None and _finite(share) else UNDEFINED


def _number(value: float | None) -> float:
    return math.nan if value is None else value


def _finite(value: float | None) -> bool:
    return value is not None and math.isfinite(value)
