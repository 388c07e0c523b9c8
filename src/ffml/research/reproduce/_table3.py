"""Table 3: hyper-parameters of FFML, the paper's and ours."""

from typing import Any

import pandas as pd

from ffml.recipe.config import configure_run
from ffml.research.reproduce._made import Entry, Made, TextTable
from ffml.research.reproduce._paper import DATA, SYMBOLS, TABLE_3
from ffml.research.reproduce._setting import Setting

# Beyond the paper's columns: what it says in its text, and what it leaves open.
_MORE = {
    "dual_lr": "step of λ",
    "optimizer": "optimizer",
    "outer": "outer level",
    "wrappers": "wrappers",
    "model": "model",
    "notions": "notion",
}


def hyper_parameters(setting: Setting, frame: pd.DataFrame | None = None) -> Made:
    """Put the paper's settings, the package's own and those of this page beside each other."""
    del frame  # nothing was run for it
    rows = []
    for data in DATA:
        rows.append(_row(data, "paper, as printed", dict(zip(SYMBOLS, TABLE_3[data], strict=True))))
        rows.append(_row(data, "preset paper", configure_run(data, {}, "paper").settings))
        rows.append(_row(data, "preset default", configure_run(data, {}).settings))
        if setting.note:
            [used] = setting.cells([data], ["ffml"])[:1]
            rows.append(_row(data, "the runs of this setting", used.config.settings))
    numbers = pd.DataFrame(rows)
    header = ["data", "settings", *SYMBOLS.values(), *_MORE.values()]
    lines = [[Entry(str(value)) for value in row.values()] for row in rows]
    caption = (
        "What the paper prints, the preset that follows it (ffml run --preset paper), the "
        "package's own default, and what the runs of the other items here used if that is none of "
        "them. An empty cell is what the table of the paper does not say. Without a step of λ of "
        "its own, λ takes steps of η₂."
    )
    return Made(caption, numbers, tables=[TextTable("FFML", header, lines, names=2)])


def _row(data: str, source: str, settings: dict[str, Any]) -> dict[str, str]:
    names = {"data": data, "settings": source}
    return names | {name: _text(settings, name) for name in (*SYMBOLS, *_MORE)}


def _text(settings: dict[str, Any], name: str) -> str:
    if name not in settings:
        return ""
    value = settings[name]
    if value is None:
        return "η₂"
    if isinstance(value, (tuple, list)):
        return ", ".join(map(str, value))
    return f"{value:g}" if isinstance(value, float) else str(value)
