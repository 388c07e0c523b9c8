"""The answer in words, for terminal, report and model card alike: in short, and all of it."""

from collections.abc import Mapping, Sequence
from typing import Any

from ffml.metrics import words
from ffml.metrics.labels import (
    SELECTED_WORDS,
    SELECTIVE_WORDS,
    LabelShares,
    Selection,
    selected_sentence,
    selective_sentence,
)
from ffml.metrics.phrases import (
    decided,
    hundred,
    in_points,
    known,
    percent,
    policy_words,
    rate,
    were_decided,
)
from ffml.metrics.summary import typical_gap

MOST_GROUPS = 6  # of a column that are listed one by one


def sentences(summary: Mapping[str, Any]) -> list[str]:
    """Say the answer in short, beside the same learner without fairness; see `words.sentences`."""
    return words.sentences(summary["answer"], summary.get("without_fairness"))


def details(summary: Mapping[str, Any]) -> list[str]:
    """Say everything else, in no more words than it takes."""
    answer = summary["answer"]
    said = [one for n in answer["notions"] for one in notion_details(n, answer["by_task"])]
    said += [labels_sentence(answer), policy_sentence(answer), right_sentence(answer)]
    said += [*change_sentences(summary), extremes_sentence(answer)]
    extra = summary.get("extra", {})
    said += [trust_sentence(extra["trust"])] if "trust" in extra else []
    return list(dict.fromkeys(filter(None, said)))


def notion_details(notion: Mapping[str, Any], by_task: bool) -> list[str]:
    """Say who was compared, and how far apart groups are within tasks."""
    if notion["fact"] is None:
        return []
    said = words.compared_sentences(notion, by_task)
    return [*said, *map(within_tasks_sentence, notion["columns"] if by_task else ())]


def change_sentences(summary: Mapping[str, Any]) -> list[str]:
    """Say what would be without fairness or with groups known, and whose decisions it changed."""
    free, favourable = summary.get("without_fairness"), summary["answer"]["favourable"]
    moved = (summary.get("moved") or {}).items()
    said = [_without_sentence(free, favourable)] if free else []
    if alone := summary.get("alone"):
        said.append(_alone_sentence(alone, typical_gap(summary["answer"]["notions"][0])))
    if blindness := summary.get("blindness"):
        said.append(_blindness_sentence(blindness, favourable))
    return said + [_moved_sentence(column, groups, favourable) for column, groups in moved]


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
    elif {typical["higher"], typical["lower"]} != {long_run["higher"], long_run["lower"]}:
        size += f", between {typical['higher']} and {typical['lower']}"
    return f"{text}, and a typical gap {size}."


def gap_words(gap: Mapping[str, Any]) -> str:
    """Write a gap with the interval of the rule.

    >>> gap_words({"value": 0.011, "low": 0.0, "high": 0.03})
    '1.1 points (95 % interval 0.0 to 3.0)'
    """
    ends = f"95 % interval {in_points(gap['low'])} to {in_points(gap['high'])}"
    told = ends if known(gap["high"]) else "no interval can be told"
    return f"{in_points(gap['value'])} points ({told})"


def labels_sentence(answer: Mapping[str, Any]) -> str:
    """Say what missing labels mean; empty where all are there."""
    if answer["unmeasured"] == SELECTIVE_WORDS:
        return selective_sentence(LabelShares(**answer["labels"]), answer["favourable"])
    if answer["unmeasured"] == SELECTED_WORDS:
        return selected_sentence(Selection(**answer["selected"]), answer["favourable"])
    missing = answer["people"] - answer["labelled"]
    if not missing:
        return ""
    return (
        f"{missing:,} of {answer['people']:,} people have no label yet: they count wherever no"
        " label is needed."
    )


def policy_sentence(answer: Mapping[str, Any]) -> str:
    """Say who was to be decided favourably; empty where nobody knows."""
    if not answer["policy"]:
        return ""
    said = f"Policy: {policy_words(answer['policy'], answer['favourable'])}."
    if answer["unmeasured"] == SELECTIVE_WORDS and answer["policy"] in ("labels", "balanced"):
        said += (
            " How many that are rests on labels that depend on the decision; `--approve` says it"
            " outright."
        )
    return said


def right_sentence(answer: Mapping[str, Any]) -> str:
    """Say how often decisions were right, among those with a label."""
    if answer["unmeasured"]:
        return f"Accuracy cannot be measured: {answer['unmeasured']}."
    accuracy, balanced = (answer[name] for name in ("accuracy", "balanced_accuracy"))
    wrongly, wrong = were_decided(answer["favourable"]), answer["wrong"]
    return (
        f"Accuracy {rate(accuracy)}, balanced accuracy {rate(balanced)} among the"
        f" {answer['labelled']:,} with a label: {hundred(wrong['positive'])} {wrongly} wrongly,"
        f" {hundred(wrong['negative'])} wrongly not.{_constant(answer)}"
    )


def _constant(answer: Mapping[str, Any]) -> str:
    """Say how often one decision for everybody would be right, where that is more often."""
    best, accuracy = answer["constant_accuracy"], answer["accuracy"]
    if not known(best) or not known(accuracy) or round(best, 3) <= round(accuracy, 3):
        return ""
    favour = decided(answer["favourable"])
    which = favour if answer["label_share"] > 0.5 else f"not {favour}"
    return (
        f" One decision for everybody ({which}) would be right more often: accuracy {best:.3f};"
        " --threshold accuracy asks for the fewest errors."
    )


def extremes_sentence(answer: Mapping[str, Any]) -> str:
    """Say that fairness went by groups more than by probabilities, where it did; empty if not."""
    ends = answer.get("extremes")
    if not ends:
        return ""
    favour = decided(answer["favourable"])
    lowest, highest, low, high = (
        percent(ends[name]) for name in ("lowest_approved", "highest_refused", "low", "high")
    )
    return (
        f"To keep the gap without knowing groups, somebody with a probability of {lowest} was"
        f" {favour} and somebody with {highest} was not; of the newest {ends['people']:,} people,"
        f" {ends['approved_below']:,} below {low} were, and {ends['refused_above']:,} above"
        f" {high} were not. A wider gap, groups known at the decision (--decide-with-groups, where"
        " lawful) or more columns make this milder."
    )


def trust_sentence(trust: float) -> str:
    """Say whether adapting to a task's own labels has paid.

    >>> trust_sentence(0.0)
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


def _moved_sentence(column: str, groups: Sequence[Mapping[str, Any]], favourable: str) -> str:
    """Say how many decisions fairness changed, by group and direction.

    >>> _moved_sentence("sex", [{"group": "F", "people": 9, "towards": 2, "away": 1}], "approved")
    'Fairness changed 3 of 9 decisions (by sex): of F 2 to approved and 1 away from it.'
    """
    moved = [g for g in groups if g["towards"] + g["away"]]
    moved = sorted(moved, key=lambda g: -g["towards"] - g["away"])[:MOST_GROUPS]
    total = sum(g["towards"] + g["away"] for g in groups)
    each = [
        f"{g['group']} {g['towards']:,} to {decided(favourable)} and {g['away']:,} away from it"
        for g in moved
    ]
    people = sum(g["people"] for g in groups)
    said = "; of ".join(each)
    return f"Fairness changed {total:,} of {people:,} decisions (by {column}): of {said}."


def _blindness_sentence(cost: Mapping[str, Any], favourable: str) -> str:
    """Say what it costs that decisions do not know groups.

    >>> found = {"people": 4096, "accuracy": 0.804, "accuracy_by_group": 0.826}
    >>> print(_blindness_sentence(found, "approved"))
    With a threshold for each group (--decide-with-groups, where lawful), accuracy would have been
    0.826 and not 0.804 among the newest 4,096 people with a label, as many of them approved.
    """
    return (
        "With a threshold for each group (--decide-with-groups, where lawful), accuracy would have"
        f" been {cost['accuracy_by_group']:.3f} and not {cost['accuracy']:.3f} among the newest"
        f" {cost['people']:,} people with a label, as many of them {decided(favourable)}."
    )


def _alone_sentence(alone: Mapping[str, Any], together: float | None) -> str:
    """Say what people who come one by one can expect beside those of a task that comes whole."""
    return (
        f"One by one: had each of {alone['people']:,} people come alone, decided about by what was"
        f" known before their task, groups would be {in_points(alone.get('gap'))} points apart and"
        f" {in_points(alone.get('typical'))} typically within a task"
        f" ({in_points(together)} as decided here, where prices are found on the very people of a"
        " task). Expect this of people who come later and alone."
    )


def _without_sentence(free: Mapping[str, Any], favourable: str) -> str:
    text = (
        f"The same learner without fairness: {in_points(free.get('gap'))} points apart, the"
        f" lowest rate {in_points(free.get('ratio'))} % of the highest, typical gap"
        f" {in_points(free.get('typical'))}, {hundred(free.get('positive_share'))}"
        f" {decided(favourable)}"
    )
    if not known(free.get("accuracy")):
        return f"{text}."
    accuracy, balanced = (rate(free.get(kind)) for kind in ("accuracy", "balanced_accuracy"))
    return f"{text}, accuracy {accuracy}, balanced accuracy {balanced}."
