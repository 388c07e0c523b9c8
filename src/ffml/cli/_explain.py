"""``ffml explain``: which inputs moved one person's score."""

import json
from typing import Annotated

import typer

from ffml.cli._options import IdArgument, Json, RunArgument, option


def explain(
    run: RunArgument,
    id: IdArgument,
    task: Annotated[
        str | None, option(None, "NAME", "In which task, if there are several.")
    ] = None,
    person: Annotated[
        str | None,
        option(None, "FILE", "Table with the person's row, if the ledger keeps no features."),
    ] = None,
    most: Annotated[int, option(None, "N", "How many inputs to list. (default: 8)", min=1)] = 8,
    json_output: Json = False,
) -> None:
    """Say which inputs moved one person's score most.

    They are compared with those of the typical approved person.

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
