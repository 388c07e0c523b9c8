"""Warnings while a run lives: inputs of a task that differ from those of the tasks before.

Three things are looked at, column by column, before a task is learned from:

- **new categories**: a category that no task before had, in at least 10 rows and 1 % of the task,
  and so frequent that the rows before should have held 10 of it;
- **missing values**: their share is 10 points higher or lower than before, and not by chance
  (4 standard errors);
- **scale**: the typical size of a column of numbers (the median of what is not 0, signs left out)
  is 10 times larger or smaller than before; each side has at least 30 numbers.
"""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ffml.base import Task
from ffml.tables import Preprocessor

MIN_ROWS = 10
MIN_SHARE = 0.01
MAX_UNKNOWN = 0.05  # share of rows with categories that the model has no feature for
MISSING_POINTS = 0.1
STANDARD_ERRORS = 4.0
FACTOR = 10.0
MIN_NUMBERS = 30


class Drift(NamedTuple):
    """What is different about a column."""

    column: str
    text: str


class Column(NamedTuple):
    """One column of the table, and its features."""

    name: str
    kind: str  # "numeric", "categorical", or how else it is encoded
    features: tuple[str, ...]
    start: int  # its first feature

    @property
    def places(self) -> slice:
        """Where its features are in a row."""
        return slice(self.start, self.start + len(self.features))


class InputWatch(NamedTuple):
    """What the inputs of all tasks so far were like.

    >>> from ffml.tables import Preprocessor
    >>> watch = InputWatch.of(Preprocessor.fit({"income": [1.0, 2.0], "job": ["cook", "smith"]}))
    >>> def task(factor):
    ...     x = np.array([[factor * i, i % 2, 1 - i % 2] for i in range(1, 41)])
    ...     return Task("t", x, np.zeros(40), np.zeros((40, 1)))
    >>> watch.update(task(1.0)).compare(task(1000.0))
    [Drift(column='income', text='about 1,000 times larger than before')]
    """

    columns: tuple[Column, ...]
    rows: np.ndarray  # () rows seen
    counts: np.ndarray  # (features,) rows that were not 0 there
    missing: np.ndarray  # (columns,) values that were missing
    asked: np.ndarray  # (columns,) values of which it is known whether they were missing
    sizes: np.ndarray  # (columns,) sum of log(typical size) over rows, changes cut at FACTOR
    sized: np.ndarray  # (columns,) rows that these sizes rest on

    @classmethod
    def of(cls, preprocessor: Preprocessor) -> "InputWatch":
        """Begin before the first task."""
        columns, start = [], 0
        for column in preprocessor.columns:
            kind = type(column).__name__.lower()
            columns.append(Column(column.name, kind, tuple(column.features), start))
            start += len(column.features)
        nothing = np.zeros(len(columns))
        return cls(tuple(columns), np.zeros(()), np.zeros(start), *[nothing] * 4)

    def update(self, task: Task) -> "InputWatch":
        """See one more task, its features as they were encoded."""
        logs, weights = _sizes(self.columns, task.x)
        before = self.sizes / np.maximum(self.sized, 1)
        near = np.clip(logs, before - math.log(FACTOR), before + math.log(FACTOR))
        logs = np.where(self.sized > 0, near, logs)  # one odd task moves what is typical a little
        known = np.zeros(len(self.columns)) if task.missing is None else task.missing
        asked = 0 if task.missing is None else len(task.x)
        return self._replace(
            rows=self.rows + len(task.x),
            counts=self.counts + (task.x[:, : len(self.counts)] != 0).sum(0),
            missing=self.missing + known,
            asked=self.asked + asked,
            sizes=self.sizes + weights * logs,
            sized=self.sized + weights,
        )

    def compare(self, task: Task) -> list[Drift]:
        """Say what is different about a task."""
        return self.compare_inputs(task.x, task.missing)

    def compare_inputs(self, x: np.ndarray, missing: np.ndarray | None = None) -> list[Drift]:
        """Say what is different about some rows.

        Args:
            x: their features, as they were encoded.
            missing: how many values each column lacked, if that is known.
        """
        if not self.rows or not len(x):
            return []
        return [*self._new_categories(x), *self._missing(missing, len(x)), *self._scales(x)]

    def _new_categories(self, x: np.ndarray) -> Iterator[Drift]:
        for column in self.columns:
            if column.kind != "categorical":
                continue
            block = x[:, column.places]
            now, before = block.sum(0), self.counts[column.places]
            for feature, rows, seen in zip(column.features, now, before, strict=True):
                share = rows / len(block)
                if not seen and rows >= MIN_ROWS and share >= max(MIN_SHARE, MIN_ROWS / self.rows):
                    new = feature.removeprefix(f"{column.name}=")
                    yield Drift(column.name, f"{new!r} is new, in {share:.0%} of the rows")
            unknown = int((~block.any(1)).sum())
            if unknown >= MIN_ROWS and unknown >= MAX_UNKNOWN * len(block):
                share = unknown / len(block)
                yield Drift(
                    column.name, f"{share:.0%} of the rows have values unknown to the model"
                )

    def _missing(self, missing: np.ndarray | None, rows: int) -> Iterator[Drift]:
        if missing is None:
            return
        for i, column in enumerate(self.columns):
            if not self.asked[i]:
                continue
            before, now = self.missing[i] / self.asked[i], missing[i] / rows
            pooled = (self.missing[i] + missing[i]) / (self.asked[i] + rows)
            error = math.sqrt(pooled * (1 - pooled) * (1 / self.asked[i] + 1 / rows))
            if abs(now - before) >= max(MISSING_POINTS, STANDARD_ERRORS * error):
                yield Drift(
                    column.name, f"{now:.0%} of the values are missing, {before:.0%} before"
                )

    def _scales(self, x: np.ndarray) -> Iterator[Drift]:
        logs, weights = _sizes(self.columns, x)
        for i, column in enumerate(self.columns):
            if not (weights[i] and self.sized[i]):
                continue
            change = logs[i] - self.sizes[i] / self.sized[i]
            if abs(change) >= math.log(FACTOR):
                factor = float(f"{math.exp(abs(change)):.1g}")
                way = "larger" if change > 0 else "smaller"
                yield Drift(column.name, f"about {_factor(factor)} times {way} than before")


def drift_words(drifts: Sequence[Drift]) -> list[str]:
    """Write what is different, a line for each column.

    >>> drift_words([Drift("job", "'cook' is new"), Drift("job", "20% are missing")])
    ["job: 'cook' is new; 20% are missing"]
    """
    lines: dict[str, list[str]] = {}
    for column, text in drifts:
        lines.setdefault(column, []).append(text)
    return [f"{column}: {'; '.join(texts)}" for column, texts in lines.items()]


def _sizes(columns: tuple[Column, ...], x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the log of each column's typical size, and how many numbers it rests on (or 0)."""
    logs, weights = np.zeros(len(columns)), np.zeros(len(columns))
    for i, column in enumerate(columns):
        if column.kind == "numeric":
            sizes = np.abs(x[:, column.start])
            sizes = sizes[sizes > 0]
            if len(sizes) >= MIN_NUMBERS:
                logs[i], weights[i] = math.log(np.median(sizes)), len(sizes)
    return logs, weights


def _factor(factor: float) -> str:
    """Write a factor with at most six digits.

    >>> _factor(1000.0), _factor(1e28)
    ('1,000', '1e+28')
    """
    return f"{factor:,.0f}" if factor < 1e6 else f"{factor:.0e}"
