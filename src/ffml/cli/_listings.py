"""``ffml datasets``, ``ffml methods`` and ``ffml notions``: what there is."""

import json
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import typer


def datasets(json_output: bool = False) -> None:
    """List the data sets with their tasks and sizes."""
    from ffml.datasets import DATASETS

    rows: list[dict[str, Any]] = [
        {
            "name": d.name,
            "tasks": d.num_tasks,
            "rows": d.num_rows,
            "one task is": d.task,
            "label": d.label,
            "protected": d.sensitive,
            "source": "in the package" if d.shipped else "downloaded on first use",
            "licence": d.licence,
        }
        for d in DATASETS.values()
    ]
    if json_output:
        _print_json(rows)
        return
    _print_entries(
        (
            row["name"],
            f", {row['tasks']} tasks, {row['rows']:,} rows",
            f"A task: {row['one task is']}. Label: {row['label']}. Groups: {row['protected']}. "
            f"{row['source'].capitalize()}; {row['licence']}.",
        )
        for row in rows
    )


def methods(name: str | None = None, json_output: bool = False) -> None:
    """List methods, their parts, models and wrappers, or the settings of one.

    Arguments:
        name: A method, a part, a model or a wrapper: list its settings.
    """
    from ffml.cli._catalogue import everything, first_line, settings_of

    if name is not None:
        _settings(name, settings_of(name), json_output)
        return
    rows = [
        {"kind": entry.kind, "name": name, "what it does": first_line(entry.factory)}
        for name, entry in everything().items()
    ]
    _listing("What a run is put together from; ffml methods NAME lists settings", rows, json_output)


def notions(json_output: bool = False) -> None:
    """List what can be asked not to differ between groups."""
    from ffml.cli._catalogue import first_line
    from ffml.problem.notions import CONSTRAINTS

    _listing(
        "Notions of fairness (kept where the formula holds; ε is --max-gap)",
        [{"name": name, "asks for": first_line(f)} for name, f in CONSTRAINTS.items()],
        json_output,
    )


def _settings(name: str, rows: list[dict[str, str]], as_json: bool) -> None:
    """Print settings with their values in ``ffml run``, and what each is below it."""
    if as_json:
        _print_json(rows)
    elif not rows:
        typer.echo(f"{name} has no settings.")
    else:
        typer.echo(f"Settings of {name}, as ffml run has them; --set changes one:")
        _print_entries(
            (row["setting"], f"={row['default']}  ({row['takes']})", row["what it is"])
            for row in rows
        )


def _listing(title: str, rows: list[dict[str, Any]], as_json: bool) -> None:
    if as_json:
        _print_json(rows)
        return
    from rich.console import Console

    from ffml.cli._table import table

    kinds = [row.get("kind") for row in rows]
    ends = [i for i, (kind, after) in enumerate(pairwise(kinds)) if kind != after]
    Console().print(table(rows, title, left=len(rows[0]), end_after=ends))


def _print_json(rows: list[Any]) -> None:
    typer.echo(json.dumps(rows, indent=2, ensure_ascii=False))


def _print_entries(entries: Iterable[tuple[str, str, str]]) -> None:
    """Print each name with a few words beside it and a text below."""
    from rich.console import Console
    from rich.padding import Padding
    from rich.text import Text

    console = Console(highlight=False)
    for name, beside, below in entries:
        console.print(Text.assemble((name, "bold"), beside), Padding(Text(below), (0, 0, 0, 4)))
