"""The answer in words, the same wherever it is said: terminal, report, card, gate and audit."""

from collections.abc import Mapping
from typing import Any

from ffml.base import Ratio
from ffml.metrics._gaps import NOTIONS
from ffml.metrics._intervals import MIN_TASKS
from ffml.metrics.alarm import alarm_sentence
from ffml.metrics.labels import SELECTIVE_WORDS, LabelShares, selective_sentence
from ffml.metrics.phrases import (
    UNDEFINED,
    asked_words,
    bound_of,
    hundred,
    in_points,
    known,
    limit_words,
    percent,
    policy_words,
    were_decided,
    whom_words,
)
from ffml.metrics.verdict import KEPT, NOT_KEPT, SO_FAR


def rates_words(fact: Mapping[str, Any], favourable: str) -> str:
    """Write the rates of a column's groups, of many the highest and the lowest."""
    rated = sorted(
        (group for group in fact["groups"] if known(group["rate"])), key=lambda g: -g["rate"]
    )
    among = whom_words(fact["label"], favourable)
    if not rated:
        return f"by {fact['column']}, nobody{among} was decided about"
    ends = [rated[0], rated[-1]] if len(rated) > 1 else rated
    each = " and ".join(f"{hundred(group['rate'])} {group['group']}" for group in ends)
    which = f", the highest and the lowest of {len(rated)} groups" if len(rated) > 2 else ""
    return f"{each}{among} {were_decided(favourable)} (by {fact['column']}{which})"


def apart_words(fact: Mapping[str, Any], notion: Mapping[str, Any]) -> str:
    """Say how far apart the rates are, and what was allowed."""
    bound = bound_of(notion)
    if not known(fact["gap"]):
        return "only one group has people"
    apart = f"{in_points(fact['gap'])} points apart"
    if isinstance(bound, Ratio):
        ratio = f"{in_points(fact['ratio'])} %" if known(fact["ratio"]) else "no share"
        return f"the lowest rate is {ratio} of the highest, you asked for {100 * bound.least:g} %"
    return apart if bound is None else f"{apart}, you allowed {100 * bound:g}"


def fact_sentence(answer: Mapping[str, Any], notion: Mapping[str, Any]) -> str:
    """Say the fact: everybody decided about, the rates furthest apart, and what was allowed."""
    people, fact, labels = answer["people"], notion["fact"], NOTIONS[notion["notion"]] != (None,)
    if fact is None:
        return f"{_capital(notion['notion'])} cannot be measured: {notion['unmeasured']}."
    so_far = f"Of {_people(people)} decided so far"
    if labels:
        so_far = f"Of the {answer['labelled']:,} with a label among {_people(people)} decided"
    return f"{so_far}, {rates_words(fact, answer['favourable'])}: {apart_words(fact, notion)}."


def rule_sentence(answer: Mapping[str, Any], notion: Mapping[str, Any]) -> str:
    """Say of the rule behind the fact: kept, kept so far, not kept, or what can be told."""
    verdict, limit, rule = notion["verdict"], limit_words(notion), notion["rule"]
    here = f"with more people of {'these tasks' if answer['by_task'] else 'the same kind'}"
    if verdict == NOT_KEPT:
        return f"Not kept: {_why_not(notion, here)}."
    if verdict == KEPT:
        whose = "in these tasks and in those to come" if answer["by_task"] else here
        return f"Kept: {whose}, {_within(notion, rule)}."
    if verdict == SO_FAR:
        told = f"Kept so far: {here}, {_within(notion, rule['so_far'])}."
        return f"{told} Of tasks to come it cannot be told yet: {_why_unclear(notion, rule)}."
    why = _why_unclear(notion, rule["so_far"], f"{here}, ", _is_beyond(notion))
    return f"Whether the rule behind it keeps {limit} {verdict}: {why}."


def _within(notion: Mapping[str, Any], interval: Mapping[str, Any]) -> str:
    high = interval["high"]
    if notion.get("min_ratio") is not None:
        said = f"the lowest rate is at least {in_points(1 - high)} % of the highest"
    else:
        said = f"the gap is within {in_points(high)} points"
    return f"{said} with 95 % confidence"


def _why_not(notion: Mapping[str, Any], here: str) -> str:
    """Name the first ground that there is."""
    rule, by_ratio = notion["rule"], notion.get("min_ratio") is not None
    most = 1 - notion["min_ratio"] if by_ratio else notion["max_gap"]
    for low, whose in (
        (rule["so_far"]["low"], here),
        (rule["low"], "in tasks to come"),
    ):
        if known(low) and low > most:
            gap = f"the gap is at least {in_points(low)} points"
            ratio = f"the lowest rate is at most {in_points(1 - low)} % of the highest"
            return f"{whose}, {ratio if by_ratio else gap} with 95 % confidence"
    alarm = notion["alarm"]
    whom = f"{alarm['column']}: {alarm['comparison']}"
    return f"task {alarm['task']} or one before it broke {limit_words(notion)} ({whom})"


def _is_beyond(notion: Mapping[str, Any]) -> bool:
    """Tell whether the fact itself is beyond what was asked."""
    fact, least = notion["fact"], notion.get("min_ratio")
    if fact is None or not known(fact["gap"]):
        return False
    return bool(fact["gap"] > notion["max_gap"] if least is None else fact["ratio"] < least)


def _why_unclear(
    notion: Mapping[str, Any], interval: Mapping[str, Any], whose: str = "", beyond: bool = False
) -> str:
    """Say what can be told, and what it would take to tell more."""
    if notion["unmeasured"]:
        return str(notion["unmeasured"])
    if not known(interval["high"]):
        return (
            f"that takes {MIN_TASKS} tasks or more, none with most of the people, that do not"
            " merely go on as the one before"
        )
    said, more = whose + _within(notion, interval), interval["more_people"]
    if more:
        return f"{said}; for {limit_words(notion)}, about {more:,} more people"
    within = (
        "; but the typical gap within tasks is larger"
        if not beyond and _is_told(notion, interval)
        else ""
    )
    return f"{'chance alone may have made the fact; ' if beyond else ''}{said}{within}"


def _is_told(notion: Mapping[str, Any], interval: Mapping[str, Any]) -> bool:
    least = notion.get("min_ratio")
    return bool(interval["high"] <= (notion["max_gap"] if least is None else 1 - least))


def compared_sentences(notion: Mapping[str, Any], by_task: bool) -> list[str]:
    """Say whom the comparison leaves out: people alone in their task, groups too small to tell."""
    found = []
    for column in notion["columns"]:
        if by_task and column["compared_share"] < 0.95:
            found.append(
                f"By {column['column']}, {100 * column['compared_share']:.0f} % of the people could"
                " be compared with others of their task; the rest count in the pooled rates."
            )
        if column["small"]:
            found.append(
                f"Too small to tell, and not compared ({column['column']}):"
                f" {', '.join(column['small'])}."
            )
    return found


def within_tasks_sentence(column: Mapping[str, Any]) -> str:
    """Say how far apart groups are within tasks; empty where nobody can be compared there."""
    long_run, typical = column["long_run"], column["typical"]
    if not known(long_run["value"]):
        return ""
    direction = f"{long_run['higher']} above {long_run['lower']}"
    text = (
        f"Within tasks by {column['column']}, {direction}: a long-run gap of {gap_words(long_run)}"
    )
    if not known(typical["value"]):
        return f"{text}."
    size = f"of {gap_words(typical)}"
    if typical["value"] == 0:  # on few rows that is not the absence of a gap
        most = f", which leaves room for {in_points(typical['high'])} points"
        size = "that cannot be told from chance" + (most if known(typical["high"]) else "")
    return f"{text}, and a typical gap {size}."


def gap_words(gap: Mapping[str, Any]) -> str:
    """Write a gap with the interval of the rule.

    >>> gap_words({"value": 0.011, "low": 0.0, "high": 0.03})
    '1.1 points (95 % interval 0.0 to 3.0)'
    """
    ends = f" (95 % interval {in_points(gap['low'])} to {in_points(gap['high'])})"
    return f"{in_points(gap['value'])} points" + (ends if known(gap["high"]) else "")


def labels_sentence(answer: Mapping[str, Any]) -> str:
    """Say what missing labels mean; empty where all are there."""
    if answer["unmeasured"] == SELECTIVE_WORDS:
        return selective_sentence(LabelShares(**answer["labels"]), answer["favourable"])
    missing = answer["people"] - answer["labelled"]
    if not missing:
        return ""
    return (
        f"{missing:,} of {_people(answer['people'])} have no label yet: they count wherever no"
        " label is needed."
    )


def policy_sentence(answer: Mapping[str, Any]) -> str:
    """Say who was to be decided favourably, how many were, and of how many labels are so."""
    favourable, rests = answer["favourable"], ""
    shares = f"{hundred(answer['positive_share'])} {were_decided(favourable)}"
    if known(answer["label_share"]):
        shares += f", and {hundred(answer['label_share'])} labels were so"
    if not answer["policy"]:
        return f"{shares}."
    if answer["unmeasured"] == SELECTIVE_WORDS and answer["policy"] in ("labels", "balanced"):
        rests = (
            " How many that are rests on labels that depend on the decision; `--approve` says it"
            " outright."
        )
    return f"Policy: {policy_words(answer['policy'], favourable)}. {shares}.{rests}"


def right_sentence(answer: Mapping[str, Any]) -> str:
    """Say how often decisions were right, among those with a label."""
    if answer["unmeasured"]:
        return f"Accuracy cannot be measured: {answer['unmeasured']}."
    accuracy, balanced = (answer[name] for name in ("accuracy", "balanced_accuracy"))
    decided, wrong = were_decided(answer["favourable"]), answer["wrong"]
    return (
        f"Accuracy {_rate(accuracy)}, balanced accuracy {_rate(balanced)} among the"
        f" {answer['labelled']:,} with a label: {hundred(wrong['positive'])} {decided} wrongly,"
        f" {hundred(wrong['negative'])} wrongly not.{_constant(answer)}"
    )


def _constant(answer: Mapping[str, Any]) -> str:
    """Say how often one decision for everybody would be right, where that is more often."""
    best, accuracy = answer["constant_accuracy"], answer["accuracy"]
    if not known(best) or not known(accuracy) or best <= accuracy:
        return ""
    decided = were_decided(answer["favourable"]).removeprefix("were ")
    which = decided if answer["label_share"] > 0.5 else f"not {decided}"
    return (
        f" One decision for everybody ({which}) would be right more often: accuracy {best:.3f};"
        " `--threshold accuracy` asks for the fewest errors."
    )


def extremes_sentence(answer: Mapping[str, Any]) -> str:
    """Say that fairness went by groups more than by probabilities, where it did; empty if not."""
    found = answer.get("extremes")
    if not found:
        return ""
    decided = were_decided(answer["favourable"]).removeprefix("were ")
    lowest, highest, low, high = (
        percent(found[name]) for name in ("lowest_approved", "highest_refused", "low", "high")
    )
    return (
        f"To keep the gap without knowing groups, somebody with a probability of {lowest} was"
        f" {decided} and somebody with {highest} was not; of the newest {found['people']:,} people,"
        f" {found['approved_below']:,} below {low} were, and {found['refused_above']:,} above"
        f" {high} were not. A wider gap, groups known at the decision (--decide-with-groups, where"
        " lawful) or more columns make this milder."
    )


def notion_sentences(answer: Mapping[str, Any], notion: Mapping[str, Any]) -> list[str]:
    """Say all of a notion: fact, verdict, who was compared, within tasks, and the alarm."""
    said = [fact_sentence(answer, notion)]
    if notion["verdict"] is not None:
        said.append(rule_sentence(answer, notion))
    if notion["fact"] is None:
        return said
    said += compared_sentences(notion, answer["by_task"])
    if answer["by_task"]:
        said += filter(None, map(within_tasks_sentence, notion["columns"]))
    if notion["alarm"] is not None:
        said.append(alarm_sentence(notion["alarm"], limit_words(notion)))
    return said


def now_lines(answer: Mapping[str, Any], due: str = "") -> list[str]:
    """Say first what happened now, then the past in three lines.

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
        parts += [_now_part(one, notion, favourable) for one in notion["facts"]]
    missing = now["people"] - now["labelled"]
    if missing:
        parts.append(f"labels of {missing:,} due{f' {due}' if due else ''}")
    return [f"{now['task']}: {'; '.join(parts)}.", *past_lines(answer)]


def past_lines(answer: Mapping[str, Any]) -> list[str]:
    """Say so far and ever in three lines at most."""
    worst = answer["notions"][0]
    lines = [fact_sentence(answer, worst)]
    if worst["verdict"] is not None:
        lines.append(rule_sentence(answer, worst))
    if worst["alarm"] is not None and worst["alarm"]["round"] is not None:
        lines.append(alarm_sentence(worst["alarm"], limit_words(worst)))
    return lines


def _now_part(fact: Mapping[str, Any], notion: Mapping[str, Any], favourable: str) -> str:
    each = ", ".join(f"{g['group']} {hundred(g['rate'])}" for g in fact["groups"])
    return f"by {fact['column']}{whom_words(fact['label'], favourable)}: {each}, " + _gap_now(
        fact, notion
    )


def _gap_now(fact: Mapping[str, Any], notion: Mapping[str, Any]) -> str:
    if not known(fact["gap"]):
        return "nobody to compare with"
    bound = bound_of(notion)
    if isinstance(bound, Ratio):
        return f"lowest {in_points(fact['ratio'])} % of the highest (asked {100 * bound.least:g})"
    asked = "" if bound is None else f" (asked {100 * bound:g})"
    return f"gap {in_points(fact['gap'])} points{asked}"


def sentences(answer: Mapping[str, Any]) -> list[str]:
    """Say the whole answer, the fact first."""
    said = [one for notion in answer["notions"] for one in notion_sentences(answer, notion)]
    said += [_of_scores(*one) for one in answer["of_scores"]]
    said += filter(None, [extremes_sentence(answer), labels_sentence(answer)])
    return [*said, policy_sentence(answer), right_sentence(answer)]


def _of_scores(notion: str, most: float | None) -> str:
    asked = asked_words(notion, most)
    return f"Asked for: {asked}, which is about scores; the rates above are of decisions."


def _people(count: int) -> str:
    return f"{count:,} {'person' if count == 1 else 'people'}"


def _capital(notion: str) -> str:
    name = notion.replace("-", " ")
    return name[:1].upper() + name[1:]


def _rate(value: float | None) -> str:
    return f"{value:.3f}" if known(value) else UNDEFINED
