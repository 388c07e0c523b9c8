"""A run that lives on: further tasks are decided about, judged and learned from as they come."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ffml.base import FFMLError, Stream, Task
from ffml.forks import refuse_after_fork
from ffml.online.drift import InputWatch
from ffml.online.loop import start
from ffml.recipe.build import Experiment, build_loop
from ffml.recipe.sharing import shared_functions
from ffml.runs.artifact import schema_from
from ffml.runs.checkpoint import Saved
from ffml.runs.config import run_config, saved_config
from ffml.runs.directory import RunDirectory
from ffml.runs.generations import newest_generation
from ffml.runs.judged import planned_rounds
from ffml.runs.labelling import labelled_rounds, place_labels
from ffml.runs.ownership import refuse_links
from ffml.runs.position import task_digest
from ffml.runs.rounds import Rounds
from ffml.tables import (
    Known,
    LateLabels,
    Preprocessor,
    Source,
    TableStream,
    further_stream,
)
from ffml.tables.scaling import RunningScaler


class LabelsAdded(NamedTuple):
    """What labels did: how many were new, how many known before, and which tasks were learned."""

    new: int
    known: int
    learned: tuple[str, ...]


class LivingRun(RunDirectory):
    """Adds tasks to a run that has come to the end of its table: `open`, then as `RunDirectory`.

    Random numbers depend on the seed and the round alone, and columns are encoded as the run's
    first table settled it. So the rounds are those that one run over all tables would have, as long
    as the later tables bring no category, and no kind of column, that the first one lacks.
    """

    def open(self) -> list[str]:
        """Go on from the last good round with the tasks that are new; return what to know of it.

        Tasks that were played before are passed over if they are the same. A changed past is
        refused before anything is played.
        """
        saved = self.go_back()
        new = self._new_names(saved)
        self.nothing_left = not new
        if new:
            data = self.config["data"]
            number = data.get("updates", 0) + 1
            data |= {"num_tasks": len(self.rounds) + len(new), "updates": number}
            self.config["rounds"] = None
            if isinstance(self.experiment.stream, TableStream):
                data["roles"] = data["roles"] | {"id": self.experiment.stream.roles.id}
            tasks = self.experiment.stream.tasks()
            self._left = (task for task in tasks if task.name in new)
        return saved.notes

    def go_back(self) -> Saved:
        """Lock the folder and stand where the last good checkpoint stood."""
        refuse_links(self.folder)
        with self._writing():
            self._lock()
        saved = self.checkpoints.load()
        if saved is None:
            raise FFMLError(
                f"{self.folder} has no round done; begin with: ffml run --resume {self.folder}"
            )
        refuse_unfinished(saved.contents.document["config"], saved.position.num_tasks, self.folder)
        self._take_over(saved)
        self._position = saved.position
        self._mend_files()
        return saved

    def add_labels(self, given: LateLabels) -> LabelsAdded:
        """Take labels that have come, after `go_back`; judge again, and learn what is due.

        Labels that are known already are passed over; one that contradicts them is refused, and
        so is an id that was not decided about. Once this returns, the labels are safe.
        """
        before = self.state.waiting
        placed = place_labels(given, before, self._known_label)
        learned = {one.round for one in before if one.learned}
        if placed.new:
            number = self.labels + 1
            with self._writing():
                self.log.add_labels(placed.to_log(self.state.round, number))
            loop, state = self.experiment.loop, self.state
            self.state, records = labelled_rounds(loop, state, self.rounds, placed)
            rounds = Rounds.of(records)
            texts = self.tables.plan_all(rounds)
            with self._writing():
                self._save(rounds, number)
                self.rounds, self.labels = rounds, number
                self.tables.write(texts)
            still = {one.round for one in self.state.waiting if not one.learned}
            learned = {one.round for one in before} - still - learned
        else:
            learned = set()
        names = tuple(record.task for record in self.rounds if record.round in learned)
        return LabelsAdded(placed.new, placed.known, names)

    def _known_label(self, ids: Collection[str]) -> dict[str, int]:
        return self.log.find(ids, self.state.round, self.labels)

    def _new_names(self, saved: Saved) -> set[str]:
        """Name the tasks that were not played yet; refuse others that are not what they were."""
        stream = self.experiment.stream
        names = stream.task_names if isinstance(stream, TableStream) else ()
        played = {record.task for record in self.rounds}
        if known := played.intersection(names):
            digests = dict(zip((r.task for r in self.rounds), saved.position.digests, strict=False))
            for task in stream.tasks():
                if task.name in known:
                    self._refuse_changes(task, digests)
        new = set(names) - played
        if new and isinstance(stream, TableStream) and stream.roles.by:
            self._refuse_disorder(min(new), max(played))
        return new

    def _refuse_disorder(self, first: str, last: str) -> None:
        """Refuse a period before one that was played: what it would have taught is past."""
        if first < last:
            raise FFMLError(
                f"the period {first} is new and comes before {last}, which was played; a run goes "
                "on in the order of time: leave it out, or start another run over all periods"
            )

    def _refuse_changes(self, task: Task, digests: Mapping[str, str]) -> None:
        if task.name not in digests:
            raise FFMLError(
                f"task {task.name!r} was played by an earlier ffml, which kept no fingerprint of "
                "it; give only tasks that are new"
            )
        if digests[task.name] != task_digest(task):
            raise FFMLError(
                f"the past has changed: task {task.name!r} is not what {self.folder} learned from; "
                "put its rows back, or leave them out and give new rows a task of their own"
            )


def refuse_unfinished(config: Mapping[str, Any], done: int, folder: Path) -> None:
    """Refuse a run that has not come to the end of its first table."""
    planned = planned_rounds(config)
    if planned is not None and done < planned and not config["data"].get("updates"):
        raise FFMLError(
            f"{folder} has done {done} of {planned} rounds; finish it first: "
            f"ffml run --resume {folder}"
        )


def living_run(folder: Path, source: Source | None = None, id: str | None = None) -> LivingRun:
    """Put a run and a further table together; nothing is written before it is opened.

    Args:
        folder: of the run.
        source: the table, see `ffml.tables.open_further`; None for no new rows.
        id: the table's column of ids, if the run has none yet.
    """
    refuse_after_fork()
    saved = saved_config(folder)
    data, config = saved["data"], run_config(saved["run"])
    newest = newest_generation(folder)
    if newest is None:
        raise FFMLError(f"{folder} has no round done; begin with: ffml run --resume {folder}")
    document = newest.contents.document
    parts = run_roles(saved, folder) | ({"id": id} if id else {})
    schema = schema_from(document["schema"])
    preprocessor = Preprocessor.from_json(document["preprocessing"])
    known = Known(preprocessor, schema.sensitive, data.get("labels", {}))
    drop_missing = config.data_options.get("drop_missing", False)
    stream: Stream = Stream(data["name"], schema, lambda: iter(()), 0)
    if source is not None:
        stream = further_stream(source, parts, known, drop_missing)
    scaler, watch = RunningScaler.empty(preprocessor.scaled), InputWatch.of(preprocessor)
    loop = build_loop(config, shared_functions(config, schema), schema)
    experiment = Experiment(config, stream, loop, start(loop, scaler, watch))
    return LivingRun(folder, experiment, preprocessing=document["preprocessing"])


def run_roles(saved: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Return the parts of a run's columns; refuse a run on a data set of the package."""
    if "roles" not in saved["data"]:
        raise FFMLError(
            f"{folder} learned the data set '{saved['data']['name']}', which has no further tasks; "
            "update goes on with runs on tables"
        )
    return dict(saved["data"]["roles"])
