"""``ffml update``: further tasks for a run."""

from pathlib import Path
from typing import Annotated

import typer

from ffml.cli import shared
from ffml.cli.shared import TABLE, option


def update(
    run: Annotated[Path, typer.Argument(help="Folder of a run on a table.", show_default=False)],
    data: Annotated[
        str | None,
        typer.Argument(
            help="The new rows: a table (.csv, .parquet, a folder of them) or a database. It may "
            "hold tasks played before, unchanged. Without it, the run's own table is read again.",
            show_default=False,
            metavar="DATA",
        ),
    ] = None,
    query: Annotated[
        str | None,
        option(TABLE, "SQL query whose rows are new. (default: the run's own)", metavar="SQL"),
    ] = None,
    id: Annotated[
        str | None,
        option(
            TABLE,
            "Column that names every row; rows may then lack their label, which `ffml label` "
            "brings later. (default: that of the run)",
            "--id",
            metavar="COLUMN",
        ),
    ] = None,
    quiet: shared.Quiet = False,
    json_output: shared.Json = False,
) -> None:
    """Go on with a run where it stands: decide about new tasks, judge, learn, report.

    [bold]Example:[/bold] ffml update runs/loans month25.csv
    """
    from rich.console import Console

    from ffml.cli.run import play, show

    console = Console(stderr=json_output, quiet=quiet)
    console.print(f"[bold]ffml[/bold] · starting JAX and updating [bold]{run}[/bold] …")
    from ffml.living import open_update
    from ffml.runs.config import saved_config
    from ffml.runtime import configure

    configure(saved_config(run).get("devices"))  # a sum over another number rounds otherwise
    directory, notes = open_update(run, data, query, id)
    for note in notes:
        console.print(f"note: {note}", highlight=False, markup=False, soft_wrap=True)
    if directory.is_finished():
        show(console, directory, "complete", json_output)
        stream = directory.experiment.stream
        console.print(
            f"nothing new: all tasks of {stream.name} ({stream.num_tasks}) were played before",
            soft_wrap=True,
        )
        return
    play(console, directory, json_output, "ffml update")
