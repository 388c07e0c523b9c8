"""The answer in words and as rows of a table, for terminal, report and model card alike."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ffml.metrics import phrases, words
from ffml.metrics.phrases import UNDEFINED, hundred, in_points, known

MOST_GROUPS = 6  # of a column that are listed one by one


class Row(NamedTuple):
    """A line of the table: what it is, of everybody decided so far, and of the newest round."""

    what: str
    so_far: str
    now: str


def sentences(summary: Mapping[str, Any]) -> list[str]:
    """Say the fact and the verdict, who was compared, the alarm, and how often it was right."""
    said = words.sentences(summary["answer"])
    if found := summary.get("without_fairness"):
        said.append(_without_sentence(found))
    if found := summary.get("blindness"):
        said.append(_blindness_sentence(found))
    favourable = summary["answer"]["favourable"]
    for column, groups in (summary.get("moved") or {}).items():
        said.append(_moved_sentence(column, groups, favourable))
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


def rows(summary: Mapping[str, Any]) -> list[Row]:
    """Return the same as lines of a table, the newest round beside all of them."""
    found = summary["answer"]
    now = found["now"] or {"task": UNDEFINED, "people": 0, "notions": [], "labelled": 0}
    lines = [
        Row("round", f"1 to {found['rounds']}", str(now["task"])),
        Row("people decided", f"{found['people']:,}", f"{now['people']:,}"),
        Row("of them with a label", f"{found['labelled']:,}", f"{now['labelled']:,}"),
    ]
    decided = phrases.were_decided(found["favourable"]).removeprefix("were ")
    for i, notion in enumerate(found["notions"]):
        newest = now["notions"][i]["facts"] if i < len(now["notions"]) else []
        by_place = {(one["column"], one["label"]): one for one in newest}
        for column in notion["columns"]:
            for fact in column["facts"]:
                recent = by_place.get((fact["column"], fact["label"]))
                among = phrases.whom_words(fact["label"], found["favourable"])
                lines += _rate_rows(fact, recent, f"{among}: {decided}")
                lines += _apart_rows(fact, recent, among)
            lines += _rule_rows(column, notion)
        if notion["verdict"] is not None:
            asked = phrases.asked_words(notion["notion"], phrases.bound_of(notion))
            lines.append(Row(f"{asked}: kept?", notion["verdict"], ""))
    for name in ("accuracy", "balanced_accuracy"):
        lines.append(Row(name.replace("_", " "), rate(found[name]), ""))
    share = hundred(now.get("positive_share"))
    lines.append(Row(f"{decided}, of all people", hundred(found["positive_share"]), share))
    lines.append(Row("favourable labels", hundred(found["label_share"]), ""))
    return lines


def _rate_rows(fact: Mapping[str, Any], recent: Mapping[str, Any] | None, what: str) -> list[Row]:
    """Return a line for each group; of many groups, the highest and the lowest."""
    groups = {group["group"]: group["rate"] for group in fact["groups"]}
    newest = {group["group"]: group["rate"] for group in recent["groups"]} if recent else {}
    names = list(groups)
    if len(names) > MOST_GROUPS:
        names = [fact["highest"], fact["lowest"]]
    return [
        Row(f"{fact['column']} {name}{what}", hundred(groups[name]), hundred(newest.get(name)))
        for name in names
    ]


def _apart_rows(fact: Mapping[str, Any], recent: Mapping[str, Any] | None, among: str) -> list[Row]:
    """Return the largest gap and the smallest ratio between any two groups."""
    recent = recent or {"gap": None, "ratio": None, "highest": "", "lowest": ""}
    both = (fact, recent)
    return [
        Row(
            f"gap in points by {fact['column']}{among}",
            *(f"{in_points(one['gap'])}{_direction(one)}" for one in both),
        ),
        Row(
            f"lowest rate in % of the highest, by {fact['column']}{among}",
            *(in_points(one["ratio"]) for one in both),
        ),
    ]


def _direction(fact: Mapping[str, Any]) -> str:
    return f" ({fact['highest']} above {fact['lowest']})" if known(fact["gap"]) else ""


def _rule_rows(column: Mapping[str, Any], notion: Mapping[str, Any]) -> list[Row]:
    """Return what intervals and gaps within tasks say of the rule."""
    lines = []
    for kind, name in (
        ("pooled", "the rule: gap of all people"),
        ("long_run", "the rule: long-run gap within tasks"),
        ("typical", "the rule: typical gap within tasks"),
    ):
        lines.append(Row(f"{name}, by {column['column']}", _cell(column[kind]), ""))
    if notion.get("min_ratio") is not None:
        what = f"the rule: lowest rate in % of the highest, by {column['column']}"
        lines.append(Row(what, _cell(column["ratio"]), ""))
    return lines


def _cell(gap: Mapping[str, Any]) -> str:
    if not known(gap["value"]):
        return UNDEFINED
    ends = f" ({in_points(gap['low'])} to {in_points(gap['high'])})" if known(gap["high"]) else ""
    return in_points(gap["value"]) + ends


def rate(value: float | None) -> str:
    """Write a share with three decimals; what could not be measured is a dash."""
    return f"{value:.3f}" if value is not None and known(value) else UNDEFINED
