"""A trained model as a value and as a file, read without JAX."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ffml.base import FFMLError, Params, Schema
from ffml.divergence import all_finite
from ffml.online.arrays import INPUTS, scaler_arrays, scaler_from
from ffml.problem.models import MODELS
from ffml.recipe.schemas import schema_document, schema_from
from ffml.scoring._soundness import MISFITS, leaves, refuse_misfits, refuse_other_features
from ffml.store.container import Contents, pack, read
from ffml.tables import Preprocessor
from ffml.tables.scaling import RunningScaler

MODEL = "model.safetensors"
# What the names of a file's arrays begin with: what a learner's decisions need, the state of
# learned columns, θ and λ. The learner's whole state stays in the ledger, with people's rows.
KNOWLEDGE, FEATURES, PARAMS, MULTIPLIERS = "knowledge", "features", "params", "multipliers"


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
    recent: np.ndarray  # (n, columns) people met lately, described, as they came
    preprocessing: dict[str, Any] | None  # `ffml.tables.Preprocessor` as JSON; None: none
    schema: Schema
    round: int  # rounds learned from
    config: dict[str, Any]  # config.json of the run: method, settings, data, versions
    version: int  # of the ledger's states
    status: str  # "complete" or "interrupted"
    inputs: dict[str, np.ndarray]  # what the inputs learned from were like, by name
    adds_columns: bool = False  # whether the learner adds columns to x, which θ then needs

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
    """Read a model from its file, or from a run's folder as it stands.

    Raises:
        FFMLError: there is none, it is damaged or not finite, or a newer ffml wrote it.
    """
    path = Path(path)
    if path.is_dir() or "://" in str(path):
        raise FFMLError(f"{path} is a folder; open it with ffml.open, or give its {MODEL}")
    if not path.exists():
        raise FFMLError(f"{path} does not exist; give a run's folder or its {MODEL}")
    return _sound_model(path, read(path))


def model_bytes(model: "SavedModel") -> bytes:
    """Return a model as the bytes of a file that can be taken elsewhere."""
    from ffml.online.trees import array_names, leaves_by_name

    document = {
        "kind": "model",
        "config": model.config,
        "schema": schema_document(model.schema),
        "preprocessing": model.preprocessing,
        "round": model.round,
        "version": model.version,
        "status": model.status,
        "model": {
            "name": model.model,
            "settings": model.model_settings,
            "params": array_names(model.params, PARAMS),
            "constraint_names": model.constraint_names,
            "adds_columns": model.adds_columns,
        },
    }
    arrays = {
        **leaves_by_name(model.params, PARAMS),
        MULTIPLIERS: model.multipliers,
        **model.knowledge,
        **scaler_arrays(model.scaler),
        **model.inputs,
        "recent": model.recent,
    }
    return pack(document, arrays).data


def preprocessor_of(model: SavedModel) -> Preprocessor:
    """Return how the model's features are encoded."""
    if model.preprocessing is None:
        raise FFMLError(
            f"this model was learned from the data set '{model.config['data']['name']}', not from "
            "a table; predict needs a run on a table of yours"
        )
    preprocessor = Preprocessor.from_json(model.preprocessing)
    refuse_other_features(model, preprocessor)
    return preprocessor


def refuse_divergence(arrays: Iterable[np.ndarray]) -> None:
    """Refuse a model that is not finite: everybody would get the same decision."""
    if not all_finite(arrays):
        raise FFMLError(
            "the model is not finite: its run diverged; start another with smaller step sizes"
        )


def _sound_model(path: Path, contents: Contents) -> SavedModel:
    """Put a model together, and refuse one whose parts are missing or do not fit."""
    if contents.document.get("kind") != "model":
        raise FFMLError(f"{path} holds no model; give a run's folder or its {MODEL}")
    try:
        model = _from_contents(contents)
        refuse_misfits(model)
    except MISFITS as error:
        reason = str(error) if isinstance(error, FFMLError) else f"{type(error).__name__}: {error}"
        raise FFMLError(
            f"{path} holds no model that can be used: {' '.join(reason.split())}; restore a copy, "
            "or use the ffml that wrote it"
        ) from error
    return model


def _from_contents(contents: Contents) -> SavedModel:
    document, arrays = contents
    model = document["model"]
    params, multipliers = _filled(model["params"], arrays), arrays[MULTIPLIERS]
    known = (KNOWLEDGE, FEATURES)
    knowledge = {name: array for name, array in arrays.items() if name.startswith(known)}
    refuse_divergence([*leaves(params), multipliers, *knowledge.values()])
    return SavedModel(
        model=model["name"],
        model_settings=model["settings"],
        params=params,
        multipliers=multipliers,
        knowledge=knowledge,
        constraint_names=tuple(model["constraint_names"]),
        scaler=scaler_from(arrays),
        recent=arrays["recent"],
        preprocessing=document["preprocessing"],
        schema=schema_from(document["schema"]),
        round=document["round"],
        version=document["version"],
        config=document["config"],
        status=document["status"],
        inputs={name: array for name, array in arrays.items() if name.startswith(INPUTS)},
        adds_columns=bool(model["adds_columns"]),
    )


def _filled(tree: Any, arrays: Mapping[str, np.ndarray]) -> Params:
    """Put the arrays in the place of their names."""
    if isinstance(tree, str):
        return arrays[tree]
    if isinstance(tree, dict):
        return {key: _filled(part, arrays) for key, part in tree.items()}
    return [_filled(part, arrays) for part in tree]
