"""What an item of the paper becomes: numbers, a figure or tables that show them, and its files."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ffml.recipe.plain import to_json
from ffml.report import markdown
from ffml.studies.drawing import figure_style, picture_bytes
from ffml.studies.files import write_files
from ffml.studies.text_tables import Best, TextTable, as_markdown
from ffml.tables.csvfile import frame_text

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


class Made(NamedTuple):
    """An item, made."""

    caption: str  # what is to be seen, and how it was measured
    numbers: "pd.DataFrame"  # all that are shown, tidy
    figure: "Figure | None" = None
    tables: Sequence[TextTable] = ()


def write_item(folder: Path, stem: str, made: Made, facts: dict[str, Any]) -> dict[str, Any]:
    """Write an item's files, and last its record, ``<stem>.json``, with all facts; return it."""
    contents: dict[str, bytes | str] = {"csv": frame_text(made.numbers)}
    if made.figure is not None:
        with figure_style():
            contents |= picture_bytes(made.figure, facts["title"], facts["note"])
    if made.tables:
        contents["md"] = _page(made, facts)
    record = facts | {
        "caption": made.caption,
        "files": [f"{stem}.{kind}" for kind in contents],
        "tables": [
            table._asdict() | {"lines": [[*map(_entry, line)] for line in table.lines]}
            for table in made.tables
        ],
    }
    files = {f"{stem}.{kind}": content for kind, content in contents.items()}
    write_files(folder, files | {f"{stem}.json": to_json(record)})
    return record


def read_record(path: Path) -> dict[str, Any] | None:
    """Read a record; None if it is not there or no record, or if one of its files is not."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        whole = "item" in record and all((path.parent / n).is_file() for n in record["files"])
    except (OSError, ValueError, LookupError, TypeError):
        return None
    return record if whole else None


def _entry(cell: str) -> dict[str, Any]:
    return {"text": cell, "best": isinstance(cell, Best)}


def _page(made: Made, facts: dict[str, Any]) -> str:
    """Write the tables with what is needed to read and to repeat them."""
    note = [f"*{facts['note'][0].upper()}{facts['note'][1:]}.*"] if facts["note"] else []
    command = markdown.code(facts["command"])
    made_by = f"{command}, {facts['date']}, ffml {facts['versions']['ffml']}."
    return (
        "\n\n".join(
            [f"## {facts['title']}", *note, as_markdown(made.tables), made.caption, made_by]
        )
        + "\n"
    )
