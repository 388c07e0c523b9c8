"""Is it a model? The same numbers with NumPy and JAX, one logit a row, row by row."""

from collections.abc import Callable

import jax
import numpy as np

from ffml.base import Model
from ffml.checks._toy import alike, require

FEATURES, ROWS = 7, 20


def check_model(factory: Callable[[], Model]) -> None:
    """Check a model: ``factory() -> Model``.

    It starts from the same parameters with the same key. It gives one finite logit a row, the same
    with NumPy as with JAX. A row's logit does not depend on the other rows.

    >>> import ffml
    >>> check_model(lambda: ffml.models.mlp((5, 4)))
    """
    model = factory()
    key = jax.random.key(0)
    start = jax.device_get(model.init(key, FEATURES))
    require(alike(start, model.init(key, FEATURES)), "init gives other parameters for the same key")
    params = jax.tree.map(lambda leaf: np.asarray(leaf) + np.float32(0.1), start)
    x = np.random.default_rng(0).normal(size=(ROWS, FEATURES)).astype(np.float32)

    logits = model.apply(params, x)
    require(
        isinstance(logits, np.ndarray),
        f"apply returns {type(logits).__name__} for NumPy arrays; use array operators only",
    )
    require(
        logits.shape == (ROWS,),
        f"apply returns logits of shape {logits.shape} for {ROWS} rows; return ({ROWS},)",
    )
    require(np.isfinite(logits).all(), "apply returns logits that are not finite")
    compiled = jax.jit(model.apply)(params, x)
    require(alike(logits, compiled, 1e-4, 1e-5), "apply differs between NumPy and JAX")
    each = np.concatenate([model.apply(params, row[None]) for row in x])
    require(alike(logits, each, 1e-4, 1e-5), "a row's logit depends on the other rows")
