"""``ffml update``: further tasks for a run."""

from typing import Annotated

import typer

from ffml.cli import _shared as shared
from ffml.cli._shared import TABLE, option


def update(
    run: Annotated[str, typer.Argument(help="A run: its folder or address.", show_default=False)],
    data: Annotated[
        str | None,
        typer.Argument(
            help="The new rows: a table (.csv, .parquet, .jsonl, a folder of them) or a database. "
            "Rows that came before are passed over; labels that have arrived since are labels. "
            "Without it, the run's own table is read again.",
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
            "Column that names every row, so that labels find it later. (default: the run's)",
            "--id",
            metavar="COLUMN",
        ),
    ] = None,
    quiet: shared.Quiet = False,
    json_output: shared.Json = False,
) -> None:
    """Decide about the people of new tasks, be judged, learn; say what happened now.

    [bold]Example:[/bold] ffml update runs/loans month25.csv
    """
    from rich.console import Console

    from ffml.cli._run import play

    console = Console(stderr=json_output, quiet=quiet)
    console.print(
        f"[bold]ffml[/bold] · starting JAX and updating [bold]{shared.shown(run)}[/bold] …"
    )
    from ffml.runs import open_run
    from ffml.runs.starting import further_tasks
    from ffml.runtime import configure

    opened = open_run(run)
    configure(opened.config.get("devices"))  # another number rounds sums in another order
    play(console, opened, further_tasks(opened, data, query, id), json_output, now=True)
