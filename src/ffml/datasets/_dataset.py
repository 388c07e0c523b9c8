"""What the registry knows about a data set."""

from collections.abc import Callable
from dataclasses import dataclass

from ffml.base import Stream


@dataclass(frozen=True)
class Dataset:
    """A data set's card. ``load`` takes ``seed`` and the data set's own options, by keyword."""

    name: str
    summary: str
    load: Callable[..., Stream]
    num_tasks: int  # with default options, like all that follows
    num_rows: int
    task: str  # what one task is
    label: str  # what label 1 means
    sensitive: str  # what the protected attribute is
    citation: str
    licence: str
    shipped: bool  # False: downloaded on first use, and ``load`` takes ``data_home``
