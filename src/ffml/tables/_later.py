"""Labels that are given beside a run: of rows to adapt to, or of people decided about before."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ffml.base import FFMLError, Schema, SensitiveColumn, Task
from ffml.tables._labels import label_values
from ffml.tables._roles import refuse_unknown, role_texts
from ffml.tables._rows import CROSS
from ffml.tables.encode._preprocess import Preprocessor
from ffml.tables.sources._locate import located
from ffml.tables.sources._source import Source


class LateLabels(NamedTuple):
    """Labels by id, and by task where the table names tasks."""

    ids: list[str]
    labels: np.ndarray  # (n,) 0 or 1
    tasks: list[str | None]


def read_late_labels(
    source: Source, *, id: str, label: str, known: dict[str, int], task: str | None = None
) -> LateLabels:
    """Read a table of labels; rows without a label are left out.

    Args:
        source: the table.
        id: the column of ids.
        label: the column of labels.
        known: the label's texts and what they stand for.
        task: the column of tasks, which is read if the table has it.
    """
    for part, name in (("id", id), ("label", label)):
        refuse_unknown(part, name, source.columns)
    columns = [id, label] + ([task] if task in source.columns else [])
    ids: list[str] = []
    texts: list[str] = []
    tasks: list[str | None] = []
    for batch in source.batches([name for name in columns if name]):
        found = [
            role_texts(batch.column(i), str(name), "id").to_pylist()
            for i, name in enumerate(columns)
        ]
        named = found[2] if len(found) > 2 else [None] * len(batch)
        for row, text, of in zip(found[0], found[1], named, strict=True):
            if text is None:
                continue
            if row is None:
                raise FFMLError(f"{source.name} has a label without an id; leave that row out")
            ids.append(row)
            texts.append(text)
            tasks.append(of)
    positive = next((text for text, code in known.items() if code), None)
    codes = label_values(label, {*texts, *known}, positive)
    return LateLabels(ids, np.array([codes[text] for text in texts], np.int32), tasks)


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
        with located(source):
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
