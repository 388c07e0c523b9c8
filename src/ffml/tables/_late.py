"""Labels that come after the decisions, by the ids of the rows."""

from typing import NamedTuple

import numpy as np

from ffml.base import FFMLError
from ffml.tables._labels import label_values
from ffml.tables._roles import refuse_unknown, role_texts
from ffml.tables._source import Source


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
