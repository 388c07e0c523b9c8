"""A run that is open to learn: its ledger, how it plays, and where it stands."""

from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np

from ffml.base import FFMLError, Schema, Stream, Task
from ffml.forks import refuse_after_fork
from ffml.online.drift import InputWatch
from ffml.online.judge import Decided as Decision
from ffml.online.loop import start
from ffml.online.state import Loop, LoopState, Round
from ffml.online.waiting import Waiting
from ffml.recipe.build import Experiment, build_loop, shared_functions
from ffml.recipe.config import RunConfig
from ffml.recipe.saved import run_config
from ffml.recipe.schemas import schema_from
from ffml.runs._again import given_again, refuse_disorder, refuse_future
from ffml.runs._answer import keep_alarms, needs_labels
from ffml.runs._played import learned_between, play_round
from ffml.runs._state import StateWriter, read_state
from ffml.runtime import refuse_differences
from ffml.scoring.model import SavedModel
from ffml.scoring.rules import model_of
from ffml.store import Round as LedgerRound
from ffml.store import Store, Transaction, Version
from ffml.tables import Preprocessor, is_period
from ffml.tables.scaling import RunningScaler


class Session:
    """Plays tasks and writes each to the ledger: a round is one transaction.

    What the loop knows is a value. It is replaced once the ledger has it, so that a failure of any
    kind leaves ledger and state as they were.
    """

    def __init__(self, store: Store, config: RunConfig, loop: Loop, state: LoopState) -> None:
        self.store, self.config, self.loop, self.state = store, config, loop, state
        self.version = 0  # of the newest state in the ledger
        self._writer = StateWriter()

    @classmethod
    def begin(cls, store: Store, experiment: Experiment) -> "Session":
        """Stand before the first round of a new run."""
        return cls(store, experiment.config, experiment.loop, experiment.state)

    @classmethod
    def resume(cls, store: Store) -> "Session":
        """Stand where the ledger's newest version stood."""
        refuse_after_fork()
        config = run_config(store.document("config")["run"])
        schema = schema_from(store.document("schema"))
        built = shared_functions(config, schema)
        loop = build_loop(config, built, schema, store.document("judge_after") or 0)
        return cls._standing(store, config, loop, store.version())

    def at(self, number: int) -> "Session":
        """Stand where a version stood, to decide as it did."""
        if number == self.version:
            return self
        kept = self.store.version(number)
        if kept is None or kept.state is None:
            raise FFMLError(f"version {number} of {self.store.name} has no state any more")
        return self._standing(self.store, self.config, self.loop, kept)

    @classmethod
    def _standing(
        cls, store: Store, config: RunConfig, loop: Loop, version: Version | None
    ) -> "Session":
        first = start(loop, *first_inputs(store.document("preprocessing")))
        session = cls(store, config, loop, first)
        if version is not None and version.state is not None:
            session.state = read_state(first, version.state, version.blobs)
            session.version = version.number
        return session

    @property
    def schema(self) -> Schema:
        """What all tasks have in common."""
        return self.loop.schema

    def model(self, status: str = "complete") -> SavedModel:
        """Return what decisions need of where the run stands."""
        config, preprocessing = (self.store.document(k) for k in ("config", "preprocessing"))
        return model_of(self.loop, self.state, config, preprocessing, self.version, status)

    def update(
        self, stream: Stream, who: str, watcher: Any = None, most: int | None = None
    ) -> Iterator[Round]:
        """Play the tasks of a stream that are new; take labels that have arrived for the others.

        Args:
            stream: its tasks, in their order.
            who: does it, for the ledger.
            watcher: is told of rounds, see `ffml.runs.Watcher`.
            most: how many tasks of the stream count; None: all.
        """
        if (decides := self.store.deciding) != self.version:
            raise FFMLError(
                f"version {decides} decides and {self.version} is the newest, by which a task that "
                "comes whole is decided about; promote it first (ffml promote)"
            )
        if who != "run":
            refuse_future(getattr(stream, "task_names", ()))
        before: list[str] = []
        keep_features = bool(self.store.document("keep_features"))
        for task in islice(stream.tasks(), most):
            if known := self.store.round_of(task.name):
                self._take_labels(known, task, who)
                continue
            if who != "run" and is_period(task.name):
                before = before or self.store.tasks()
                refuse_disorder(task.name, before)
            if watcher is not None:
                watcher.working_on(task)
            record = self.play(task, who, keep_features)
            if watcher is not None:
                watcher.show(record)
            yield record
        if self.state.round and needs_labels(self.config):
            keep_alarms(self.store)

    def _take_labels(self, before: LedgerRound, task: Task, who: str) -> None:
        """Pass over a task that came before; labels that have arrived since are labels."""
        from ffml.runs._labels import add_labels

        again = given_again(self.store, before, task, self.schema)
        if again.labels.ids:
            add_labels(self, again.labels, False, who)

    def play(self, task: Task, who: str, keep_features: bool = False) -> Round:
        """Play one task and make it safe."""
        state, played = play_round(self.loop, self.state, task, self.version, keep_features)
        refuse_differences(state.learner)  # among several processes that share a run
        with self.store.transaction(who, f"round {state.round}: {task.name}") as ledger:
            number = played.write(ledger, state)
            for name in learned_between(self.state, state):
                ledger.set_status(name, "learned")
            version = self.put_state(ledger, state, number)
        self.state, self.version = state, version
        return played.record

    def put_state(self, ledger: Transaction, state: LoopState, number: int | None = None) -> int:
        """Write a state as the next version; return its number.

        Raises:
            FFMLError: somebody has learned since this session began; nothing of theirs is undone.
        """
        if self.store.version_number != self.version:
            raise FFMLError(f"somebody else has learned in {self.store.name}; do it again")
        saved = self._writer.write(state)
        return ledger.put_version(
            {"round": state.round}, saved.data, saved.parts, saved.new, number
        )

    def forget(self, id: str, tasks: list[str] | None) -> None:
        """Take a person out of tasks that wait for labels: nothing is learned from them."""
        waiting = tuple(without(one, id, tasks) for one in self.state.waiting)
        if any(one is not old for one, old in zip(waiting, self.state.waiting, strict=True)):
            state = self.state._replace(waiting=waiting)
            with self.store.transaction("forget", "a person who was waited for") as ledger:
                self.version = self.put_state(ledger, state)
            self.state = state


def first_inputs(
    preprocessing: dict[str, Any] | None,
) -> tuple[RunningScaler | None, InputWatch | None]:
    if preprocessing is None:
        return None, None
    preprocessor = Preprocessor.from_json(preprocessing)
    return RunningScaler.empty(preprocessor.scaled), InputWatch.of(preprocessor)


def without(one: Waiting, id: str, tasks: list[str] | None) -> Waiting:
    """Take a person out of a waiting task."""
    ids = one.task.ids
    if ids is None or (tasks is not None and one.task.name not in tasks) or id not in ids:
        return one
    stays = np.array([name != id for name in ids])
    place = np.cumsum(stays) - 1
    task = one.task._replace(
        x=one.task.x[stays],
        y=one.task.y[stays],
        groups=one.task.groups[stays],
        ids=ids[stays],
    )
    rows, *said = one.decided
    kept = stays[rows]
    return one._replace(task=task, decided=Decision(place[rows[kept]], *(p[kept] for p in said)))
