"""A pass over a table that knows the order of its tasks, to learn from the first ones alone."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ffml.tables._columns import numbers, texts
from ffml.tables._medians import MedianFit
from ffml.tables._roles import Roles
from ffml.tables._rows import needed_columns, read_rows
from ffml.tables._source import Source

if TYPE_CHECKING:
    import pyarrow as pa


class OrderedFit(Protocol):
    """What is learned of a column from the first tasks, see `MedianFit` and `FirstCategories`."""

    def add(self, found: Any, tasks: np.ndarray) -> None:
        """See the column in one more batch, with the place of each row's task in the stream."""

    def settled(self, task: int) -> bool:
        """Tell whether rows of this task and of later ones change nothing."""

    def finish(self) -> Any:
        """Return what was learned."""


def add_column(fit: OrderedFit, values: Any, name: str, tasks: np.ndarray) -> None:
    """Show a column to its fit, as numbers or as texts."""
    fit.add(numbers(values, name) if isinstance(fit, MedianFit) else texts(values), tasks)


def read_in_order(
    source: Source,
    roles: Roles,
    tasks: Sequence[str],
    in_place: bool,
    fits: Mapping[str, OrderedFit],
) -> dict[str, Any]:
    """Read columns of a table once more, now that the order of its tasks is known.

    Args:
        source: the table.
        roles: of its columns.
        tasks: in the order in which they are played.
        in_place: the rows are in that order already, so that the first ones are enough.
        fits: what is learned, by column.
    """
    places = {task: place for place, task in enumerate(tasks)}
    wanted = needed_columns(replace(roles, order=None, time=None), list(fits))
    for batch in source.batches(wanted) if fits else ():
        rows = read_rows(batch, roles)
        if not len(rows.task):
            continue
        played = _places(rows.task, places)
        if in_place and all(fit.settled(int(played[0])) for fit in fits.values()):
            break
        for name, fit in fits.items():
            add_column(fit, rows.batch.column(name), name, played)
    return {name: fit.finish() for name, fit in fits.items()}


def _places(tasks: "pa.Array", places: Mapping[str, int]) -> np.ndarray:
    """Look up the place of each row's task; one that is new will be noticed later."""
    encoded = tasks.dictionary_encode()
    lookup = [places.get(name, len(places)) for name in encoded.dictionary.to_pylist()]
    return np.array(lookup)[np.asarray(encoded.indices)]
