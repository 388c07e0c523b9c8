"""Where a run's stream comes from: a data set of the package, a table, or a database."""

from pathlib import Path
from typing import Any

from ffml.base import FFMLError, Stream
from ffml.datasets import DATASETS, load
from ffml.scaling import RunningScaler
from ffml.tables import (
    Source,
    TableStream,
    guess_roles,
    open_sql,
    open_table,
    public_url,
    refuse_unknown,
    table_stream,
)

SQL = "sql"  # `RunConfig.data` of a run on a database
TABLE_OPTIONS = ("label", "task", "order", "positive", "drop", "drop_missing", "query")


def is_table(data: str) -> bool:
    """Tell a table from the name of a data set.

    >>> is_table("adult"), is_table("loans.csv"), is_table("sql")
    (False, True, True)
    """
    if data in DATASETS:
        return False
    return data == SQL or Path(data).exists() or bool(Path(data).suffix) or "/" in data


def open_source(data: str, options: dict[str, Any], sql_url: str | None = None) -> Source:
    """Open a table or a query. The address of a database is not part of a run's config.

    Args:
        data: a path, or ``"sql"``.
        options: ``query`` for a database.
        sql_url: its address, perhaps with a password.
    """
    if data != SQL:
        return open_table(data)
    if not options.get("query"):
        raise FFMLError("a database needs --query, such as --query 'SELECT * FROM loans'")
    if not sql_url:
        raise FFMLError("give the database's address again with --sql: it is not kept in files")
    return open_sql(sql_url, options["query"])


def with_roles(data: str, options: dict[str, Any], sql_url: str | None = None) -> dict[str, Any]:
    """Fill in the roles of columns that were not given, where they can only be one thing."""
    source = open_source(data, options, sql_url)
    for part in ("label", "task", "order", "sensitive", "drop"):
        names = options.get(part) or ()
        for name in (names,) if isinstance(names, str) else names:
            refuse_unknown(part, name, source.columns)
    guess = guess_roles(
        source,
        label=options.get("label"),
        sensitive=options.get("sensitive", ()),
        task=options.get("task"),
        drop=options.get("drop", ()),
    )
    found = {"label": guess.label, "sensitive": tuple(guess.sensitive)}
    if guess.task != source.task:  # a folder's files are its tasks unasked
        found["task"] = guess.task
    return options | found | ({"url": public_url(sql_url)} if sql_url else {})


def open_stream(
    data: str,
    options: dict[str, Any],
    *,
    seed: int,
    data_home: str | None = None,
    sql_url: str | None = None,
) -> tuple[Stream, RunningScaler | None]:
    """Open the stream of a run, and what standardises it if it does not come standardised."""
    if not is_table(data):
        if data in DATASETS and (given := [name for name in TABLE_OPTIONS if name in options]):
            option = given[0].replace("_", "-")
            raise FFMLError(f"--{option} is for tables of your own; '{data}' is a data set")
        return load(data, seed=seed, data_home=data_home, **options), None
    roles = {k: v for k, v in options.items() if k not in ("query", "url")}
    stream = table_stream(open_source(data, options, sql_url), **roles)
    return stream, RunningScaler.empty(stream.preprocessor.scaled)


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
        "dropped_rows": stream.dropped_rows,
    }
