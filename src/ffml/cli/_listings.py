"""``ffml datasets``, ``ffml methods`` and ``ffml notions``: what there is."""

from typing import Annotated, Any

import typer

JSON = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def datasets(json_output: JSON = False) -> None:
    """List the data sets with their tasks and sizes."""
    from ffml.datasets import DATASETS

    _listing(
        "Data sets",
        [
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
        ],
        json_output,
    )


def methods(
    name: Annotated[
        str | None,
        typer.Argument(help="A method, a part, a model or a wrapper: list its settings."),
    ] = None,
    json_output: JSON = False,
) -> None:
    """List methods, their parts, models and wrappers; or the settings of one of them."""
    from ffml.cli._catalogue import everything, first_line, settings_of

    if name is not None:
        _settings(name, settings_of(name), json_output)
        return
    rows = [
        {"kind": entry.kind, "name": name, "what it does": first_line(entry.factory)}
        for name, entry in everything().items()
    ]
    _listing("What a run is put together from; ffml methods NAME lists settings", rows, json_output)


def notions(json_output: JSON = False) -> None:
    """List what `ffml run --notion` can ask not to differ between groups."""
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
        _listing("", rows, as_json=True)
        return
    from rich.console import Console
    from rich.padding import Padding
    from rich.text import Text

    console = Console(highlight=False)
    if not rows:
        console.print(f"{name} has no settings.")
        return
    console.print(
        f"Settings of {name} with the values that ffml run gives them; --set changes one:"
    )
    for row in rows:
        line = Text.assemble((row["setting"], "bold"), f"={row['default']}  ({row['takes']})")
        console.print(line, Padding(Text(row["what it is"]), (0, 0, 0, 4)))


def _listing(title: str, rows: list[dict[str, Any]], as_json: bool) -> None:
    if as_json:
        import json

        typer.echo(json.dumps(rows, indent=2, ensure_ascii=False))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title, title_justify="left", header_style="bold")
    for name in rows[0]:
        number = isinstance(rows[0][name], int)
        table.add_column(name, justify="right" if number else "left", overflow="fold")
    for row, following in zip(rows, [*rows[1:], rows[-1]], strict=True):
        cells = [f"{v:,}" if isinstance(v, int) else str(v) for v in row.values()]
        kinds = row.get("kind"), following.get("kind")
        table.add_row(*cells, end_section=kinds[0] != kinds[1])
    Console().print(table, markup=False)
