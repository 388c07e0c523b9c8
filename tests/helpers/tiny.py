"""A tiny run, compiled fast."""

from ffml.recipe.config import RunConfig
from ffml.recipe.recipes import Recipe

ROUNDS = 4
CONFIG = RunConfig(
    data="synthetic",
    data_options={"num_tasks": ROUNDS, "rows_per_task": (20, 40)},
    notions=("demographic-parity", "equal-opportunity"),
    recipe=Recipe(
        wrappers=("corrected",),
        settings={"num_outer_steps": 2, "inner.num_steps": 1, "outer": "pooled"},
    ),
    tasks_per_round=2,
    rows_per_task=32,
    shots=4,
    memory_policy="recent",
    memory_capacity=2,
)


def exact(arrays):
    """Return arrays by name so that == compares every bit."""
    return {name: (a.dtype.str, a.shape, a.tobytes()) for name, a in arrays.items()}
