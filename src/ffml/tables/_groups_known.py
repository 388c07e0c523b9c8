"""Groups that are known when people are decided about: their memberships as columns of x.

Only corrections look at these columns, never a model. A price on a group is then a threshold of
its own.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ffml.base import FFMLError, Schema, Stream, Task
from ffml.tables._stream import TableStream


def with_memberships(schema: Schema, x: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Put the memberships behind the features, if the schema has them."""
    if not schema.known_groups:
        return x
    return np.concatenate([x, schema.memberships(groups)], axis=1).astype(x.dtype)


def with_groups(stream: Stream) -> Stream:
    """Return the stream with everybody's memberships among the columns of x."""
    if isinstance(stream, TableStream) and stream.roles.intersect:
        raise FFMLError(
            "deciding with groups takes every protected column by itself; leave out intersect, or "
            "put the crossed groups into a column of their own"
        )
    schema = stream.schema.with_known_groups()

    def tasks() -> Iterator[Task]:
        for task in stream.tasks():
            yield task._replace(x=with_memberships(schema, task.x, task.groups))

    if not isinstance(stream, TableStream):
        return replace(stream, schema=schema, tasks=tasks)
    preprocessor = replace(stream.preprocessor, groups=schema.sensitive)
    return replace(stream, schema=schema, tasks=tasks, preprocessor=preprocessor)
