"""The command line. Each command is one function; this page puts them together."""

import errno
import sys
from typing import Annotated, Any

import typer

from ffml.base import FFMLError
from ffml.cli._audit import audit
from ffml.cli._compare import compare
from ffml.cli._document import document
from ffml.cli._explain import explain
from ffml.cli._later import label, update
from ffml.cli._ledger import decide, export, forget, promote, replay, report, upgrade, verify
from ffml.cli._listings import datasets, methods, notions
from ffml.cli._options import flat, text_of
from ffml.cli._predict import check, inspect, predict
from ffml.cli._reproduce import reproduce
from ffml.cli._run import run
from ffml.cli._serve import serve, token
from ffml.cli._start import start
from ffml.cli._tune import tune

app = typer.Typer(
    name="ffml",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        import ffml

        typer.echo(f"ffml {ffml.__version__}")
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version.", callback=_show_version, is_eager=True),
    ] = False,
) -> None:
    """Decisions about people, learned from one population after another, with a bound on the gap
    between groups.
    """


COMMANDS = {
    "Learn": (start, inspect, run, update, label),
    "Decide": (decide, predict, serve, token, promote, export),
    "Look at a run": (check, report, explain, document, verify, replay, forget, upgrade),
    "Decisions of others": (audit,),
    "Compare methods": (compare, tune, reproduce),
    "What there is": (datasets, methods, notions),
}
for panel, commands in COMMANDS.items():
    for command in commands:
        app.command(help=text_of(command), rich_help_panel=panel)(flat(command))


def main() -> None:
    """Run the command line; a mistake is one line on stderr and exit code 2."""
    try:
        _refuse_odd_words(sys.argv[1:])
        code = app(standalone_mode=False)
    except FFMLError as error:
        from ffml.cli._advice import with_owners

        _fail(with_owners(str(error), "".join(sys.argv[1:2]), options_of_commands()))
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        _fail(f"{error.strerror}; make room and try again (what was done before is safe)")
    except Exception as error:
        if not hasattr(error, "format_message"):  # a usage error of the parser has it
            raise
        if not sys.argv[1:]:
            sys.exit(2)  # the help was shown
        from ffml.cli._advice import usage_words

        options = options_of_commands()
        page = " ".join(["ffml", *(word for word in sys.argv[1:2] if word in options)])
        _fail(f"{usage_words(error, options.get(sys.argv[1], ()))} (see '{page} --help')")
    sys.exit(code if isinstance(code, int) else 0)


def _refuse_odd_words(words: list[str]) -> None:
    """Refuse what is not UTF-8, such as a folder's name: no file could keep it."""
    for word in words:
        try:
            word.encode()
        except UnicodeEncodeError:
            raise FFMLError(f"the name {word!a} is not in UTF-8; choose another") from None


def options_of_commands() -> dict[str, set[str]]:
    """Return the options of every command, ``ffml run`` first."""
    group: Any = typer.main.get_command(app)
    names = sorted(group.commands, key=lambda name: name != "run")
    return {
        name: {word for param in group.commands[name].params for word in param.opts}
        for name in names
    }


def _fail(message: str) -> None:
    from ffml.cli._advice import without_secrets

    typer.echo(f"error: {without_secrets(message, sys.argv[1:])}", err=True)
    sys.exit(2)
