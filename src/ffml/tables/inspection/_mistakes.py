"""Likely mistakes in a table, found from a sample of its rows."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ffml.base import Schema
from ffml.tables.encode._encoders import OTHER, Categorical
from ffml.tables.encode._preprocess import Preprocessor

SUSPICIOUS_AUC = 0.98
MIN_ROWS = 30
MIN_SIDE = 10  # rows on either side of a comparison
ROWS_PER_CATEGORY = 5
MOST = 0.5  # of the rows


class Sample(NamedTuple):
    """Some rows of all tasks."""

    x: np.ndarray  # (n, features)
    y: np.ndarray  # (n,) -1 where it is not known
    memberships: np.ndarray  # (n, contrasts)


def area_under_curve(scores: np.ndarray, labels: np.ndarray) -> float:
    """Return how often a row of label 1 has the higher score; ties count half.

    >>> area_under_curve(np.array([1, 2, 2, 3]), np.array([0, 0, 1, 1]))
    0.875
    """
    _, places = np.unique(scores, return_inverse=True)
    ones = np.bincount(places, labels)
    zeros = np.bincount(places, 1 - labels)
    below = np.cumsum(zeros) - zeros / 2
    return float((ones * below).sum() / (ones.sum() * zeros.sum()))


def likely_mistakes(sample: Sample, schema: Schema, preprocessor: Preprocessor | None) -> list[str]:
    """Say what looks like a copy of the label or of a group, an id, or an empty column."""
    if len(sample.y) < MIN_ROWS:
        return []
    found = []
    known = sample.y >= 0
    for name, block in _blocks(sample.x, schema, preprocessor):
        if label := _tells(block[known], sample.y[known]):
            found.append(
                f"feature {name!r} alone tells the label almost perfectly (AUC {label:.3f}): is it "
                f"known before the decision? If not, drop it (--drop {name})"
            )
        for contrast, members in zip(schema.contrasts, sample.memberships.T, strict=True):
            if group := _tells(block, members):
                found.append(
                    f"feature {name!r} tells {contrast} almost perfectly (AUC {group:.3f}): is it "
                    f"the sensitive column under another name? If so, drop it (--drop {name})"
                )
                break
        if preprocessor and (problem := _idle(block)):
            found.append(f"feature {name!r} {problem}; drop it (--drop {name})")
    for name in _scattered(sample.x, preprocessor):
        found.append(
            f"feature {name!r} has so many values that most rows count as {OTHER}; group its "
            f"values, or drop it if it is an id (--drop {name})"
        )
    return found


def _blocks(
    x: np.ndarray, schema: Schema, preprocessor: Preprocessor | None
) -> Iterator[tuple[str, np.ndarray]]:
    """Yield each column of the table with its features."""
    if preprocessor is None:
        yield from ((name, x[:, [i]]) for i, name in enumerate(schema.features))
        return
    for column, start in zip(preprocessor.columns, preprocessor.starts, strict=True):
        yield column.name, x[:, start : start + len(column.features)]


def _scattered(x: np.ndarray, preprocessor: Preprocessor | None) -> list[str]:
    """Return the columns most of whose rows have no category of their own."""
    places = preprocessor.features if preprocessor else ()
    columns = preprocessor.columns if preprocessor else ()
    return [
        column.name
        for column in columns
        if isinstance(column, Categorical)
        and column.other
        and x[:, places.index(column.features[-1])].mean() > MOST
    ]


def _tells(block: np.ndarray, target: np.ndarray) -> float | None:
    """Return the AUC of a column for a 0/1 target if it is suspicious.

    A category's score is the share of ones among its rows.
    """
    ones = target.sum()
    if min(ones, len(target) - ones) < MIN_SIDE:
        return None
    scores = block[:, 0]
    if block.shape[1] > 1:
        if len(target) < ROWS_PER_CATEGORY * block.shape[1]:
            return None
        scores = block @ ((block.T @ target) / np.maximum(block.sum(0), 1))
    area = area_under_curve(scores, target)
    area = max(area, 1 - area)
    return area if area > SUSPICIOUS_AUC else None


def _idle(block: np.ndarray) -> str | None:
    if not (block != block[0]).any():
        return "has the same value in all rows looked at"
    single = block[:, 0]
    if block.shape[1] == 1 and (single % 1 == 0).all() and len(np.unique(single)) == len(single):
        return "is a different whole number in every row looked at, like an id"
    return None
