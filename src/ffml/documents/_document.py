"""A document as plain values, and how it is written: a page for print, a table, JSON."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

from ffml.base import FFMLError
from ffml.recipe.plain import plain, to_json
from ffml.tables.csvfile import csv_text

NO_ADVICE = (
    "This document is no legal advice. It does not say that a law is complied with; which rule "
    "applies, and what follows, is for people to judge."
)
WHO_SIGNS = "Who is responsible"
SIGN_OFF = {"owner": "Owner", "signed_by": "Signed by", "signed_on": "Date and signature"}


class Section(NamedTuple):
    """A part of a document: sentences, a table, and what a person has to say."""

    title: str
    texts: tuple[str, ...] = ()
    rows: tuple[dict[str, Any], ...] = ()  # every row has the same cells; None where there is none
    fields: tuple[tuple[str, str], ...] = ()  # name and value; an empty value is left open


@dataclass(frozen=True)
class Document:
    """What is filed. `write` looks at the ending of a file's name."""

    kind: str
    title: str
    rule: str  # which rule it is made for, and its version
    sections: tuple[Section, ...]
    who_fills: str = "the person who signs"
    heads: Mapping[str, str] = field(default_factory=dict)  # of cells in print; "": left out
    markdown: str | None = None  # where the document has a text of its own
    own_json: dict[str, Any] | None = None  # where its JSON has a schema of its own

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, as JSON would give them back."""
        if self.own_json is not None:
            return plain(self.own_json)
        from ffml import __version__

        return plain(
            {
                "document": self.kind,
                "title": self.title,
                "rule": self.rule,
                "no_legal_advice": NO_ADVICE,
                "sections": [
                    one._asdict() | {"fields": [*map(_field, one.fields)]} for one in self.sections
                ],
                "ffml_version": __version__,
            }
        )

    def to_json(self) -> str:
        """Return JSON; what is undefined is null."""
        return to_json(self.to_dict())

    def to_csv(self) -> str:
        """Return the rows of all tables as one; a cell that a table does not have is empty."""
        names = dict.fromkeys(name for one in self.sections for row in one.rows for name in row)
        rows = [
            [_cell(row.get(name)) for name in names] for one in self.sections for row in one.rows
        ]
        return csv_text([list(names), *rows])

    def to_html(self) -> str:
        """Return a page that needs nothing from elsewhere and prints on A4."""
        from jinja2 import Environment, StrictUndefined

        from ffml import __version__

        text = resources.files("ffml.documents").joinpath("page.html").read_text(encoding="utf-8")
        environment = Environment(
            autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
        )
        environment.filters |= {"shown": _shown, "head": self._head, "printed": self._printed}
        page = environment.from_string(text)
        return page.render(
            document=self, no_advice=NO_ADVICE, signed=WHO_SIGNS, version=__version__
        )

    def _head(self, name: str) -> str:
        return self.heads.get(name) or name.replace("_", " ")

    def _printed(self, section: Section) -> list[str]:
        """Name the cells to print: not a text that is the same in all rows and in the title."""
        first, *others = section.rows
        said = {
            name
            for name, text in first.items()
            if isinstance(text, str)
            and all(row[name] == text for row in others)
            and (text in section.title or text == "Total")
        }
        return [name for name in first if name not in said and self.heads.get(name) != ""]

    def text(self, ending: str) -> str:
        """Return the document as a file with that ending has it."""
        forms = {".html": self.to_html, ".csv": self.to_csv, ".json": self.to_json}
        if self.markdown is not None and ending == ".md":
            return self.markdown
        if ending not in forms:
            known = [*forms, *([".md"] if self.markdown is not None else [])]
            raise FFMLError(f"no document ends in '{ending}'; name it {', '.join(known)}")
        return forms[ending]()

    def write(self, path: str | Path) -> Path:
        """Write it to ``path``: .html, .csv or .json, and .md where there is a text."""
        from ffml.store.durable import write_atomically

        target = Path(path)
        text = self.text(target.suffix)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(target, text)
        except OSError as error:
            raise FFMLError(f"cannot write {target} ({error.strerror}); choose another") from error
        return target


def asked(names: dict[str, str], given: dict[str, str]) -> tuple[tuple[str, str], ...]:
    """Return fields in their order, with what is given."""
    return tuple((words, given.get(name, "")) for name, words in names.items())


def sign_off(given: dict[str, str]) -> Section:
    """Return the part that says who answers for a document."""
    return Section(WHO_SIGNS, fields=asked(SIGN_OFF, given))


def _field(field: tuple[str, str]) -> dict[str, str]:
    return {"name": field[0], "value": field[1]}


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6f}" if math.isfinite(value) else ""
    return value


def _shown(value: Any) -> str:
    """Write a cell as people read it."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return "—"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        small = 0 < abs(value) < 0.0005
        return "< 0.001" if small else f"{value:.3f}".replace("-", "−")
    return str(value)
