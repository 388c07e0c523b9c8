"""``ffml update`` and ``ffml label``: further tasks for a run, and labels that come later."""

from typing import TYPE_CHECKING

from ffml.cli._options import Output

if TYPE_CHECKING:
    from rich.console import Console

    from ffml.runs import Run


def update(
    run: str,
    data: str | None = None,
    query: str | None = None,
    id: str | None = None,
    *,
    output: Output,
) -> None:
    """Decide about the people of new tasks, and learn from their labels.

    [bold]Example:[/bold] ffml update runs/loans month25.csv

    Arguments:
        data: The new rows: a table (.csv, .parquet, .jsonl, a folder of them) or a database. Rows
            that came before are passed over; labels that have arrived since are labels. Without it,
            the run's own table is read again.

    The new table:
        --query SQL: SQL query whose rows are new. (default: the run's own)
        --id COLUMN: Column that names every row, so that labels find it later. (default: the run's)
    """
    from ffml.cli._play import play

    console, opened = _opened(run, "updating", output)
    from ffml.runs.starting import further_tasks

    play(console, opened, further_tasks(opened, data, query, id), output.json_output, now=True)


def label(
    run: str,
    data: str,
    query: str | None = None,
    id: str | None = None,
    correct: bool = False,
    *,
    output: Output,
) -> None:
    """Bring labels of people decided about before, and learn from them.

    Labels may come in any order; a file given twice changes nothing. A task is learned from once
    all its labels are there, or half of them and 200, or half of them and some of a later task.

    [bold]Example:[/bold] ffml label runs/loans repaid.csv --id applicant

    Arguments:
        data TABLE: Table of ids and labels: .csv, .parquet, .jsonl, a folder, or a database.

    The new table:
        --query SQL: SQL query for ids and labels.
        --id COLUMN: Its column of ids. (default: that of the run)
        --correct: Take labels that contradict earlier ones as corrections; both are kept.
    """
    from ffml.cli._play import show

    console, opened = _opened(run, "labelling", output)
    added = opened.label(data, query=query, id=id, correct=correct)
    opened.write_views()
    learned = f"; learned from: {', '.join(added.learned)}" if added.learned else ""
    corrected = f"; {len(added.corrections):,} corrections" if added.corrections else ""
    console.print(
        f"{added.new:,} new labels, {added.known:,} known before{corrected}{learned}",
        highlight=False,
        soft_wrap=True,
    )
    show(console, opened, output.json_output, now=True)


def _opened(run: str, what: str, output: Output) -> "tuple[Console, Run]":
    """Say what is done, and open the run with as many devices as it had."""
    console = output.console(what, run)
    from ffml.runs import open_run
    from ffml.runtime import configure

    opened = open_run(run)
    configure(opened.config.get("devices"))  # another number rounds sums in another order
    return console, opened
