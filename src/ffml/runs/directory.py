"""A run directory: the files a run leaves behind, whole after a kill at any instant.

The checkpoint is what counts (see `ffml.runs.checkpoint`); rounds.csv, groups.csv and timings.csv
are views of it. A round is done once its checkpoint is; only then are its lines added to the
tables. A kill in between leaves tables that lack a round or end in half a line, and
`RunDirectory.resume` writes them anew from the checkpoint.
"""

import os
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

from ffml.base import FFMLError, Task
from ffml.online.judge import NO_DECISION
from ffml.online.loop import step
from ffml.online.state import Round
from ffml.recipe.build import Experiment
from ffml.runs import durable
from ffml.runs.artifact import MODEL, load_model, write_model
from ffml.runs.checkpoint import Checkpoints, Saved
from ffml.runs.config import config_document, refuse_changes
from ffml.runs.decisions import DecisionLog, ParquetLog, decisions_of
from ffml.runs.files import CARD, CONFIG, REPORT, ROUNDS, SUMMARY, TABLES, table_texts, to_json
from ffml.runs.generations import newest_generation
from ffml.runs.judged import planned_rounds
from ffml.runs.lateness import label_summary
from ffml.runs.ownership import WRITTEN, check_out, refuse_links
from ffml.runs.position import Position
from ffml.runs.rounds import Rounds
from ffml.runs.summary import run_summary
from ffml.runs.tables import RunTables


class RunDirectory:
    """Writes a run's files: `start` or `resume`, then `add` for each of `tasks`, then `finish`."""

    def __init__(
        self,
        folder: Path,
        experiment: Experiment,
        command: str = "",
        preprocessing: dict[str, Any] | None = None,
        log: DecisionLog | None = None,
    ) -> None:
        """Describe a run; nothing is written yet.

        Args:
            folder: where its files are.
            experiment: what is run.
            command: as typed, for config.json.
            preprocessing: how columns became features, as JSON.
            log: where decisions and labels are kept; None: in files of the folder.
        """
        self.folder = folder
        self.experiment = experiment
        self.state = experiment.state
        self.preprocessing = preprocessing
        self.rounds = Rounds()
        self.config = config_document(experiment, command)
        self.checkpoints = Checkpoints(folder)
        names, schema = experiment.problem.constraint_names, experiment.stream.schema
        # Without `self` in it, so that a run that nobody needs is gone at once, and its lock too.
        self.tables = RunTables(folder, lambda some, head: table_texts(some, names, schema, head))
        self.log: DecisionLog = ParquetLog(folder) if log is None else log
        self.labels = 0  # how often labels have come since the last round
        self._position = Position.start(experiment.stream.schema)
        self._left: Iterator[Task] = iter(())
        self._task: Task | None = None  # the last one handed out
        self.nothing_left = False  # known after `resume` and `LivingRun.open`

    def start(self) -> None:
        """Make the folder and write what is known before the first round.

        A run that is there goes back to its beginning before its config is replaced, so that at
        no instant files of two runs are mixed.
        """
        check_out(self.folder, overwrite=True)
        with self._writing():
            self.folder.mkdir(parents=True, exist_ok=True)
            self._lock()
            self.checkpoints.clear()
            self.log.clear()
            for name in WRITTEN:
                durable.unlink(self.folder / name)
            durable.write_atomically(self.folder / CONFIG, to_json(self.config))
        self._left = self._stream()

    def resume(self) -> list[str]:
        """Go back to the last good round; return what a person should know about it.

        Reads the tasks played before once more, to see that they are the same.
        """
        refuse_links(self.folder)
        with self._writing():
            self._lock()
        saved, self._left = self.checkpoints.load(), self._stream()
        if saved is not None:
            refuse_changes(
                saved.contents.document["config"]["run"], self.config["run"], self.folder
            )
            self._skip(saved)
            self._take_over(saved)
        elif (self.folder / ROUNDS).exists():
            raise FFMLError(
                f"{self.folder} has rounds but no checkpoint to go on from; start again with "
                "--overwrite, or choose another --out"
            )
        self._mend_files()
        following = list(islice(self._left, 1))
        self._left, self.nothing_left = chain(following, self._left), not following
        return saved.notes if saved else []

    def tasks(self) -> Iterator[Task]:
        """Yield the tasks that are left to play."""
        for task in self._left:
            self._position, self._task = self._position.after(task), task
            yield task

    def play(self, task: Task) -> Round:
        """Play a round; nothing is written yet."""
        self.state, record = step(self.experiment.loop, self.state, task)
        return record

    def add(self, record: Round) -> None:
        """Make the round just played safe, then show it in the tables."""
        with self._writing():
            rounds = self.rounds.followed_by(replace(record, decided=NO_DECISION))
            if self._task and self._task.name == record.task:
                schema = self.experiment.loop.schema
                decided = decisions_of(self._task, record.round, record.decided, schema)
                if decided is not None:
                    self.log.add(decided)
            lines = self.tables.plan(record, first=len(rounds) == 1)
            self._save(rounds)
            self.rounds, self.labels = rounds, 0
            self.tables.append(lines)

    def discard(self) -> None:
        """Leave nothing behind of a run that could not do its first round."""
        with self._writing():
            self.checkpoints.clear()
            self.log.clear()
            for name in (*WRITTEN, CONFIG, durable.LOCK):
                durable.unlink(self.folder / name)
        with suppress(OSError):  # the folders may hold files of the person's
            self.checkpoints.folder.rmdir()
            self.folder.rmdir()

    def finish(self, status: str, write_pages: Callable[[Path], Path]) -> Path:
        """Write summary, report, model card and model so far; return the report's path.

        Args:
            status: "complete" or "interrupted".
            write_pages: `ffml.report.write_pages`, which reads the files of the run.
        """
        with self._writing():
            self.tables.mend(self.rounds)
            self._write_if_different(CONFIG, to_json(self.config))
            durable.write_atomically(self.folder / SUMMARY, to_json(self.summary(status)))
            report = write_pages(self.folder)
            write_model(self.folder, status)  # the last: with it, everything is there
        return report

    def is_finished(self) -> bool:
        """Tell whether all rounds were done and `finish` got to its end."""
        return self.nothing_left and self.is_whole()

    def is_whole(self) -> bool:
        """Tell whether `finish` got to its end after the last round that was done."""
        try:
            model = load_model(self.folder / MODEL)
            summary = (self.folder / SUMMARY).read_text(encoding="utf-8")
        except (OSError, ValueError):
            return False
        same = summary == to_json(self.summary("complete"))
        state = ("complete", len(self.rounds), self.labels)
        finished = (model.status, model.round, model.labels) == state
        shown = all((self.folder / name).exists() for name in (REPORT, CARD))
        return same and finished and shown

    @property
    def status(self) -> str:
        """ "complete" if all planned rounds are done, "interrupted" if not."""
        done = self.planned is None or len(self.rounds) >= self.planned
        return "complete" if done else "interrupted"

    @property
    def planned(self) -> int | None:
        """How many rounds the whole run has, if the stream says so."""
        return planned_rounds(self.config)

    def summary(self, status: str) -> dict[str, Any]:
        """Return what summary.json holds."""
        config, schema = self.experiment.config, self.experiment.stream.schema
        names = self.experiment.problem.constraint_names
        asked = config.asked or [(notion, None) for notion in config.notions]
        rounds = list(self.rounds)  # read from their parts once
        summary = run_summary(rounds, schema.sensitive, names, status, asked)
        return summary | {
            "extra": next((r.extra for r in reversed(rounds) if r.extra), {}),
            "labels": label_summary(rounds, self.state.waiting),
        }

    def _lock(self) -> None:
        """Keep other processes out until this object is gone."""
        descriptor = durable.lock(self.folder)
        if descriptor is not None:
            weakref.finalize(self, os.close, descriptor)

    def _stream(self) -> Iterator[Task]:
        return islice(self.experiment.stream.tasks(), self.experiment.config.rounds)

    def _skip(self, saved: Saved) -> None:
        """Read past the tasks played before; refuse others, and heal what memory lost of them."""
        for task in islice(self._left, saved.position.num_tasks):
            self._position = self._position.after(task)
            if saved.missing:
                with self._writing():
                    loop, round_ = self.experiment.loop, self._position.num_tasks
                    self.checkpoints.rebuild(saved, loop, task, round_)
        if not self._position.same_place(saved.position):
            raise FFMLError(
                f"the data have changed: the first {saved.position.num_tasks} tasks are not those "
                f"that {self.folder} learned from; put them back, or start another run with --out"
            )

    def _take_over(self, saved: Saved) -> None:
        """Stand where a checkpoint stood."""
        document = saved.contents.document
        with self._writing():
            self.state = self.checkpoints.restore(saved, self.experiment.loop, self.state)
        saved.notes.extend(differences(document["config"], self.config))
        self.rounds, self.labels = Rounds.of(saved.rounds), saved.labels
        self.config = document["config"]
        self.tables.trust(document.get("tables", {}))
        self.preprocessing = document["preprocessing"]

    def _mend_files(self) -> None:
        """Make the files say what the checkpoint says, and remove what a kill left unfinished."""
        with self._writing():
            self.checkpoints.folder.mkdir(exist_ok=True)
            for name in (CONFIG, SUMMARY, MODEL, *TABLES):
                durable.unlink(durable.temporary(self.folder / name))
            self.tables.mend(self.rounds)
            self._write_if_different(CONFIG, to_json(self.config))

    def _save(self, rounds: Rounds, labels: int = 0) -> None:
        """Write the checkpoint of the last round, or of the ``labels``-th labels since."""
        self.checkpoints.save(
            self.experiment.loop,
            self.state,
            rounds,
            self._position,
            self.config,
            self.preprocessing,
            labels,
            self.tables.fingerprints(),
        )

    def _write_if_different(self, name: str, text: str) -> None:
        path = self.folder / name
        if path.exists() and path.read_bytes() == text.encode():
            durable.sync(path)
        else:
            durable.write_atomically(path, text)

    def _safe_rounds(self) -> int:
        """Count the rounds that a resumed run would go on from."""
        try:
            newest = newest_generation(self.folder)
        except (FFMLError, OSError):
            return 0
        return newest.contents.document["round"] if newest else 0

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Say what is safe when the disk fails."""
        try:
            yield
        except OSError as error:
            raise FFMLError(
                f"cannot write to {self.folder} ({error.strerror}); {self._safe_rounds()} rounds "
                f"are safe there: mend that, then go on with --resume {self.folder}"
            ) from error


def differences(before: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """Say what about the machinery has changed since a run began."""
    old, new = (
        c["versions"] | {k: c[k] for k in ("ffml_version", "devices")} for c in (before, now)
    )
    return [
        f"the run began with {name} {old[name]} and goes on with {new.get(name)}: last digits may "
        "differ"
        for name in old
        if old[name] != new.get(name)
    ]
