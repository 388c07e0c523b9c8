"""A trained model as a file or a run directory, read without JAX."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ffml.base import FFMLError, Params, Schema, SensitiveColumn
from ffml.models import MODELS
from ffml.runs.container import Contents, pack, read
from ffml.runs.durable import write_atomically
from ffml.runs.generations import newest_generation
from ffml.scaling import RunningScaler

MODEL = "model.safetensors"
STATE = "state"  # what the names of a learner's arrays begin with
_SCALER = "scaler."
# What adaptations start from. The rest of a state is needed to learn, and may hold people's rows.
_ADAPTED_FROM = re.compile(rf"{STATE}\.(params|multipliers|surprise|membership|missed)\b")
# What a model file takes over from a checkpoint; the rest is only needed to go on learning.
_KEPT = ("round", "random", "stream", "config", "schema", "preprocessing", "model", "versions")


@dataclass(frozen=True)
class SavedModel:
    """What a prediction needs, as NumPy arrays and plain JSON values."""

    model: str  # a name of `ffml.models.MODELS`
    model_settings: dict[str, Any]
    params: Params  # θ: nested dicts and lists of arrays
    multipliers: np.ndarray  # λ, one for each of ``constraint_names``
    state: dict[str, np.ndarray]  # what an adaptation starts from, by name: θ, λ and what else
    constraint_names: tuple[str, ...]
    scaler: RunningScaler | None  # None: features come standardised
    preprocessing: dict[str, Any] | None  # `ffml.tables.Preprocessor` as JSON; None: none
    schema: Schema
    round: int  # rounds learned from
    config: dict[str, Any]  # config.json of the run: method, settings, data, versions
    status: str  # "complete", "interrupted", or "running" when read from a checkpoint
    notes: tuple[str, ...] = ()  # what a person should know, such as a damaged checkpoint

    @property
    def apply(self) -> Callable[[Params, np.ndarray], np.ndarray]:
        """The model's function: parameters and standardised features to logits."""
        if not self.params:
            raise FFMLError(
                f"the method '{self.config['method']}' refits on all rows it has seen, which a "
                "model file does not hold; predict needs a method with parameters, such as ffml"
            )
        if self.model not in MODELS:
            raise FFMLError(f"this ffml has no model '{self.model}'; use the one that wrote it")
        return MODELS[self.model](**self.model_settings).apply

    def logits(self, x: np.ndarray) -> np.ndarray:
        """Return h(x; θ) for encoded features, before any adaptation to a task; ŷ = 1[h > 0]."""
        if self.scaler is not None:
            x = self.scaler.transform(x)
        return self.apply(self.params, np.asarray(x, np.float32))


def load_model(path: str | Path) -> SavedModel:
    """Read a model from the file that a run leaves, or from a run directory's last good round.

    Raises:
        FFMLError: there is none, it is damaged, or it was written by a newer ffml.
    """
    path = Path(path)
    if not path.is_dir():
        if not path.exists():
            raise FFMLError(f"{path} does not exist; give a run's folder or its {MODEL}")
        return _from_contents(read(path), ())
    newest = newest_generation(path)
    if newest is None:
        raise FFMLError(f"{path} holds no checkpoint; give the folder of a run with a round done")
    return _from_contents(newest.contents, tuple(newest.notes))


def write_model(run_dir: Path, status: str) -> Path:
    """Write the newest checkpoint's model into one file that can be taken elsewhere."""
    newest = newest_generation(run_dir)
    if newest is None:
        raise FFMLError(f"{run_dir} holds no checkpoint; let the run do a round first")
    document, arrays = newest.contents
    kept = {name: document[name] for name in _KEPT} | {"kind": "model", "status": status}
    used = [n for n in arrays if n.startswith(_SCALER) or _ADAPTED_FROM.match(n)]
    write_atomically(run_dir / MODEL, pack(kept, {name: arrays[name] for name in used}).data)
    return run_dir / MODEL


def scaler_arrays(scaler: RunningScaler | None) -> dict[str, np.ndarray]:
    """Name the arrays of a scaler for a file."""
    if scaler is None:
        return {}
    return {f"{_SCALER}{name}": np.asarray(array) for name, array in scaler._asdict().items()}


def scaler_from(arrays: Mapping[str, np.ndarray]) -> RunningScaler | None:
    """Find the scaler among a file's arrays."""
    names = [f"{_SCALER}{field}" for field in RunningScaler._fields]
    return RunningScaler(*(arrays[name] for name in names)) if names[0] in arrays else None


def schema_document(schema: Schema) -> dict[str, Any]:
    """Return a schema as plain JSON values."""
    return {
        "features": list(schema.features),
        "sensitive": [{"name": c.name, "groups": list(c.groups)} for c in schema.sensitive],
        "label": schema.label,
    }


def _from_contents(contents: Contents, notes: tuple[str, ...]) -> SavedModel:
    document, arrays = contents
    if "model" not in document:
        raise FFMLError("the file holds no model; give a run's folder or its " + MODEL)
    config, model, schema = document["config"], document["model"], document["schema"]
    columns = tuple(SensitiveColumn(c["name"], tuple(c["groups"])) for c in schema["sensitive"])
    return SavedModel(
        model=model["name"],
        model_settings=model["settings"],
        params=_filled(model["params"], arrays),
        multipliers=arrays[model["multipliers"]],
        state=_state_of(arrays),
        constraint_names=tuple(model["constraint_names"]),
        scaler=scaler_from(arrays),
        preprocessing=document["preprocessing"],
        schema=Schema(tuple(schema["features"]), columns, schema["label"]),
        round=document["round"],
        config=config,
        status=document.get("status", "running"),
        notes=notes,
    )


def _state_of(arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {name: array for name, array in arrays.items() if name.startswith(f"{STATE}.")}


def _filled(tree: Any, arrays: Mapping[str, np.ndarray]) -> Params:
    """Put the arrays in the place of their names."""
    if isinstance(tree, str):
        return arrays[tree]
    if isinstance(tree, dict):
        return {key: _filled(part, arrays) for key, part in tree.items()}
    return [_filled(part, arrays) for part in tree]
