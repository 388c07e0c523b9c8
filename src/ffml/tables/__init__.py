"""Your own tables: reading them, turning columns into features, cutting them into tasks."""

from ffml.tables._database import public_url
from ffml.tables._describe import describe
from ffml.tables._guess import Guess, guess_roles
from ffml.tables._inspect import Inspection, inspect
from ffml.tables._labelled import labelled_task
from ffml.tables._preprocess import Preprocessor
from ffml.tables._read import open_sql, open_table
from ffml.tables._roles import Roles, refuse_unknown
from ffml.tables._source import Source
from ffml.tables._stream import TableStream, table_stream

__all__ = [
    "Guess",
    "Inspection",
    "Preprocessor",
    "Roles",
    "Source",
    "TableStream",
    "describe",
    "guess_roles",
    "inspect",
    "labelled_task",
    "open_sql",
    "open_table",
    "public_url",
    "refuse_unknown",
    "table_stream",
]
