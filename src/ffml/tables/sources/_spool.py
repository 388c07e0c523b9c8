"""Batches of rows set aside, in memory while they are few, then in a file without a name.

Nothing is left behind however the process ends: the system frees the file with its last handle.
"""

import tempfile
import weakref

import pyarrow as pa

from ffml.base import FFMLError

MEMORY_BYTES = 1 << 23  # before the file is made


class Spool:
    """Batches by number; each keeps its own columns and types.

    >>> import pyarrow as pa
    >>> spool = Spool()
    >>> spool.append(pa.record_batch({"a": [1, 2]})), spool.append(pa.record_batch({"b": ["x"]}))
    (0, 1)
    >>> spool.read(0).to_pydict()
    {'a': [1, 2]}
    """

    def __init__(self) -> None:
        self._file = tempfile.SpooledTemporaryFile(MEMORY_BYTES, prefix="ffml-")  # noqa: SIM115
        self.close = weakref.finalize(self, self._file.close)  # gives the room back
        self._places: list[tuple[int, int]] = []  # start and size of each batch
        self._end = 0

    def append(self, batch: pa.RecordBatch) -> int:
        """Set a batch aside and return its number."""
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as writer:
            writer.write_batch(batch)
        buffer = sink.getvalue()
        try:
            self._file.seek(self._end)
            self._file.write(buffer)
            self._file.flush()
        except OSError as error:
            raise FFMLError(_no_room(error)) from error
        self._places.append((self._end, buffer.size))
        self._end += buffer.size
        return len(self._places) - 1

    def read(self, number: int) -> pa.RecordBatch:
        """Return a batch that was set aside."""
        start, size = self._places[number]
        self._file.seek(start)
        with pa.ipc.open_stream(self._file.read(size)) as reader:
            return reader.read_next_batch()

    def __len__(self) -> int:
        return len(self._places)


def _no_room(error: OSError) -> str:
    """Say where rows were to be set aside, if there is such a place at all."""
    try:
        folder = f" in {tempfile.gettempdir()}"
    except OSError:
        folder = ""
    return (
        f"no room to set rows aside{folder} ({error.strerror or error}); make room or set TMPDIR "
        "to another folder"
    )
