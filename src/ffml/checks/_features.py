"""Are these features? Columns that stay, know no labels of their task, and change nothing else."""

from collections.abc import Callable
from dataclasses import replace

import jax
import numpy as np

from ffml.base import Features, Schema
from ffml.checks._toy import TWO_GROUPS, alike, require, toy_task
from ffml.online.memory import MemorySettings, bounded, padded_tasks

SETTINGS = MemorySettings(tasks_per_round=4, rows_per_task=128)


def check_features(factory: Callable[[Schema], Features]) -> None:
    """Check features: ``factory(schema) -> Features``, with their settings filled in.

    They fit a few small tasks. Columns are added and none is changed, as many as the schema says,
    each person's by themself. Numbers are finite, and padding is not fitted to.

    >>> import ffml.features
    >>> check_features(ffml.features.boosted)
    """
    features = factory(TWO_GROUPS)
    one, other = features.init(), features.init()
    for i, rows in enumerate((60, 1, 80)):
        _check_columns(features, one, toy_task(i, rows).x)
        key, rng = jax.random.key(i), np.random.default_rng(i)
        kept = bounded(toy_task(i, rows), TWO_GROUPS, SETTINGS.rows_per_task, rng)
        tasks = padded_tasks([kept], SETTINGS, 3)
        noise = tasks.x.copy()
        noise[0, len(kept.x) :] = 3.0
        one = features.fit(key, one, kept, tasks)
        other = features.fit(key, other, kept, tasks._replace(x=noise))
        require(alike(one, other, 1e-5, 1e-6), "padding rows are fitted to")
    _check_columns(features, one, toy_task(9, 50).x)


def _check_columns(features: Features, state: object, x: np.ndarray) -> None:
    seen = np.asarray(features.describe(state, x))
    known = replace(features.schema, sensitive=TWO_GROUPS.sensitive)
    require(
        seen.shape == (len(x), known.num_columns),
        f"describe returns {seen.shape} for {len(x)} rows, and the schema has {known.num_columns} "
        "columns; the number of columns must stay",
    )
    require(alike(seen[:, : x.shape[1]], x), "describe changes features; it may add columns")
    require(np.isfinite(seen).all(), "describe adds numbers that are not finite")
    alone = features.describe(state, x[-1:])
    require(alike(seen[-1:], alone, 1e-5, 1e-6), "a row's columns depend on the other rows")
