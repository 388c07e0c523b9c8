"""The tables of a run: views of its checkpoint, which keeps their fingerprints.

A run of thousands of rounds must not write all of them again to add one. So a table is compared
with its fingerprint, and made again only where it is not what the checkpoint says.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ffml.online.state import Round
from ffml.runs import durable
from ffml.runs.files import TABLES

Texts = dict[str, str]  # name of a table -> some or all of its text


class RunTables:
    """Writes rounds.csv, groups.csv and timings.csv."""

    def __init__(self, folder: Path, texts: Callable[[Sequence[Round], bool], Texts]) -> None:
        """Begin with tables that are empty.

        Args:
            folder: of the run.
            texts: returns the lines of some rounds, with a header or without.
        """
        self.folder = folder
        self._texts = texts
        self._due: dict[str, Any] = {name: hashlib.sha256() for name in TABLES}

    def trust(self, fingerprints: Mapping[str, str]) -> None:
        """Take over the tables that have the fingerprints of a checkpoint; `mend` the others."""
        found = {name: _fingerprint(self.folder / name) for name in TABLES}
        self._due = {n: f for n, f in found.items() if f.hexdigest() == fingerprints.get(n)}

    def fingerprints(self) -> dict[str, str]:
        """Return those of the tables as they must be."""
        return {name: found.hexdigest() for name, found in self._due.items()}

    def plan(self, record: Round, first: bool) -> Texts:
        """Expect the lines of one more round; return them for `append`."""
        texts = self._texts([record], first)
        for name, text in texts.items():
            self._due[name].update(text.encode())
        return texts

    def append(self, texts: Texts) -> None:
        """Write what was planned."""
        for name, text in texts.items():
            durable.append(self.folder / name, text.encode())

    def plan_all(self, rounds: Sequence[Round]) -> Texts:
        """Expect the lines of these rounds and no others; return them for `write`."""
        texts = self._texts(rounds, True)
        self._due = {name: hashlib.sha256(text.encode()) for name, text in texts.items()}
        return texts

    def write(self, texts: Texts) -> None:
        """Write whole tables where they differ; those without a line are removed."""
        for name, text in texts.items():
            path = self.folder / name
            if not text:
                durable.unlink(path)
            elif self._is_right(name):
                durable.sync(path)
            else:
                durable.write_atomically(path, text)

    def mend(self, rounds: Sequence[Round]) -> None:
        """Make the tables what they must be: in most cases, they are."""
        if not all(self._is_right(name) for name in TABLES):
            self.write(self.plan_all(rounds))
            return
        for path in (self.folder / name for name in TABLES):
            if path.exists():
                durable.sync(path)

    def _is_right(self, name: str) -> bool:
        due = self._due.get(name)
        return due is not None and _fingerprint(self.folder / name).digest() == due.digest()


def _fingerprint(path: Path) -> Any:
    return hashlib.sha256(path.read_bytes() if path.exists() else b"")
