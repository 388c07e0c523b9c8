"""Which columns are label, sensitive and task, where the table leaves no doubt."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from ffml.base import FFMLError
from ffml.data.tables._roles import role_texts
from ffml.data.tables._source import BATCH_ROWS, Source
from ffml.data.tables._survey import MAX_GROUPS

LABELS = ("label", "labels", "target", "y", "ytrue", "outcome", "class", "response", "decision")
SENSITIVE = (
    *("sex", "gender", "race", "ethnicity", "ethnicgroup", "religion", "nationality"),
    *("disability", "disabled", "agegroup", "ageband"),
)
TASKS = ("task", "taskid", "taskname", "tasks", "domain", "site", "period", "wave", "region")
MAX_SHOWN = 12


class Guess(NamedTuple):
    """The three parts, given or guessed, and which of them were guessed."""

    label: str
    sensitive: tuple[str, ...]
    task: str
    guessed: dict[str, str]  # part -> column


def guess_roles(
    source: Source,
    *,
    label: str | None = None,
    sensitive: Sequence[str] = (),
    task: str | None = None,
    drop: Sequence[str] = (),
) -> Guess:
    """Fill in the parts that were not given; refuse to choose between several columns.

    A column is taken for a part only if it alone has a name that is usual for it (such as
    ``target``, ``sex`` or ``site``) and values that fit: two for a label, at most 50 for a
    sensitive column. A folder's files are its tasks.
    """
    if label and sensitive and (task or source.task):
        return Guess(label, tuple(sensitive), task or source.task or "", {})
    distinct = _distinct_values(source)
    free = [c for c in distinct if c not in {label, *sensitive, task, *drop, source.task}]
    guessed: dict[str, str] = {}

    def fill(part: str, names: Sequence[str], fits: list[str], question: str) -> str:
        usual = [c for c in fits if re.sub(r"[^a-z0-9]", "", c.lower()) in names]
        if len(usual) != 1:
            candidates = usual or fits or free
            more = ", ..." if len(candidates) > MAX_SHOWN else ""
            raise FFMLError(
                f"which column is {question}? Candidates: {', '.join(candidates[:MAX_SHOWN])}{more}"
                f"; give --{part}"
            )
        guessed[part] = usual[0]
        free.remove(usual[0])
        return usual[0]

    groups = tuple(sensitive)
    if not groups:
        few = [c for c in free if 1 < distinct[c] <= MAX_GROUPS]
        groups = (fill("sensitive", SENSITIVE, few, "sensitive (whose groups are compared)"),)
    label = label or fill("label", LABELS, [c for c in free if distinct[c] == 2], "the label")
    task = task or source.task
    if task is None:
        repeated = [c for c in free if distinct[c] > 1]
        task = fill("task", TASKS, repeated, "the task (which rows belong together)")
    return Guess(label, groups, task, guessed)


def _distinct_values(source: Source) -> dict[str, int]:
    """Count each column's different values in the first rows; 0 where it cannot have a part."""
    counts: dict[str, int] = {}
    batch = next(iter(source.batches(source.columns)), None)
    if batch is None or not batch.num_rows:
        raise FFMLError(f"{source.name} has no rows; at least one is needed")
    for name in source.columns:
        try:
            values = role_texts(batch.column(name), name, "any")
        except FFMLError:  # nested: no part
            counts[name] = 0
            continue
        counts[name] = len(values.slice(0, BATCH_ROWS).drop_null().unique())
    return counts
