"""The model card: what a model is, on what it was learned, and what was measured, in Markdown.

``model_card.md`` is its text. Like the page, it is a function of the run's files alone, and it
speaks of gaps, ratios and intervals: no sentence says that a model is fair.
"""

from collections.abc import Iterable, Mapping, Sequence
from importlib import resources
from typing import Any

import numpy as np

from ffml.metrics.phrases import UNDEFINED
from ffml.report import _facts, _first, _research, answer, markdown
from ffml.report._groups import group_tables
from ffml.report._view import RunView
from ffml.report.markdown import escape
from ffml.report.notes import warning_lines
from ffml.report.numbers import counted, listed

MIN_VALIDATION_ROWS = 30  # with fewer rows a ratio is mostly noise
# Said elsewhere, different each time, or of interest on one machine only.
_LEFT_OUT = ("Command", "Created", "Seconds", "Path", "Input columns")


class Markdown(str):
    """A text that is Markdown already, and is not escaped."""


def model_card_text(run: RunView) -> str:
    """Return the card; everything but our own tables and lists is escaped."""
    from jinja2 import Environment, StrictUndefined

    text = resources.files("ffml.report").joinpath("model_card.md").read_text(encoding="utf-8")
    environment = Environment(
        undefined=StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
        finalize=lambda value: value if isinstance(value, Markdown) else escape(value),
    )
    environment.globals |= {"items": _items, "bullets": _bullets, "table": _table}
    return environment.from_string(text).render(_context(run))


def _bullets(texts: Iterable[str]) -> Markdown:
    return Markdown(markdown.bullets(map(escape, texts)))


def _items(facts: Mapping[str, str]) -> Markdown:
    return Markdown(
        markdown.items((escape(k), escape(v)) for k, v in facts.items() if k not in _LEFT_OUT)
    )


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Markdown:
    return Markdown(markdown.table([*map(escape, head)], [[*map(escape, row)] for row in rows]))


def _context(run: RunView) -> dict[str, Any]:
    config, summary = run.config, run.summary
    label, protected = _facts.label_phrase(run), listed(_facts.protected(run)) or "none"
    fingerprint = config.get("data", {}).get("fingerprint")
    return {
        "title": _first.title(run),
        "answer": " ".join(answer.sentences(summary)),
        "behind": _research.behind_paragraph(run),
        "interrupted": summary.get("status") != "complete",
        "rounds": counted(len(run.rounds), "round"),
        "label": label,
        "adapted": bool(np.nansum(run.rounds.numbers("n_support")) > 0),
        "protected": protected,
        "model": {
            "Kind": f"binary classifier, model {config.get('model')}",
            "Output": f"a probability and a decision for {label}",
            "Inputs": ", ".join(run.inputs) or "the features of the data set",
            "Protected columns": f"{protected}: used to learn and to judge,"
            f" {_facts.use_of_groups(run)}",
            "Learned in": counted(len(run.rounds), "round"),
            "Date": str(config.get("created") or UNDEFINED)[:10],
            "Version": f"ffml {config.get('ffml_version')}",
        },
        "played": _played(run),
        "data": _facts.data_facts(run),
        "method": config.get("method_summary") or "",
        "asked": _facts.constraint_phrase(run) or "none",
        "wrappers": _facts.wrapper_lines(run),
        "recipe": _facts.recipe_facts(run),
        "settings": list(_facts.setting_facts(run).items()),
        "details": answer.details(summary),
        "gaps": [
            [
                f"{row['whose']}, {row['column']}: {row['comparison']}",
                *(_noted(row[k], row[f"{k}_interval"]) for k in ("pooled", "typical", "long_run")),
                row["rounds"],
            ]
            for row in _research.gap_rows(run)
        ],
        "constraints": [
            [row["name"], *row["cells"][:3]] for row in _research.constraint_totals(run)
        ],
        "groups": [
            ([table["column"], *map(str.lower, table["head"])], _group_rows(table))
            for table in group_tables(run)
        ],
        "unmeasured": _unmeasured(run),
        "warnings": warning_lines(run),
        "limits": [
            _research.reliability_sentence(run) or "Probabilities have not been calibrated.",
            *_facts.wrapper_limits(run),
        ],
        "source": f"data whose SHA-256 is {fingerprint}" if fingerprint else "the same data set",
        "command": Markdown(markdown.fenced(str(config.get("command") or ""), "sh")),
        "run": _facts.run_facts(run),
    }


def _played(run: RunView) -> str:
    sizes = run.rounds.numbers("n_rows")
    if not np.isfinite(sizes).all():
        return ""
    return (
        f"{counted(len(run.rounds), 'task')} of {sizes.min():,.0f} to {sizes.max():,.0f} rows,"
        f" {sizes.sum():,.0f} in all, one after another."
    )


def _group_rows(table: Mapping[str, Any]) -> list[list[str]]:
    return [
        [_noted(name["group"], name["note"])]
        + [_noted(cell["value"], cell["range"]) for cell in row]
        for name, row in zip(table["names"], table["rows"], strict=True)
    ]


def _noted(value: str, note: str) -> str:
    return f"{value} ({note})" if note else value


def _unmeasured(run: RunView) -> list[str]:
    """Say what is not known, and why."""
    judged = run.rounds.numbers("n_validation")
    small = int(((judged > 0) & (judged < MIN_VALIDATION_ROWS)).sum())
    said = _research.undefined_rounds(run)
    if small:
        said.append(
            f"{small} of {counted(len(run.rounds), 'round')} were judged on fewer than"
            f" {MIN_VALIDATION_ROWS} rows: one by one they say little."
        )
    if why := run.summary["answer"]["unmeasured"]:
        said.append(f"Whatever needs labels: {why}.")
    return said
