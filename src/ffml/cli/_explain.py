"""``ffml explain``: which inputs moved one person's score."""

import json

import typer

from ffml.cli._options import refuse_below_one


def explain(
    run: str,
    id: str,
    task: str | None = None,
    person: str | None = None,
    most: int = 8,
    json_output: bool = False,
) -> None:
    """Say which inputs moved one person's score most.

    They are compared with those of the typical approved person.

    [bold]Example:[/bold] ffml explain runs/loans 4711 --person applications.csv

    Options:
        --task NAME: In which task, if there are several.
        --person FILE: Table with the person's row, if the ledger keeps no features.
        --most N: How many inputs to list. (default: 8)
    """
    from ffml.runs import open_run
    from ffml.runtime import configure

    refuse_below_one(most=most)
    configure(devices=1)
    opened = open_run(run, write=False)
    try:
        explanation = opened.explain(id, task, person)
    finally:
        opened.close()
    if json_output:
        rows = [one._asdict() for one in explanation.reasons]
        typer.echo(
            json.dumps(explanation._asdict() | {"reasons": rows}, indent=2, ensure_ascii=False)
        )
    else:
        typer.echo("\n".join(explanation.lines(most)))
