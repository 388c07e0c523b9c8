"""``ffml audit``: gaps between groups in decisions that anybody made."""

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ffml.base import FFMLError
from ffml.cli._options import Columns, Limits

if TYPE_CHECKING:
    from ffml.tables import Source

MORE = ("intersect", "drop_missing", "date_format")


def audit(
    data: str | None = None,
    decision: str | None = None,
    positive: str | None = None,
    sensitive: list[str] | None = None,
    label: str | None = None,
    positive_label: str | None = None,
    task: str | None = None,
    time: str | None = None,
    by: str | None = None,
    query: str | None = None,
    settings: list[str] | None = None,
    *,
    limits: Limits,
    so_far: bool = False,
    out: Path | None = None,
    json_output: bool = False,
) -> None:
    """Measure the gaps in anybody's decisions, of any model.

    The exit code is for pipelines. 0: what was asked is met; 1: it is violated; 2: the command is
    wrong; 3: there is too little data, or it was met so far.

    [bold]Example:[/bold] ffml audit decisions.csv --decision approved --positive yes
    --sensitive sex --time month --max-gap 0.05 --out audit

    Arguments:
        data: A table of decisions (.csv, .parquet, a folder of them), or a database:
            sqlite:///FILE, postgresql://… (with --query).

    Your own table:
        --label COLUMN: Column with what turned out to be right; may be empty.
        --positive-label VALUE: The label's favourable value, if another.
        --set NAME=VALUE: Another option of the table: data.intersect=true, data.drop_missing=true
            or data.date_format=DD/MM/YYYY.

    What is asked:
        --so-far: Let "met so far" pass, which says nothing of tasks to come.

    Output:
        --out DIR: Folder for report.html, audit.json and groups.csv.
    """
    from ffml.audit import Limits as Asked
    from ffml.audit import audit_decisions, audit_document, audit_folder, write_audit
    from ffml.audit.gate import exit_code
    from ffml.tables import DecisionRoles, read_decisions

    asked = Asked(**limits._asdict())
    asked.refuse_misuse(labelled=label is not None)
    source, decision, sensitive = decided_table(data, query, decision, sensitive)
    roles = DecisionRoles(
        decision=decision,
        sensitive=tuple(sensitive),
        label=label,
        task=task,
        time=time,
        by=by,
        positive=positive,
        positive_label=positive_label,
        **_more(settings),
    )
    audited = audit_decisions(read_decisions(source, roles), asked)
    if out is not None:
        from ffml.report.audit_page import write_audit_report

        folder = audit_folder(out)
        write_audit(audited, folder)
        write_audit_report(audited, folder)
    if json_output:
        typer.echo(json.dumps(audit_document(audited), indent=2, ensure_ascii=False))
    else:
        from ffml.cli._audit_table import show_audit

        show_audit(audited, out)
    if audited.findings:
        raise typer.Exit(exit_code(audited.findings, so_far))


def _more(settings: list[str] | None) -> dict[str, Any]:
    """Read ``--set``: options of the table that are seldom needed."""
    given, options = Columns().split(settings)
    for name in [*given, *(f"data.{name}" for name in options if name not in MORE)]:
        raise FFMLError(
            f"'{name}' has no use in an audit; --set takes "
            f"{', '.join(f'data.{name}' for name in MORE)}"
        )
    return options


def decided_table(
    data: str | None, query: str | None, decision: str | None, sensitive: list[str] | None
) -> "tuple[Source, str, list[str]]":
    """Open a table of decisions; ask at once for all columns that nobody can guess."""
    from ffml.recipe.sources import SQL, SQL_URL, open_source
    from ffml.tables import open_data

    if data is None and query is None:
        raise FFMLError("give a table of decisions: a path, or a database with --query")
    if data is None:
        source = open_source(SQL, {"query": query}, os.environ.get(SQL_URL))
    else:
        source = open_data(data, query)
    if decision and sensitive:
        return source, decision, sensitive
    given = {"--decision": decision, "--sensitive": sensitive}
    missing = " and ".join(name for name, value in given.items() if not value)
    raise FFMLError(f"give {missing}; the table has {', '.join(source.columns[:30])}")
