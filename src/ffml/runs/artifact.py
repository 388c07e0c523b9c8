"""A trained model as a file or a run directory, read without JAX."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ffml.base import FFMLError, Params, Schema, SensitiveColumn
from ffml.divergence import all_finite
from ffml.problem.models import MODELS
from ffml.runs.container import Contents, pack, read
from ffml.runs.durable import write_atomically
from ffml.runs.generations import newest_generation
from ffml.runs.soundness import MISFITS, leaves, refuse_misfits
from ffml.runs.watched import INPUTS
from ffml.tables.scaling import RunningScaler

MODEL = "model.safetensors"
# What the names of a checkpoint's arrays begin with: a learner's whole state, what its decisions
# need of it, and θ and λ. A model file leaves the state out, which may hold people's rows.
STATE, KNOWLEDGE, PARAMS, MULTIPLIERS = "state", "knowledge", "params", "multipliers"
_SCALER = "scaler."
# What a model file takes over from a checkpoint; the rest is only needed to go on learning.
_KEPT = (
    "round",
    "random",
    "stream",
    "config",
    "schema",
    "preprocessing",
    "model",
    "versions",
    "labels",
)


@dataclass(frozen=True)
class SavedModel:
    """What a prediction needs, as NumPy arrays and plain JSON values."""

    model: str  # a name of `ffml.models.MODELS`
    model_settings: dict[str, Any]
    params: Params  # θ: nested dicts and lists of arrays
    multipliers: np.ndarray  # λ, one for each of ``constraint_names``
    knowledge: dict[str, np.ndarray]  # what adaptations start from, by name (`Learner.knowledge`)
    constraint_names: tuple[str, ...]
    scaler: RunningScaler | None  # None: features come standardised
    preprocessing: dict[str, Any] | None  # `ffml.tables.Preprocessor` as JSON; None: none
    schema: Schema
    round: int  # rounds learned from
    config: dict[str, Any]  # config.json of the run: method, settings, data, versions
    labels: int  # how often labels have come since the last round
    status: str  # "complete", "interrupted", or "running" when read from a checkpoint
    inputs: dict[str, np.ndarray]  # what the inputs learned from were like, by name
    adds_columns: bool = False  # whether the learner adds columns to x, which θ then needs
    notes: tuple[str, ...] = ()  # what a person should know, such as a damaged checkpoint

    @property
    def apply(self) -> Callable[[Params, np.ndarray], np.ndarray]:
        """The model's function: parameters and standardised features to logits."""
        self.refuse_without_params()
        if self.model not in MODELS:
            raise FFMLError(f"this ffml has no model '{self.model}'; use the one that wrote it")
        return MODELS[self.model](**self.model_settings).apply

    @property
    def decides_by_params(self) -> bool:
        """Whether θ alone decides: no prices, no columns that a learner adds, no threshold."""
        wrappers = self.config["run"].get("recipe", {}).get("wrappers", ())
        return not set(wrappers) - {"corrected"}

    def refuse_without_params(self) -> None:
        """Refuse a method that has no θ between rounds."""
        if not leaves(self.params):
            raise FFMLError(
                f"the method '{self.config['method']}' refits on all rows it has seen, which a "
                "model file does not hold; predict needs a method with parameters, such as ffml"
            )

    def standardised(self, x: np.ndarray) -> np.ndarray:
        """Bring encoded features to the scale that the model was learned on."""
        return np.asarray(x if self.scaler is None else self.scaler.transform(x), np.float32)

    def logits(self, x: np.ndarray) -> np.ndarray:
        """Return h(x; θ) for encoded features, before any adaptation to a task; ŷ = 1[h > 0]."""
        return self.apply(self.params, self.standardised(x))


def load_model(path: str | Path) -> SavedModel:
    """Read a model from the file that a run leaves, or from a run directory's last good round.

    Raises:
        FFMLError: there is none, it is damaged or not finite, or a newer ffml wrote it.
    """
    path = Path(path)
    if not path.is_dir():
        if not path.exists():
            raise FFMLError(f"{path} does not exist; give a run's folder or its {MODEL}")
        return _sound_model(path, read(path), ())
    newest = newest_generation(path)
    if newest is None:
        raise FFMLError(f"{path} holds no checkpoint; give the folder of a run with a round done")
    return _sound_model(newest.path, newest.contents, tuple(newest.notes))


def write_model(run_dir: Path, status: str) -> Path:
    """Write the newest checkpoint's model into one file that can be taken elsewhere."""
    newest = newest_generation(run_dir)
    if newest is None:
        raise FFMLError(f"{run_dir} holds no checkpoint; let the run do a round first")
    document, arrays = newest.contents
    kept = {name: document[name] for name in _KEPT if name in document}
    kept |= {"kind": "model", "status": status}
    used = decided_by(arrays)
    refuse_divergence(used.values())
    used |= {name: array for name, array in arrays.items() if name.startswith((_SCALER, INPUTS))}
    write_atomically(run_dir / MODEL, pack(kept, used).data)
    return run_dir / MODEL


def decided_by(arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Pick the arrays that decisions are made from: θ, λ and the learner's knowledge."""
    kinds = (KNOWLEDGE, PARAMS, MULTIPLIERS)
    return {name: array for name, array in arrays.items() if name.startswith(kinds)}


def refuse_divergence(arrays: Iterable[np.ndarray]) -> None:
    """Refuse a model that is not finite: everybody would get the same decision."""
    if not all_finite(arrays):
        raise FFMLError(
            "the model is not finite: its run diverged; start another with smaller step sizes"
        )


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
        "categories": [list(places) for places in schema.categories],
    }


def schema_from(document: Mapping[str, Any]) -> Schema:
    """Read back what `schema_document` wrote."""
    columns = tuple(SensitiveColumn(c["name"], tuple(c["groups"])) for c in document["sensitive"])
    categories = tuple(map(tuple, document.get("categories", ())))
    features = tuple(document["features"])
    return Schema(features, columns, document["label"], categories=categories)


def _sound_model(path: Path, contents: Contents, notes: tuple[str, ...]) -> SavedModel:
    """Put a model together, and refuse one whose parts are missing or do not fit."""
    if "model" not in contents.document:
        raise FFMLError(f"the file holds no model; give a run's folder or its {MODEL}")
    try:
        model = _from_contents(contents, notes)
        refuse_misfits(model)
    except MISFITS as error:
        reason = str(error) if isinstance(error, FFMLError) else f"{type(error).__name__}: {error}"
        raise FFMLError(
            f"{path} holds no model that can be used: {' '.join(reason.split())}; restore a copy, "
            "or use the ffml that wrote it"
        ) from error
    return model


def _from_contents(contents: Contents, notes: tuple[str, ...]) -> SavedModel:
    document, arrays = contents
    config, model = document["config"], document["model"]
    params, multipliers = _filled(model["params"], arrays), arrays[model["multipliers"]]
    knowledge = {name: array for name, array in arrays.items() if name.startswith(KNOWLEDGE)}
    refuse_divergence([*leaves(params), multipliers, *knowledge.values()])
    return SavedModel(
        model=model["name"],
        model_settings=model["settings"],
        params=params,
        multipliers=multipliers,
        knowledge=knowledge,
        constraint_names=tuple(model["constraint_names"]),
        scaler=scaler_from(arrays),
        preprocessing=document["preprocessing"],
        schema=schema_from(document["schema"]),
        round=document["round"],
        config=config,
        labels=document.get("labels", 0),
        status=document.get("status", "running"),
        inputs={name: array for name, array in arrays.items() if name.startswith(INPUTS)},
        adds_columns=bool(model.get("adds_columns", False)),
        notes=notes,
    )


def _filled(tree: Any, arrays: Mapping[str, np.ndarray]) -> Params:
    """Put the arrays in the place of their names."""
    if isinstance(tree, str):
        return arrays[tree]
    if isinstance(tree, dict):
        return {key: _filled(part, arrays) for key, part in tree.items()}
    return [_filled(part, arrays) for part in tree]
