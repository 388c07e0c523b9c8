"""What a page shows of a run beside its counts, each question bounded in what it reads."""

from typing import Any, NamedTuple

import sqlalchemy as sa

from ffml.border import one_of
from ffml.store import _schema
from ffml.store._read import LAST, PERIODS

_NEWEST = sa.text(
    f"select e.at, r.task, d.id, d.decision, d.probability, d.version, {_schema.NEWEST_LABEL} "
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
    probability: float | None
    version: int
    label: int | None


class WaitingRow(NamedTuple):
    """A task some of whose labels have not come."""

    task: str
    people: int
    waiting: int
    since: str  # when the first of its people was decided about


def newest(connection: sa.Connection, most: int) -> list[NewestRow]:
    """Return the newest decisions, the last one first."""
    return [NewestRow(*row) for row in connection.execute(_NEWEST, {"most": most})]


def waiting(connection: sa.Connection, most: int) -> list[WaitingRow]:
    """Return the newest tasks that lack labels, the last one first."""
    rows: Any = connection.execute(_WAITING, {"most": most})
    return [WaitingRow(task, int(n), int(lacking), at) for task, n, lacking, at in rows]


def delays(connection: sa.Connection, most: int) -> list[tuple[str, str]]:
    """Return when people were decided about and when their label came: the newest labels."""
    return [(decided, came) for decided, came in connection.execute(_DELAYS, {"most": most})]


def by_time(connection: sa.Connection, start: str, by: str) -> dict[str, tuple[int, int]]:
    """Return how many people were decided about in each period since then, how many positively."""
    text = _BY_TIME.format(length=one_of("period", by, PERIODS), last=LAST)
    rows = connection.execute(sa.text(text), {"start": start})
    return {period: (int(people), int(positive)) for period, people, positive in rows}
