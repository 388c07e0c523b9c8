"""Logistic regression: the convex model of the paper's analysis."""

from ffml.base import Array, Params
from ffml.models._base import Model


def linear() -> Model:
    """Logits ``h(x) = x w + b``, starting from zero.

    >>> import numpy as np
    >>> linear().apply({"w": np.array([1.0, 2.0]), "b": np.array(0.5)}, np.array([[1.0, 1.0]]))
    array([3.5])
    """

    def init(key: Array, num_features: int) -> Params:
        import jax.numpy as jnp  # here, so that `apply` works where JAX is not installed

        del key
        return {"w": jnp.zeros(num_features), "b": jnp.zeros(())}

    def apply(params: Params, x: Array) -> Array:
        return x @ params["w"] + params["b"]

    return Model(init, apply)
