"""Which columns are label, sensitive and task, where the table leaves no doubt."""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ffml.base import FFMLError
from ffml.tables._groups import MAX_GROUPS
from ffml.tables._labels import needs_positive
from ffml.tables.inspection._look import ColumnLook, look
from ffml.tables.sources._source import Source

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


class Question(NamedTuple):
    """A part that the table leaves open."""

    part: str
    what: str
    candidates: Sequence[str]
    other: str = ""  # what else can be given

    @property
    def answers(self) -> str:
        """The candidates, or the first of many."""
        more = ", ..." if len(self.candidates) > MAX_SHOWN else ""
        return ", ".join(self.candidates[:MAX_SHOWN]) + more


def guess_roles(
    source: Source,
    *,
    label: str | None = None,
    sensitive: Sequence[str] = (),
    task: str | None = None,
    drop: Sequence[str] = (),
    positive: object = None,
) -> Guess:
    """Fill in the parts that were not given; refuse to choose between several columns.

    A column is taken for a part only if it alone has a name that is usual for it (such as
    ``target``, ``sex`` or ``site``) and values that fit: two for a label, at most 50 for a
    sensitive column. A folder's files are its tasks. All that is missing is asked for at once.
    """
    if label and sensitive and (task or source.task):
        return Guess(label, tuple(sensitive), task or source.task or "", {})
    looks = look(source)
    free = [c for c in looks if c not in {label, *sensitive, task, *drop, source.task}]
    guessed: dict[str, str] = {}
    questions: list[Question] = []

    def fill(part: str, what: str, other: str = "") -> str:
        fits = fitting(part, looks, free)
        usual = usually(part, fits)
        if len(usual) != 1:
            questions.append(Question(part, what, usual or fits or free, other))
            return ""
        guessed[part] = usual[0]
        free.remove(usual[0])
        return usual[0]

    groups = tuple(sensitive)
    if not groups:
        groups = (fill("sensitive", "sensitive (whose groups are compared)"),)
    label = label or fill("label", "the label")
    if label in looks and positive is None and needs_positive(looks[label].values):
        questions.append(Question("positive", "favourable", looks[label].values))
    task = task or source.task
    if task is None:
        times = [c for c in free if looks[c].unit]
        other = f"--time {times[0]} --by month" if times else ""
        task = fill("task", "the task (which rows belong together)", other)
    if questions and [q.part for q in questions] != ["positive"]:  # that one is asked for later
        raise FFMLError(_asked(questions))
    return Guess(label, groups, task, guessed)


def fitting(part: str, looks: Mapping[str, ColumnLook], free: Sequence[str]) -> list[str]:
    """Return the columns whose values fit a part."""
    most = {"label": 2, "sensitive": MAX_GROUPS}.get(part, float("inf"))
    return [c for c in free if 1 < looks[c].distinct <= most]


def usually(part: str, columns: Sequence[str]) -> list[str]:
    """Return the columns whose names are usual for a part.

    >>> usually("sensitive", ["age", "Age-Group"])
    ['Age-Group']
    """
    names = {"label": LABELS, "sensitive": SENSITIVE, "task": TASKS}[part]
    return [c for c in columns if re.sub(r"[^a-z0-9]", "", c.lower()) in names]


def _asked(questions: Sequence[Question]) -> str:
    """Ask one question, or several in one line."""
    if len(questions) == 1:
        only = questions[0]
        other = f", or {only.other}" if only.other else ""
        return f"which column is {only.what}? Candidates: {only.answers}; give --{only.part}{other}"
    options = " ".join(f"--{question.part}" for question in questions)
    asked = "; ".join(
        f"--{q.part} {q.answers}" + (f", or {q.other}" if q.other else "") for q in questions
    )
    return f"the table leaves open what its columns are; give {options}. Candidates: {asked}"
