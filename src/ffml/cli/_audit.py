"""``ffml audit``: gaps between groups in decisions that anybody made."""

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ffml.base import FFMLError
from ffml.cli import _shared as shared
from ffml.cli._shared import OUTPUT, TABLE, option

if TYPE_CHECKING:
    from ffml.tables import Source

MORE = ("intersect", "drop_missing", "date_format")


def audit(
    data: Annotated[
        str | None,
        typer.Argument(
            help="A table of decisions (.csv, .parquet, a folder of them), or a database: "
            "sqlite:///FILE, postgresql://… (with --query).",
            show_default=False,
            metavar="DATA",
        ),
    ] = None,
    decision: Annotated[
        str | None, option(TABLE, "Column with what was decided: two values.", metavar="COLUMN")
    ] = None,
    positive: Annotated[
        str | None, option(TABLE, "The favourable decision, such as yes.", metavar="VALUE")
    ] = None,
    sensitive: shared.Sensitive = None,
    label: Annotated[
        str | None,
        option(TABLE, "Column with what turned out to be right; may be empty.", metavar="COLUMN"),
    ] = None,
    positive_label: Annotated[
        str | None, option(TABLE, "The label's favourable value, if another.", metavar="VALUE")
    ] = None,
    task: shared.TaskColumn = None,
    time: shared.Time = None,
    by: shared.By = None,
    query: shared.Query = None,
    settings: Annotated[
        list[str] | None,
        option(
            TABLE,
            "Another option of the table: data.intersect=true, data.drop_missing=true or "
            "data.date_format=DD/MM/YYYY.",
            "--set",
            metavar="NAME=VALUE",
        ),
    ] = None,
    max_gap: shared.MaxGap = None,
    min_ratio: shared.MinRatio = None,
    notion: shared.Notion = None,
    min_dp: shared.MinDp = None,
    min_eo: shared.MinEo = None,
    out: Annotated[
        Path | None,
        option(OUTPUT, "Folder for report.html, audit.json and groups.csv.", metavar="DIR"),
    ] = None,
    json_output: shared.Json = False,
) -> None:
    """Audit decisions of any model: exit 0 if met, 1 violated, 2 misused, 3 too little data.

    [bold]Example:[/bold] ffml audit decisions.csv --decision approved --positive yes
    --sensitive sex --time month --max-gap 0.05 --out audit
    """
    from ffml.audit import (
        Limits,
        audit_decisions,
        audit_document,
        audit_folder,
        write_audit,
    )
    from ffml.audit.gate import EXIT_CODES, verdict
    from ffml.tables import DecisionRoles, read_decisions

    limits = Limits(max_gap, notion, min_dp, min_eo, min_ratio)
    limits.refuse_misuse(labelled=label is not None)
    source = _open(data, query)
    decision, groups = _required(decision, sensitive, source)
    roles = DecisionRoles(
        decision=decision,
        sensitive=groups,
        label=label,
        task=task,
        time=time,
        by=by,
        positive=positive,
        positive_label=positive_label,
        **_more(settings),
    )
    found = audit_decisions(read_decisions(source, roles), limits)
    if out is not None:
        from ffml.report.audit_page import write_audit_report

        folder = audit_folder(out)
        write_audit(found, folder)
        write_audit_report(found, folder)
    if json_output:
        typer.echo(json.dumps(audit_document(found), indent=2, ensure_ascii=False))
    else:
        from ffml.cli._audit_table import show_audit

        show_audit(found, out)
    if found.findings:
        raise typer.Exit(EXIT_CODES[verdict(found.findings)])


def _more(settings: list[str] | None) -> dict[str, Any]:
    """Read ``--set``: options of the table that are seldom needed."""
    if not settings:
        return {}
    given, options = shared.split_options(settings)
    unknown = [*given, *(f"data.{name}" for name in options if name not in MORE)]
    for name in unknown:
        raise FFMLError(
            f"'{name}' has no use in an audit; --set takes "
            f"{', '.join(f'data.{name}' for name in MORE)}"
        )
    return options


def _open(data: str | None, query: str | None) -> "Source":
    from ffml.recipe.sources import SQL, SQL_URL, is_url, open_source

    if data is None and query is None:
        raise FFMLError("give a table of decisions: a path, or a database with --query")
    if data is None or is_url(data):
        return open_source(SQL, {"query": query}, data or os.environ.get(SQL_URL))
    if query is not None:
        raise FFMLError(f"--query asks a database, and '{data}' is none; leave it out")
    return open_source(data, {})


def _required(
    decision: str | None, sensitive: list[str] | None, source: "Source"
) -> tuple[str, tuple[str, ...]]:
    """Ask at once for all columns that nobody can guess."""
    if decision and sensitive:
        return decision, tuple(sensitive)
    missing = [
        f"--{name}"
        for name, value in (("decision", decision), ("sensitive", sensitive))
        if not value
    ]
    raise FFMLError(f"give {' and '.join(missing)}; the table has {', '.join(source.columns[:30])}")
