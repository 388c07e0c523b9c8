"""The rounds of a run so far; those long past are kept as arrays, which take a fifth of the memory.

A part of the past never changes, so that checkpoints keep it in a file of its own, written once,
and do not grow with the number of rounds.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, overload

from ffml.runs.container import Contents
from ffml.runs.history import history_arrays, history_document, rounds_from

if TYPE_CHECKING:  # it needs JAX, which reading tables does not
    from ffml.online.state import Round

ROUNDS_IN_PART = 200


class Rounds(Sequence["Round"]):
    """All rounds in their order: parts of `ROUNDS_IN_PART` each, and at least the latest one."""

    def __init__(self, parts: tuple[Contents, ...] = (), latest: tuple["Round", ...] = ()) -> None:
        self.parts, self.latest = parts, latest

    @classmethod
    def of(cls, rounds: Iterable["Round"]) -> "Rounds":
        """Take rounds as they are; those taken already are not taken again."""
        if isinstance(rounds, Rounds):
            return rounds
        found = cls()
        for record in rounds:
            found = found.followed_by(record)
        return found

    def followed_by(self, record: "Round") -> "Rounds":
        """Return these rounds and one more."""
        if len(self.latest) < ROUNDS_IN_PART:
            return Rounds(self.parts, (*self.latest, record))
        part = Contents(history_document(self.latest), history_arrays(self.latest))
        return Rounds((*self.parts, part), (record,))

    def __len__(self) -> int:
        return sum(len(part.document["round"]) for part in self.parts) + len(self.latest)

    def __iter__(self) -> Iterator["Round"]:
        for part in self.parts:
            yield from rounds_from(*part)
        yield from self.latest

    @overload
    def __getitem__(self, place: int) -> "Round": ...
    @overload
    def __getitem__(self, place: slice) -> list["Round"]: ...
    def __getitem__(self, place: int | slice) -> "Round | list[Round]":
        """Return a round, or several."""
        return list(self)[place]
