"""One HTML page with all items, which asks for nothing from elsewhere when it is opened."""

import base64
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from ffml.research.reproduce._setting import Setting
from ffml.studies.files import write_files

PAGE = "index.html"


def write_page(
    folder: Path, setting: Setting, facts: dict[str, Any], records: Sequence[dict[str, Any]]
) -> None:
    """Write index.html from the records of items of one setting, in the order of the page."""
    from jinja2 import Environment, StrictUndefined

    source = (
        resources.files("ffml.research.reproduce")
        .joinpath("template.html")
        .read_text(encoding="utf-8")
    )
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    context = facts | {
        "note": setting.note,
        "repeats": len(setting.all_seeds),
        "seeds": ", ".join(map(str, setting.all_seeds)),
        "iterations": setting.document()["iterations"],
        "items": [record | {"picture": _picture(folder, record)} for record in records],
    }
    write_files(folder, {PAGE: environment.from_string(source).render(context)})


def _picture(folder: Path, record: dict[str, Any]) -> str:
    """Return the figure as an address that holds it; empty for a table."""
    for name in record["files"]:
        if name.endswith(".svg"):
            data = base64.b64encode((folder / name).read_bytes()).decode()
            return f"data:image/svg+xml;base64,{data}"
    return ""
