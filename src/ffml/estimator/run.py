"""A classifier as a run's folder, and a run's folder as a classifier."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from ffml.base import FFMLError, Schema, Stream
from ffml.estimator.loop import loop_of, parameters_of, restored_state
from ffml.recipe.build import Experiment
from ffml.report import write_pages
from ffml.runs.artifact import schema_from
from ffml.runs.checkpoint import Checkpoints
from ffml.runs.config import run_config, saved_config
from ffml.runs.directory import RunDirectory
from ffml.runs.ownership import holds_run, refuse_links
from ffml.runs.position import Position
from ffml.runs.rounds import Rounds
from ffml.tables import Preprocessor, Roles

if TYPE_CHECKING:
    from ffml.estimator import FairMetaClassifier

NAME, TASK = "FairMetaClassifier", "task"


def save_run(model: "FairMetaClassifier", folder: Path) -> Path:
    """Write all files of a run; in a folder with the run's beginning, go on with it."""
    loop, schema = model.loop_, model.schema_
    stream = Stream(NAME, schema, lambda: iter(()), model.n_rounds_)
    experiment = Experiment(model._config, stream, loop, model.state_)
    directory = SavedClassifier(folder, experiment, NAME, model.preprocessor_.to_json())
    directory.config["data"] |= model._data | {"num_tasks": model.n_rounds_}
    model._labels = directory.write(model._position, model.rounds_, model._labels)
    return directory.finish("complete", write_pages)


class SavedClassifier(RunDirectory):
    """The folder of a classifier."""

    def write(self, position: Position, rounds: list, labels: tuple[int, int]) -> tuple[int, int]:
        """Make the state safe; the pages are still to be written.

        Args:
            position: how far the stream was read.
            rounds: those played so far.
            labels: how often labels have come since which round, as far as the classifier knows.

        Returns:
            The same of the state that was written.
        """
        if holds_run(self.folder):
            self._go_on(position, labels)
        else:
            self.start()
        round_ = self.state.round
        with self._writing():
            self.rounds, self._position = Rounds.of(rounds), position
            self.labels = labels[1] if labels[0] == round_ else 0
            texts = self.tables.plan_all(self.rounds)
            self._save(self.rounds, self.labels)
            self.tables.write(texts)
        return round_, self.labels

    def _go_on(self, position: Position, labels: tuple[int, int]) -> None:
        refuse_links(self.folder)
        with self._writing():
            self._lock()
        saved = self.checkpoints.load()
        if saved is None:
            return
        before, number = saved.position.digests, (saved.position.num_tasks, saved.labels)
        strange = len(before) < number[0] or position.digests[: len(before)] != before
        if strange or (saved.labels and number != labels):
            raise FFMLError(
                f"{self.folder} holds rounds that this classifier has not seen; go on from there "
                "with from_run, or save elsewhere"
            )


def load_run(folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Read a run; return a classifier's parameters and its attributes. Nothing is written."""
    config = saved_config(folder)
    saved = Checkpoints(folder).load()
    if saved is None:
        raise FFMLError(f"{folder} has no round done; give the folder of a run with one")
    document = saved.contents.document
    if document["preprocessing"] is None:
        raise FFMLError(
            f"{folder} learned the data set '{config['data']['name']}', whose columns a classifier "
            "does not know; give the folder of a run on a table"
        )
    settings, schema = run_config(config["run"]), schema_from(document["schema"])
    outcomes = _outcomes(config["data"].get("labels", {}))
    preprocessor = Preprocessor.from_json(document["preprocessing"])
    attributes: dict[str, Any] = {
        "_config": settings,
        "schema_": schema,
        "preprocessor_": preprocessor,
        "_outcomes": outcomes,
        "classes_": np.sort(outcomes),
        "rounds_": saved.rounds,
        "n_features_in_": len(preprocessor.names),
        "state_": restored_state(loop_of(settings, schema), preprocessor, saved),
        "_position": saved.position,
        "_data": config["data"] | {"updates": max(config["data"].get("updates", 0), 1)},
        "_labels": (saved.position.num_tasks, saved.labels),
    }
    if not config["data"].get("array"):
        attributes["feature_names_in_"] = np.array(preprocessor.names, object)
    is_plain = outcomes.dtype.kind != "U" and outcomes[0] < outcomes[1]
    positive = None if is_plain else outcomes[1].item()
    return parameters_of(settings) | {"positive": positive}, attributes


def data_document(schema: Schema, outcomes: np.ndarray, is_array: bool) -> dict[str, Any]:
    """Say what a table for ``ffml update`` looks like: columns and labels as they were passed."""
    names = tuple(column.name for column in schema.sensitive)
    texts = [
        str(label).lower() if isinstance(label, bool) else str(label) for label in outcomes.tolist()
    ]
    roles = Roles(schema.label, names, TASK, positive=texts[1])
    labels = {text: code for code, text in enumerate(texts)}
    return {"roles": roles.to_json(), "labels": labels, "updates": 1, "array": is_array}


@contextmanager
def temporary_run(model: "FairMetaClassifier") -> Iterator[Path]:
    """Give a folder with the files of a classifier, for as long as it is needed."""
    with TemporaryDirectory(prefix="ffml-") as folder:
        save_run(model, Path(folder) / "run")
        yield Path(folder) / "run"


def _outcomes(labels: dict[str, int]) -> np.ndarray:
    """Return the two labels as Python has them, the favourable one last.

    "0" and "1" are numbers, "true" is True.
    """
    texts = [
        next((t for t, code in labels.items() if code == which), str(which)) for which in (0, 1)
    ]
    for kind in (int, float):
        try:
            return np.array([kind(text) for text in texts])
        except ValueError:
            continue
    if [text.lower() for text in texts] == ["false", "true"]:
        return np.array([False, True])
    return np.array(texts)
