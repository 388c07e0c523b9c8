"""Hashes: of rows, of events, and what of a run each event vouches for.

An event's document names what its transaction wrote: the hash of each round, document, cell and
version under its name, the first number and the count of decisions and of labels, and the numbers
of decisions whose person was forgotten. Its digest is over the hashes of those decisions and
labels; its hash is over all of this and the hash of the event before.

A decision's hash is over the person (id and content) and the rest apart, so that the rest can be
verified once the person is forgotten. The content, a hash of what was known of the person, keeps
ids from being tried out against what is left.
"""

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ffml.store import _json

START = "0" * 64  # what the first event has as the hash before
_NUMBERS, _FLAGS = (
    ("seq", "round", "cell", "version", "event"),
    ("decision", "unpriced", "first_label"),
)
WHOLE_NUMBERS = (*_NUMBERS, *_FLAGS)
_FIELDS = np.dtype(
    [(name, "<i8") for name in _NUMBERS]
    + [("probability", "<f8")]
    + [(name, "i1") for name in _FLAGS]
)


def of(*values: Any) -> str:
    """Hash JSON values."""
    return hashlib.sha256(_json.encode(list(values)).encode()).hexdigest()


def of_bytes(data: bytes | str) -> str:
    """Hash bytes, or a text that somebody put in their place."""
    return hashlib.sha256(data.encode() if isinstance(data, str) else data).hexdigest()


def person_hash(person: str, content: int) -> bytes:
    """Hash what is taken out when a person is forgotten."""
    return hashlib.sha256(f"{content}:{person}".encode()).digest()


def request_hash(
    tasks: Sequence[str | None], ids: Sequence[str] | None, x: np.ndarray, groups: np.ndarray
) -> str:
    """Hash who is to be decided about."""
    numbers = np.ascontiguousarray(x, "<f8").tobytes() + np.asarray(groups, "<i4").tobytes()
    return of(list(tasks), ids, of_bytes(numbers))


def decision_hashes(persons: Iterable[bytes], **columns: Any) -> list[bytes]:
    """Hash decisions: columns as arrays or numbers, -1 or NaN where a value is not known."""
    fields = np.empty(len(columns["seq"]), _FIELDS)
    for name, values in columns.items():
        fields[name] = values
    data, width = fields.tobytes(), _FIELDS.itemsize
    return [
        hashlib.sha256(data[start : start + width] + person).digest()
        for start, person in zip(range(0, len(data), width), persons, strict=True)
    ]


def label_hash(seq: int, decision: int, label: int, event: int) -> bytes:
    """Hash a label that came later."""
    return hashlib.sha256(f"{seq}:{decision}:{label}:{event}".encode()).digest()


def digest(decisions: Sequence[bytes], labels: Sequence[bytes]) -> str:
    """Hash the hashes of an event's rows, in their order."""
    return hashlib.sha256(b"".join(decisions) + b"|" + b"".join(labels)).hexdigest()


def checksum(state: bytes, parts: Sequence[str]) -> str:
    """Hash a version's bytes: its state, and its parts by their own hashes."""
    return of(of_bytes(state), list(parts))
