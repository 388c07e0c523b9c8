"""Models: factories that return an ``(init, apply)`` pair.

A model is any pair of functions ``init(key, num_features) -> params`` and
``apply(params, x) -> logits``. The ones here use nothing but array operators in ``apply``, so
the same function predicts with NumPy arrays where JAX is not wanted.
"""

from collections.abc import Callable

from ffml.base import Array, FFMLError, Model, Params

__all__ = ["MODELS", "linear", "mlp"]


def linear() -> Model:
    """Logits ``h(x) = x w + b``, starting from zero: the convex model of the paper's analysis.

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


def mlp(hidden: tuple[int, ...] = (40, 40)) -> Model:
    """ReLU layers of the given widths and one logit: the network of the paper's experiments.

    Weights start He-normal, biases zero.

    Args:
        hidden: widths of the layers.

    >>> import jax
    >>> model = mlp((5, 4))
    >>> model.apply(model.init(jax.random.key(0), 3), jax.numpy.zeros((2, 3))).shape
    (2,)
    """
    if not hidden or min(hidden) < 1:
        raise FFMLError(f"hidden must be one or more widths >= 1, got {tuple(hidden)}")

    def init(key: Array, num_features: int) -> Params:
        import jax  # here, so that `apply` works where JAX is not installed
        import jax.numpy as jnp

        widths = (num_features, *hidden, 1)
        keys = jax.random.split(key, len(widths) - 1)
        weight = jax.nn.initializers.he_normal()
        return [
            {"w": weight(k, (rows, columns)), "b": jnp.zeros(columns)}
            for k, rows, columns in zip(keys, widths[:-1], widths[1:], strict=True)
        ]

    def apply(params: Params, x: Array) -> Array:
        *inner, last = params
        for layer in inner:
            x = (x @ layer["w"] + layer["b"]).clip(min=0)
        return (x @ last["w"] + last["b"])[..., 0]

    return Model(init, apply)


MODELS: dict[str, Callable[..., Model]] = {"linear": linear, "mlp": mlp}
