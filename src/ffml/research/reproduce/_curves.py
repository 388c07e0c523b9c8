"""Learning curves of every round of a run: what task learning efficiency is read from."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ffml.base import FFMLError
from ffml.store import durable
from ffml.store.container import Contents, pack, read_keyed
from ffml.studies.compare import RunSpec
from ffml.studies.efficiency import SUPPORT_SIZES, Point

# Raised whenever the same settings would give other curves.
CURVES_FORMAT = 1


@dataclass(frozen=True)
class CurveSpec:
    """A run whose rounds are judged with growing supports as well."""

    run: RunSpec
    sizes: tuple[int, ...] = SUPPORT_SIZES

    @property
    def key(self) -> str:
        """A name for the results, as that of a `RunSpec`."""
        text = f"{CURVES_FORMAT} {self.run.key} {self.sizes}"
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def name(self) -> str:
        """What people call it."""
        return self.run.name


def packed_curves(cell: CurveSpec, curves: Sequence[Sequence[Point]], seconds: float) -> bytes:
    """Make the file of a run's curves, of rounds 1 … T."""
    points = [(t, *point) for t, curve in enumerate(curves, 1) for point in curve]
    document = {"kind": "curves", "key": cell.key, "rounds": len(curves), "seconds": seconds}
    return pack(document, {"points": np.array(points, float).reshape(-1, 4)}).data


class CurveStore:
    """A folder of curves, one file a run; what is damaged counts as not there."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    def path(self, cell: CurveSpec) -> Path:
        """Return where a run's curves are, or will be."""
        config = cell.run.config
        name = f"{config.data}-{config.recipe.method}-{config.seed}-{cell.key[:16]}"
        return self.folder / f"{name}.safetensors"

    def finished(self, cell: CurveSpec) -> bool:
        """Tell whether a run's curves are there, and whole."""
        return read_keyed(self.path(cell), cell.key) is not None

    def save(self, cell: CurveSpec, packed: bytes) -> None:
        """Keep what `packed_curves` made."""
        self.folder.mkdir(parents=True, exist_ok=True)
        durable.write_atomically(self.path(cell), packed)

    def seconds(self, cell: CurveSpec) -> float:
        """Return how long measuring took, without the run itself."""
        return float(self._finished(cell).document["seconds"])

    def load(self, cells: Sequence[CurveSpec]) -> pd.DataFrame:
        """Return one row per run, round and number of labelled rows.

        Columns: ``label``, ``data``, ``validation``, ``seed``, ``round``, ``rows``, ``loss``,
        ``dbc``.
        """
        return pd.concat([self._frame(cell) for cell in cells], ignore_index=True)

    def _frame(self, cell: CurveSpec) -> pd.DataFrame:
        points = self._finished(cell).arrays["points"]
        config = cell.run.config
        about: dict[str, Any] = {
            "label": cell.run.label,
            "data": config.data,
            "validation": config.validation_fraction,
            "seed": config.seed,
        }
        frame = pd.DataFrame(points, columns=["round", "rows", "loss", "dbc"])
        return pd.DataFrame(about, index=frame.index).join(frame.astype({"round": int}))

    def _finished(self, cell: CurveSpec) -> Contents:
        contents = read_keyed(self.path(cell), cell.key)
        if contents is None:
            raise FFMLError(
                f"{self.folder} has no curves of {cell.run.name}; run 'ffml reproduce' again"
            )
        return contents
