"""Your own tables: reading them, turning columns into features, cutting them into tasks."""

from ffml.border import public_address as public_url
from ffml.tables._decision_roles import DecisionRoles
from ffml.tables._decisions import Decisions, read_decisions
from ffml.tables._describe import describe
from ffml.tables._further import further_stream, open_further
from ffml.tables._guess import Guess, fitting, guess_roles, usually
from ffml.tables._inspect import Inspection, inspect
from ffml.tables._labelled import labelled_task
from ffml.tables._labels import needs_positive
from ffml.tables._late import LateLabels, read_late_labels
from ffml.tables._look import ColumnLook, look
from ffml.tables._preprocess import Preprocessor
from ffml.tables._read import open_frame, open_sql, open_table
from ffml.tables._roles import Roles, refuse_unknown
from ffml.tables._settle import open_formats
from ffml.tables._source import Source
from ffml.tables._stream import TableStream, table_stream
from ffml.tables._survey import Known

__all__ = [
    "ColumnLook",
    "DecisionRoles",
    "Decisions",
    "Guess",
    "Inspection",
    "Known",
    "LateLabels",
    "Preprocessor",
    "Roles",
    "Source",
    "TableStream",
    "describe",
    "fitting",
    "further_stream",
    "guess_roles",
    "inspect",
    "labelled_task",
    "look",
    "needs_positive",
    "open_formats",
    "open_frame",
    "open_further",
    "open_sql",
    "open_table",
    "public_url",
    "read_decisions",
    "read_late_labels",
    "refuse_unknown",
    "table_stream",
    "usually",
]
