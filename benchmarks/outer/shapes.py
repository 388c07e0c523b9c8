"""What is computed: shapes of the paper's data sets, and random rows of these shapes."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ffml.base import LabelledTask, Schema, SensitiveColumn
from ffml.methods._ffml import draw

INNER_LR, LAMBDA, BOUND = 0.01, 1.0, 0.02
ITERATIONS = 10  # of a JAX program each time it is timed; torch takes them one by one


class Shape(NamedTuple):
    """A data set of the paper: its attributes and N_step of Table 3."""

    name: str
    features: int
    steps: int
    tasks: int = 32
    shots: int = 100
    rows: int = 1024  # remembered of a task


PAPER = (Shape("bank", 16, 5), Shape("adult", 14, 3), Shape("crime", 98, 5))
SMALL = (Shape("small", 3, 2, tasks=2, shots=4, rows=32),)


class Rows(NamedTuple):
    """Support or query rows of all tasks, drawn evenly by label: leading axis over tasks."""

    x: Any  # (tasks, 2 shots, features)
    y: Any  # (tasks, 2 shots)
    s: Any  # (tasks, 2 shots)


class Given(NamedTuple):
    """What every contender starts from."""

    shape: Shape
    schema: Schema
    memory: LabelledTask
    key: Any
    params: Any  # [{"w", "b"}, …] of a 2 × 40 network
    support: Rows  # as drawn from memory with the key
    query: Rows


class Contender(NamedTuple):
    """Someone who can take outer iterations."""

    name: str
    devices: str
    run: Callable[[int], None]  # so many iterations, to the end
    slopes: Callable[[], tuple[Any, Any]] | None = None  # ∇_θ L as of `params`, and ∇_λ L
    flops: float | None = None  # of an iteration, as the compiler counts them


def given(shape: Shape, seed: int = 0) -> Given:
    """Make random rows; only their shape matters for the time."""
    rng = np.random.default_rng(seed)
    half = np.full((shape.tasks, 2), shape.rows // 2, np.int32)
    memory = LabelledTask(
        x=rng.normal(size=(shape.tasks, shape.rows, shape.features)).astype(np.float32),
        s=rng.integers(2, size=(shape.tasks, shape.rows, 1)).astype(np.float32),
        counts=half,
        totals=half,
    )
    features = tuple(f"x{i}" for i in range(shape.features))
    schema = Schema(features, (SensitiveColumn("s", ("0", "1")),))
    key = jax.random.key(seed)
    # The first iteration of a round draws with the key's first child.
    drawn = jax.jit(draw, static_argnums=2)(jax.random.fold_in(key, 0), memory, shape.shots)
    support, query = (
        Rows(part.x, part.y, part.s[..., 0])
        for part in jax.device_get((drawn.supports, drawn.queries))
    )
    sizes = (shape.features, 40, 40, 1)
    params = [
        {
            "w": (rng.normal(size=(a, b)) * np.sqrt(2 / a)).astype(np.float32),
            "b": np.zeros(b, np.float32),
        }
        for a, b in pairwise(sizes)
    ]
    return Given(shape, schema, memory, key, params, support, query)


def on_devices(tree: Any, count: int) -> Any:
    """Spread the leading axis over so many devices."""
    kinds = (jax.sharding.AxisType.Auto,)
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:count]), ("tasks",), axis_types=kinds)
    return jax.device_put(tree, jax.NamedSharding(mesh, jax.P("tasks")))


def difference(found: Any, expected: Any) -> float:
    """Return the largest difference of two trees, in units of the largest number of the second."""
    pairs = zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True)
    apart = [float(np.max(np.abs(np.asarray(a) - np.asarray(b)))) for a, b in pairs]
    largest = max(float(jnp.max(jnp.abs(leaf))) for leaf in jax.tree.leaves(expected))
    return max(apart) / largest
