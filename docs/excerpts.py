"""Excerpts under search results, also of a site that is opened from the disk.

Sphinx's search fetches every page it has found. Browsers refuse that to a site on the disk. So
the build writes what all pages say into one script, and the search page loads it.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes

TEXT = "site_text.js"
FRAME = re.compile("[\u2500-\u257f]+")  # lines around what a command prints
LEFT_OUT = (nodes.section, nodes.title, nodes.comment, nodes.raw)


def setup(app: Any) -> dict[str, bool]:
    """Give the search page its script and its text."""
    app.connect("html-page-context", _load)
    app.connect("build-finished", _write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _load(app: Any, pagename: str, *_: Any) -> None:
    if pagename == "search":
        for name in (TEXT, "excerpts.js"):
            app.add_js_file(name, loading_method="defer")


def _write(app: Any, exception: Exception | None) -> None:
    if exception is None and app.builder.name == "html":
        pages = {name: sections(app.env.get_doctree(name)) for name in sorted(app.env.found_docs)}
        text = json.dumps(pages, ensure_ascii=False, separators=(",", ":"))
        path = Path(app.outdir, "_static", TEXT)
        path.write_text(f"window.SITE_TEXT = {text};\n", encoding="utf-8")


def sections(page: nodes.document) -> list[tuple[str, str, list[str], list[str]]]:
    """Return anchor, title, prose and code of every section of a page, in order."""
    return [
        (each["ids"][0], each.next_node(nodes.title).astext(), said(each, False), said(each, True))
        for each in page.findall(nodes.section)
    ]


def said(section: nodes.Element, code: bool) -> list[str]:
    """Return blocks of code, or paragraphs and rows of tables, outside of sections within."""
    found = (text for is_code, text in _passages(section) if is_code == code)
    return [text for text in (" ".join(FRAME.sub(" ", each).split()) for each in found) if text]


def _passages(node: nodes.Element) -> Iterator[tuple[bool, str]]:
    for child in node.children:
        if isinstance(child, nodes.row):
            yield False, " · ".join(cell.astext() for cell in child)
        elif isinstance(child, LEFT_OUT):
            continue
        elif isinstance(child, nodes.TextElement):
            yield isinstance(child, nodes.literal_block), child.astext()
        else:
            yield from _passages(child)
