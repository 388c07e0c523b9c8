"""Checkpoints: after every round, all that the next one needs, in files that are always whole.

A checkpoint is ``checkpoint/round-N.safetensors`` (see `ffml.runs.container`). The tasks in memory
never change once kept, so each has a file of its own, named by its checksum, that checkpoints
refer to. A round's order of business:

1. files of tasks that are new, and of rounds long past (`ffml.runs.rounds`), each: temporary file,
   fsync, rename; then fsync of the folder;
2. the checkpoint, in the same way: its rename is the instant from which the round is done;
3. what neither this checkpoint nor the one before refers to is removed, but never a file that a
   run did not write (see `ffml.runs.ownership`).

So from the second round on there are two good checkpoints at any instant, and random numbers
depend on (seed, round) alone: if the newest is damaged, its round is played again and gives the
same. A task's file that is damaged is made again from the data.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ffml.base import FFMLError, LabelledTask, Task
from ffml.draws import KEEP, draws
from ffml.online.loop import Loop
from ffml.online.memory import bounded
from ffml.online.state import LoopState, Round
from ffml.online.waiting import Waiting
from ffml.runs import durable
from ffml.runs.container import Contents, DamagedFileError, Packed, pack, read
from ffml.runs.generations import (
    FOLDER,
    generation_name,
    generations,
    newest_generation,
    past_files,
)
from ffml.runs.history import rounds_from
from ffml.runs.ownership import checkpoint_files
from ffml.runs.position import Position
from ffml.runs.rounds import Rounds
from ffml.runs.snapshot import restored, snapshot
from ffml.runs.waiting import pack_waiting, read_waiting, waiting_files


@dataclass
class Saved:
    """A checkpoint that was read back."""

    path: Path
    contents: Contents
    tasks: dict[str, LabelledTask]  # those in memory, by file
    missing: set[str]  # files of tasks in memory that are damaged
    notes: list[str]  # what a person should know
    waiting: tuple[Waiting, ...] = ()  # tasks that wait for labels

    @property
    def labels(self) -> int:
        """How often labels had come since the last round."""
        return self.contents.document.get("labels", 0)

    @property
    def position(self) -> Position:
        """How far the stream had been read."""
        stream = self.contents.document["stream"]
        return Position(**stream | {"digests": tuple(stream.get("digests", ()))})

    @property
    def rounds(self) -> list[Round]:
        """The rounds that were done."""
        return rounds_from(self.contents.document["history"], self.contents.arrays)


class Checkpoints:
    """Writes and reads the checkpoints of one run directory."""

    def __init__(self, run_dir: Path) -> None:
        self.run_dir = run_dir
        self.folder = run_dir / FOLDER
        self._names: dict[int, tuple[LabelledTask, str]] = {}  # files of the tasks in memory, by id
        self._previous: set[str] = set()  # files of the checkpoint before
        self._present: set[str] = set()  # files of the run's in the folder
        self._past: dict[int, tuple[Contents, str]] = {}  # files of rounds long past, by id
        self._waiting: dict[int, str] = {}  # files of the tasks that wait for labels, by round
        self._whole: set[str] = set()  # those of tasks that were written or read by this process

    def clear(self) -> None:
        """Remove all checkpoints, and then what they refer to."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for name in sorted(checkpoint_files(self.folder)):  # "round-" before "rounds-" and "task-"
            durable.unlink(self.folder / name)
        durable.sync_folder(self.folder)
        durable.sync_folder(self.run_dir)
        self._present, self._whole, self._previous = set(), set(), set()
        self._names, self._waiting, self._past = {}, {}, {}

    def save(
        self,
        loop: Loop,
        state: LoopState,
        rounds: Sequence[Round],
        position: Position,
        config: Mapping[str, Any],
        preprocessing: Mapping[str, Any] | None = None,
        labels: int = 0,
        tables: Mapping[str, str] | None = None,
    ) -> None:
        """Write the checkpoint of the round just played, or of the ``labels``-th labels since.

        Once this returns, it is safe. The other arguments are those of `snapshot`.
        """
        tasks = self._save_tasks(state.memory.tasks)
        waiting = self._save_waiting(state.waiting)
        rounds = Rounds.of(rounds)
        past = self._save_past(rounds, position.digests)
        latest = position._replace(digests=position.digests[len(rounds) - len(rounds.latest) :])
        contents = snapshot(
            loop,
            state,
            tasks,
            rounds.latest,
            latest,
            config,
            preprocessing,
            waiting=waiting,
            labels=labels,
            past=past,
            tables=tables,
        )
        name = generation_name(state.round, labels)
        durable.write_atomically(self.folder / name, pack(*contents).data)
        self._present.add(name)
        self._forget_all_but({name, *tasks, *waiting, *past})

    def load(self) -> Saved | None:
        """Read the newest good checkpoint; None if no round was done."""
        self._present = checkpoint_files(self.folder)
        newest = newest_generation(self.run_dir)
        if newest is None:
            return None
        saved = Saved(newest.path, newest.contents, {}, set(), newest.notes)
        document = newest.contents.document
        self._previous = _files_of(newest.path, document)
        saved.waiting = read_waiting(self.folder, newest.contents)
        for name in set(document["memory"]["tasks"]):
            try:
                saved.tasks[name] = _read_task(self.folder / name)
            except DamagedFileError as error:
                saved.missing.add(name)
                saved.notes.append(f"{error}; rebuilding it from the data")
        self._whole = {*saved.tasks, *waiting_files(document), *past_files(document)}
        self._waiting = dict(
            zip((w.round for w in saved.waiting), waiting_files(document), strict=True)
        )
        return saved

    def rebuild(self, saved: Saved, loop: Loop, task: Task, round_: int) -> None:
        """Keep a task's rows again, as in its round, if their file is one that is missing."""
        rng = draws(loop.seed, round_, KEEP)
        kept = bounded(task, loop.schema, loop.memory_settings.rows_per_task, rng)
        name, packed = _task_file(kept)
        if name in saved.missing:
            self._place(name, packed.data)
            durable.sync_folder(self.folder)
            saved.tasks[name] = kept
            saved.missing.discard(name)

    def restore(self, saved: Saved, loop: Loop, state: LoopState) -> LoopState:
        """Go on from a checkpoint; ``state`` is the loop's own before its first round."""
        if saved.missing:
            raise FFMLError(
                f"{self.folder / min(saved.missing)} is damaged and the data do not hold its task "
                "any more; restore a copy, or start again with --overwrite"
            )
        names = saved.contents.document["memory"]["tasks"]
        tasks = tuple(saved.tasks[name] for name in names)
        self._names = {id(t): (t, n) for t, n in zip(tasks, names, strict=True)}
        self._tidy(saved.path)
        return restored(state, saved.contents, tasks, saved.waiting)

    def _save_tasks(self, tasks: Sequence[LabelledTask]) -> list[str]:
        """Write the tasks that have no file yet; return the files of all, in their order."""
        before = len(self._whole)
        self._names = {id(t): self._names.get(id(t)) or (t, self._save_task(t)) for t in tasks}
        if len(self._whole) > before:
            durable.sync_folder(self.folder)
        return [self._names[id(task)][1] for task in tasks]

    def _save_past(self, rounds: Rounds, digests: Sequence[str]) -> list[str]:
        """Write the parts of the past that have no file yet; return the files of all."""
        saved, before = {}, len(self._whole)
        for part in rounds.parts:
            if id(part) in self._past:
                saved[id(part)] = self._past[id(part)]
                continue
            first, *_, last = part.document["round"]
            of_part = list(digests[first - 1 : last])
            document = {"kind": "past", "history": part.document, "digests": of_part}
            packed = pack(document, part.arrays)
            name = f"rounds-{packed.sha256}.safetensors"
            if name not in self._whole:
                self._place(name, packed.data)
            saved[id(part)] = (part, name)
        if len(self._whole) > before:
            durable.sync_folder(self.folder)
        self._past = saved
        return [name for _, name in saved.values()]

    def _save_task(self, task: LabelledTask) -> str:
        name, packed = _task_file(task)
        if name not in self._whole:
            self._place(name, packed.data)
        return name

    def _place(self, name: str, data: bytes) -> None:
        durable.place(self.folder / name, data)
        self._present.add(name)
        self._whole.add(name)

    def _forget_all_but(self, newest: set[str]) -> None:
        self._remove(self._present - newest - self._previous)
        self._previous = newest

    def _save_waiting(self, waiting: Sequence[Waiting]) -> list[str]:
        """Write the waiting tasks that have no file yet; return the files of all."""
        before = len(self._whole)
        for one in waiting:
            if one.round not in self._waiting:
                packed = pack_waiting(one)
                self._waiting[one.round] = _task_name(packed.sha256)
                self._place(self._waiting[one.round], packed.data)
        if len(self._whole) > before:
            durable.sync_folder(self.folder)
        return [self._waiting[one.round] for one in waiting]

    def _tidy(self, newest: Path) -> None:
        """Remove what a kill kept the last save from removing, and what it left unfinished."""
        paths = generations(self.run_dir)
        used = paths.index(newest)
        kept = self._previous | {path.name for path in paths[:used]}  # the damaged are replaced
        for path in paths[used + 1 :]:
            with suppress(FFMLError):
                kept |= _files_of(path, read(path).document)
                break
        self._remove(self._present - kept)

    def _remove(self, names: set[str]) -> None:
        for name in sorted(names):
            durable.unlink(self.folder / name)
            self._present.discard(name)
            self._whole.discard(name)


def _files_of(path: Path, document: Mapping[str, Any]) -> set[str]:
    tasks = document["memory"]["tasks"]
    return {path.name, *tasks, *waiting_files(document), *past_files(document)}


def _task_file(task: LabelledTask) -> tuple[str, Packed]:
    packed = pack({"kind": "task"}, task._asdict())
    return _task_name(packed.sha256), packed


def _task_name(sha256: str) -> str:
    return f"task-{sha256}.safetensors"


def _read_task(path: Path) -> LabelledTask:
    document, arrays = read(path)
    if _task_name(document["sha256"]) != path.name:
        raise DamagedFileError(f"{path} holds another task than its name says")
    return LabelledTask(**arrays)
