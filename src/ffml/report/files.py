"""How the files of a run look: the lines of its tables, and its JSON."""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ffml import metrics
from ffml.base import Schema
from ffml.tables.csvfile import number_cell, table_text

if TYPE_CHECKING:  # it brings JAX, and tables can be written without
    from ffml.online.state import Round

CONFIG, ROUNDS, GROUPS, TIMINGS, SUMMARY = (
    "config.json",
    "rounds.csv",
    "groups.csv",
    "timings.csv",
    "summary.json",
)
REPORT, CARD = "report.html", "model_card.md"
TABLES = (ROUNDS, GROUPS, TIMINGS)


def table_texts(
    rounds: Sequence["Round"], constraint_names: Sequence[str], schema: Schema, header: bool
) -> dict[str, str]:
    """Return the text of the three tables for some rounds, by file name; empty for no round."""
    rows = table_rows(rounds, constraint_names, schema)
    return {name: table_text(lines, header) for name, lines in rows.items()}


def table_rows(
    rounds: Sequence["Round"], constraint_names: Sequence[str], schema: Schema
) -> dict[str, list[dict[str, Any]]]:
    """Return the lines of the three tables for some rounds, by file name."""
    rows: dict[str, list[dict[str, Any]]] = {name: [] for name in TABLES}
    for record in rounds:
        rows[ROUNDS].append(round_row(record, constraint_names))
        rows[GROUPS] += group_rows(record, schema)
        rows[TIMINGS].append(timing_row(record))
    return rows


def round_row(
    record: "Round", constraint_names: Iterable[str], show: Callable[[Any], Any] = number_cell
) -> dict[str, Any]:
    """One line of rounds.csv: an undefined value is an empty cell, and the last cell says why."""
    row: dict[str, Any] = {
        "round": record.round,
        "task": record.task,
        "n_rows": record.n_rows,
        "n_support": record.n_support,
        "n_validation": record.n_validation,
        "n_unlabelled": record.n_unlabelled,
    }
    row |= {k: show(v) for k, v in record.metrics.items() if not k.endswith("_of_ceiling")}
    for i, name in enumerate(constraint_names):
        row[f"constraint:{name}"] = show(record.constraint[i])
        row[f"multiplier:{name}"] = show(record.multipliers[i])
        row[f"violation:{name}"] = show(record.violation[i])
        row[f"clipped_violation:{name}"] = show(record.clipped_violation[i])
    row["drift"] = "; ".join(f"{drift.column}: {drift.text}" for drift in record.drift)
    row["undefined"] = "; ".join(f"{name}: {why}" for name, why in record.undefined.items())
    return row


def group_rows(record: "Round", schema: Schema) -> list[dict[str, Any]]:
    """The lines of groups.csv for one round."""
    return [
        {"round": record.round, "task": record.task, "column": column.name}
        | {name: number_cell(value) for name, value in row.items()}
        for column in schema.sensitive
        for row in metrics.group_rows(record.tables[column.name], column.groups)
    ]


def timing_row(record: "Round") -> dict[str, Any]:
    """One line of timings.csv, which alone differs between two runs of the same seed."""
    return {
        "round": record.round,
        "seconds": f"{record.seconds:.4f}",
        "iterations": record.iterations,
    }
