"""Options that several commands share."""

from pathlib import Path
from typing import Annotated, Any

import typer

TABLE = "Your own table (columns with usual names are found without)"
WHAT = "What is asked"
POLICY = "Who is approved (one of these)"
HOW = "How to learn"
OUTPUT = "Output"


def option(panel: str, text: str, *names: str, **more: Any) -> Any:
    """Declare one option in its group."""
    return typer.Option(*names, help=text, rich_help_panel=panel, show_default=False, **more)


def data_argument(databases: bool = True) -> Any:
    """Declare the argument that says what to learn from."""
    more = ", or a database: sqlite:///FILE, postgresql://… (with --query)" if databases else ""
    text = f"A data set (see `ffml datasets`), a table (.csv, .parquet, a folder of them){more}."
    return typer.Argument(help=text, show_default=False, metavar="DATA")


RunArgument = Annotated[
    str, typer.Argument(help="A run: its folder or address.", metavar="RUN", show_default=False)
]
Label = Annotated[str | None, option(TABLE, "Column to predict: two values.", metavar="COLUMN")]
Positive = Annotated[
    str | None, option(TABLE, "The label's favourable value, such as yes.", metavar="VALUE")
]
Sensitive = Annotated[
    list[str] | None,
    option(TABLE, "Column with groups to compare; give it again for several.", metavar="COLUMN"),
]
TaskColumn = Annotated[
    str | None,
    option(TABLE, "Column that says which rows belong together: month, …", metavar="COLUMN"),
]
Time = Annotated[
    str | None,
    option(
        TABLE, "Column of dates: tasks are its periods, played in time order.", metavar="COLUMN"
    ),
]
By = Annotated[
    str | None,
    option(TABLE, "How long a period is: day, week, month, quarter or year.", metavar="UNIT"),
]
Drop = Annotated[
    list[str] | None,
    option(TABLE, "Column to leave out; give it again for several.", metavar="COLUMN"),
]
Query = Annotated[
    str | None,
    option(
        TABLE,
        "SQL query whose rows are the table. Without DATA it asks $FFML_SQL_URL.",
        metavar="SQL",
    ),
]
Settings = Annotated[
    list[str] | None,
    option(
        HOW,
        "Any other setting, such as rounds=10, seed=1, model=mlp or data.order=month; give it "
        "again for several. `ffml methods NAME` lists them.",
        "--set",
        metavar="NAME=VALUE",
    ),
]
Approve = Annotated[
    float | None,
    option(
        POLICY, "Share of favourable decisions: 0.8 approves 80 of 100 people.", metavar="SHARE"
    ),
]
Cost = Annotated[
    float | None,
    option(
        POLICY,
        "What a wrong refusal costs, in wrong approvals: 5, or 0.2 if a wrong approval costs 5 "
        "wrong refusals.",
        metavar="NUMBER",
    ),
]
Threshold = Annotated[
    str | None,
    option(
        POLICY,
        "labels (as many approvals as favourable labels are expected; the default), accuracy, "
        "balanced (errors at both labels count the same), or the least probability.",
        metavar="WHAT",
    ),
]
MaxGap = Annotated[
    float | None,
    option(WHAT, "Largest gap between any two groups' rates (0.05: 5 points).", metavar="GAP"),
]
MinRatio = Annotated[
    float | None,
    option(WHAT, "Smallest share of the highest rate that the lowest is.", metavar="RATIO"),
]
Notion = Annotated[
    str | None,
    option(
        WHAT,
        "Whom these two compare: demographic-parity (everybody; the default), equal-opportunity or "
        "equalized-odds.",
        metavar="NOTION",
    ),
]
MinDp = Annotated[float | None, option(WHAT, "As --min-ratio, of everybody.", metavar="RATIO")]
MinEo = Annotated[
    float | None, option(WHAT, "As --min-ratio, of those of each label.", metavar="RATIO")
]
Plugin = Annotated[
    list[Path] | None,
    option(
        HOW,
        "Python file with a method, wrapper, notion, model or data set of your own; give it again "
        "for several.",
        metavar="FILE",
    ),
]
Jobs = Annotated[
    int | None, option(OUTPUT, "Processes at a time. (default: one for each core)", metavar="N")
]
Backend = Annotated[
    str | None,
    option(
        OUTPUT,
        "Compute on a cluster instead: ray or dask, found by $RAY_ADDRESS or "
        "$DASK_SCHEDULER_ADDRESS.",
        metavar="ENGINE",
    ),
]
Support = Annotated[
    str | None,
    typer.Option(help="Labelled rows of the same population: adapt to them first."),
]
To = Annotated[
    str | None,
    typer.Option(help="Also write the decisions to a database: sqlite:///… or postgresql://…"),
]
ToTable = Annotated[str, typer.Option("--table", help="The table there; rows are added to it.")]
Quiet = Annotated[bool, option(OUTPUT, "Print nothing but errors.", "--quiet", "-q")]
Json = Annotated[bool, option(OUTPUT, "Print the result as JSON.", "--json")]


def split_options(texts: list[str] | None, **columns: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the settings of ``--set``, and the options of the data.

    Args:
        texts: what ``--set`` was given.
        **columns: options of the command line that say what a table's columns are.
    """
    from ffml.cli.values import parse_settings
    from ffml.recipe.configfile import split_data

    settings, options = split_data(parse_settings(texts or ()))
    return settings, options | {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in columns.items()
        if value not in (None, [])
    }


def shown(address: str) -> str:
    """Return a run's address without a password."""
    from ffml.border import public_address

    return public_address(address)
