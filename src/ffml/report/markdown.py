"""Markdown from texts that other people wrote: names, values, commands."""

import re
from collections.abc import Iterable, Sequence

# Everything that CommonMark or GitHub's dialect could take for more than a character of a text.
_SPECIAL = re.compile(r"([\\`*_\[\]<>&|~#$])")


def escape(text: object) -> str:
    r"""Write a text of any origin on one line so that it is shown as it is.

    >>> print(escape("a|b *c* <script>\n# x_1"))
    a\|b \*c\* \<script\> \# x\_1
    """
    return _SPECIAL.sub(r"\\\1", " ".join(str(text).split()))


def table(header: Sequence[str], rows: Iterable[Sequence[str]], numbers_from: int = 1) -> str:
    """Write a table of cells that are escaped already; numbers stand on the right.

    >>> print(table(["group", "rows"], [["F", "12"]]))
    | group | rows |
    | --- | ---: |
    | F | 12 |
    """
    rule = ["---" if i < numbers_from else "---:" for i in range(len(header))]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (header, rule, *rows))


def bullets(texts: Iterable[str]) -> str:
    """Write a list of sentences that are escaped already."""
    return "\n".join(f"- {text}" for text in texts)


def items(pairs: Iterable[tuple[str, str]]) -> str:
    """Write a list of named facts, both parts escaped already.

    >>> print(items([("Seed", "0")]))
    - **Seed**: 0
    """
    return bullets(f"**{name}**: {value}" for name, value in pairs)


def code(text: str) -> str:
    """Write a command within a line, whatever backticks it holds.

    >>> print(code("ls"), code("a`b"))
    `ls` `` a`b ``
    """
    text = " ".join(text.split())
    fence = "`" * (1 + _longest_run(text))
    return f"`{text}`" if fence == "`" else f"{fence} {text} {fence}"


def fenced(text: str, language: str = "") -> str:
    """Write a block of code, whatever backticks it holds.

    >>> print(fenced("ls", "sh"))
    ```sh
    ls
    ```
    """
    fence = "`" * max(3, _longest_run(text) + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def _longest_run(text: str) -> int:
    return max((len(run) for run in re.findall("`+", text)), default=0)
