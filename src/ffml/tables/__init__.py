"""Your own tables: reading them, turning columns into features, cutting them into tasks."""

from ffml.tables._columns import as_table, refuse_sparse
from ffml.tables._decisions import DecisionRoles, Decisions, read_decisions
from ffml.tables._labels import (
    adverse_warning,
    label_values,
    must_say_positive,
    needs_positive,
    refuse_adverse,
    sensitive_column,
)
from ffml.tables._later import (
    further_stream,
    labelled_task,
    open_further,
    person_columns,
    read_late_labels,
)
from ffml.tables._order import (
    earlier_period,
    empty_warning,
    far_ahead,
    is_period,
    twin_period,
)
from ffml.tables._play import Known, TableStream, with_groups, with_memberships
from ffml.tables._roles import Roles, refuse_unknown
from ffml.tables._settle import open_formats
from ffml.tables._stream import table_stream
from ffml.tables._values import num_missing, role_texts
from ffml.tables.encode._preprocess import Preprocessor
from ffml.tables.inspection._describe import describe
from ffml.tables.inspection._guess import ColumnLook, fitting, guess_roles, look, usually
from ffml.tables.inspection._inspect import inspect
from ffml.tables.sources._open import open_data, open_table
from ffml.tables.sources._source import Source, located
from ffml.tables.sources._typed import FrameSource

__all__ = [
    "ColumnLook",
    "DecisionRoles",
    "Decisions",
    "FrameSource",
    "Known",
    "Preprocessor",
    "Roles",
    "Source",
    "TableStream",
    "adverse_warning",
    "as_table",
    "describe",
    "earlier_period",
    "empty_warning",
    "far_ahead",
    "fitting",
    "further_stream",
    "guess_roles",
    "inspect",
    "is_period",
    "label_values",
    "labelled_task",
    "located",
    "look",
    "must_say_positive",
    "needs_positive",
    "num_missing",
    "open_data",
    "open_formats",
    "open_further",
    "open_table",
    "person_columns",
    "read_decisions",
    "read_late_labels",
    "refuse_adverse",
    "refuse_sparse",
    "refuse_unknown",
    "role_texts",
    "sensitive_column",
    "table_stream",
    "twin_period",
    "usually",
    "with_groups",
    "with_memberships",
]
