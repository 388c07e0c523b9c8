"""All that the next round needs, as arrays and JSON: out of a loop, and back into a fresh one."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.metadata import version
from typing import Any

import jax
import numpy as np

from ffml.base import FFMLError, LabelledTask, Pair, pair_of
from ffml.online.loop import Loop, knowledge
from ffml.online.memory import Memory
from ffml.online.state import LoopState, Round
from ffml.online.waiting import Waiting
from ffml.runs.artifact import (
    KNOWLEDGE,
    MULTIPLIERS,
    PARAMS,
    STATE,
    decided_by,
    refuse_divergence,
    scaler_arrays,
    scaler_from,
    schema_document,
)
from ffml.runs.container import Contents
from ffml.runs.history import history_arrays, history_document
from ffml.runs.position import Position
from ffml.runs.trees import array_names, both_by_name, both_restored, leaves_by_name
from ffml.runs.waiting import waiting_arrays, waiting_document
from ffml.runs.watched import watch_arrays, watch_from


def snapshot(
    loop: Loop,
    state: LoopState,
    tasks: Sequence[str],
    rounds: Sequence[Round],
    position: Position,
    config: Mapping[str, Any],
    preprocessing: Mapping[str, Any] | None,
    waiting: Sequence[str] = (),
    labels: int = 0,
    past: Sequence[str] = (),
    tables: Mapping[str, str] | None = None,
) -> Contents:
    """Describe a loop between two rounds.

    Args:
        loop: how it is played.
        state: what is described.
        tasks: names the files of those in its memory.
        rounds: those played so far, without those long past.
        position: how far the stream was read.
        config: of the run.
        preprocessing: how columns became features.
        waiting: names the files of the tasks that wait for labels.
        labels: how often labels have come since the last round.
        past: names the files of the rounds long past.
        tables: the fingerprints of the run's tables (`ffml.runs.tables`).
    """
    known = knowledge(loop, state)
    pair = pair_of(known, loop.problem.num_constraints)
    document = {
        "kind": "checkpoint",
        "round": state.round,
        "random": {"seed": loop.seed, "round": state.round},  # all that a draw depends on
        "stream": position._asdict(),
        "config": config,
        "schema": schema_document(loop.schema),
        "preprocessing": preprocessing,
        "model": _model_document(loop, pair, config),
        "memory": {"seen": state.memory.seen, "tasks": list(tasks)},
        "waiting": waiting_document(state.waiting, waiting),
        "labels": labels,
        "past": list(past),
        "tables": dict(tables or {}),
        "history": history_document(rounds),
        "versions": versions(),
    }
    arrays: dict[str, np.ndarray] = {
        "violation": state.violation,
        "clipped_violation": state.clipped_violation,
        **both_by_name(state.learner, state.features, STATE),
        **leaves_by_name(pair.params, PARAMS),
        MULTIPLIERS: np.asarray(pair.multipliers),
        **scaler_arrays(state.scaler),
        **watch_arrays(state.watch),
        **history_arrays(rounds),
        **waiting_arrays(state.waiting),
    }
    if jax.tree.leaves(pair.params):  # else it knows all rows seen: not for model files
        arrays |= both_by_name(known, state.features, KNOWLEDGE)
    refuse_divergence(decided_by(arrays).values())
    return Contents(document, arrays)


def restored(
    state: LoopState,
    contents: Contents,
    tasks: tuple[LabelledTask, ...],
    waiting: tuple[Waiting, ...] = (),
) -> LoopState:
    """Return what a snapshot describes; ``state`` is the loop's own before its first round.

    Raises:
        FFMLError: the loop was built in another way than the one of the snapshot.
    """
    document, arrays = contents
    refuse_divergence(decided_by(arrays).values())
    scaler = scaler_from(arrays)
    if (scaler is None) != (state.scaler is None):
        raise FFMLError(
            "the checkpoint was written with features scaled in another way; resume with the "
            "settings and the ffml that wrote it"
        )
    learner, features = both_restored(state.learner, state.features, STATE, arrays)
    return LoopState(
        round=document["round"],
        learner=learner,
        features=features,
        scaler=scaler,
        watch=watch_from(state.watch, arrays),
        memory=Memory(tasks, document["memory"]["seen"]),
        waiting=waiting,
        violation=arrays["violation"],
        clipped_violation=arrays["clipped_violation"],
    )


def _model_document(loop: Loop, pair: Pair, config: Mapping[str, Any]) -> dict[str, Any]:
    """Say which model a prediction needs, and where its parts are among the arrays."""
    settings = config["run"]["recipe"]["settings"].items()
    return {
        "name": config["model"],
        "settings": {k.removeprefix("model."): v for k, v in settings if k.startswith("model.")},
        "params": array_names(pair.params, PARAMS),
        "multipliers": MULTIPLIERS,
        "constraint_names": loop.problem.constraint_names,
        "adds_columns": loop.features is not None,
    }


@lru_cache
def versions() -> dict[str, str]:
    """Return the versions that numbers depend on."""
    return {name: version(name) for name in ("ffml", "jax", "numpy", "optax")}
