"""Models: factories that return an ``(init, apply)`` pair.

A model is any pair of functions ``init(key, num_features) -> params`` and
``apply(params, x) -> logits``. The ones here use nothing but array operators in ``apply``, so
the same function predicts with NumPy arrays where JAX is not wanted.
"""

from collections.abc import Callable

from ffml.models._base import Model
from ffml.models._linear import linear
from ffml.models._mlp import mlp

MODELS: dict[str, Callable[..., Model]] = {
    "linear": linear,
    "mlp": mlp,
}

__all__ = ["MODELS", "Model", "linear", "mlp"]
