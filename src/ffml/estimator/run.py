"""A classifier as a run, and a run as a classifier."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from ffml.base import FFMLError, Schema, Stream
from ffml.estimator.loop import parameters_of
from ffml.recipe.build import Experiment
from ffml.recipe.saved import config_document
from ffml.recipe.schemas import schema_document
from ffml.runs import Run, open_run
from ffml.runs.keeping import Kept, Session, rounds_from
from ffml.runs.ownership import check_out
from ffml.store import Store
from ffml.tables import Preprocessor, Roles

if TYPE_CHECKING:
    from ffml.estimator import FairMetaClassifier

NAME, TASK = "FairMetaClassifier", "task"


def save_run(model: "FairMetaClassifier", folder: Path) -> Path:
    """Write a run; in the folder of the run that the classifier has gone on from, go on with it."""
    if model._origin is not None and folder.resolve() != Path(model._origin).resolve():
        check_out(folder, overwrite=False)
        shutil.copytree(model._origin, folder, ignore=shutil.ignore_patterns("*.lock"))
    if (folder / "run.db").exists():
        store = Store.open(folder, write=True)
        _refuse_others(model, store, folder)
    else:
        check_out(folder, overwrite=False)
        store = Store.create(folder, _documents(model), who=NAME)
    session = Session(store, model._config, model.loop_, model.state_)
    with store.learning():
        for kept in model._played[_done(model, store) :]:
            with store.transaction(NAME, f"round {kept.record.round}: {kept.record.task}") as t:
                kept.write(t)
        with store.transaction(NAME, "state") as t:
            session.put_state(t, model.state_)
    report = Run(store, None).write_views()
    store.close()
    if report is None:
        raise FFMLError("a classifier is saved in a folder; give one")
    return report


def load_run(folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Read a run; return a classifier's parameters and its attributes. Nothing is written."""
    run = open_run(folder, write=False)
    config, preprocessing = run.config, run.store.document("preprocessing")
    if preprocessing is None:
        raise FFMLError(
            f"{folder} learned the data set '{config['data']['name']}', whose columns a classifier "
            "does not know; give the folder of a run on a table"
        )
    record, session = run.record, run.session()
    outcomes = _outcomes(config["data"].get("labels", {}))
    preprocessor = Preprocessor.from_json(preprocessing)
    rounds = rounds_from(record.kept, record.counts, record.columns)
    attributes: dict[str, Any] = {
        "_config": session.config,
        "schema_": session.schema,
        "preprocessor_": preprocessor,
        "_outcomes": outcomes,
        "classes_": np.sort(outcomes),
        "rounds_": rounds,
        "n_features_in_": len(preprocessor.names),
        "state_": session.state,
        "_version": session.version,
        "_played": [Kept(one) for one in rounds],
        "_origin": str(folder),
        "_data": config["data"],
    }
    if not config["data"].get("array"):
        attributes["feature_names_in_"] = np.array(preprocessor.names, object)
    run.close()
    is_plain = outcomes.dtype.kind != "U" and outcomes[0] < outcomes[1]
    positive = None if is_plain else outcomes[1].item()
    return parameters_of(session.config) | {"positive": positive}, attributes


def data_document(schema: Schema, outcomes: np.ndarray, is_array: bool) -> dict[str, Any]:
    """Say what a table for ``ffml update`` looks like: columns and labels as they were passed."""
    names = tuple(column.name for column in schema.sensitive)
    texts = [
        str(label).lower() if isinstance(label, bool) else str(label) for label in outcomes.tolist()
    ]
    roles = Roles(schema.label, names, TASK, positive=texts[1])
    labels = {text: code for code, text in enumerate(texts)}
    return {"roles": roles.to_json(), "labels": labels, "array": is_array}


@contextmanager
def temporary_run(model: "FairMetaClassifier") -> Iterator[Run]:
    """Give a run with what a classifier knows, for as long as it is needed."""
    with TemporaryDirectory(prefix="ffml-") as folder:
        save_run(model, Path(folder) / "run")
        run = open_run(Path(folder) / "run")
        yield run
        run.close()


def _documents(model: "FairMetaClassifier") -> dict[str, Any]:
    schema = model.schema_
    stream = Stream(NAME, schema, lambda: iter(()), model.state_.round)
    experiment = Experiment(model._config, stream, model.loop_, model.state_)
    document = config_document(experiment, NAME)
    document["data"] |= model._data | {"num_tasks": None}
    return {
        "config": document,
        "schema": schema_document(schema),
        "preprocessing": model.preprocessor_.to_json(),
        "judge_after": 0,
        "keep_features": False,
    }


def _done(model: "FairMetaClassifier", store: Store) -> int:
    return len(store.rounds())


def _refuse_others(model: "FairMetaClassifier", store: Store, folder: Path) -> None:
    """Refuse a run with rounds that this classifier has not seen."""
    kept = store.rounds()
    mine = [one.record.task for one in model._played]
    same = [row.task for row in kept] == mine[: len(kept)]
    if not same or not all(one.agrees(row) for one, row in zip(model._played, kept, strict=False)):
        store.close()
        raise FFMLError(
            f"{folder} holds rounds that this classifier has not seen; go on from there with "
            "from_run, or save elsewhere"
        )


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
