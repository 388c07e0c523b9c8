"""The tables of a run, one schema for SQLite and PostgreSQL.

Times, JSON documents and checksums are texts, so that both databases keep the same bytes and an
auditor reads them with any client. What is not known is NULL, in ``counts`` it is -1.
"""

from typing import Any

import sqlalchemy as sa

metadata = sa.MetaData()
_Number = sa.BigInteger().with_variant(sa.Integer, "sqlite")  # in SQLite: the row's own number


def _key(name: str) -> sa.Column:
    return sa.Column(name, _Number, primary_key=True, autoincrement=False)


def _of(table: str, column: str, name: str, **kinds: Any) -> sa.Column:
    return sa.Column(name, _Number, sa.ForeignKey(f"{table}.{column}"), **kinds)


def _flag(name: str, **kinds: Any) -> sa.Column:
    return sa.Column(name, sa.SmallInteger, **kinds)


run = sa.Table(
    "run",
    metadata,
    sa.Column("key", sa.Text, primary_key=True),
    sa.Column("value", sa.Text, nullable=False),
)
events = sa.Table(
    "events",
    metadata,
    _key("seq"),
    sa.Column("at", sa.Text, nullable=False),  # UTC, ISO 8601
    sa.Column("who", sa.Text, nullable=False),
    sa.Column("what", sa.Text, nullable=False),
    sa.Column("document", sa.Text, nullable=False),  # what was written, see `_chain`
    sa.Column("digest", sa.Text, nullable=False),  # of the hashes of its decisions and labels
    sa.Column("previous", sa.Text, nullable=False),
    sa.Column("hash", sa.Text, nullable=False),
    sa.Index("events_at", "at"),
)
rounds = sa.Table(
    "rounds",
    metadata,
    _key("round"),
    sa.Column("task", sa.Text, nullable=False, unique=True),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("document", sa.Text, nullable=False),
)
cells = sa.Table(
    "cells",
    metadata,
    _key("cell"),
    sa.Column("groups", sa.Text, nullable=False, unique=True),
)
decisions = sa.Table(
    "decisions",
    metadata,
    _key("seq"),
    _of("rounds", "round", "round", nullable=False),
    sa.Column("id", sa.Text),  # NULL once the person is forgotten
    _of("cells", "cell", "cell", nullable=False),
    sa.Column("content", sa.BigInteger),
    sa.Column("version", _Number, nullable=False),
    sa.Column("probability", sa.Double),
    _flag("decision"),  # NULL: adapted to, not decided about
    _flag("unpriced"),
    _flag("first_label"),  # as known when it was decided
    _of("events", "seq", "event", nullable=False),
    sa.Column("hash", sa.LargeBinary, nullable=False),
    sa.Column("forgotten", sa.LargeBinary),  # hash of the id and content taken out
    sa.Column("x", sa.LargeBinary),
    sa.UniqueConstraint("round", "id"),
    sa.Index("decisions_id", "id"),
    sa.Index("decisions_event", "event"),
)
labels = sa.Table(
    "labels",
    metadata,
    _key("seq"),
    _of("decisions", "seq", "decision", nullable=False),
    _flag("label", nullable=False),
    _of("events", "seq", "event", nullable=False),
    sa.Column("hash", sa.LargeBinary, nullable=False),
    sa.Index("labels_decision", "decision", "seq"),
)
counts = sa.Table(
    "counts",
    metadata,
    *(_of("rounds", "round", "round", primary_key=True),),
    *(_of("cells", "cell", "cell", primary_key=True),),
    *(_flag(name, primary_key=True) for name in ("label", "decision", "unpriced")),
    sa.Column("n", sa.BigInteger, nullable=False),
    sqlite_with_rowid=False,
)
versions = sa.Table(
    "versions",
    metadata,
    _key("number"),
    _of("rounds", "round", "round"),
    _of("events", "seq", "event", nullable=False),
    sa.Column("checksum", sa.Text, nullable=False),
    _of("versions", "number", "parent"),
    sa.Column("document", sa.Text, nullable=False),
    sa.Column("state", sa.LargeBinary),  # NULL in all but the newest few
)
blobs = sa.Table(
    "blobs",
    metadata,
    sa.Column("sha256", sa.Text, primary_key=True),
    sa.Column("bytes", sa.LargeBinary, nullable=False),
)
parts = sa.Table(  # which blobs a version with bytes is made of
    "parts",
    metadata,
    _of("versions", "number", "version", primary_key=True),
    sa.Column("place", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("sha256", sa.Text, sa.ForeignKey("blobs.sha256"), nullable=False),
    sqlite_with_rowid=False,
)

requests = sa.Table(  # decisions that were asked for under a key, which may come again
    "requests",
    metadata,
    sa.Column("key", sa.Text, primary_key=True),  # hash of the caller's key
    sa.Column("asked", sa.Text, nullable=False),  # hash of what was asked
    sa.Column("decisions", sa.Text, nullable=False),  # their numbers, in the caller's order
    _of("events", "seq", "event", nullable=False),
)

NEWEST_LABEL = (
    "coalesce((select l.label from labels l where l.decision = d.seq order by l.seq desc limit 1), "
    "d.first_label)"
)
PEOPLE = f"""
create view people as
select r.task, d.id, {NEWEST_LABEL} as label, d.decision, d.unpriced, d.probability, d.version,
       e.at, c.groups
from decisions d join rounds r on r.round = d.round join cells c on c.cell = d.cell
     join events e on e.seq = d.event
"""
ADD_COUNTS = sa.text(
    "insert into counts (round, cell, label, decision, unpriced, n) "
    "values (:round, :cell, :label, :decision, :unpriced, :n) "
    "on conflict (round, cell, label, decision, unpriced) do update set n = counts.n + excluded.n"
)
