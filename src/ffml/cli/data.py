"""Commands on your own tables and on finished runs: ``inspect``, ``predict``, ``check``."""

import json
import os
from pathlib import Path
from typing import Annotated, Any

import typer

from ffml.base import FFMLError

JSON = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def inspect(
    table: Annotated[
        str | None,
        typer.Argument(help="A .csv or .parquet file, a folder of them, or a data set's name."),
    ] = None,
    label: Annotated[str | None, typer.Option(help="Column to predict.")] = None,
    sensitive: Annotated[
        list[str] | None, typer.Option(help="Protected column; give it again for several.")
    ] = None,
    task: Annotated[str | None, typer.Option(help="Column whose values are the tasks.")] = None,
    order: Annotated[str | None, typer.Option(help="Column that orders the tasks.")] = None,
    positive: Annotated[str | None, typer.Option(help="Label value that counts as 1.")] = None,
    drop: Annotated[list[str] | None, typer.Option(help="Column to leave out.")] = None,
    drop_missing: Annotated[
        bool, typer.Option("--drop-missing", help="Leave out rows without label or group.")
    ] = False,
    intersect: Annotated[
        bool, typer.Option("--intersect", help="Protect the columns' intersection.")
    ] = False,
    sql: Annotated[str | None, typer.Option(help="Address of a database.")] = None,
    query: Annotated[str | None, typer.Option(help="Query whose rows are the table.")] = None,
    json_output: JSON = False,
) -> None:
    """Say in plain words what a stream looks like, and what is likely wrong with it."""
    from ffml.sources import open_stream
    from ffml.tables import describe
    from ffml.tables import inspect as inspect_stream

    options = table_options(
        label=label,
        sensitive=sensitive,
        task=task,
        order=order,
        positive=positive,
        drop=drop,
        drop_missing=drop_missing,
        intersect=intersect,
        query=query,
    )
    sql = sql or (os.environ.get("FFML_SQL_URL") if query else None)
    name, options = resolve(table, options, sql)
    stream, _ = open_stream(name, options, seed=0, sql_url=sql)
    inspection = inspect_stream(stream)
    if json_output:
        typer.echo(json.dumps(inspection.to_json(), indent=2, ensure_ascii=False))
    else:
        typer.echo("\n".join(describe(inspection)))


def table_options(**given: Any) -> dict[str, Any]:
    """Keep the options that were given, lists as tuples."""
    return {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in given.items()
        if value not in (None, False, [])
    }


def resolve(
    data: str | None, options: dict[str, Any], sql_url: str | None
) -> tuple[str, dict[str, Any]]:
    """Find out what the data are: a data set, a table (whose roles are filled in) or a query."""
    from ffml.datasets import find
    from ffml.sources import SQL, is_table, with_roles

    data = None if data == SQL and sql_url else data  # as a run's config.json has it
    if sql_url is not None:
        if data is not None:
            raise FFMLError(f"give either a table or --sql, not both ('{data}' and --sql)")
        return SQL, with_roles(SQL, options, sql_url)
    if data is None:
        raise FFMLError("give a data set (see 'ffml datasets'), a table's path, or --sql")
    if not is_table(data):
        return find(data).name, options
    path = str(Path(data).resolve())
    return path, with_roles(path, options)


def predict(
    model: Annotated[Path, typer.Argument(help="A run's folder, or its model.safetensors.")],
    table: Annotated[Path, typer.Argument(help="Rows to decide about: .csv, .parquet, folder.")],
    out: Annotated[
        Path, typer.Option(help="Where to write the decisions: .csv or .parquet.")
    ] = Path("decisions.csv"),
    support: Annotated[
        Path | None,
        typer.Option(help="Labelled rows of the same population: adapt to them first."),
    ] = None,
    keep: Annotated[
        list[str] | None, typer.Option(help="Column to carry over, such as an id.")
    ] = None,
    json_output: JSON = False,
) -> None:
    """Decide about the rows of a table with a model that a run has learned."""
    from ffml.predict import predict_table, write_decisions
    from ffml.runs.artifact import load_model
    from ffml.tables import open_table

    saved = load_model(model)
    for note in saved.notes:
        typer.echo(f"note: {note}", err=True)
    params = None
    if support is not None:
        from ffml.adapting import adapted_params
        from ffml.runtime import configure

        configure(devices=1)
        params = adapted_params(saved, open_table(support), open_table(table))
    rows = write_decisions(predict_table(saved, open_table(table), keep or (), params), out)
    if json_output:
        typer.echo(json.dumps({"rows": rows, "out": str(out), "adapted": support is not None}))
        return
    how = f"adapted to {support}" if support else f"as learned in {saved.round} rounds"
    typer.echo(f"{rows:,} decisions ({how}): {out}")


def check(
    run: Annotated[Path, typer.Argument(help="Folder of a finished run.")],
    min_dp: Annotated[
        float | None, typer.Option(help="Smallest DP ratio, all rows pooled.")
    ] = None,
    min_eo: Annotated[float | None, typer.Option(help="Smallest EO ratio, likewise.")] = None,
    max_violation: Annotated[
        float | None, typer.Option(help="Largest mean of max(|gap| - ε, 0) over the rounds.")
    ] = None,
    rounds: Annotated[str, typer.Option(help="Which rounds count: all or last-third.")] = "all",
    json_output: JSON = False,
) -> None:
    """Gate a pipeline: exit 0 if met, 1 violated, 2 misused, 3 too little data to tell."""
    from ffml.gate import EXIT_CODES, to_document, verdict
    from ffml.gate import check as findings_of

    findings = findings_of(
        run, min_dp=min_dp, min_eo=min_eo, max_violation=max_violation, rounds=rounds
    )
    if json_output:
        typer.echo(json.dumps(to_document(findings), indent=2))
    else:
        for finding in findings:
            typer.echo(f"{finding.answer}: {finding.sentence()}")
    raise typer.Exit(EXIT_CODES[verdict(findings)])
