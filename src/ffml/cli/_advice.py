"""What is told of a mistake: whose option a message names, and no password."""

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any

from ffml.recipe.sources import FLAGS

OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")


def with_owners(message: str, command: str, options: Mapping[str, Set[str]]) -> str:
    """Add to a message whose options are those that this command lacks.

    Args:
        message: of an error.
        command: that it ends.
        options: of all commands, by name.

    >>> options = {"run": {"--drop", "--set"}, "tune": {"--set"}, "update": {"--id"}}
    >>> with_owners("drop it (--drop age)", "run", options)
    'drop it (--drop age)'
    >>> with_owners("drop it (--drop age)", "update", options)
    'drop it (--drop age); --drop is an option of ffml run'
    >>> with_owners("drop it (--drop age)", "tune", options)
    'drop it (--drop age); --drop is --set data.drop=… here'
    """
    own = options.get(command, set())
    lacking = [word for word in dict.fromkeys(OPTION.findall(message)) if word not in own]
    said = [message]
    for word in lacking if own else ():
        owner = next((name for name in options if word in options[name]), None)
        if owner is None or re.search(rf"\bffml \w+\b[^;:]*{word}\b", message):
            continue  # no option at all but part of a name, or its command is said already
        if word.removeprefix("--") in FLAGS and "--set" in own:
            said.append(f"{word} is --set data.{word.removeprefix('--')}=… here")
        else:
            said.append(f"{word} is an option of ffml {owner}")
    return "; ".join(said)


def usage_words(error: Any, options: Iterable[str]) -> str:
    """Say what the parser did not understand; an unknown option with the nearest that there is."""
    said = " ".join(error.format_message().split())
    if name := getattr(error, "option_name", None):
        near = difflib.get_close_matches(name, [*options], n=1, cutoff=0.75)
        if said.startswith("No such option"):
            said = f"No such option: {name}" + (f"; did you mean {near[0]}?" if near else "")
    return said.removesuffix(".")


def without_secrets(message: str, words: Sequence[str]) -> str:
    """Take user and password of any address among a command's words out of a message.

    >>> without_secrets("no file a:/me:pass@host", ["report", "a://me:pass@host"])
    'no file a:/host'
    """
    for word in words:
        if match := re.search("://(.*@)", word, re.DOTALL):
            message = message.replace(match[1], "")
    return message
