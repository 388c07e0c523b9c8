"""The answer in words and as rows of a table, for terminal, report and model card alike."""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from ffml.metrics.alarm import alarm_sentence
from ffml.report._asked import asked_words, bound_of, verdict_sentence
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
        said.append(f"Asked for: {asked_words(notion['notion'], bound_of(notion))}.")
        if notion.get("min_ratio") is not None:
            said += [_ratio_sentence(column) for column in notion["columns"]]
        said += [_got_sentence(column) for column in notion["columns"]]
        if notion["verdict"] is not None:
            said.append(verdict_sentence(notion))
    said += [_of_scores(*one) for one in summary["answer"]["of_scores"]]
    said += [alarm_sentence(one) for one in summary.get("alarms", ())]
    said.append(_right_sentence(part))
    if found := summary.get("without_fairness"):
        ratios = any(notion.get("min_ratio") is not None for notion in part["notions"])
        said.append(_without_sentence(found, ratios))
    extra = summary.get("extra", {})
    return said + ([_trust_sentence(extra["trust"])] if "trust" in extra else [])


def _trust_sentence(trust: float) -> str:
    """Say whether adapting to a task's own labels has paid.

    >>> _trust_sentence(0.0)
    'Adapting to the labels of each task did not pay: one model serves all tasks.'
    """
    if trust == 0:
        return "Adapting to the labels of each task did not pay: one model serves all tasks."
    if trust == 1:
        return "Labels of a task count as much as those of the tasks before: tasks are much alike."
    return (
        f"Adapting to each task pays: each of its labels counts as much as {trust:g} of the tasks "
        "before."
    )


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


def _ratio_sentence(column: Mapping[str, Any]) -> str:
    ratio = column["ratio"]
    if ratio is None or column["unmeasured"] or not _finite(ratio["value"]):
        return f"The ratio by {column['column']} could not be measured."
    return (
        f"Got by {column['column']}: the lower rate is {ratio_words(ratio)} of the higher"
        f" ({compared_words(ratio, column)})."
    )


def ratio_words(ratio: Mapping[str, Any]) -> str:
    """Write a ratio with its interval.

    >>> ratio_words({"value": 0.843, "low": 0.81, "high": 0.87})
    '84.3 % (95 % interval 81.0 to 87.0)'
    """
    known = points_interval(*(_number(ratio[end]) for end in ("low", "high")))
    return f"{points(_number(ratio['value']))} %" + (f" (95 % interval {known})" if known else "")


def compared_words(found: Mapping[str, Any], column: Mapping[str, Any]) -> str:
    """Say who is compared with whom."""
    groups = [group["group"] for group in column["rates"][0]["groups"]]
    others = groups[0] if len(groups) == 2 else "the others"
    return f"{found['comparison']} against {others}"


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


def _without_sentence(found: Mapping[str, Any], ratios: bool) -> str:
    gaps = (points(_number(found.get(kind))) for kind in ("long_run", "typical"))
    accuracies = (rate(_number(found.get(kind))) for kind in ("accuracy", "balanced_accuracy"))
    long_run, typical = gaps
    accuracy, balanced = accuracies
    ratio = f" lower rate {points(_number(found.get('ratio')))} % of the higher," if ratios else ""
    return (
        f"The same learner without fairness:{ratio} long-run gap {long_run} points, typical gap"
        f" {typical}, accuracy {accuracy}, balanced accuracy {balanced}, and"
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
            found += _rate_rows(columns)
            if notions[0].get("min_ratio") is not None:
                found += _measured_rows(columns, {"ratio": "lower rate in % of the higher,"})
            found += _measured_rows(columns, {"long_run": "long-run gap", "typical": "typical gap"})
        if (bound := bound_of(notions[0])) is not None:
            asked = asked_words(notions[0]["notion"], bound)
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


def _measured_rows(columns: tuple[Mapping[str, Any], ...], names: Mapping[str, str]) -> list[Row]:
    found = []
    for kind, name in names.items():
        cells = [_cell(column[kind], column["unmeasured"]) for column in columns]
        found.append(Row(f"{name} by {columns[0]['column']}", *cells))
    return found


def _cell(gap: Mapping[str, Any] | None, unmeasured: str) -> str:
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
