"""Small tasks to try things on, and how two outcomes are compared."""

from typing import Any

import jax
import numpy as np

from ffml.base import FFMLError, Schema, SensitiveColumn, Task

TWO_GROUPS = Schema(("a", "b", "c"), (SensitiveColumn("sex", ("M", "F")),))
MORE_GROUPS = Schema(
    ("a", "b", "c"), (SensitiveColumn("sex", ("M", "F")), SensitiveColumn("race", ("p", "q", "r")))
)


def toy_task(seed: int, rows: int, schema: Schema = TWO_GROUPS) -> Task:
    """Draw a task whose features know the group, and whose labels know the features."""
    rng = np.random.default_rng(seed)
    groups = np.stack([rng.integers(len(c.groups), size=rows) for c in schema.sensitive], axis=1)
    x = rng.normal(size=(rows, len(schema.features))).astype(np.float32)
    x[:, 0] += groups[:, 0] == 1
    y = (x[:, 0] + 0.5 * x[:, 1] + 0.5 * rng.normal(size=rows) > 0.3).astype(np.int32)
    return Task(f"task {seed}", x, y, groups.astype(np.int32))


def alike(one: Any, other: Any, rtol: float = 0.0, atol: float = 0.0) -> bool:
    """Tell whether two pytrees hold the same numbers, to the last bit by default."""
    leaves, others = jax.tree.leaves(one), jax.tree.leaves(other)
    return len(leaves) == len(others) and all(
        np.shape(a) == np.shape(b) and np.allclose(a, b, rtol, atol, equal_nan=True)
        for a, b in zip(leaves, others, strict=True)
    )


def require(holds: Any, complaint: str) -> None:
    """Raise an `FFMLError` with the complaint unless it holds."""
    if not holds:
        raise FFMLError(complaint)
