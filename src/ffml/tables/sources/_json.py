"""JSON: a file of objects, one a line or all in one array."""

import gzip
import itertools
import json
import zlib
from collections.abc import Iterator
from typing import Any, TextIO

from ffml.base import FFMLError
from ffml.tables.sources._rows import Chunk, RowSource
from ffml.tables.sources._source import BATCH_ROWS, FileSource, unreadable


class JsonSource(FileSource, RowSource):
    """A JSON file, perhaps gzipped; a text stays a text, whatever it looks like."""

    def chunks(self) -> Iterator[Chunk]:
        """Read some objects at a time; a key that an object lacks is missing."""
        try:
            opened = gzip.open if self.path.suffix == ".gz" else open
            with opened(self.path, "rt", encoding="utf-8-sig") as file:
                objects = self._objects(file)
                while some := list(itertools.islice(objects, BATCH_ROWS)):
                    names = list(dict.fromkeys(itertools.chain.from_iterable(some)))
                    yield names, [[one.get(name) for name in names] for one in some]
        except UnicodeError as error:
            raise FFMLError(f"{self.name} is not in UTF-8; save it with that encoding") from error
        except (gzip.BadGzipFile, zlib.error, EOFError) as error:
            raise FFMLError(
                f"{self.name} cannot be decompressed; compress it again with gzip"
            ) from error
        except OSError as error:
            raise unreadable(self.path, error) from error

    def _objects(self, file: TextIO) -> Iterator[dict[str, Any]]:
        start = file.read(1)
        while start.isspace():
            start = file.read(1)
        file.seek(0)
        is_array = start == "["
        texts = [file.read()] if is_array else file
        for line, text in enumerate(texts, start=1):
            if not text.strip():
                continue
            for value in self._parsed(text, line) if is_array else [self._parsed(text, line)]:
                if not isinstance(value, dict):
                    raise FFMLError(self.name + ' holds no objects; write rows as {"age": 41, ...}')
                yield value

    def _parsed(self, text: str, line: int) -> Any:
        try:
            return json.loads(text)
        except (ValueError, RecursionError) as error:
            place = line + getattr(error, "lineno", 1) - 1, getattr(error, "colno", 1)
            where = "line {}, column {}: ".format(*place) + getattr(error, "msg", str(error))
            raise FFMLError(f"{self.name} is no JSON of objects ({where}); correct it") from error
