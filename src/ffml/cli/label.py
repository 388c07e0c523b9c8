"""``ffml label``: labels that come after the decisions."""

from pathlib import Path
from typing import Annotated

import typer

from ffml.cli import shared
from ffml.cli.shared import TABLE, option


def label(
    run: Annotated[
        Path, typer.Argument(help="Folder of a run whose rows have ids.", show_default=False)
    ],
    data: Annotated[
        Path,
        typer.Argument(
            help="Table of ids and labels: .csv, .parquet or a folder of them.",
            show_default=False,
            metavar="TABLE",
        ),
    ],
    id: Annotated[
        str | None,
        option(TABLE, "Its column of ids. (default: that of the run)", "--id", metavar="COLUMN"),
    ] = None,
    quiet: shared.Quiet = False,
    json_output: shared.Json = False,
) -> None:
    """Bring labels of people decided about before: judge the decisions, learn, report.

    Labels may come in any order. A task is learned from once all its labels are there, or half of
    them and twice `shots`.

    [bold]Example:[/bold] ffml label runs/loans repaid.csv --id applicant
    """
    from rich.console import Console

    from ffml.cli.run import show

    console = Console(stderr=json_output, quiet=quiet)
    console.print(f"[bold]ffml[/bold] · starting JAX and labelling [bold]{run}[/bold] …")
    from ffml.living import open_label
    from ffml.report import write_pages
    from ffml.runs.config import saved_config
    from ffml.runtime import configure

    configure(saved_config(run).get("devices"))  # a sum over another number rounds otherwise
    directory, added = open_label(run, str(data), id)
    if not directory.is_whole():
        directory.finish(directory.status, write_pages)
    show(console, directory, directory.status, json_output)
    learned = f"; learned from: {', '.join(added.learned)}" if added.learned else ""
    console.print(
        f"{added.new:,} new labels, {added.known:,} known before{learned}",
        highlight=False,
        soft_wrap=True,
    )
