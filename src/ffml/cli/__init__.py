"""The command line. Each command is one function; this page puts them together."""

import sys

import typer

from ffml.base import FFMLError
from ffml.cli import audit, compare, data, label, listings, options, reproduce, start, tune, update

app = typer.Typer(
    name="ffml",
    help="Fairness-aware online meta-learning: watch a learner adapt to one population after "
    "another while group unfairness stays bounded.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)

COMMANDS = (
    start.start,
    options.run,
    update.update,
    label.label,
    compare.compare,
    reproduce.reproduce,
    tune.tune,
    data.inspect,
    data.predict,
    data.check,
    audit.audit,
    listings.datasets,
    listings.methods,
    listings.notions,
)
for command in COMMANDS:
    app.command()(command)


def main() -> None:
    """Run the command line; a mistake is one line on stderr and exit code 2."""
    try:
        _refuse_odd_words(sys.argv[1:])
        code = app(standalone_mode=False)
    except FFMLError as error:
        _fail(str(error))
    except Exception as error:
        if not hasattr(error, "format_message"):  # a usage error of the parser has it
            raise
        known = {function.__name__ for function in COMMANDS}
        page = " ".join(["ffml", *(word for word in sys.argv[1:2] if word in known)])
        _fail(f"{' '.join(error.format_message().split())} (see '{page} --help')")
    sys.exit(code if isinstance(code, int) else 0)


def _refuse_odd_words(words: list[str]) -> None:
    """Refuse what is not UTF-8, such as a folder's name: no file could keep it."""
    for word in words:
        try:
            word.encode()
        except UnicodeEncodeError:
            raise FFMLError(f"the name {word!a} is not in UTF-8; choose another") from None


def _fail(message: str) -> None:
    typer.echo(f"error: {message}", err=True)
    sys.exit(2)
