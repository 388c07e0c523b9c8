"""A run directory: the files a run leaves behind, always whole."""

import csv
import io
import json
import math
import os
import platform
from collections.abc import Iterable
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from ffml import metrics
from ffml.base import FFMLError, Schema
from ffml.datasets import DATASETS
from ffml.experiment import Experiment
from ffml.methods import METHODS
from ffml.online import Round
from ffml.summary import summarise

CONFIG, ROUNDS, GROUPS, TIMINGS, SUMMARY = (
    "config.json",
    "rounds.csv",
    "groups.csv",
    "timings.csv",
    "summary.json",
)
REPORT = "report.html"


class RunDirectory:
    """Writes a run's files. Every file is complete after every round."""

    def __init__(self, folder: Path, experiment: Experiment, command: str) -> None:
        self.folder = folder
        self.experiment = experiment
        self.command = command
        self.rounds: list[Round] = []

    def start(self) -> None:
        """Make the folder and write what is known before the first round."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for name in (ROUNDS, GROUPS, TIMINGS, SUMMARY, REPORT):
            (self.folder / name).unlink(missing_ok=True)
        write_atomically(self.folder / CONFIG, to_json(self._config()))

    def add(self, record: Round) -> None:
        """Append one round."""
        self.rounds.append(record)
        names = self.experiment.problem.constraint_names
        self._append(ROUNDS, [round_row(record, names)])
        self._append(GROUPS, group_rows(record, self.experiment.stream.schema))
        self._append(
            TIMINGS,
            [
                {
                    "round": record.round,
                    "seconds": f"{record.seconds:.4f}",
                    "iterations": record.iterations,
                }
            ],
        )

    def finish(self, status: str) -> Path:
        """Write summary and report of the rounds done so far; return the report's path."""
        from ffml.report import write_report

        summary = self.summary(status)
        write_atomically(self.folder / SUMMARY, to_json(summary))
        return write_report(self.folder)

    def summary(self, status: str) -> dict[str, Any]:
        """Means over all rounds and over the last third, and metrics of all rows pooled."""
        rows = [record.metrics | {"n_validation": record.n_validation} for record in self.rounds]
        columns = self.experiment.stream.schema.sensitive
        pooled = metrics.worst(
            [
                metrics.judge(
                    np.sum([r.tables[column.name] for r in self.rounds], axis=0), column.groups
                )
                for column in columns
            ]
        )
        last = self.rounds[-1]
        names = self.experiment.problem.constraint_names
        return {
            "status": status,
            "rounds": len(self.rounds),
            "seconds": sum(record.seconds for record in self.rounds),
            **{part: summary["columns"] for part, summary in summarise(rows).items()},
            "pooled": pooled.values,
            "collapsed_rounds": int(sum(row["collapsed"] for row in rows)),
            "multipliers": dict(zip(names, last.multipliers.tolist(), strict=True)),
            "violation": dict(zip(names, last.violation.tolist(), strict=True)),
            "clipped_violation": dict(zip(names, last.clipped_violation.tolist(), strict=True)),
        }

    def _append(self, name: str, rows: list[dict[str, Any]]) -> None:
        path = self.folder / name
        text = io.StringIO()
        writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
        if not path.exists():
            writer.writeheader()
        writer.writerows(rows)
        with path.open("a", encoding="utf-8", newline="") as file:
            file.write(text.getvalue())  # one write: an interrupt never leaves half a row

    def _config(self) -> dict[str, Any]:
        import jax

        config, stream = self.experiment.config, self.experiment.stream
        dataset = DATASETS[config.data]
        return {
            "ffml_version": version("ffml"),
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
            "command": self.command,
            "data": {
                "name": config.data,
                "summary": dataset.summary,
                "num_tasks": stream.num_tasks,
                "label": dataset.label,
                "sensitive": [
                    {"name": column.name, "groups": list(column.groups)}
                    for column in stream.schema.sensitive
                ],
                "features": len(stream.schema.features),
                "citation": dataset.citation,
                "licence": dataset.licence,
            },
            "method": config.method,
            "method_summary": first_line(METHODS[config.method].__doc__),
            "model": config.model,
            "constraint": list(config.constraints),
            "bound": list(config.bounds),
            "seed": config.seed,
            "rounds": config.rounds,
            "settings": config.settings,
            "run": config.to_json(),
            "versions": {
                "python": platform.python_version(),
                **{name: version(name) for name in ("jax", "numpy", "optax")},
            },
            "devices": jax.device_count(),
        }


def check_writable(folder: Path, overwrite: bool) -> None:
    """Refuse a folder that cannot be written, or that holds a run already."""
    if (folder / CONFIG).exists() and not overwrite:
        raise FFMLError(f"{folder} already holds a run; add --overwrite, or choose another --out")
    existing = folder
    while not existing.exists():
        existing = existing.parent
    if not existing.is_dir():
        raise FFMLError(f"{existing} is a file, not a folder; choose another --out")
    if not os.access(existing, os.W_OK | os.X_OK):
        raise FFMLError(f"{existing} is not writable; choose another --out")


def round_row(record: Round, constraint_names: Iterable[str]) -> dict[str, Any]:
    """One line of rounds.csv: an undefined value is an empty cell, and the last cell says why."""
    row: dict[str, Any] = {
        "round": record.round,
        "task": record.task,
        "n_rows": record.n_rows,
        "n_support": record.n_support,
        "n_validation": record.n_validation,
    }
    row |= {name: cell(value) for name, value in record.metrics.items()}
    for i, name in enumerate(constraint_names):
        row[f"constraint:{name}"] = cell(record.constraint[i])
        row[f"multiplier:{name}"] = cell(record.multipliers[i])
        row[f"violation:{name}"] = cell(record.violation[i])
        row[f"clipped_violation:{name}"] = cell(record.clipped_violation[i])
    row["undefined"] = "; ".join(f"{name}: {why}" for name, why in record.undefined.items())
    return row


def group_rows(record: Round, schema: Schema) -> list[dict[str, Any]]:
    """The lines of groups.csv for one round."""
    return [
        {"round": record.round, "task": record.task, "column": column.name}
        | {name: cell(value) for name, value in row.items()}
        for column in schema.sensitive
        for row in metrics.group_rows(record.tables[column.name], column.groups)
    ]


def cell(value: Any) -> Any:
    """Format a number for a table: six decimals, nothing where undefined."""
    if isinstance(value, (str, int, np.integer)):
        return value
    return "" if math.isnan(value) else f"{float(value):.6f}"


def first_line(text: str | None) -> str:
    """Return a docstring's summary."""
    return (text or "").strip().split("\n")[0]


def to_json(value: Any) -> str:
    """Dump JSON as people read it; an undefined number is null."""
    return json.dumps(_plain(value), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    if isinstance(value, (float, np.floating)):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, np.integer):
        return int(value)
    return value if isinstance(value, (str, int, bool, type(None))) else str(value)


def write_atomically(path: Path, text: str) -> None:
    """Write a file so that it is either the old one or the new one, never half of it."""
    temporary = path.with_name(f".{path.name}.tmp")
    with temporary.open("w", encoding="utf-8", newline="") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
