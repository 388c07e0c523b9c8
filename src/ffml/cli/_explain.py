"""``ffml explain``: which inputs moved one person's score."""

import json
from typing import Annotated

import typer

from ffml.cli import _shared as shared


def explain(
    run: shared.RunArgument,
    id: Annotated[str, typer.Argument(help="The person's id.", metavar="ID", show_default=False)],
    task: Annotated[
        str | None, typer.Option(help="In which task, if there are several.", show_default=False)
    ] = None,
    person: Annotated[
        str | None,
        typer.Option(
            help="Table with the person's row, if the ledger keeps no features.",
            metavar="FILE",
            show_default=False,
        ),
    ] = None,
    most: Annotated[int, typer.Option(help="How many inputs to list.", min=1)] = 8,
    json_output: shared.Json = False,
) -> None:
    """Say which inputs moved one person's score most, against the typical approved person.

    [bold]Example:[/bold] ffml explain runs/loans 4711 --person applications.csv
    """
    from ffml.runs import open_run
    from ffml.runtime import configure

    configure(devices=1)
    opened = open_run(run, write=False)
    try:
        found = opened.explain(id, task, person)
    finally:
        opened.close()
    if json_output:
        rows = [one._asdict() for one in found.reasons]
        typer.echo(json.dumps(found._asdict() | {"reasons": rows}, indent=2, ensure_ascii=False))
    else:
        typer.echo("\n".join(found.lines(most)))
