"""Does a model file make sense? A checksum tells only that it is as it was written."""

from typing import TYPE_CHECKING, Any

import numpy as np

from ffml.base import FFMLError
from ffml.problem.models import MODELS
from ffml.tables import Preprocessor
from ffml.tables.scaling import RunningScaler

if TYPE_CHECKING:
    from ffml.scoring.model import SavedModel

# What reading something of another shape than expected raises.
MISFITS = (LookupError, TypeError, AttributeError, ValueError)


def refuse_misfits(model: "SavedModel") -> None:
    """Refuse a model whose parts do not fit each other.

    Raises:
        FFMLError: without naming the file, which the caller does.
    """
    features = model.schema.features
    if not all(isinstance(name, str) for name in features):
        raise FFMLError("its features have no names")
    if any(len(column.groups) < 2 for column in model.schema.sensitive):
        raise FFMLError("a sensitive column has fewer than two groups")
    if not isinstance(model.round, int) or model.round < 0:
        raise FFMLError(f"its number of rounds is {model.round!r}")
    if not all(isinstance(model.config[part], dict) for part in ("run", "data")):
        raise FFMLError("its config holds no run")
    _same("multipliers", model.multipliers, "f", (len(model.constraint_names),))
    if model.scaler is not None:
        _check_scaler(model.scaler, len(features))
    if leaves(model.params) and model.model in MODELS and not model.adds_columns:
        _check_params(model, len(features))


def _check_scaler(scaler: RunningScaler, width: int) -> None:
    _same("scaler.scaled", scaler.scaled, "b", (width,))
    _same("scaler.num_rows", scaler.num_rows, "f", ())
    _same("scaler.mean", scaler.mean, "f", (width,))
    _same("scaler.squares", scaler.squares, "f", (width,))
    if scaler.num_rows < 0 or (scaler.squares < 0).any():
        raise FFMLError("its scaler has negative counts or squares")


def refuse_other_features(model: "SavedModel", preprocessor: Preprocessor) -> None:
    """Refuse a preprocessing that is not the model's own."""
    if preprocessor.features != model.schema.features:
        raise FFMLError(
            "the model's preprocessing makes other features than its schema has; restore a copy"
        )
    if model.scaler is not None and (preprocessor.scaled != model.scaler.scaled).any():
        raise FFMLError("the model's scaler takes other features for numbers; restore a copy")


def _check_params(model: "SavedModel", width: int) -> None:
    """Decide about nobody in particular: parameters of other widths fail, or give other shapes."""
    for leaf in leaves(model.params):
        _same("a parameter", leaf, "f", leaf.shape)
    for rows in (2, 3):  # what broadcasts to one of them does not to the other
        logits = model.apply(model.params, np.zeros((rows, width), np.float32))
        if np.shape(logits) != (rows,):
            raise FFMLError(f"its parameters are not those of {width} features")


def leaves(tree: Any) -> list[np.ndarray]:
    """List the arrays of nested dicts and lists."""
    if isinstance(tree, np.ndarray):
        return [tree]
    parts = tree.values() if isinstance(tree, dict) else tree
    return [leaf for part in parts for leaf in leaves(part)]


def _same(name: str, array: np.ndarray, kind: str, shape: tuple[int, ...]) -> None:
    if array.dtype.kind != kind or array.shape != shape:
        wanted = "bool" if kind == "b" else "float"
        raise FFMLError(
            f"{name} is {array.dtype}{list(array.shape)} and must be {wanted}{list(shape)}"
        )
