"""Your own tables: reading them, turning columns into features, cutting them into tasks."""

from ffml.data.tables._database import public_url
from ffml.data.tables._decision_roles import DecisionRoles
from ffml.data.tables._decisions import Decisions, read_decisions
from ffml.data.tables._describe import describe
from ffml.data.tables._further import further_stream, open_further
from ffml.data.tables._guess import Guess, fitting, guess_roles, usually
from ffml.data.tables._inspect import Inspection, inspect
from ffml.data.tables._labelled import labelled_task
from ffml.data.tables._labels import needs_positive
from ffml.data.tables._late import LateLabels, read_late_labels
from ffml.data.tables._look import ColumnLook, look
from ffml.data.tables._preprocess import Preprocessor
from ffml.data.tables._read import open_frame, open_sql, open_table
from ffml.data.tables._roles import Roles, refuse_unknown
from ffml.data.tables._settle import open_formats
from ffml.data.tables._source import Source
from ffml.data.tables._stream import TableStream, table_stream
from ffml.data.tables._survey import Known

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
