"""The answer in words, the same wherever it is said: terminal, report, card, gate and audit.

`sentences` is all of it in short. `ffml.report.answer` says more.
"""

from collections.abc import Mapping
from typing import Any

from ffml.base import Ratio
from ffml.metrics._gaps import NOTIONS
from ffml.metrics._rule_words import NOBODY, rule_sentence
from ffml.metrics.alarm import alarm_sentence
from ffml.metrics.phrases import (
    asked_words,
    bound_of,
    group_words,
    hundred,
    in_points,
    known,
    limit_words,
    were_decided,
    whom_words,
)
from ffml.metrics.verdict import WORST_FIRST

_NO_RATIO = "no rate is above 0, so that there is no ratio"


def sentences(answer: Mapping[str, Any], free: Mapping[str, Any] | None = None) -> list[str]:
    """Say the answer in short: fact, verdict, an alarm, how often it was right, what is not known.

    Args:
        answer: see `ffml.metrics.answer.answer`.
        free: numbers of the same learner without fairness, where they are known.
    """
    first, *others = sorted(answer["notions"], key=lambda one: WORST_FIRST.index(one["verdict"]))
    said = verdict_sentences(answer, first)
    for notion in others:
        name = asked_words(notion["notion"], bound_of(notion))
        told = notion["verdict"] or apart_words(notion["fact"], notion)
        said.append(f"{name[:1].upper()}{name[1:]}: {told}.")
    for name, most in answer["of_scores"]:
        said.append(f"{asked_words(name, most)} is about scores; the rates are of decisions.")
    said.append(outcome_sentence(answer, free))
    return [*said, *filter(None, [unknown_sentence(answer)])]


def verdict_sentences(answer: Mapping[str, Any], notion: Mapping[str, Any]) -> list[str]:
    """Say the fact, the verdict, and an alarm that was raised."""
    said = [fact_sentence(answer, notion)]
    if notion["verdict"] is not None:
        said.append(rule_sentence(answer, notion))
    alarm = notion["alarm"]
    if alarm is not None and alarm["round"] is not None:
        said.append(alarm_sentence(alarm, limit_words(notion)))
    return said


def rates_words(fact: Mapping[str, Any], favourable: str, outcome: str | None = None) -> str:
    """Write the rates of a column's groups, of many the highest and the lowest.

    Args:
        fact: see `ffml.metrics.facts.fact`.
        favourable: the favourable decision.
        outcome: the favourable label, if it is called otherwise.
    """
    rated = sorted(
        (group for group in fact["groups"] if known(group["rate"])), key=lambda g: -g["rate"]
    )
    among = whom_words(fact["label"], favourable if outcome is None else outcome)
    if not rated:
        return f"by {fact['column']}, nobody{among} was decided about"
    ends = [rated[0], rated[-1]] if len(rated) > 1 else rated
    each = " and ".join(
        f"{hundred(one['rate'])} {group_words(one['group'], fact['column'])}" for one in ends
    )
    which = f", the highest and the lowest of {len(rated)} groups" if len(rated) > 2 else ""
    return f"{each}{among} {were_decided(favourable)} (by {fact['column']}{which})"


def apart_words(fact: Mapping[str, Any], notion: Mapping[str, Any]) -> str:
    """Say how far apart the rates are, and what was allowed."""
    bound = bound_of(notion)
    if not known(fact["gap"]):
        return NOBODY
    if isinstance(bound, Ratio):
        share = in_points(fact["ratio"], bound.least)
        asked = f"you asked for {100 * bound.least:g} %"
        if not known(fact["ratio"]):
            return f"{_NO_RATIO}; {asked}"
        return f"the lowest rate is {share} % of the highest, {asked}"
    apart = f"{in_points(fact['gap'], bound)} points apart"
    return apart if bound is None else f"{apart}, you allowed {100 * bound:g}"


def fact_sentence(answer: Mapping[str, Any], notion: Mapping[str, Any]) -> str:
    """Say the fact: everybody decided about, the rates furthest apart, and what was allowed."""
    people, fact, labels = answer["people"], notion["fact"], NOTIONS[notion["notion"]] != (None,)
    if fact is None:
        return f"{_capital(notion['notion'])} cannot be measured: {notion['unmeasured']}."
    so_far = f"Of {_people(people)} decided so far"
    if labels:
        so_far = f"Of the {answer['labelled']:,} with a label among {_people(people)} decided"
    rates = rates_words(fact, answer["favourable"], answer.get("outcome"))
    return f"{so_far}, {rates}: {apart_words(fact, notion)}."


def outcome_sentence(answer: Mapping[str, Any], free: Mapping[str, Any] | None = None) -> str:
    """Say how many were decided favourably and how often that was right, beside the data."""
    said = f"{hundred(answer['positive_share'])} {were_decided(answer['favourable'])}"
    if known(answer["label_share"]):
        said += f" ({in_points(answer['label_share'])} by the labels)"
    if answer["unmeasured"]:
        return f"{said}; how many decisions were right cannot be measured: {answer['unmeasured']}."
    beside = f"{in_points(answer['constant_accuracy'])} by one decision for everybody"
    if free and known(free["accuracy"]):
        beside = f"{in_points(free['accuracy'])} without fairness, {beside}"
    whose = " with a label" if answer["labelled"] < answer["people"] else ""
    return f"{said}; {hundred(answer['accuracy'])} decisions{whose} were right ({beside})."


def unknown_sentence(answer: Mapping[str, Any]) -> str:
    """Say what is not known: labels, and whom nobody could be compared with; empty if all is."""
    missing = answer["people"] - answer["labelled"]
    parts = [f"the labels of {_people(missing)}"] if missing else []
    columns = {one["column"]: one for notion in answer["notions"] for one in notion["columns"]}
    for name, column in columns.items():
        if column.get("unknown"):
            parts.append(f"the {name} of {_people(column['unknown'])}, who are in no rate by it")
        if column["small"]:
            parts.append(f"rates of groups too small to tell ({', '.join(column['small'])})")
        share = column["compared_share"]
        if answer["by_task"] and share < 0.95:
            parts.append(
                f"gaps within tasks for {100 * (1 - share):.0f} % of the people, who met no other"
                f" group by {name}"
            )
    return f"Not known: {'; '.join(parts)}." if parts else ""


def compared_sentences(notion: Mapping[str, Any], by_task: bool) -> list[str]:
    """Say whom the comparison leaves out: people alone in their task, groups too small to tell."""
    lines = []
    for column in notion["columns"]:
        if by_task and column["compared_share"] < 0.95:
            lines.append(
                f"By {column['column']}, {100 * column['compared_share']:.0f} % of the people could"
                " be compared with others of their task; the rest count in the pooled rates."
            )
        if column["small"]:
            lines.append(
                f"Too small to tell, and not compared ({column['column']}):"
                f" {', '.join(column['small'])}."
            )
    return lines


def now_lines(answer: Mapping[str, Any], due: str = "") -> list[str]:
    """Say first what happened now, then the verdict on all that was.

    Args:
        answer: see `ffml.metrics.answer.answer`.
        due: when the labels of the newest round are due, if that is known.
    """
    now, favourable = answer["now"], answer["favourable"]
    if now is None:
        return ["Nobody has been decided about yet."]
    parts = [
        f"{_people(now['people'])} decided",
        f"{hundred(now['positive_share'])} {were_decided(favourable)}",
    ]
    for notion in now["notions"]:
        parts += [
            _now_part(one, notion, answer.get("outcome", favourable)) for one in notion["facts"]
        ]
    missing = now["people"] - now["labelled"]
    if missing:
        parts.append(f"labels of {missing:,} due{f' {due}' if due else ''}")
    worst = min(answer["notions"], key=lambda one: WORST_FIRST.index(one["verdict"]))
    return [f"{now['task']}: {'; '.join(parts)}.", *verdict_sentences(answer, worst)]


def _now_part(fact: Mapping[str, Any], notion: Mapping[str, Any], outcome: str) -> str:
    each = ", ".join(f"{g['group']} {hundred(g['rate'])}" for g in fact["groups"])
    bound = bound_of(notion)
    if not known(fact["gap"]):
        apart = NOBODY
    elif isinstance(bound, Ratio):
        apart = f"lowest {in_points(fact['ratio'], bound.least)} % of the highest"
        apart = apart if known(fact["ratio"]) else _NO_RATIO
        apart += f" (asked {100 * bound.least:g})"
    else:
        asked = "" if bound is None else f" (asked {100 * bound:g})"
        apart = f"gap {in_points(fact['gap'], bound)} points{asked}"
    small = f", too few to tell: {', '.join(fact['small'])}" if fact["small"] else ""
    return f"by {fact['column']}{whom_words(fact['label'], outcome)}: {each}, {apart}{small}"


def _people(count: int) -> str:
    return f"{count:,} {'person' if count == 1 else 'people'}"


def _capital(notion: str) -> str:
    name = notion.replace("-", " ")
    return name[:1].upper() + name[1:]
