"""Options that several commands share, and what they give together."""

import inspect
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, get_type_hints

import typer

from ffml.base import FFMLError

if TYPE_CHECKING:
    from rich.console import Console

TABLE = "Your own table"
WHAT = "What is asked"
POLICY = "Who is approved (one of these)"
HOW = "How to learn"
OUTPUT = "Output"


def option(panel: str | None, word: str, text: str, *names: str, **more: Any) -> Any:
    """Declare an option in its group, with the word that help has for its value."""
    return typer.Option(
        *names, help=text, metavar=word, rich_help_panel=panel, show_default=False, **more
    )


def flag(panel: str | None, text: str, *names: str) -> Any:
    """Declare an option that takes no value."""
    return option(panel, "", text, *names)


def data_argument(databases: bool = True) -> Any:
    """Declare the argument that says what to learn from."""
    more = ", or a database: sqlite:///FILE, postgresql://… (with --query)" if databases else ""
    text = f"A data set (see `ffml datasets`), a table (.csv, .parquet, a folder of them){more}."
    return typer.Argument(help=text, show_default=False, metavar="DATA")


RunArgument = Annotated[
    str, typer.Argument(help="A run: its folder or address.", metavar="RUN", show_default=False)
]
IdArgument = Annotated[
    str, typer.Argument(help="The person's id.", metavar="ID", show_default=False)
]
Decision = Annotated[
    str | None, option(TABLE, "COLUMN", "Column with what was decided: two values.")
]
PositiveDecision = Annotated[
    str | None, option(TABLE, "VALUE", "The favourable decision, such as yes.")
]
Sensitive = Annotated[
    list[str] | None,
    option(TABLE, "COLUMN", "Column with groups to compare; give it again for several."),
]
TaskColumn = Annotated[
    str | None, option(TABLE, "COLUMN", "Column that says which rows belong together: month, …")
]
Time = Annotated[
    str | None,
    option(TABLE, "COLUMN", "Column of dates: tasks are its periods, played in time order."),
]
By = Annotated[
    str | None, option(TABLE, "UNIT", "How long a period is: day, week, month, quarter or year.")
]
Query = Annotated[
    str | None,
    option(TABLE, "SQL", "SQL query whose rows are the table. Without DATA it asks $FFML_SQL_URL."),
]
Plugin = Annotated[
    list[Path] | None,
    option(
        HOW,
        "FILE",
        "Python file with a method, wrapper, notion, model or data set of your own; give it again "
        "for several.",
    ),
]
Jobs = Annotated[
    int | None, option(OUTPUT, "N", "Processes at a time. (default: one for each core)")
]
Backend = Annotated[
    str | None,
    option(
        OUTPUT,
        "ENGINE",
        "Compute on a cluster instead: ray or dask, found by $RAY_ADDRESS or "
        "$DASK_SCHEDULER_ADDRESS.",
    ),
]
Support = Annotated[
    str | None, option(None, "TABLE", "Labelled rows of the same population: adapt to them first.")
]
To = Annotated[
    str | None,
    option(
        OUTPUT, "ADDRESS", "Also write the decisions to a database: sqlite:///… or postgresql://…"
    ),
]
ToTable = Annotated[
    str,
    option(
        OUTPUT, "NAME", "The table there; rows are added to it. (default: decisions)", "--table"
    ),
]
Json = Annotated[bool, flag(OUTPUT, "Print the result as JSON.", "--json")]


class Columns(NamedTuple):
    """What the columns of a person's own table are."""

    label: Annotated[
        str | None, option(TABLE, "COLUMN", "Column to predict: two values. (default: by its name)")
    ] = None
    positive: Annotated[
        str | None, option(TABLE, "VALUE", "The label's favourable value, such as yes.")
    ] = None
    sensitive: Sensitive = None
    task: TaskColumn = None
    time: Time = None
    by: By = None
    drop: Annotated[
        list[str] | None, option(TABLE, "COLUMN", "Column to leave out; give it again for several.")
    ] = None

    def split(
        self, texts: list[str] | None, query: str | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the settings of ``--set``, and the options of the data."""
        from ffml.cli.values import parse_settings
        from ffml.recipe.configfile import split_data

        settings, options = split_data(parse_settings(texts or ()))
        return settings, options | {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in (self._asdict() | {"query": query}).items()
            if value not in (None, [])
        }


class Policy(NamedTuple):
    """Who is decided favourably."""

    approve: Annotated[
        float | None,
        option(POLICY, "SHARE", "Share of favourable decisions: 0.8 approves 80 of 100 people."),
    ] = None
    cost: Annotated[
        float | None,
        option(
            POLICY,
            "NUMBER",
            "What a wrong refusal costs, in wrong approvals: 5, or 0.2 if a wrong approval costs 5 "
            "wrong refusals.",
        ),
    ] = None
    threshold: Annotated[
        str | None,
        option(
            POLICY,
            "WHAT",
            "labels (as many approvals as favourable labels are expected; the default), accuracy, "
            "balanced (errors at both labels count the same), or the least probability.",
        ),
    ] = None

    def asked(self) -> str | None:
        """Return the one policy that is asked for."""
        from ffml.recipe.policy import policy_of

        return policy_of(self._asdict())


class Limits(NamedTuple):
    """What is asked of decisions that were made."""

    max_gap: Annotated[
        float | None,
        option(WHAT, "GAP", "Largest gap between any two groups' rates (0.05: 5 points)."),
    ] = None
    min_ratio: Annotated[
        float | None,
        option(WHAT, "RATIO", "Smallest share of the highest rate that the lowest is."),
    ] = None
    notion: Annotated[
        str | None,
        option(
            WHAT,
            "NOTION",
            "Whom these two compare: demographic-parity (everybody; the default), "
            "equal-opportunity or equalized-odds.",
        ),
    ] = None
    min_dp: Annotated[float | None, option(WHAT, "RATIO", "As --min-ratio, of everybody.")] = None
    min_eo: Annotated[
        float | None, option(WHAT, "RATIO", "As --min-ratio, of those of each label.")
    ] = None


class Output(NamedTuple):
    """How much is printed."""

    quiet: Annotated[bool, flag(OUTPUT, "Print nothing but errors.", "--quiet", "-q")] = False
    json_output: Json = False

    def console(self, what: str, address: str = "", leads: bool = True) -> "Console":
        """Say what is begun, before the seconds that a start takes."""
        from rich.console import Console
        from rich.markup import escape

        from ffml.border import public_address

        console = Console(stderr=self.json_output, quiet=self.quiet or not leads)
        named = f" [bold]{escape(public_address(address))}[/bold]" if address else ""
        console.print(f"[bold]ffml[/bold] · {what}{named} …")
        return console


def refuse_below_one(**numbers: int | None) -> None:
    """Refuse numbers of things that are less than one."""
    for name, value in numbers.items():
        if value is not None and value < 1:
            raise FFMLError(f"--{name.replace('_', '-')} must be >= 1, got {value}")


def flat(command: Callable[..., None]) -> Callable[..., None]:
    """Let a command take each option of a group (a named tuple) as an option of its own."""
    signature = inspect.signature(command, eval_str=True)
    groups: dict[str, Any] = {}
    parameters: dict[str, tuple[Any, Any]] = {}  # name -> annotation and default
    for name, parameter in signature.parameters.items():
        kind = parameter.annotation
        if fields := getattr(kind, "_field_defaults", None):
            groups[name] = kind
            hints = get_type_hints(kind, include_extras=True)
            parameters |= {field: (hints[field], default) for field, default in fields.items()}
        else:
            parameters[name] = (kind, parameter.default)

    @wraps(command)
    def call(**given: Any) -> None:
        for name, group in groups.items():
            given[name] = group(*(given.pop(field) for field in group._fields))
        command(**given)

    call.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=kind, default=value)
            for name, (kind, value) in parameters.items()
        ]
    )
    return call
