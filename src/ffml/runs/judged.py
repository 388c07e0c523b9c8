"""The rounds that a run has done so far, as its newest checkpoint knows them. Needs no JAX."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ffml.base import FFMLError, Ratio, SensitiveColumn
from ffml.metrics.phrases import favourable_words
from ffml.recipe.asked import asked_bounds
from ffml.runs.artifact import MODEL, load_model
from ffml.runs.generations import newest_generation
from ffml.runs.history import history_constraint, history_tables


class JudgedRounds(NamedTuple):
    """What the rounds of a run were judged by, and how many of them there are."""

    columns: tuple[SensitiveColumn, ...]
    tables: dict[str, np.ndarray]  # column -> counts (T, k, 3, 2); all 0 in a round not judged
    constraint: np.ndarray  # (T, m), NaN where not measurable
    done: int  # rounds so far
    planned: int | None  # rounds of the whole run; None where the stream did not say
    finished: bool
    notes: list[str]  # what a person should know, such as a damaged checkpoint
    tasks: tuple[str, ...]  # names of the rounds
    asked: tuple[tuple[str, float | Ratio], ...] = ()  # what the run was asked for
    favourable: str = ""  # the favourable outcome in the user's words

    @property
    def judged(self) -> int:
        """How many of the rounds were judged."""
        return int(next(iter(self.tables.values())).any((1, 2, 3)).sum())


def judged_rounds(run_dir: Path) -> JudgedRounds:
    """Read the rounds of a run: all that are safe, whatever its summary says."""
    newest = newest_generation(run_dir)
    if newest is None:
        raise FFMLError(f"{run_dir} holds no run with a round done; give the folder of one")
    document, arrays = newest.contents
    config = document["config"]
    planned, done = planned_rounds(config), int(document["round"])
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
        tasks=tuple(document["history"]["task"]),
        asked=asked_bounds(
            config.get("notions") or [], *(config.get(name) for name in ("max_gap", "min_ratio"))
        ),
        favourable=_favourable(config),
    )


def _favourable(config: Mapping[str, Any]) -> str:
    data = config.get("data", {})
    return favourable_words(data.get("label"), (data.get("roles") or {}).get("positive"))


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
