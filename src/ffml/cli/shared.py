"""Options that `run`, `compare`, `tune` and `reproduce` share."""

from pathlib import Path
from typing import Annotated, Any

import typer

TABLE = "Your own table (guessed where only one column will do)"
OUTPUT = "Output"


def option(panel: str, text: str, *names: str, **more: Any) -> Any:
    """Declare one option in its group."""
    return typer.Option(*names, help=text, rich_help_panel=panel, show_default=False, **more)


Label = Annotated[str | None, option(TABLE, "Column to predict.")]
Sensitive = Annotated[
    list[str] | None, option(TABLE, "Protected column; give it again for several.")
]
TaskColumn = Annotated[str | None, option(TABLE, "Column whose values are the tasks.")]
Order = Annotated[str | None, option(TABLE, "Column that orders the tasks.")]
Positive = Annotated[str | None, option(TABLE, "Label value that counts as 1.")]
Drop = Annotated[list[str] | None, option(TABLE, "Column to leave out.")]
DataHome = Annotated[
    Path | None,
    option(OUTPUT, "Where downloaded data are kept. (default: $FFML_DATA_HOME, or the user cache)"),
]
