"""Numbers whose unit seems to change from one task to another, such as euros and thousands."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from ffml.tables.encode._encoders import Numeric
from ffml.tables.encode._preprocess import Preprocessor

MIN_NUMBERS = 20  # of a task, zeros not counted
LEAST_FACTOR = 30.0  # so that 100 and 1,000 are noticed though the numbers differ as well


class Change(NamedTuple):
    """Where a column's numbers become so much larger (or smaller)."""

    factor: float
    before: str  # a task ...
    after: str  # ... and the next one with enough numbers


def changed_units(
    tasks: Iterable[tuple[str, np.ndarray]], preprocessor: Preprocessor | None
) -> list[str]:
    """Say which columns of numbers change their scale at once.

    Args:
        tasks: names and features of some rows, in the order of play.
        preprocessor: tells the columns of numbers; None: features are standardised, none changes.
    """
    if preprocessor is None:
        return []
    tasks = list(tasks)
    found = []
    for column, place in zip(preprocessor.columns, preprocessor.starts, strict=True):
        if not isinstance(column, Numeric):
            continue
        name = column.name
        change = scale_change((task, column.as_written(x[:, place])) for task, x in tasks)
        if change:
            large = change.factor >= 1
            times = change.factor if large else 1 / change.factor
            found.append(
                f"feature {name!r} is about {float(f'{times:.1g}'):,.0f} times "
                f"{'larger' if large else 'smaller'} in task {change.after!r} than in "
                f"{change.before!r}: has its unit changed? Bring all tasks to one unit"
            )
    return found


def scale_change(tasks: Iterable[tuple[str, np.ndarray]]) -> Change | None:
    """Find the first task whose numbers are all of another size than in the task before.

    The quartiles of the absolute values (zeros left out) must all change by `LEAST_FACTOR` or
    more. A change of unit moves them all; a few large values move none.

    >>> euros = np.linspace(20_000, 60_000, 50)
    >>> scale_change([("May", euros), ("June", euros / 1000)])
    Change(factor=0.001, before='May', after='June')
    """
    before, known = "", None
    for task, values in tasks:
        sizes = np.abs(values[values != 0])
        if len(sizes) < MIN_NUMBERS:
            continue
        quartiles = np.quantile(sizes, (0.25, 0.5, 0.75))
        if known is not None:
            ratios = quartiles / known
            if ratios.min() >= LEAST_FACTOR or ratios.max() <= 1 / LEAST_FACTOR:
                return Change(float(ratios[1]), before, task)
        before, known = task, quartiles
    return None
