"""Options: a command's docstring says what each is for; those that several share are said here.

A docstring goes on after its text with groups of options, as the help shows them::

    Output:
        --out DIR: Folder of the run.
        --json: Print the result as JSON.
"""

import inspect
import re
from collections.abc import Callable
from functools import cache, wraps
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from ffml.base import FFMLError

if TYPE_CHECKING:
    from rich.console import Console

SHARED = """
Arguments:
    run: A run: its folder or address.
    id: The person's id.
    data: A data set (see `ffml datasets`), a table (.csv, .parquet, a folder of them), or a
        database: sqlite:///FILE, postgresql://… (with --query).

Options:
    --support TABLE: Labelled rows of the same population: adapt to them first.

Your own table:
    --decision COLUMN: Column with what was decided: two values.
    --positive VALUE: The favourable decision, such as yes.
    --sensitive COLUMN: Column with groups to compare; give it again for several.
    --task COLUMN: Column that says which rows belong together: month, …
    --time COLUMN: Column of dates: tasks are its periods, played in time order.
    --by UNIT: How long a period is: day, week, month, quarter or year.
    --query SQL: SQL query whose rows are the table. Without DATA it asks $FFML_SQL_URL.

How to learn:
    --plugin FILE: Python file with a method, wrapper, notion, model or data set of your own;
        give it again for several.

Output:
    --jobs N: Processes at a time. (default: one for each core)
    --backend ENGINE: Compute on a cluster instead: ray or dask, found by $RAY_ADDRESS or
        $DASK_SCHEDULER_ADDRESS.
    --to ADDRESS: Also write the decisions to a database: sqlite:///… or postgresql://…
    --table NAME: The table there; rows are added to it. (default: decisions)
    --json: Print the result as JSON.
"""
# Parameters that are not called as their options are: Python has these words already.
PARAMETERS = {
    "with": "wrappers",
    "set": "settings",
    "json": "json_output",
    "list": "list_items",
    "as": "kind",
}
GROUP = re.compile(r"^(\S.*):\n((?:    .*\n?)+)", re.MULTILINE)
ENTRY = re.compile(r"^ {4}(--[\w-]+(?:, -\w)?|\w+)(?: ([^\s:]+))?: (.*(?:\n {8}.*)*)", re.MULTILINE)


class Columns(NamedTuple):
    """What the columns of a person's own table are.

    Your own table:
        --label COLUMN: Column to predict: two values. (default: by its name)
        --positive VALUE: The label's favourable value, such as yes.
        --drop COLUMN: Column to leave out; give it again for several.
    """

    label: str | None = None
    positive: str | None = None
    sensitive: list[str] | None = None
    task: str | None = None
    time: str | None = None
    by: str | None = None
    drop: list[str] | None = None

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
    """Who is decided favourably.

    Who is approved (one of these):
        --approve SHARE: Share of favourable decisions: 0.8 approves 80 of 100 people.
        --cost NUMBER: What a wrong refusal costs, in wrong approvals: 5, or 0.2 if a wrong approval
            costs 5 wrong refusals.
        --threshold WHAT: labels (as many approvals as favourable labels are expected; the default),
            accuracy, balanced (errors at both labels count the same), or the least probability.
    """

    approve: float | None = None
    cost: float | None = None
    threshold: str | None = None

    def asked(self) -> str | None:
        """Return the one policy that is asked for."""
        from ffml.recipe.policy import policy_of

        return policy_of(self._asdict())


class Limits(NamedTuple):
    """What is asked of decisions that were made.

    What is asked:
        --max-gap GAP: Largest gap between any two groups' rates (0.05: 5 points).
        --min-ratio RATIO: Smallest share of the highest rate that the lowest is.
        --notion NOTION: Whom these two compare: demographic-parity (everybody; the default),
            equal-opportunity or equalized-odds.
        --min-dp RATIO: As --min-ratio, of everybody.
        --min-eo RATIO: As --min-ratio, of those of each label.
    """

    max_gap: float | None = None
    min_ratio: float | None = None
    notion: str | None = None
    min_dp: float | None = None
    min_eo: float | None = None


class Output(NamedTuple):
    """How much is printed.

    Output:
        --quiet, -q: Print nothing but errors.
    """

    quiet: bool = False
    json_output: bool = False

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


def text_of(command: Callable[..., None]) -> str:
    """Return what help says above the options; the terminal says where lines end."""
    text = GROUP.split(inspect.cleandoc(command.__doc__ or ""))[0]
    return "\n\n".join(" ".join(part.split()) for part in text.strip().split("\n\n"))


@cache
def described(documentation: str) -> dict[str, Any]:
    """Return what the parser of the command line needs of each parameter in a docstring.

    >>> described("Learn.\\n\\nOutput:\\n    --out DIR: Folder.")["out"].help
    'Folder.'
    """
    parameters: dict[str, Any] = {}
    for group, block in GROUP.findall(inspect.cleandoc(documentation)):
        for written, word, lines in ENTRY.findall(block):
            names, text = written.split(", "), " ".join(lines.split())
            option = names[0].removeprefix("--").replace("-", "_")
            if names[0] == option:
                parameters[option] = typer.Argument(
                    help=text, metavar=word or option.upper(), show_default=False
                )
                continue
            panel = None if group == "Options" else group
            parameters[PARAMETERS.get(option, option)] = typer.Option(
                *names, help=text, metavar=word, rich_help_panel=panel, show_default=False
            )
    return parameters


def flat(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command as the parser takes it: options described, groups taken apart.

    A parameter whose kind is a named tuple stands for an option for each of its fields.
    """
    groups: dict[str, Any] = {}
    parameters: list[inspect.Parameter] = []

    def add(name: str, kind: Any, default: Any, documentation: str) -> None:
        if info := (described(documentation).get(name) or described(SHARED).get(name)):
            kind = Annotated[kind, info]
        parameters.append(
            inspect.Parameter(
                name, inspect.Parameter.KEYWORD_ONLY, annotation=kind, default=default
            )
        )

    for name, parameter in inspect.signature(command, eval_str=True).parameters.items():
        kind = parameter.annotation
        if hasattr(kind, "_field_defaults"):
            groups[name] = kind
            for field, default in kind._field_defaults.items():
                add(field, kind.__annotations__[field], default, kind.__doc__)
        else:
            add(name, kind, parameter.default, command.__doc__ or "")

    @wraps(command)
    def call(**given: Any) -> None:
        for name, group in groups.items():
            given[name] = group(*(given.pop(field) for field in group._fields))
        command(**given)

    call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return call
