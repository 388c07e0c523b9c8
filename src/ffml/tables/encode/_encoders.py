"""How one column becomes features, and what only the first tasks may say of it.

What a column learned is plain data and goes into JSON. Later tasks are the future: a missing number
becomes the column's median in the first task that has a number there; of a column with many texts,
those met first along the stream have a feature of their own. Each task hands out features to the
texts that are new in it, the most frequent first, until none is left.
"""

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ffml.base import FFMLError
from ffml.tables._values import is_number, is_text, numbers, texts

# How the features of a categorical column are called that stand for no value of their own.
MISSING = "(missing)"
OTHER = "(other)"
MEDIAN_ROWS = 65536  # the median is that of the first so many numbers of the task
MAX_CATEGORIES = 100  # texts of a column with a feature of their own
# Single precision keeps 24 bits. Where a column's numbers lie so many times their own spread away
# from 0, too few of these bits are left for what differs between people.
FAR = 2**10
LEAST_FAR = 2.0**16  # nearer to 0, whole numbers are exact anyway
ORDINARY = (2.0**-60, 2.0**60)  # spreads whose squares single precision can add


@dataclass(frozen=True)
class Numeric:
    """A column of numbers; a missing one becomes the median of the first task.

    The feature is ``(number - offset) · scale``. Offset and scale are 0 and 1 unless single
    precision could not tell the numbers apart as they are (see `ffml.tables.encode._encoders`).
    """

    name: str
    median: float
    offset: float = 0.0
    scale: float = 1.0

    @property
    def features(self) -> tuple[str, ...]:
        """One feature: the column itself."""
        return (self.name,)

    def encode(self, values: Any) -> np.ndarray:
        """Return the numbers as ``(n, 1)``."""
        return self.filled(numbers(values, self.name))[:, None]

    def filled(self, numbers: np.ndarray) -> np.ndarray:
        """Fill in what is missing (NaN), and move and stretch what is far off."""
        full = np.where(np.isnan(numbers), self.median, numbers)
        if self.offset == 0.0 and self.scale == 1.0:
            return full
        return (full - self.offset) * self.scale

    def as_written(self, feature: np.ndarray) -> np.ndarray:
        """Return the numbers that features stand for."""
        return feature / self.scale + self.offset

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values; offset and scale only where they change something."""
        saved = {"kind": "numeric", **asdict(self)}
        ordinary = {"offset": 0.0, "scale": 1.0}
        return {k: v for k, v in saved.items() if k not in ordinary or v != ordinary[k]}


@dataclass(frozen=True)
class Categorical:
    """A column of categories, one feature for each.

    Missing values are a category of their own (``None``, the last one) if fitting saw any.
    Values without a feature of their own share one if ``other``, and are all zeros if not.
    """

    name: str
    categories: tuple[str | None, ...]
    other: bool = False

    @property
    def features(self) -> tuple[str, ...]:
        """One feature for each category: ``column=category``, and perhaps ``column=(other)``."""
        own = tuple(f"{self.name}={MISSING if c is None else c}" for c in self.categories)
        return (*own, f"{self.name}={OTHER}") if self.other else own

    def encode(self, values: Any) -> np.ndarray:
        """Return ``(n, features)`` zeros and ones."""
        self.refuse_kind(values.type)
        return (self.places(texts(values))[:, None] == np.arange(len(self.features))).astype(float)

    def refuse_kind(self, kind: Any) -> None:
        """Refuse values that cannot be categories."""
        if not (is_text(kind) or is_number(kind) or pa.types.is_null(kind)):
            raise FFMLError(
                f"column {self.name!r} held categories before and now holds {kind}; "
                "turn it into texts"
            )

    def places(self, values: pa.Array) -> np.ndarray:
        """Return the place of each text's feature, -1 where it has none."""
        if isinstance(values, pa.DictionaryArray):
            own = self.places(pa.concat_arrays([values.dictionary, pa.nulls(1, pa.string())]))
            return own[np.asarray(values.indices.fill_null(-1))]
        own = texts(pa.array(self.categories, pa.string()))
        values = _spelled(values, own)
        places = np.asarray(pc.fill_null(pc.index_in(values, value_set=own), -1))
        if self.other:
            new = (places < 0) & np.asarray(values.is_valid())
            places = np.where(new, len(self.categories), places)
        return places

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {"kind": "categorical", **asdict(self)}


Encoder = Numeric | Categorical


def _spelled(values: Any, known: pa.Array) -> Any:
    """Spell true and false as the known texts do: where a CSV file has True, JSON has true.

    >>> _spelled(pa.array(["true", "maybe", None]), pa.array(["False", "True"])).to_pylist()
    ['True', 'maybe', None]
    """
    for word in ("true", "false"):
        own = known.filter(pc.equal(pc.utf8_lower(known), word))
        if len(own) == 1:
            values = pc.if_else(pc.equal(pc.utf8_lower(values), word), own[0], values)
    return values


def encoder_from_json(saved: dict[str, Any]) -> Encoder:
    """Read back what ``to_json`` wrote."""
    kind, name = saved["kind"], saved["name"]
    if kind == "numeric":
        offset, scale = float(saved.get("offset", 0)), float(saved.get("scale", 1))
        median = float(saved["median"])
        if all(map(math.isfinite, (median, offset, scale))) and scale > 0:
            return Numeric(name, median, offset, scale)
    if kind == "categorical" and all(isinstance(c, str | None) for c in saved["categories"]):
        return Categorical(name, tuple(saved["categories"]), bool(saved.get("other", False)))
    raise ValueError(f"column {name!r} is neither numeric nor categorical")


def fit_numeric(name: str, tasks: Iterable[np.ndarray]) -> Numeric:
    """Learn a column from the first task that has a number; missing ones are NaN.

    >>> fit_numeric("age", [np.array([np.nan]), np.array([1.0, np.nan, 3.0]), np.array([9.0])])
    Numeric(name='age', median=2.0, offset=0.0, scale=1.0)
    >>> fit_numeric("time", [np.array([1.7e9 + 1, 1.7e9 + 3])]).offset
    1700000002.0
    """
    present = (values[~np.isnan(values)][:MEDIAN_ROWS] for values in tasks)
    first = next(values for values in present if len(values))
    median = float(np.median(first))
    low, high = np.quantile(first, (0.05, 0.95))
    spread = float(high - low)
    far = abs(median) > max(LEAST_FAR, FAR * spread)
    size = spread or abs(median)
    # A power of two: only the exponent changes, no digit is lost.
    strange = size and not ORDINARY[0] <= size <= ORDINARY[1]
    scale = 2.0 ** -round(math.log2(size)) if strange else 1.0
    return Numeric(name, median, median if far else 0.0, scale)


def first_categories(tasks: Iterable[Counter[str]], limit: int = MAX_CATEGORIES) -> tuple[str, ...]:
    """Choose the texts met first, in alphabetic order; reads no more tasks than it needs.

    >>> first_categories([Counter("a"), Counter("cbb"), Counter("dddd")], limit=3)
    ('a', 'b', 'c')
    """
    chosen: dict[str, None] = {}
    for counts in tasks:
        for text in sorted(counts, key=lambda text: (-counts[text], text)):
            if len(chosen) < limit:
                chosen.setdefault(text)
        if len(chosen) == limit:
            break
    return tuple(sorted(chosen))
