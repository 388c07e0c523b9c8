"""``ffml update`` and ``ffml label``: further tasks for a run, and labels that come later."""

from typing import TYPE_CHECKING, Annotated

import typer

from ffml.cli import _shared as shared
from ffml.cli._shared import TABLE, option

if TYPE_CHECKING:
    from rich.console import Console

    from ffml.runs import Run


def update(
    run: shared.RunArgument,
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
    from ffml.cli._run import play

    console, opened = _opened(run, "updating", json_output, quiet)
    from ffml.runs.starting import further_tasks

    play(console, opened, further_tasks(opened, data, query, id), json_output, now=True)


def label(
    run: shared.RunArgument,
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
    from ffml.cli._run import show

    console, opened = _opened(run, "labelling", json_output, quiet)
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


def _opened(run: str, what: str, as_json: bool, quiet: bool) -> "tuple[Console, Run]":
    """Say what is done, and open the run with as many devices as it had."""
    from rich.console import Console

    console = Console(stderr=as_json, quiet=quiet)
    console.print(f"[bold]ffml[/bold] · starting JAX and {what} [bold]{shared.shown(run)}[/bold] …")
    from ffml.runs import open_run
    from ffml.runtime import configure

    opened = open_run(run)
    configure(opened.config.get("devices"))  # another number rounds sums in another order
    return console, opened
