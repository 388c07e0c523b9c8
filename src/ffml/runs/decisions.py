"""Who was decided about, and what became of it: kept for good, apart from what is learned.

`DecisionLog` is all that a run asks of the place where decisions and labels are kept; a database
can take the place of the files. The checkpoint says what counts: what was added after it (by a
process that was killed) is not found, and is written over when the same is done again.
"""

import re
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from ffml.base import FFMLError, Schema, Task
from ffml.online.judge import Decided
from ffml.store import durable

if TYPE_CHECKING:
    import pyarrow as pa

DECISIONS = "decisions"  # the folder of `ParquetLog` in that of a run
_NAME = re.compile(r"(round-(\d+)|labels-(\d+)-(\d+))\.parquet")


class Decisions(NamedTuple):
    """The people of a round, and what was decided about them."""

    round: int
    task: str
    ids: np.ndarray  # (n,) texts
    groups: dict[str, np.ndarray]  # sensitive column -> the group of each person, as text
    logits: np.ndarray  # (n,) positive where above 0; NaN for those whose labels supported it
    probabilities: np.ndarray  # (n,) of label 1; NaN likewise
    labels: np.ndarray  # (n,) as far as they were known then, -1 otherwise


class Labels(NamedTuple):
    """Labels that came later: for the ``number``-th time since a round."""

    round: int
    number: int
    tasks: np.ndarray  # (n,) texts
    ids: np.ndarray  # (n,) texts
    labels: np.ndarray  # (n,) 0 or 1


class DecisionLog(Protocol):
    """Keeps decisions and labels. Both methods that add are durable once they return."""

    def add(self, decisions: Decisions) -> None:
        """Keep the decisions of a round; those of the same round are replaced."""

    def add_labels(self, labels: Labels) -> None:
        """Keep labels; those of the same number are replaced."""

    def find(self, ids: Collection[str], round_: int, number: int) -> dict[str, int]:
        """Return the label, or -1, of those people who were decided about.

        Args:
            ids: whom to look for.
            round_: the last round that counts.
            number: the last labels that count after it.
        """

    def clear(self) -> None:
        """Forget everything: the run is replaced."""


class ParquetLog:
    """A folder with one Parquet file a round, and one each time that labels came."""

    def __init__(self, run_dir: Path) -> None:
        self.folder = run_dir / DECISIONS

    def add(self, decisions: Decisions) -> None:
        """Write ``round-N.parquet``."""
        import pyarrow as pa

        logits = decisions.logits
        known, decided = decisions.labels >= 0, ~np.isnan(logits)
        self._write(
            f"round-{decisions.round:06d}.parquet",
            {
                "id": pa.array(decisions.ids.tolist(), pa.string()),
                "task": pa.repeat(decisions.task, len(logits)),
                **{f"group:{name}": pa.array(g.tolist()) for name, g in decisions.groups.items()},
                "probability": pa.array(decisions.probabilities, mask=~decided),
                "decision": pa.array(logits > 0, mask=~decided),
                "label": pa.array(decisions.labels, pa.int8(), mask=~known),
            },
        )

    def add_labels(self, labels: Labels) -> None:
        """Write ``labels-N-n.parquet``."""
        import pyarrow as pa

        self._write(
            f"labels-{labels.round:06d}-{labels.number}.parquet",
            {
                "id": pa.array(labels.ids.tolist(), pa.string()),
                "task": pa.array(labels.tasks.tolist(), pa.string()),
                "label": pa.array(labels.labels, pa.int8()),
            },
        )

    def find(self, ids: Collection[str], round_: int, number: int) -> dict[str, int]:
        """Look through all files that count, in the order in which they were written."""
        import pyarrow as pa
        import pyarrow.compute as pc
        import pyarrow.parquet

        found: dict[str, int] = {}
        wanted = pa.array(sorted(ids), pa.string())
        for path in self._files(round_, number):
            try:
                table = pyarrow.parquet.read_table(path, columns=["id", "label"])
            except (OSError, pa.ArrowException) as error:
                reason = str(error).splitlines()[0]
                raise FFMLError(f"{path} cannot be read ({reason}); restore a copy") from error
            rows = table.filter(pc.is_in(table["id"], value_set=wanted)).to_pydict()
            for name, label in zip(rows["id"], rows["label"], strict=True):
                found[name] = -1 if label is None else label
        return found

    def clear(self) -> None:
        """Remove the files, and the folder if it holds no others."""
        for path in list(self.folder.iterdir()) if self.folder.is_dir() else ():
            if _NAME.fullmatch(path.name.removeprefix(".").removesuffix(".tmp")):
                durable.unlink(path)
        with suppress(OSError):
            self.folder.rmdir()

    def _files(self, round_: int, number: int) -> Iterator[Path]:
        kept = []
        for path in self.folder.iterdir() if self.folder.is_dir() else ():
            if match := _NAME.fullmatch(path.name):
                place = (int(match[2] or match[3]), int(match[4] or 0))
                kept += [(place, path)] if place <= (round_, number) else []
        return (path for _, path in sorted(kept))

    def _write(self, name: str, columns: "dict[str, pa.Array]") -> None:
        import pyarrow as pa
        import pyarrow.parquet

        sink = pa.BufferOutputStream()
        pyarrow.parquet.write_table(pa.table(columns), sink)
        if not self.folder.is_dir():
            self.folder.mkdir()
            durable.sync_folder(self.folder.parent)
        durable.write_atomically(self.folder / name, sink.getvalue().to_pybytes())


def decisions_of(task: Task, round_: int, decided: Decided, schema: Schema) -> Decisions | None:
    """Say what was decided about a task in a round; None if its rows have no ids."""
    if task.ids is None:
        return None
    groups = {
        column.name: np.array(column.groups, object)[task.groups[:, i]]
        for i, column in enumerate(schema.sensitive)
    }
    logits, probabilities = np.full((2, len(task.y)), np.nan)
    logits[decided.rows] = decided.logits
    probabilities[decided.rows] = decided.probabilities
    return Decisions(round_, task.name, task.ids, groups, logits, probabilities, task.y)
