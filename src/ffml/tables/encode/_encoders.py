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
    """A column of numbers; a missing one becomes the median of the first task.

    The feature is ``(number - offset) · scale``. Offset and scale are 0 and 1 unless single
    precision could not tell the numbers apart as they are (see `ffml.tables.encode._first`).
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

    def filled(self, found: np.ndarray) -> np.ndarray:
        """Fill in what is missing (NaN), and move and stretch what is far off."""
        full = np.where(np.isnan(found), self.median, found)
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
        return self.hot(self.places(texts(values)))

    def refuse_kind(self, kind: Any) -> None:
        """Refuse values that cannot be categories."""
        import pyarrow as pa

        if not (is_text(kind) or is_number(kind) or pa.types.is_null(kind)):
            raise FFMLError(
                f"column {self.name!r} held categories when it was fitted and now holds {kind}; "
                "turn it into texts"
            )

    def places(self, found: Any) -> np.ndarray:
        """Return the place of each text's feature, -1 where it has none."""
        import pyarrow as pa
        import pyarrow.compute as pc

        known = texts(pa.array(self.categories, pa.string()))
        places = np.asarray(pc.fill_null(pc.index_in(found, value_set=known), -1))
        if self.other:
            new = (places < 0) & np.asarray(found.is_valid())
            places = np.where(new, len(self.categories), places)
        return places

    def hot(self, places: np.ndarray) -> np.ndarray:
        """Return ones at these places, as ``(n, features)``."""
        return (places[:, None] == np.arange(len(self.features))).astype(np.float64)

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {"kind": "categorical", **asdict(self)}


Encoder = Numeric | Categorical


def encoder_from_json(saved: dict[str, Any]) -> Encoder:
    """Read back what ``to_json`` wrote."""
    kind, name = saved["kind"], saved["name"]
    if kind == "numeric":
        found = [float(saved.get(k, d)) for k, d in (("offset", 0.0), ("scale", 1.0))]
        found.insert(0, float(saved["median"]))
        if all(map(math.isfinite, found)) and found[2] > 0:
            return Numeric(name, *found)
    if kind == "categorical" and all(isinstance(c, str | None) for c in saved["categories"]):
        return Categorical(name, tuple(saved["categories"]), bool(saved.get("other", False)))
    raise ValueError(f"column {name!r} is neither numeric nor categorical")
