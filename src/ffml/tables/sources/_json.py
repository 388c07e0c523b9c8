"""JSON: a file of objects, one a line or all in one array, read by DuckDB."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ffml.base import FFMLError
from ffml.tables._columns import refuse_twins
from ffml.tables.sources._source import BATCH_ROWS, file_digest, unreadable

if TYPE_CHECKING:
    import pyarrow as pa

WHOLE = {"BIGINT", "UBIGINT"}


@dataclass(frozen=True)
class JsonSource:
    """A JSON file, perhaps gzipped; a column has the one type that holds all its values.

    DuckDB finds the objects and their keys. Which type a column has is said by rules of ours:
    a text stays a text, whatever it looks like.
    """

    path: Path
    parse: bool = field(default=False, init=False)
    task: None = field(default=None, init=False)
    has_header: bool = field(default=False, init=False)

    @property
    def name(self) -> str:
        """The path as it was given."""
        return str(self.path)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The keys of all objects, in the order in which they first appear."""
        return tuple(self._types)

    def batches(self, columns: Sequence[str]) -> Iterator["pa.RecordBatch"]:
        """Read some columns in batches; a key that an object lacks is missing."""
        chosen = ", ".join(f"{self._types[c]} AS {_quoted(c)}" for c in columns)
        with self._connected() as connection:
            rows = connection.sql(f"SELECT {chosen} FROM {self._rows}")
            yield from rows.to_arrow_reader(BATCH_ROWS)

    def fingerprint(self) -> str:
        """Return the SHA-256 of the file's bytes."""
        return file_digest(self.path)

    @property
    def _rows(self) -> str:
        path = str(self.path).replace("'", "''")
        options = "maximum_depth = 1, sample_size = -1, map_inference_threshold = -1"
        return f"read_json('{path}', {options}, maximum_object_size = 1048576)"

    @cached_property
    def _types(self) -> dict[str, str]:
        """Return, for each column, the SQL that reads it with its type."""
        with self._connected() as connection:
            described = connection.execute(f"DESCRIBE SELECT * FROM {self._rows}").fetchall()
            names = [row[0] for row in described]
            if names == ["json"]:
                raise FFMLError(self.name + ' holds no objects; write rows as {"age": 41, ...}')
            refuse_twins(names)
            kinds = ", ".join(f"list(DISTINCT json_type({_quoted(name)}))" for name in names)
            found = connection.execute(f"SELECT {kinds} FROM {self._rows}").fetchone() or ()
        return {
            name: _typed(_quoted(name), set(kinds or ()) - {None, "NULL"})
            for name, kinds in zip(names, found, strict=True)
        }

    @contextmanager
    def _connected(self) -> Iterator[Any]:
        """Give a connection to DuckDB whose errors are told in our words."""
        import duckdb

        try:
            self.path.open("rb").close()
            with duckdb.connect(config={"autoinstall_known_extensions": "false"}) as connection:
                yield connection
        except OSError as error:
            raise unreadable(self.path, error) from error
        except duckdb.Error as error:
            reason = str(error).splitlines()[0]
            if "UTF-8" in reason or "unicode" in reason:
                raise FFMLError(
                    f"{self.name} is not in UTF-8; save it with that encoding"
                ) from error
            where = (reason.partition('", ')[2] or reason).rstrip(". ")
            raise FFMLError(
                f"{self.name} is no JSON of objects ({where}); correct it there"
            ) from error


def _typed(column: str, kinds: set[str]) -> str:
    """Return the SQL of a column of these kinds of JSON."""
    text = f"{column} ->> '$'"
    if not kinds:
        return "NULL"
    if kinds <= WHOLE:
        return f"CAST({text} AS {'HUGEINT' if len(kinds) > 1 else kinds.pop()})"
    if kinds <= WHOLE | {"DOUBLE", "HUGEINT", "UHUGEINT"}:
        return f"CAST({text} AS DOUBLE)"
    if kinds == {"BOOLEAN"}:
        return f"CAST({text} AS BOOLEAN)"
    if kinds & {"ARRAY", "OBJECT"}:
        return f"encode(CAST({column} AS VARCHAR))"
    return text


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
