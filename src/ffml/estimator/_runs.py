"""A classifier as a run, and a run as a classifier."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from ffml.base import FFMLError, Schema, Stream
from ffml.border import public_address as public
from ffml.estimator._config import parameters_of
from ffml.recipe.build import Experiment
from ffml.recipe.saved import config_document
from ffml.recipe.schemas import schema_document
from ffml.runs import Run, open_run
from ffml.runs.keeping import go_on, rounds_from
from ffml.runs.ownership import check_out
from ffml.store import Store
from ffml.store.copying import copy_ledger
from ffml.tables import Preprocessor, Roles

if TYPE_CHECKING:
    from ffml.estimator import FairMetaClassifier

NAME, TASK = "FairMetaClassifier", "task"


def save_run(model: "FairMetaClassifier", address: str | Path) -> Path:
    """Write a run; where there is one that the classifier has gone on from, go on with it."""
    with _ledger(model, address) as store:
        done = _rounds_there(model, store)
        if done < len(model._played):
            with store.learning():
                go_on(store, model._played[done:], model.state_, NAME)
            model._saved = {**model._saved, _checksum(store): len(model._played)}
        report = Run(store).write_views()
        return Path(store.name) if report is None else report


def load_run(address: str | Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Read a run; return a classifier's parameters and its attributes. Nothing is written."""
    with closing(open_run(address, write=False)) as run:
        return _classifier(run, address)


def _classifier(run: Run, address: str | Path) -> tuple[dict[str, Any], dict[str, Any]]:
    config, preprocessing = run.config, run.store.document("preprocessing")
    if preprocessing is None:
        raise FFMLError(
            f"{run.store.name} learned the data set '{config['data']['name']}', whose columns a "
            "classifier does not know; give the folder of a run on a table"
        )
    record, session = run.record, run.session().at(run.store.deciding)
    outcomes = _outcomes(config["data"].get("labels", {}))
    # Groups are passed beside X, not in it.
    preprocessor = replace(Preprocessor.from_json(preprocessing), groups=())
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
        "_newest": run.store.version_number,
        "_played": [],
        "_origin": str(address),
        "_saved": {_checksum(run.store): 0},
        "_data": config["data"],
    }
    if not config["data"].get("array"):
        attributes["feature_names_in_"] = np.array(preprocessor.names, object)
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
        with closing(open_run(Path(folder) / "run")) as run:
            yield run


def _documents(model: "FairMetaClassifier") -> dict[str, Any]:
    schema = model.schema_
    stream = Stream(NAME, schema, lambda: iter(()), model.state_.round)
    experiment = Experiment(model._config, stream, model.loop_, model.state_)
    document = config_document(experiment, NAME)
    groups = schema.sensitive if schema.known_groups else ()
    document["data"] |= model._data | {"num_tasks": None}
    return {
        "config": document,
        "schema": schema_document(schema),
        "preprocessing": replace(model.preprocessor_, groups=groups).to_json(),
        "judge_after": 0,
        "keep_features": False,
    }


def _ledger(model: "FairMetaClassifier", address: str | Path) -> Store:
    """Open the ledger to be written; where there is none, make it, or copy that of the origin."""
    if "://" in str(address) or (Path(address) / "run.db").exists():
        return Store.open(address, write=True)
    check_out(Path(address), overwrite=False)
    if model._origin is None:
        return Store.create(address, _documents(model), who=NAME)
    if "://" in model._origin:
        raise FFMLError(f"a run in a database is not copied; save to {public(model._origin)}")
    with Store.open(model._origin) as origin:
        _rounds_there(model, origin)
    copy_ledger(Path(model._origin), Path(address))
    return Store.open(address, write=True)


def _rounds_there(model: "FairMetaClassifier", store: Store) -> int:
    """Return how many of the rounds that a classifier has played a ledger holds."""
    checksum = _checksum(store)
    if not checksum and model._origin is None:
        return 0
    if checksum not in model._saved:
        raise FFMLError(
            f"{store.name} holds rounds that this classifier has not seen; go on from there with "
            "from_run, or save elsewhere"
        )
    return model._saved[checksum]


def _checksum(store: Store) -> str:
    """Return what names the newest state of a ledger; nothing before the first."""
    newest = store.version()
    return "" if newest is None else newest.checksum


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
