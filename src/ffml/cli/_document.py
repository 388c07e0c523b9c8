"""``ffml document``: what people file, from a run or from anybody's decisions."""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from ffml.base import FFMLError

if TYPE_CHECKING:
    from ffml.documents import Document, People


def document(
    data: str,
    kind: str,
    decision: str | None = None,
    positive: str | None = None,
    score: str | None = None,
    sensitive: list[str] | None = None,
    query: str | None = None,
    settings: list[str] | None = None,
    out: Path | None = None,
) -> None:
    """Make a document to file, such as for NYC Local Law 144.

    Others are for the Uniform Guidelines, the EU AI Act, and a model card. Without --out it is
    printed as JSON. None of them is legal advice.

    [bold]Example:[/bold] ffml document runs/hiring --as ll144 --set owner=Ann --out ll144.html

    Arguments:
        data RUN|DECISIONS: A run (its folder or address), or a table with --decision or --score.

    Options:
        --as WHAT: ll144, ugesp, ai-act or model-card.

    Your own table:
        --score COLUMN: Instead: column with scores; ll144 then has scoring rates.

    Output:
        --set NAME=VALUE: What no count tells: owner='Ann Lee', audited_on=2026-05-04, …; give it
            again for several. What is not given is left open.
        --out FILE: File: .html for print, .csv or .json; a model card also .md.
    """
    from ffml.documents import make_document

    given = _given(settings)
    if decision or score or sensitive or positive or query:
        people = _people(data, decision, score, sensitive, positive, query)
        made = make_document(kind, people, fields=given)
    else:
        made = _of_run(data, kind, given)
    if out is None:
        typer.echo(made.to_json(), nl=False)
    else:
        typer.echo(f"{made.title}: {made.write(out)}")


def _of_run(data: str, kind: str, given: dict[str, str]) -> "Document":
    from ffml.runs import open_run

    if Path(data).is_file() and Path(data).suffix != ".db":
        raise FFMLError(f"'{data}' is a table; say what is in it: --decision, --sensitive")
    run = open_run(data, write=False)
    try:
        return run.document(kind, **given)
    finally:
        run.close()


def _people(
    data: str,
    decision: str | None,
    score: str | None,
    sensitive: list[str] | None,
    positive: str | None,
    query: str | None,
) -> "People":
    from ffml.documents import people_of_scores, people_of_table
    from ffml.tables import open_data

    source = open_data(data, query)
    if score and (decision or positive):
        raise FFMLError("--score stands instead of --decision and --positive; give one of them")
    if not (decision or score) or not sensitive:
        lacking = "--sensitive" if decision or score else "--decision or --score"
        raise FFMLError(f"give {lacking} too; the table has {', '.join(source.columns[:30])}")
    if score:
        return people_of_scores(source, score, sensitive)
    return people_of_table(source, str(decision), sensitive, positive)


def _given(fields: list[str] | None) -> dict[str, str]:
    values = {}
    for text in fields or ():
        name, sign, value = text.partition("=")
        if not sign or not name:
            raise FFMLError(f"--set takes NAME=VALUE, such as owner='Ann Lee', got '{text}'")
        values[name.strip()] = value
    return values
