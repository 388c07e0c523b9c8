"""What can be asked of a run's people: decisions and labels, each question bounded."""

import datetime
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import sqlalchemy as sa

from ffml.base import FFMLError
from ffml.border import one_of
from ffml.store import _json, _labels, _schema
from ffml.store._reader import Reader
from ffml.store._schema import NEWEST_LABEL
from ffml.store._values import Labels, Placement

_KINDS: dict[str, tuple[str, Any]] = {  # column -> SQL, what stands for NULL
    "seq": ("d.seq", 0),
    "round": ("d.round", 0),
    "task": ("r.task", ""),
    "id": ("d.id", ""),
    "cell": ("d.cell", 0),
    "content": ("d.content", 0),
    "version": ("d.version", 0),
    "probability": ("d.probability", np.nan),
    "decision": ("d.decision", -1),
    "unpriced": ("d.unpriced", -1),
    "label": (NEWEST_LABEL, -1),
    "first_label": ("d.first_label", -1),
    "event": ("d.event", 0),
    "at": ("e.at", ""),
    "forgotten": ("d.forgotten", b""),  # hash of the person taken out
    "x": ("d.x", b""),
}
COLUMNS = tuple(name for name in _KINDS if name not in ("x", "event", "forgotten"))
_JOINS = {"task": " join rounds r on r.round = d.round", "at": " join events e on e.seq = d.event"}
LAST = 2**62  # above every number
PERIODS = {"year": 4, "month": 7, "day": 10, "hour": 13}  # characters of a time
_TENTHS = " ".join(f"when probability * 10 < {k} then {k - 1}" for k in range(1, 10))
_SCORES = sa.text(
    "select cell, coalesce(label, -1) as label, decision, "
    f"case when probability is null then -1 {_TENTHS} else 9 end as tenth, count(*) as n, "
    "sum(probability) as total, min(probability) as lowest, max(probability) as highest "
    f"from (select d.cell, d.decision, d.probability, {NEWEST_LABEL} as label "
    "from decisions d where d.decision is not null) d group by 1, 2, 3, 4 order by 1, 2, 3, 4"
)
_LABELS = sa.text(
    "select l.seq, r.task, d.id, l.label, e.at from labels l "
    "join decisions d on d.seq = l.decision join rounds r on r.round = d.round "
    "join events e on e.seq = l.event where l.seq between :first and :last order by l.seq"
)
_NEWEST = sa.text(
    f"select e.at, r.task, d.id, d.decision, d.unpriced, d.probability, d.version, {NEWEST_LABEL} "
    "from decisions d join rounds r on r.round = d.round join events e on e.seq = d.event "
    "where d.decision is not null order by d.seq desc limit :most"
)
_WAITING = sa.text(
    "select r.task, c.people, c.waiting, e.at from (select round, sum(n) as people, "
    "sum(case when label = -1 then n else 0 end) as waiting from counts where decision >= 0 "
    "group by round having sum(case when label = -1 then n else 0 end) > 0 "
    "order by round desc limit :most) c join rounds r on r.round = c.round join events e "
    "on e.seq = (select min(d.event) from decisions d where d.round = c.round) "
    "order by c.round desc"
)
_DELAYS = sa.text(
    "select ed.at, el.at from labels l join decisions d on d.seq = l.decision "
    "join events ed on ed.seq = d.event join events el on el.seq = l.event "
    "order by l.seq desc limit :most"
)
_BY_TIME = (
    "select substr(e.at, 1, {length}) as period, sum(d.people) as people, "
    "sum(d.positive) as positive from (select event, count(*) as people, sum(decision) as positive "
    "from decisions where decision is not null and event >= "
    "(select coalesce(min(seq), {last}) from events where at >= :start) group by event) d "
    "join events e on e.seq = d.event group by 1 order by 1"
)


class NewestRow(NamedTuple):
    """A decision as it was made."""

    at: str
    task: str
    id: str | None  # None: forgotten
    decision: int
    unpriced: int | None
    probability: float | None
    version: int
    label: int | None


class WaitingRow(NamedTuple):
    """A task some of whose labels have not come."""

    task: str
    people: int
    waiting: int
    since: str  # when the first of its people was decided about


class PeopleReader(Reader):
    """A run whose people are read."""

    def decisions(
        self,
        round: int | None = None,
        ids: Sequence[str] | None = None,
        columns: Sequence[str] = COLUMNS,
        numbers: Sequence[int] | None = None,
    ) -> dict[str, np.ndarray]:
        """Return decisions as columns, in the order in which they were made.

        ``label`` is the newest one. ``x`` is read only if asked for.
        """
        for name in columns:
            one_of("column of decisions", name, _KINDS)
        names = ", ".join(f"{_KINDS[name][0]} as {name}" for name in columns)
        joins = "".join(join for name, join in _JOINS.items() if name in columns)
        where = ["1 = 1"] if round is None else [f"d.round = {round:d}"]
        if isinstance(numbers, range):
            where.append(f"d.seq >= {numbers.start} and d.seq < {numbers.stop}")
        elif numbers is not None:
            where.append(f"d.seq in ({', '.join(f'{n:d}' for n in numbers) or 'null'})")
        with self._reading() as connection:  # SQLAlchemy would name every id, which is slow
            if ids is not None:
                mark = "?" if connection.dialect.name == "sqlite" else "%s"
                where.append(f"d.id in ({', '.join([mark] * len(ids)) or 'null'})")
            text = f"select {names} from decisions d{joins} where {' and '.join(where)}"
            rows = connection.exec_driver_sql(f"{text} order by d.seq", tuple(ids or ())).all()
        values = zip(*rows, strict=True) if rows else ((),) * len(columns)
        return {name: _array(name, part) for name, part in zip(columns, values, strict=True)}

    def thresholds(self, events: Sequence[int]) -> dict[int, float]:
        """Return the thresholds of events that decided about people one by one."""
        table = _schema.events.c
        rows = self._rows(sa.select(table.seq, table.document).where(table.seq.in_(events)))
        kept = {seq: _json.decode(text).get("threshold") for seq, text in rows}
        return {seq: value for seq, value in kept.items() if value is not None}

    def periods(
        self, start: str | None = None, end: str | None = None, by: str | None = None
    ) -> list[Any]:
        """Count decisions by their time: rows of period, cell, label, decision, unpriced, n.

        An index finds the decisions of the time asked for: events are in the order of time, so that
        those from ``start`` on begin with one number.
        """
        period = f"substr(e.at, 1, {one_of('period', by, PERIODS)})" if by else "''"
        times = (("start", start), ("end", end))
        given = {name: _moment(name, time) for name, time in times if time is not None}
        if len(given) == len(times) and given["start"] > given["end"]:
            raise FFMLError("start comes after end; change them over")
        signs = {"start": ">=", "end": "<"}
        where = "".join(
            f" and d.event {signs[name]} "
            f"(select coalesce(min(seq), {LAST}) from events where at >= :{name})"
            for name in given
        )
        text = (
            f"select {period} as period, d.cell, coalesce(d.label, -1), d.decision, "
            "coalesce(d.unpriced, -1), count(*) from (select d.event, d.cell, d.decision, "
            f"d.unpriced, {NEWEST_LABEL} as label from decisions d where d.decision is not null"
            f"{where}) d join events e on e.seq = d.event group by 1, 2, 3, 4, 5 "
            "order by 1, 2, 3, 4, 5"
        )
        return self._rows(sa.text(text), given)

    def scores(self) -> list[Any]:
        """Count by cell, newest label, decision and tenth of probability; Σ p, smallest, largest.

        A label that is not there is -1, and so is the tenth of who has no probability.
        """
        return self._rows(_SCORES)

    def labels_between(self, first: int, last: int) -> list[Any]:
        """Return labels that came later, by their numbers: rows of seq, task, id, label, at."""
        return self._rows(_LABELS, {"first": first, "last": last})

    def place(self, labels: Labels, correct: bool = False) -> Placement:
        """Say where labels would go, and write nothing. `Transaction.add_labels` writes them."""
        with self._reading() as connection:
            return _labels.place(connection, self.task_names(), labels, correct)

    def newest(self, most: int) -> list[NewestRow]:
        """Return the newest decisions, the last one first."""
        return [NewestRow(*row) for row in self._rows(_NEWEST, {"most": most})]

    def waiting(self, most: int) -> list[WaitingRow]:
        """Return the newest tasks that lack labels, the last one first."""
        rows = self._rows(_WAITING, {"most": most})
        return [WaitingRow(task, int(n), int(lacking), at) for task, n, lacking, at in rows]

    def delays(self, most: int) -> list[tuple[str, str]]:
        """Return when people were decided about and when their label came: the newest labels."""
        return [(decided, came) for decided, came in self._rows(_DELAYS, {"most": most})]

    def by_time(self, start: str, by: str) -> dict[str, tuple[int, int]]:
        """Return how many people were decided about in each period since then, how many positively.

        Args:
            start: the first moment, UTC in ISO 8601 or the beginning of it.
            by: "year", "month", "day" or "hour".
        """
        text = _BY_TIME.format(length=one_of("period", by, PERIODS), last=LAST)
        rows = self._rows(sa.text(text), {"start": start})
        return {period: (int(people), int(positive)) for period, people, positive in rows}


def _moment(name: str, text: str) -> str:
    """Return a moment, or the beginning of one, as the ledger writes its times, in UTC.

    >>> _moment("start", "2026-03"), _moment("end", "2026-03-01T06:00:00+05:00")
    ('2026-03', '2026-03-01T01:00:00')
    """
    match = re.fullmatch(r"(\d{4}(?:-\d\d(?:-\d\d(?:T\d\d(?::\d\d(?::\d\d)?)?)?)?)?)(.*)", text)
    try:
        if match is None:
            raise ValueError
        moment = datetime.datetime.fromisoformat(match[1] + _FIRST[len(match[1]) :] + match[2])
    except ValueError:
        raise FFMLError(
            f"{name} is a moment of UTC or its beginning, such as 2026-03 or 2026-03-01T12:30, got"
            f" {text!r}"
        ) from None
    if not match[2]:
        return match[1]
    moment = moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)
    return moment.astimezone(datetime.UTC).replace(tzinfo=None).isoformat()


_FIRST = "0000-01-01T00:00:00"  # how a moment goes on of which the beginning is given


def _array(name: str, values: Sequence[Any]) -> np.ndarray:
    unknown = _KINDS[name][1]
    known = [unknown if value is None else value for value in values]
    if name == "x":
        rows = [np.frombuffer(value, "<f8") for value in known]
        return np.array(rows) if len({*map(len, rows)}) == 1 else np.array(rows, object)
    kinds = {str: object, bytes: object, float: np.float64, int: np.int64}
    return np.array(known, kinds[type(unknown)])
