"""Multi-layer perceptron: the network of the paper's experiments (2 × 40 ReLU)."""

from ffml.base import Array, FFMLError, Params
from ffml.models._base import Model


def mlp(hidden: tuple[int, ...] = (40, 40)) -> Model:
    """ReLU layers of the given widths and one logit; weights He-normal, biases zero."""
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
