"""One file that holds arrays and a JSON document, and knows whether it is whole.

The file is safetensors, so that any tool reads the arrays and nothing in it is ever executed;
the document is in its header, under ``ffml``. The document's ``sha256`` is that of all bytes of
the file with 64 zeros in its own place, and its ``format`` says how to read the rest. These two
rules hold for every version of the format.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import safetensors.numpy

from ffml.base import FFMLError

FORMAT = 3  # 2: rounds long past are files of their own; 3: forests know bundles of features
_KEY = "ffml"
_BLANK = b"0" * 64


class DamagedFileError(FFMLError):
    """The file is not what was written."""


class Packed(NamedTuple):
    """The bytes of a file, and the checksum that is in them."""

    data: bytes
    sha256: str


class Contents(NamedTuple):
    """What a file holds."""

    document: dict[str, Any]
    arrays: dict[str, np.ndarray]


def pack(document: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Packed:
    """Make the bytes of a file; the same contents give the same bytes.

    >>> packed = pack({"kind": "example"}, {"x": np.arange(3)})
    >>> document, arrays = unpack(packed.data)
    >>> document["kind"], document["sha256"] == packed.sha256, arrays["x"].tolist()
    ('example', True, [0, 1, 2])
    """
    blank = {"sha256": _BLANK.decode()}
    head = {"format": FORMAT} | blank | dict(document) | blank
    data = safetensors.numpy.save(
        {name: np.asarray(array, order="C") for name, array in arrays.items()},
        metadata={_KEY: json.dumps(head, allow_nan=False)},
    )
    sha256 = hashlib.sha256(data).hexdigest()
    return Packed(data.replace(_BLANK, sha256.encode(), 1), sha256)


def unpack(data: bytes, name: str = "the file") -> Contents:
    """Read a file's bytes; refuses what is damaged or was written by a later version."""
    document = _whole_document(data)
    if document is None:
        raise DamagedFileError(f"{name} is damaged: its checksum does not fit")
    if not isinstance(document.get("format"), int):
        raise DamagedFileError(f"{name} does not say which format it has")
    if document["format"] > FORMAT:
        raise FFMLError(
            f"{name} was written by a newer ffml (file format {document['format']}, this version "
            f"reads up to {FORMAT}); upgrade ffml"
        )
    try:
        return Contents(document, safetensors.numpy.load(data))
    except (safetensors.SafetensorError, LookupError, TypeError, ValueError) as error:
        raise DamagedFileError(f"{name} is damaged: its arrays cannot be read ({error})") from error


def read(path: Path) -> Contents:
    """Read a file; one that cannot be read counts as damaged."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DamagedFileError(f"{path} cannot be read ({error.strerror})") from None
    return unpack(data, str(path))


def read_keyed(path: Path, key: str) -> Contents | None:
    """Read results kept under a key; None where they are missing, damaged or of another key."""
    try:
        contents = read(path)
    except DamagedFileError:
        return None
    return contents if contents.document.get("key") == key else None


def _whole_document(data: bytes) -> dict[str, Any] | None:
    """Return the document if the checksum fits."""
    try:
        length = int.from_bytes(data[:8], "little")
        document = json.loads(json.loads(data[8 : 8 + length])["__metadata__"][_KEY])
        written = document["sha256"].encode()
        digest = hashlib.sha256(data.replace(written, _BLANK, 1)).hexdigest()
        return document if digest.encode() == written else None
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None
