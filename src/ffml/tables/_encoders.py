"""How one column becomes features. What a column learned is plain data and goes into JSON."""

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ffml.base import FFMLError
from ffml.tables._columns import is_number, is_text, numbers, texts

# How the features of a categorical column are called that stand for no value of their own.
MISSING = "(missing)"
OTHER = "(other)"


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
        import pyarrow as pa
        import pyarrow.compute as pc

        if not (is_text(values.type) or is_number(values.type) or pa.types.is_null(values.type)):
            raise FFMLError(
                f"column {self.name!r} held categories when it was fitted and now holds "
                f"{values.type}; turn it into texts"
            )
        known = texts(pa.array(self.categories, pa.string()))
        found = texts(values)
        places = np.asarray(pc.fill_null(pc.index_in(found, value_set=known), -1))
        if self.other:
            new = (places < 0) & np.asarray(found.is_valid())
            places = np.where(new, len(self.categories), places)
        return (places[:, None] == np.arange(len(self.features))).astype(np.float64)

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
        return Categorical(name, tuple(saved["categories"]), bool(saved.get("other", False)))
    raise ValueError(f"column {name!r} is neither numeric nor categorical")
