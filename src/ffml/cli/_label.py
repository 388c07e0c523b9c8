"""``ffml label``: labels that come after the decisions."""

from typing import Annotated

import typer

from ffml.cli import _shared as shared
from ffml.cli._shared import TABLE, option


def label(
    run: Annotated[str, typer.Argument(help="A run: its folder or address.", show_default=False)],
    data: Annotated[
        str,
        typer.Argument(
            help="Table of ids and labels: .csv, .parquet, .jsonl, a folder, or a database.",
            show_default=False,
            metavar="TABLE",
        ),
    ],
    query: Annotated[
        str | None, option(TABLE, "SQL query for ids and labels.", metavar="SQL")
    ] = None,
    id: Annotated[
        str | None,
        option(TABLE, "Its column of ids. (default: that of the run)", "--id", metavar="COLUMN"),
    ] = None,
    correct: Annotated[
        bool,
        option(
            TABLE,
            "Take labels that contradict earlier ones as corrections; both are kept.",
            "--correct",
        ),
    ] = False,
    quiet: shared.Quiet = False,
    json_output: shared.Json = False,
) -> None:
    """Bring labels of people decided about before: judge the decisions, learn, report.

    Labels may come in any order; a file given twice changes nothing. A task is learned from once
    all its labels are there, or half of them and twice `shots`.

    [bold]Example:[/bold] ffml label runs/loans repaid.csv --id applicant
    """
    from rich.console import Console

    from ffml.cli._run import show

    console = Console(stderr=json_output, quiet=quiet)
    console.print(
        f"[bold]ffml[/bold] · starting JAX and labelling [bold]{shared.shown(run)}[/bold] …"
    )
    from ffml.runs import open_run
    from ffml.runtime import configure

    opened = open_run(run)
    configure(opened.config.get("devices"))  # another number rounds sums in another order
    added = opened.label(data, query=query, id=id, correct=correct)
    opened.write_views()
    learned = f"; learned from: {', '.join(added.learned)}" if added.learned else ""
    corrected = f"; {len(added.corrections):,} corrections" if added.corrections else ""
    console.print(
        f"{added.new:,} new labels, {added.known:,} known before{corrected}{learned}",
        highlight=False,
        soft_wrap=True,
    )
    show(console, opened, json_output, now=True)
