"""A labelled table as one task, for a model that exists already."""

from collections.abc import Sequence

import numpy as np

from ffml.base import FFMLError, Schema, SensitiveColumn, Task
from ffml.tables._labels import label_values
from ffml.tables._preprocess import Preprocessor
from ffml.tables._roles import role_texts
from ffml.tables._rows import CROSS
from ffml.tables._source import Source


def labelled_task(
    source: Source,
    preprocessor: Preprocessor,
    schema: Schema,
    *,
    sensitive: Sequence[str],
    positive: str | None = None,
) -> Task:
    """Read all rows of a (small) table as one task, with the model's features and groups.

    Args:
        source: the table.
        preprocessor: how the model's features are encoded.
        schema: the model's schema; its label column is read, and its groups give the codes.
        sensitive: the protected columns; more than the schema has where they were crossed.
        positive: the label's value that counts as 1.
    """
    for name in (schema.label, *sensitive, *preprocessor.names):
        if name not in source.columns:
            raise FFMLError(f"{source.name} has no column {name!r}, which the model needs here")
    xs, labels = [], []
    groups: list[list[str]] = [[] for _ in sensitive]
    for batch in source.batches([schema.label, *sensitive, *preprocessor.names]):
        xs.append(preprocessor.transform(batch.select(list(preprocessor.names))))
        labels += role_texts(batch.column(0), schema.label, "label").to_pylist()
        for i, name in enumerate(sensitive):
            groups[i] += role_texts(batch.column(1 + i), name, "sensitive").to_pylist()
    if not labels:
        raise FFMLError(f"{source.name} has no rows; at least one is needed")
    for name, values in ((schema.label, labels), *zip(sensitive, groups, strict=True)):
        if None in values:
            raise FFMLError(f"column {name!r} of {source.name} lacks values; leave those rows out")
    codes = label_values(schema.label, set(labels), positive)
    if len(schema.sensitive) < len(sensitive):
        groups = [[CROSS.join(parts) for parts in zip(*groups, strict=True)]]
    return Task(
        source.name,
        np.concatenate(xs),
        np.array([codes[label] for label in labels], np.int32),
        np.stack(
            [_codes(values, c) for values, c in zip(groups, schema.sensitive, strict=True)], 1
        ),
    )


def _codes(values: Sequence[str], column: SensitiveColumn) -> np.ndarray:
    known = {group: code for code, group in enumerate(column.groups)}
    if stray := sorted(set(values) - set(known)):
        raise FFMLError(
            f"the group {stray[0]!r} of {column.name!r} is new to the model, which knows "
            f"{', '.join(known)}; leave its rows out"
        )
    return np.array([known[value] for value in values], np.int32)
