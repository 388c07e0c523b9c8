"""The rounds that a run has done so far, as its newest checkpoint knows them. Needs no JAX."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ffml.base import FFMLError, SensitiveColumn
from ffml.metrics.summary import last_third
from ffml.scoring.model import MODEL, load_model
from ffml.runs.generations import newest_generation
from ffml.runs.history import history_constraint, history_tables


class JudgedRounds(NamedTuple):
    """What the rounds of a run were judged by, and how many of them there are."""

    columns: tuple[SensitiveColumn, ...]
    tables: dict[str, np.ndarray]  # column -> counts (T, k, 2, 2); all 0 in a round not judged
    constraint: np.ndarray  # (T, m), NaN where not measurable
    done: int  # rounds so far
    planned: int | None  # rounds of the whole run; None where the stream did not say
    finished: bool
    notes: list[str]  # what a person should know, such as a damaged checkpoint

    @property
    def judged(self) -> int:
        """How many of the rounds were judged."""
        return int(next(iter(self.tables.values())).any((1, 2, 3)).sum())

    def last_third(self) -> "JudgedRounds":
        """Keep the last third of the rounds that were done."""
        tables = {name: last_third(counts) for name, counts in self.tables.items()}
        return self._replace(tables=tables, constraint=last_third(self.constraint))


def judged_rounds(run_dir: Path) -> JudgedRounds:
    """Read the rounds of a run: all that are safe, whatever its summary says."""
    newest = newest_generation(run_dir)
    if newest is None:
        raise FFMLError(f"{run_dir} holds no run with a round done; give the folder of one")
    document, arrays = newest.contents
    planned, done = planned_rounds(document["config"]), int(document["round"])
    sensitive = document["schema"]["sensitive"]
    missing = sum(document["history"].get("n_unlabelled", ()))
    notes = [f"labels of {missing:,} people are not there yet"] if missing else []
    return JudgedRounds(
        columns=tuple(SensitiveColumn(c["name"], tuple(c["groups"])) for c in sensitive),
        tables=history_tables(document["history"], arrays),
        constraint=history_constraint(arrays),
        done=done,
        planned=planned,
        finished=done == planned or _model_is_complete(run_dir / MODEL, done),
        notes=[*newest.notes, *notes],
    )


def planned_rounds(config: Mapping[str, Any]) -> int | None:
    """Return how many rounds a whole run has by its config.json, where that is known."""
    limits = (config.get("rounds"), config.get("data", {}).get("num_tasks"))
    return min(filter(None, limits), default=None)


def _model_is_complete(path: Path, done: int) -> bool:
    """Tell whether a finished run of as many rounds wrote its model, the last of its files."""
    try:
        model = load_model(path)
    except FFMLError:
        return False
    return (model.status, model.round) == ("complete", done)
