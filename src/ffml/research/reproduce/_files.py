"""The files of an item: figure or tables, their numbers, and a record of how they were made."""

import io
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ffml.recipe.plain import to_json
from ffml.research.reproduce._made import Made, TextTable, markdown
from ffml.store import durable
from ffml.tables.csvfile import frame_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def write_item(folder: Path, stem: str, made: Made, facts: dict[str, Any]) -> dict[str, Any]:
    """Write an item's files, each of them whole or not at all; the record is the last.

    Args:
        folder: where to.
        stem: what file names begin with.
        made: the item.
        facts: what else to keep: ``title``, ``note``, ``command``, …

    Returns:
        The record, as ``<stem>.json`` holds it.
    """
    contents: dict[str, bytes | str] = {"csv": frame_text(made.numbers)}
    if made.figure is not None:
        contents |= {kind: _picture(made.figure, kind, facts) for kind in ("svg", "png")}
    if made.tables:
        contents["md"] = _page(made, facts)
    record = facts | {
        "caption": made.caption,
        "files": [f"{stem}.{kind}" for kind in contents],
        "tables": [_plain(table) for table in made.tables],
    }
    for kind, content in contents.items():
        durable.write_atomically(folder / f"{stem}.{kind}", content)
    durable.write_atomically(folder / f"{stem}.json", to_json(record))
    return record


def read_record(path: Path) -> dict[str, Any] | None:
    """Read a record; None if it is not there or no record, or if one of its files is not."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        whole = "item" in record and all((path.parent / n).is_file() for n in record["files"])
    except (OSError, ValueError, LookupError, TypeError):
        return None
    return record if whole else None


def _picture(figure: "Figure", kind: str, facts: dict[str, Any]) -> bytes:
    """Return a figure's bytes; what it is and what was reduced is in its metadata as well."""
    buffer = io.BytesIO()
    said = {"Title": facts["title"], "Description": facts["note"]}
    nothing = dict.fromkeys(("Creator", "Date", "Format", "Type")) if kind == "svg" else {}
    figure.savefig(buffer, format=kind, dpi=160, metadata=said | nothing)
    return buffer.getvalue()


def _page(made: Made, facts: dict[str, Any]) -> str:
    """Write the tables with what is needed to read and to repeat them."""
    note = [f"*{facts['note'][0].upper()}{facts['note'][1:]}.*"] if facts["note"] else []
    tables = [markdown(table) for table in made.tables]
    made_by = f"`{facts['command']}`, {facts['date']}, ffml {facts['versions']['ffml']}."
    return "\n\n".join([f"## {facts['title']}", *note, *tables, made.caption, made_by]) + "\n"


def _plain(table: TextTable) -> dict[str, Any]:
    return table._asdict() | {"lines": [[e._asdict() for e in line] for line in table.lines]}
