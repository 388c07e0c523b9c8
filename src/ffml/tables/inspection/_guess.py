"""Which columns are label, sensitive and task, where the first rows leave no doubt."""

import re
import shlex
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

import pyarrow as pa

from ffml.base import FFMLError
from ffml.tables._labels import MAX_GROUPS, must_say_positive
from ffml.tables._time import UNCLEAR, parse_time, time_texts
from ffml.tables._values import role_texts
from ffml.tables.sources._source import BATCH_ROWS, Source

MAX_VALUES = 5
LABELS = ("label", "labels", "target", "y", "ytrue", "outcome", "class", "response", "decision")
SENSITIVE = (
    *("sex", "gender", "race", "ethnicity", "ethnicgroup", "religion", "nationality"),
    *("raceethnicity", "ethnicorigin", "disability", "disabled", "agegroup", "ageband"),
)
TASKS = ("task", "taskid", "taskname", "tasks", "domain", "site", "period", "wave", "region")
MAX_SHOWN = 12


class ColumnLook(NamedTuple):
    """One column in the first rows."""

    rows: int  # with a value
    distinct: int  # different values; 0 where it cannot have a part
    values: tuple[str, ...]  # the first of them, sorted
    unit: str | None  # what its values are, if they are times: "day", "month", ...


def look(source: Source) -> dict[str, ColumnLook]:
    """Look at the first rows of all columns."""
    batch = next(iter(source.batches(source.columns)), None)
    if batch is None or not batch.num_rows:
        raise FFMLError(f"{source.name} has no rows; at least one is needed")
    return {name: _look_at(batch.column(name), name) for name in source.columns}


def _look_at(values: pa.Array, name: str) -> ColumnLook:
    times: list[str] = []
    try:
        all_texts = role_texts(values, name, "any").slice(0, BATCH_ROWS).drop_null()
    except FFMLError:  # nested: no part
        return ColumnLook(0, 0, (), None)
    texts = all_texts.unique()
    with suppress(FFMLError):  # hours have no date
        times = time_texts(values, name).slice(0, BATCH_ROWS).drop_null().unique().to_pylist()
    shown = tuple(sorted(texts.to_pylist())[:MAX_VALUES])
    return ColumnLook(len(all_texts), len(texts), shown, _unit(times))


def _unit(texts: list[str]) -> str | None:
    """Return the unit of a column of times; plain numbers are times only if they are years."""
    units = {"day" if UNCLEAR.fullmatch(t) else getattr(parse_time(t), "unit", None) for t in texts}
    if len(units) != 1 or None in units:
        return None
    numbers = all(text.isdigit() for text in texts)
    if numbers and not all(1900 <= int(text[:4]) <= 2100 for text in texts):
        return None
    return units.pop()


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
            if len(fits) == 1:  # and so it is no candidate for another part
                free.remove(fits[0])
            questions.append(Question(part, what, usual or fits or [*free], other))
            return ""
        guessed[part] = usual[0]
        free.remove(usual[0])
        return usual[0]

    groups = tuple(sensitive)
    if not groups:
        groups = (fill("sensitive", "sensitive (whose groups are compared)"),)
    label = label or fill("label", "the label")
    if label in looks and positive is None and must_say_positive(label, looks[label].values):
        questions.append(Question("positive", "favourable", looks[label].values))
    task = task or source.task
    if task is None:
        times = [c for c in free if looks[c].unit]
        by = " --by month" if times and looks[times[0]].unit == "day" else ""
        other = f"--time {shlex.quote(times[0])}{by}" if times else ""
        task = fill("task", "the task (which rows belong together)", other)
    if questions and [q.part for q in questions] != ["positive"]:  # that one is asked for later
        raise FFMLError(_asked(questions))
    return Guess(label, groups, task, guessed)


def fitting(part: str, looks: Mapping[str, ColumnLook], free: Sequence[str]) -> list[str]:
    """Return the columns whose values fit a part.

    Neither a label nor a task is a column with a usual name for groups. Some rows share a task,
    and none an id, which is a whole number or a text.
    """
    looks = {name: looks[name] for name in free}
    if part == "id":
        return [c for c, seen in looks.items() if _is_id(seen)]
    most = {"label": 2, "sensitive": MAX_GROUPS}.get(part, float("inf"))
    fits = [c for c, seen in looks.items() if 1 < seen.distinct <= most]
    if part == "label":
        return [c for c in fits if c not in usually("sensitive", fits)]
    if part == "task":
        fits = [c for c in fits if c not in usually("sensitive", fits)]
        return [c for c in fits if 2 * looks[c].distinct <= looks[c].rows]
    return fits


def _is_id(seen: ColumnLook) -> bool:
    fractions = any(re.fullmatch(r"[-+]?\d*\.\d+(e[-+]?\d+)?", text) for text in seen.values)
    return 1 < seen.distinct == seen.rows and seen.unit is None and not fractions


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
    candidates = "; ".join(
        f"--{q.part} {q.answers}" + (f", or {q.other}" if q.other else "") for q in questions
    )
    return f"the table leaves open what its columns are; give {options}. Candidates: {candidates}"
