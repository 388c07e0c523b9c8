"""Notebooks as pages: their text, their code and what it printed, as they are in the file."""

import json
from collections.abc import Iterator
from typing import Any

from myst_parser.parsers.sphinx_ import MystParser


class NotebookParser(MystParser):
    """Reads a notebook as the Markdown page that it would be. Nothing is run."""

    supported = ("ipynb",)

    def parse(self, inputstring: str, document: Any) -> None:
        """Parse the page."""
        super().parse("\n".join(_parts(json.loads(inputstring))), document)


def _parts(notebook: dict[str, Any]) -> Iterator[str]:
    for cell in notebook["cells"]:
        text = "".join(cell["source"])
        yield f"```python\n{text}\n```\n" if cell["cell_type"] == "code" else f"{text}\n"
        for output in cell.get("outputs", ()):
            data = output.get("data", {"text/plain": output.get("text", ())})
            if image := data.get("image/png"):
                picture = f"data:image/png;base64,{''.join(image).strip()}"
                yield f'```{{raw}} html\n<img alt="what the code draws" src="{picture}">\n```\n'
            else:
                yield f"```text\n{''.join(data['text/plain']).rstrip()}\n```\n"
