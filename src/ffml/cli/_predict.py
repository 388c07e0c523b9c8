"""``ffml inspect``, ``predict`` and ``check``: what is read, and leaves no record."""

import json
from pathlib import Path

import typer

from ffml.base import FFMLError
from ffml.cli._options import Columns, Limits, Policy


def inspect(
    data: str | None = None,
    *,
    columns: Columns,
    query: str | None = None,
    settings: list[str] | None = None,
    json_output: bool = False,
) -> None:
    """Say what a table looks like, and what is likely wrong with it.

    Your own table:
        --set NAME=VALUE: Another option of the table: data.order=COLUMN,
            data.date_format=DD/MM/YYYY, data.intersect=true or data.drop_missing=true.
    """
    from ffml.recipe.sources import find_data, open_stream
    from ffml.tables import describe
    from ffml.tables import inspect as inspect_stream

    given, options = columns.split(settings, query)
    for name in given:
        raise FFMLError(f"nothing is learned here, so '{name}' has no use; leave it out")
    found = find_data(data, options)
    stream, _ = open_stream(
        found.data, found.options, seed=0, sql_url=found.sql_url, source=found.source
    )
    inspection = inspect_stream(stream)
    if json_output:
        typer.echo(json.dumps(inspection.to_json(), indent=2, ensure_ascii=False))
    else:
        typer.echo("\n".join(describe(inspection)))


def predict(
    model: str,
    people: str,
    query: str | None = None,
    support: str | None = None,
    together: bool = False,
    plugin: list[Path] | None = None,
    *,
    policy: Policy,
    out: Path = Path("decisions.csv"),
    keep: list[str] | None = None,
    to: str | None = None,
    table: str = "decisions",
    json_output: bool = False,
) -> None:
    """Decide about the rows of a table, and keep no record.

    A person gets the same decision alone and among others. It is what the model says now: whoever
    was decided about before has the decision that `ffml decide` gives, which also keeps new ones.
    Another policy than the run's shows what it would do; nothing is learned anew.

    Arguments:
        model RUN: A run's folder or address, or its model.safetensors.
        people TABLE: Rows to decide about: a table, a folder, or a database.

    Options:
        --query SQL: SQL query whose rows are to be decided about.
        --together: These people come as one task: find prices on them, not on people met lately.
        --plugin FILE: Plug-in that the run was made with.

    Output:
        --out FILE: Where to write the decisions: .csv or .parquet. (default: decisions.csv)
        --keep COLUMN: Column to carry over, such as an id; =1 becomes '=1 in a .csv file.
    """
    from ffml.audit.record import favourable_of
    from ffml.report.numbers import counted
    from ffml.runs.models import model_at
    from ffml.scoring import prepare
    from ffml.scoring.table import predict_table, write_decisions, write_to_database
    from ffml.tables import open_data

    _refuse_inputs(out, [Path(one) for one in (model, people, support) if one is not None])
    if plugin:
        from ffml.recipe.plugins import load_plugins

        load_plugins(plugin)
    saved = model_at(model, _set_up)
    asked = policy.asked()
    if support or together or asked or not saved.decides_by_params:
        _set_up()
    source = open_data(people, query)
    scorer = prepare(saved, source if together else None, support, asked)
    warned: list[str] = []
    batches = predict_table(scorer, source, keep or (), warned)
    if to is not None:
        batches = write_to_database(batches, to, table)
    rows = write_decisions(batches, out)
    for warning in warned:
        typer.echo(f"warning: unlike what was learned from, {warning}", err=True)
    if json_output:
        document = {
            "rows": rows,
            "out": str(out),
            "adapted": support is not None,
            "warnings": warned,
        }
        typer.echo(json.dumps(document, ensure_ascii=False))
        return
    how = f"adapted to {support}" if support else f"as learned in {saved.round} rounds"
    if " = " in (favourable := favourable_of(saved.config)):  # the table may call it 0
        how += f"; decision 1 is '{favourable}'"
    typer.echo(f"{counted(rows, 'decision')} ({how}): {out}")


def _refuse_inputs(out: Path, inputs: list[Path]) -> None:
    """Refuse to write decisions over what they are made from."""
    for path in inputs:
        if (
            out.exists()
            and path.exists()
            and path.resolve() in (out.resolve(), out.resolve().parent)
        ):
            raise FFMLError(f"--out {out} would replace what it is made from; choose another --out")


def _set_up() -> None:
    from ffml.runtime import configure

    configure(devices=1)


def check(
    run: str,
    *,
    limits: Limits,
    max_violation: float | None = None,
    so_far: bool = False,
    allow_unfinished: bool = False,
    json_output: bool = False,
) -> None:
    """Check a run's gaps for a pipeline, which reads the exit code.

    0: what was asked is met; 1: it is violated; 2: the command is wrong; 3: the run is unfinished,
    has too little data, or met it so far. Without a limit, what the run was asked for is checked.

    What is asked:
        --max-violation NUMBER: Largest mean of max(|gap| - ε, 0) over the rounds.
        --so-far: Let "met so far" pass, which says nothing of tasks to come.
        --allow-unfinished: Judge a run by the rounds that it has.
    """
    from ffml.audit.gate import exit_code, to_document
    from ffml.runs import open_run

    findings = open_run(run, write=False).check(
        **limits._asdict(), max_violation=max_violation, allow_unfinished=allow_unfinished
    )
    if json_output:
        typer.echo(json.dumps(to_document(findings), indent=2))
    else:
        for finding in findings:
            typer.echo(f"{finding.answer}: {finding.words}")
    raise typer.Exit(exit_code(findings, so_far))
