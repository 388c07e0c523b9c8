"""How one column becomes features. What a column learned is plain data and goes into JSON."""

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ffml.base import FFMLError
from ffml.data.tables._columns import is_number, is_text, numbers, texts

MISSING = "(missing)"  # how the feature of the missing values of a categorical column is called


@dataclass(frozen=True)
class Numeric:
    """A column of numbers, as they are; a missing one becomes the median of the first task."""

    name: str
    median: float

    @property
    def features(self) -> tuple[str, ...]:
        """One feature: the column itself."""
        return (self.name,)

    def encode(self, values: Any) -> np.ndarray:
        """Return the numbers as ``(n, 1)``."""
        found = numbers(values, self.name)
        return np.where(np.isnan(found), self.median, found)[:, None]

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {"kind": "numeric", **asdict(self)}


@dataclass(frozen=True)
class Categorical:
    """A column of categories, one feature for each; one that was not seen at fitting is all zeros.

    Missing values are a category of their own (``None``, the last one) if fitting saw any.
    """

    name: str
    categories: tuple[str | None, ...]

    @property
    def features(self) -> tuple[str, ...]:
        """One feature for each category: ``column=category``."""
        return tuple(f"{self.name}={MISSING if c is None else c}" for c in self.categories)

    def encode(self, values: Any) -> np.ndarray:
        """Return ``(n, categories)`` zeros and ones."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if not (is_text(values.type) or is_number(values.type) or pa.types.is_null(values.type)):
            raise FFMLError(
                f"column {self.name!r} held categories when it was fitted and now holds "
                f"{values.type}; turn it into texts"
            )
        known = pa.array(self.categories, pa.string())
        found = pc.fill_null(pc.index_in(texts(values), value_set=known), -1)
        return (np.asarray(found)[:, None] == np.arange(len(self.categories))).astype(np.float64)

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {"kind": "categorical", **asdict(self)}


Encoder = Numeric | Categorical


def encoder_from_json(saved: dict[str, Any]) -> Encoder:
    """Read back what ``to_json`` wrote."""
    kind, name = saved["kind"], saved["name"]
    if kind == "numeric" and math.isfinite(float(saved["median"])):
        return Numeric(name, float(saved["median"]))
    if kind == "categorical" and all(isinstance(c, str | None) for c in saved["categories"]):
        return Categorical(name, tuple(saved["categories"]))
    raise ValueError(f"column {name!r} is neither numeric nor categorical")
