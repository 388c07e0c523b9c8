"""Where a run's stream comes from: a data set of the package, a table, or a database."""

import os
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from ffml.base import FFMLError, Stream
from ffml.border import public_address
from ffml.datasets import DATASETS, find, load
from ffml.kinds import refuse_other_kinds
from ffml.tables import Source, TableStream, guess_roles, open_data, refuse_unknown, table_stream
from ffml.tables.scaling import RunningScaler

SQL = "sql"  # `RunConfig.data` of a run on a database
FRAME = "data frame"  # ... and on a table in memory
SQL_URL = "FFML_SQL_URL"  # the environment variable with a database's address
FLAGS = ("label", "positive", "sensitive", "task", "time", "by", "drop", "query")  # --label, …
_WORDS = ("label", "task", "time", "by", "order", "date_format", "query", "url", "id")
TABLE_KINDS: dict[str, Any] = {
    **dict.fromkeys(_WORDS, str),
    **dict.fromkeys(("sensitive", "drop"), str | tuple[str, ...]),
    **dict.fromkeys(("drop_missing", "intersect"), bool),
    "positive": str | int | float | bool,
}
_OF_DATA_SETS = ("sensitive", "intersect", "url")  # may be options of a data set too
TABLE_OPTIONS = tuple(name for name in TABLE_KINDS if name not in _OF_DATA_SETS)


class Found(NamedTuple):
    """What the data of a run are.

    Args:
        data: what `RunConfig.data` says: a data set's name, a table's path, or ``"sql"``.
        options: its options, the roles of a table's columns filled in.
        sql_url: the address of a database, which no file keeps.
        source: a table or query that is open already, so that it is opened once a run.
        guessed: parts of a table that nobody named, and the columns they were given to.
    """

    data: str
    options: dict[str, Any]
    sql_url: str | None = None
    source: Source | None = None
    guessed: Mapping[str, str] = MappingProxyType({})


def find_data(data: Any, options: dict[str, Any]) -> Found:
    """Find out what the data are: a data set, a table, a data frame or a query on a database.

    A query without an address goes to the database of the environment variable `SQL_URL`.
    """
    if data is None and "query" in options:
        data = SQL
    if data is None:
        raise FFMLError("give a data set (see 'ffml datasets'), a table's path, or a database")
    if not isinstance(data, str | Path):
        return _table(FRAME, options, source=open_data(data))
    name = str(data)
    if name == SQL or is_url(name):
        return _table(SQL, options, os.environ.get(SQL_URL) if name == SQL else name)
    if not is_table(name):
        return Found(find(public_address(name)).name, options)  # it may be an address with a typo
    return _table(str(Path(name).resolve()), options)


def find_table(data: str, options: dict[str, Any]) -> Found:
    """Find out what the data are; they are read more than once, so a database is refused."""
    if is_url(data) or data == SQL:
        raise FFMLError("this command reads its data several times; save the query's rows as .csv")
    return find_data(data, options)


def as_given(option: str) -> str:
    """Name an option of a table as the command line does.

    >>> as_given("label"), as_given("order")
    ('--label', 'data.order')
    """
    return f"--{option}" if option in FLAGS else f"data.{option}"


def is_url(data: str) -> bool:
    """Tell the address of a database, such as sqlite:///loans.db."""
    return "://" in data


def is_table(data: str) -> bool:
    """Tell a table from the name of a data set.

    >>> is_table("adult"), is_table("loans.csv"), is_table("sql")
    (False, True, True)
    """
    if data in DATASETS:
        return False
    return data in (SQL, FRAME) or Path(data).exists() or bool(Path(data).suffix) or "/" in data


def open_source(data: str, options: dict[str, Any], sql_url: str | None = None) -> Source:
    """Open a table's path, or ``"sql"``: a query on the database of this address.

    The address, which may hold a password, is not part of a run's config.
    """
    query = options.get("query")
    if data == SQL and query and not sql_url:
        raise FFMLError(
            f"give the database's address, such as sqlite:///loans.db, as DATA or in {SQL_URL}; "
            "files do not keep it"
        )
    return open_data(data if data != SQL else sql_url or "sql://", query)


def _table(
    data: str, options: dict[str, Any], sql_url: str | None = None, source: Source | None = None
) -> Found:
    """Open a table, and fill in the roles of columns that can only be one thing."""
    _check_options(options)
    source = source or open_source(data, options, sql_url)
    for part in ("label", "task", "time", "order", "id", "sensitive", "drop"):
        names = options.get(part) or ()
        for name in (names,) if isinstance(names, str) else names:
            refuse_unknown(part, name, source.columns)
    guess = guess_roles(
        source,
        label=options.get("label"),
        sensitive=options.get("sensitive", ()),
        task=options.get("task", options.get("time")),
        drop=[*options.get("drop", ()), *filter(None, [options.get("id")])],
        positive=options.get("positive"),
    )
    roles = options | {"label": guess.label, "sensitive": tuple(guess.sensitive)}
    if guess.task not in (source.task, options.get("time")):  # a folder's files are its tasks
        roles["task"] = guess.task
    if sql_url:
        roles["url"] = public_address(sql_url)
    return Found(data, roles, sql_url, source, guess.guessed)


def open_stream(
    data: str,
    options: dict[str, Any],
    *,
    seed: int,
    data_home: str | None = None,
    sql_url: str | None = None,
    source: Source | None = None,
) -> tuple[Stream, RunningScaler | None]:
    """Open the stream of a run, and what standardises it if it does not come standardised.

    A table or query that is open already (``source``) is not opened again.
    """
    if not is_table(data):
        if data in DATASETS and (given := [name for name in TABLE_OPTIONS if name in options]):
            raise FFMLError(
                f"{as_given(given[0])} is for tables of your own; '{data}' is a data set"
            )
        return load(data, seed=seed, data_home=data_home, **options), None
    _check_options(options)
    roles = {k: v for k, v in options.items() if k not in ("query", "url")}
    stream = table_stream(source or open_source(data, options, sql_url), **roles)
    return stream, RunningScaler.empty(stream.preprocessor.scaled)


def _check_options(options: dict[str, Any]) -> None:
    """Refuse options that a table does not have, or of another kind."""
    if unknown := [name for name in options if name not in TABLE_KINDS]:
        raise FFMLError(f"a table has no option '{unknown[0]}'; it takes {', '.join(TABLE_KINDS)}")
    refuse_other_kinds(options, TABLE_KINDS)


def table_preprocessing(stream: Stream) -> dict[str, Any] | None:
    """Return how a table's columns became features, as JSON; None for a data set."""
    return stream.preprocessor.to_json() if isinstance(stream, TableStream) else None


def table_document(stream: Stream) -> dict[str, Any]:
    """Return what a run's config keeps of a table: its fingerprint and the columns' roles."""
    if not isinstance(stream, TableStream):
        return {}
    return {
        "fingerprint": stream.fingerprint,
        "roles": stream.roles.to_json(),
        "labels": stream.labels,
        "dropped_rows": stream.dropped_rows,
    }
