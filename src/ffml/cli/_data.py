"""Commands on your own tables and on finished runs: ``inspect``, ``predict``, ``check``."""

import json
from pathlib import Path
from typing import Annotated

import typer

from ffml.base import FFMLError
from ffml.cli import _shared as shared
from ffml.cli._shared import option


def inspect(
    data: Annotated[str | None, shared.data_argument()] = None,
    label: shared.Label = None,
    positive: shared.Positive = None,
    sensitive: shared.Sensitive = None,
    task: shared.TaskColumn = None,
    time: shared.Time = None,
    by: shared.By = None,
    drop: shared.Drop = None,
    query: shared.Query = None,
    settings: Annotated[
        list[str] | None,
        option(
            shared.TABLE,
            "Another option of the table: data.order=COLUMN, data.date_format=DD/MM/YYYY, "
            "data.intersect=true or data.drop_missing=true.",
            "--set",
            metavar="NAME=VALUE",
        ),
    ] = None,
    json_output: shared.Json = False,
) -> None:
    """Say in plain words what a stream looks like, and what is likely wrong with it."""
    from ffml.recipe.sources import find_data, open_stream
    from ffml.tables import describe
    from ffml.tables import inspect as inspect_stream

    given, options = shared.split_options(
        settings,
        label=label,
        positive=positive,
        sensitive=sensitive,
        task=task,
        time=time,
        by=by,
        drop=drop,
        query=query,
    )
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
    model: Annotated[
        str, typer.Argument(help="A run's folder or address, or its model.safetensors.")
    ],
    table: Annotated[
        str, typer.Argument(help="Rows to decide about: a table, a folder, or a database.")
    ],
    out: Annotated[
        Path, typer.Option(help="Where to write the decisions: .csv or .parquet.")
    ] = Path("decisions.csv"),
    query: Annotated[
        str | None, typer.Option(help="SQL query whose rows are to be decided about.")
    ] = None,
    support: shared.Support = None,
    together: Annotated[
        bool,
        typer.Option(
            "--together",
            help="These people come as one task: find prices on them, not on people met lately.",
        ),
    ] = False,
    keep: Annotated[
        list[str] | None,
        typer.Option(help="Column to carry over, such as an id; =1 becomes '=1 in a .csv file."),
    ] = None,
    approve: shared.Approve = None,
    cost: shared.Cost = None,
    threshold: shared.Threshold = None,
    to: shared.To = None,
    to_table: shared.ToTable = "decisions",
    plugin: Annotated[
        list[Path] | None, typer.Option(help="Plug-in that the run was made with.")
    ] = None,
    json_output: shared.Json = False,
) -> None:
    """Decide about the rows of a table with a model that a run has learned; write no ledger.

    A person gets the same decision alone and among others. See `ffml decide` to keep decisions.
    Another policy than the run's shows what it would do; nothing is learned anew.
    """
    from ffml.recipe.policy import policy_of
    from ffml.runs.models import model_at
    from ffml.scoring import prepare
    from ffml.scoring.table import predict_table, write_decisions, write_to_database
    from ffml.tables import open_data

    _refuse_inputs(out, [Path(one) for one in (model, table, support) if one is not None])
    if plugin:
        from ffml.recipe.plugins import load_plugins

        load_plugins(plugin)
    saved = model_at(model, _set_up)
    policy = policy_of({"approve": approve, "cost": cost, "threshold": threshold})
    if support or together or policy or not saved.decides_by_params:
        _set_up()
    source = open_data(table, query)
    scorer = prepare(saved, source if together else None, support, policy)
    warned: list[str] = []
    batches = predict_table(scorer, source, keep or (), warned)
    if to is not None:
        batches = write_to_database(batches, to, to_table)
    rows = write_decisions(batches, out)
    for warning in warned:
        typer.echo(f"warning: unlike what was learned from, {warning}", err=True)
    if json_output:
        told = {"rows": rows, "out": str(out), "adapted": support is not None, "warnings": warned}
        typer.echo(json.dumps(told, ensure_ascii=False))
        return
    how = f"adapted to {support}" if support else f"as learned in {saved.round} rounds"
    typer.echo(f"{rows:,} decisions ({how}): {out}")


def _set_up() -> None:
    from ffml.runtime import configure

    configure(devices=1)


def _refuse_inputs(out: Path, inputs: list[Path]) -> None:
    """Refuse to write decisions over what they are made from."""
    for path in inputs:
        if (
            out.exists()
            and path.exists()
            and path.resolve() in (out.resolve(), out.resolve().parent)
        ):
            raise FFMLError(f"--out {out} would replace what it is made from; choose another --out")


def check(
    run: shared.RunArgument,
    max_gap: shared.MaxGap = None,
    min_ratio: shared.MinRatio = None,
    notion: shared.Notion = None,
    min_dp: shared.MinDp = None,
    min_eo: shared.MinEo = None,
    max_violation: Annotated[
        float | None, typer.Option(help="Largest mean of max(|gap| - ε, 0) over the rounds.")
    ] = None,
    allow_unfinished: Annotated[
        bool, typer.Option("--allow-unfinished", help="Judge a run by the rounds that it has.")
    ] = False,
    json_output: shared.Json = False,
) -> None:
    """Gate a pipeline: exit 0 if met, 1 violated, 2 misused, 3 unfinished or too little data.

    Without a limit, what the run was asked for is checked.
    """
    from ffml.audit.gate import EXIT_CODES, to_document, verdict
    from ffml.runs import open_run

    findings = open_run(run, write=False).check(
        max_gap=max_gap,
        min_ratio=min_ratio,
        notion=notion,
        min_dp=min_dp,
        min_eo=min_eo,
        max_violation=max_violation,
        allow_unfinished=allow_unfinished,
    )
    if json_output:
        typer.echo(json.dumps(to_document(findings), indent=2))
    else:
        for finding in findings:
            typer.echo(f"{finding.answer}: {finding.words}")
    raise typer.Exit(EXIT_CODES[verdict(findings)])
