"""``ffml datasets``, ``ffml methods`` and ``ffml constraints``: what there is."""

from typing import Annotated, Any

import typer


def datasets(
    json_output: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
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
    json_output: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the methods with their settings."""
    from ffml.experiment import method_defaults
    from ffml.methods import METHODS

    _listing(
        "Methods",
        [
            {
                "name": name,
                "what it does": _first_line(factory),
                "settings": ", ".join(f"{k}={v}" for k, v in method_defaults(name).items()),
            }
            for name, factory in METHODS.items()
        ],
        json_output,
    )


def constraints(
    json_output: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the fairness constraints."""
    from ffml.constraints import CONSTRAINTS

    _listing(
        "Constraints (feasible where the formula holds)",
        [{"name": name, "asks for": _first_line(f)} for name, f in CONSTRAINTS.items()],
        json_output,
    )


def _first_line(factory: Any) -> str:
    return (factory.__doc__ or "").strip().split("\n")[0].replace("``", "")


def _listing(title: str, rows: list[dict[str, Any]], as_json: bool) -> None:
    if as_json:
        import json

        typer.echo(json.dumps(rows, indent=2, ensure_ascii=False))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title, title_justify="left", header_style="bold")
    for name in rows[0]:
        table.add_column(name, justify="right" if isinstance(rows[0][name], int) else "left")
    for row in rows:
        cells = [f"{v:,}" if isinstance(v, int) else str(v) for v in row.values()]
        table.add_row(*cells)
    Console().print(table)
