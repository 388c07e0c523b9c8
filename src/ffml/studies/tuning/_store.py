"""Results of finished chunks: one file each, written whole or not at all."""

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from ffml.base import FFMLError
from ffml.recipe.saved import versions
from ffml.store import durable
from ffml.store.container import Contents, DamagedFileError, pack, read
from ffml.studies.cells import RunSpec


class Judged(NamedTuple):
    """How settings did in the rounds that judge."""

    rounds: list[int]
    n_validation: list[int]
    metrics: tuple[str, ...]
    values: np.ndarray  # (settings, rounds, metrics), NaN where undefined


class ChunkStore:
    """A folder of results. They are found by a run's settings, in whatever chunk it was computed.

    What is damaged counts as not there.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    def save(self, cells: Sequence[RunSpec], judged: Judged, seconds: float) -> Path:
        """Keep the results of runs that were computed together."""
        keys = [cell.key for cell in cells]
        document = {
            "kind": "tuning",
            "keys": keys,
            "rounds": judged.rounds,
            "n_validation": judged.n_validation,
            "metrics": judged.metrics,
            "seconds": seconds,
            "versions": versions(),
        }
        config = cells[0].config
        name = hashlib.sha256("".join(keys).encode()).hexdigest()[:16]
        stem = f"{Path(config.data).stem}-{config.recipe.method}-{config.seed}-{name}"
        path = self.folder / f"{stem}.safetensors"
        self.folder.mkdir(parents=True, exist_ok=True)
        durable.write_atomically(path, pack(document, {"values": judged.values}).data)
        return path

    def finished(self) -> set[str]:
        """Return the keys of all runs whose results are there, and whole."""
        return {key for contents in self._contents() for key in contents.document["keys"]}

    def seconds(self, cells: Sequence[RunSpec]) -> float:
        """Return how long the chunks took that these runs are in, data and compilation included."""
        keys = {cell.key for cell in cells}
        documents = [contents.document for contents in self._contents()]
        return sum(float(d["seconds"]) for d in documents if keys.intersection(d["keys"]))

    def load(self, cells: Sequence[RunSpec]) -> pd.DataFrame:
        """Return one row per run and judged round.

        Columns: ``setting`` (its number), ``seed``, ``round``, ``n_validation`` and the metrics of
        `ffml.metrics.judge` with the columns of `ffml.studies.compare.gap_columns`, NaN where
        undefined.

        Raises:
            FFMLError: a run is not finished.
        """
        found: dict[str, pd.DataFrame] = {}
        for document, arrays in self._contents():
            places = {"round": document["rounds"], "n_validation": document["n_validation"]}
            for key, values in zip(document["keys"], arrays["values"], strict=True):
                table = pd.DataFrame(values, columns=document["metrics"])
                found[key] = pd.concat([pd.DataFrame(places), table], axis=1)
        frames = []
        for cell in cells:
            if cell.key not in found:
                raise FFMLError(
                    f"{self.folder} has no results of setting {cell.label} with seed "
                    f"{cell.config.seed}; compute it first"
                )
            frame = found[cell.key].copy()
            frame.insert(0, "seed", cell.config.seed)
            frame.insert(0, "setting", int(cell.label))
            frames.append(frame)
        return pd.concat(frames, ignore_index=True)

    def _contents(self) -> Iterator[Contents]:
        for path in sorted(self.folder.glob("*.safetensors")):
            try:
                contents = read(path)
            except DamagedFileError:
                continue
            if contents.document.get("kind") == "tuning":
                yield contents
