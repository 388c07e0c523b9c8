"""Run the notebooks of the documentation, and write what they print and draw into them.

python scripts/run_notebooks.py
"""

import ast
import base64
import contextlib
import io
import json
import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot

DOCS = Path(__file__).parents[1] / "docs"


def run(notebook: dict[str, Any]) -> dict[str, Any]:
    """Run the code of a notebook, cell by cell, and return it with what came out."""
    names: dict[str, Any] = {}
    cells = [
        cell | {"outputs": _outputs("".join(cell["source"]), names)}
        if cell["cell_type"] == "code"
        else cell
        for cell in notebook["cells"]
    ]
    return notebook | {"cells": cells}


def _outputs(code: str, names: dict[str, Any]) -> list[dict[str, Any]]:
    """Run a cell as a notebook would: what it prints, its last value, and its figure."""
    tree = ast.parse(code)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(tree, "cell", "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
            if value is not None and not pyplot.get_fignums():
                print(value)
    outputs: list[dict[str, Any]] = []
    if text := printed.getvalue():
        outputs.append({"name": "stdout", "output_type": "stream", "text": text.splitlines(True)})
    if pyplot.get_fignums():
        drawn = io.BytesIO()
        pyplot.gcf().savefig(
            drawn, format="png", dpi=80, bbox_inches="tight", metadata={"Software": None}
        )
        pyplot.close("all")
        data = {"image/png": base64.b64encode(drawn.getvalue()).decode() + "\n"}
        outputs.append({"data": data, "metadata": {}, "output_type": "display_data"})
    return outputs


def main() -> None:
    """Run each in a folder of its own, and write them anew."""
    here = Path.cwd()
    for path in sorted(DOCS.glob("*.ipynb")):
        with TemporaryDirectory() as folder:
            os.chdir(folder)
            try:
                notebook = run(json.loads(path.read_text(encoding="utf-8")))
            finally:
                os.chdir(here)
        path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        print("wrote", path.name)


if __name__ == "__main__":
    main()
