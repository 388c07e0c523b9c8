"""The answer in words, for terminal, report and model card alike."""

from collections.abc import Mapping, Sequence
from typing import Any

from ffml.metrics import phrases, words
from ffml.metrics.phrases import UNDEFINED, hundred, in_points, known

MOST_GROUPS = 6  # of a column that are listed one by one


def sentences(summary: Mapping[str, Any]) -> list[str]:
    """Say the fact and the verdict, who was compared, the alarm, and how often it was right."""
    said = words.sentences(summary["answer"]) + change_sentences(summary)
    extra = summary.get("extra", {})
    return said + ([trust_sentence(extra["trust"])] if "trust" in extra else [])


def change_sentences(summary: Mapping[str, Any]) -> list[str]:
    """Say what would be without fairness or with groups known, and whose decisions it changed."""
    free, favourable = summary.get("without_fairness"), summary["answer"]["favourable"]
    moved = (summary.get("moved") or {}).items()
    said = [_without_sentence(free)] if free else []
    if blindness := summary.get("blindness"):
        said.append(_blindness_sentence(blindness))
    return said + [_moved_sentence(column, groups, favourable) for column, groups in moved]


def decided_words(summary: Mapping[str, Any]) -> str:
    """Name the favourable decision: "approved"."""
    return phrases.were_decided(summary["answer"]["favourable"]).removeprefix("were ")


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
    decided = phrases.were_decided(favourable).removeprefix("were ")
    each = [
        f"{g['group']} {g['towards']:,} to {decided} and {g['away']:,} away from it" for g in moved
    ]
    people = sum(g["people"] for g in groups)
    said = "; of ".join(each)
    return f"Fairness changed {total:,} of {people:,} decisions (by {column}): of {said}."


def _blindness_sentence(found: Mapping[str, Any]) -> str:
    """Say what it costs that decisions do not know groups.

    >>> found = {"people": 4096, "accuracy": 0.804, "accuracy_by_group": 0.826}
    >>> print(_blindness_sentence(found))
    With a threshold for each group (--decide-with-groups, where lawful), accuracy would have been
    0.826 and not 0.804 among the newest 4,096 people with a label, as many of them approved.
    """
    return (
        "With a threshold for each group (--decide-with-groups, where lawful), accuracy would have"
        f" been {found['accuracy_by_group']:.3f} and not {found['accuracy']:.3f} among the newest"
        f" {found['people']:,} people with a label, as many of them approved."
    )


def _without_sentence(found: Mapping[str, Any]) -> str:
    text = (
        f"The same learner without fairness: {in_points(found.get('gap'))} points apart, the"
        f" lowest rate {in_points(found.get('ratio'))} % of the highest, typical gap"
        f" {in_points(found.get('typical'))}, {hundred(found.get('positive_share'))} decided"
        " favourably"
    )
    if not known(found.get("accuracy")):
        return f"{text}."
    accuracy, balanced = (rate(found.get(kind)) for kind in ("accuracy", "balanced_accuracy"))
    return f"{text}, accuracy {accuracy}, balanced accuracy {balanced}."


def rate(value: float | None) -> str:
    """Write a share with three decimals; what could not be measured is a dash."""
    return f"{value:.3f}" if value is not None and known(value) else UNDEFINED
