"""How JAX is set up: one CPU device a core, and a compilation cache that outlives the process."""

import os
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax.sharding import AxisType, NamedSharding, PartitionSpec

from ffml.base import LabelledTask
from ffml.threads import available_cores


def configure(devices: int | None = None, cache: bool = True) -> None:
    """Use every core and keep compiled programs between runs.

    Call it before anything else touches JAX: one CPU device uses one core only, and the number
    of devices cannot change once JAX has started.
    """
    jax.config.update("jax_num_cpu_devices", devices or available_cores())
    if cache:
        from platformdirs import user_cache_path

        folder = Path(os.environ.get("FFML_JAX_CACHE") or user_cache_path("ffml") / "jax")
        jax.config.update("jax_compilation_cache_dir", str(folder))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
        jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)


def shard_tasks(tasks: LabelledTask) -> Any:
    """Spread the leading (task) axis over the devices, as many as divide it."""
    num_tasks = len(tasks.totals)
    devices = jax.devices()
    count = max(n for n in range(1, len(devices) + 1) if num_tasks % n == 0)
    mesh = jax.sharding.Mesh(np.array(devices[:count]), ("tasks",), axis_types=(AxisType.Auto,))
    return jax.device_put(tasks, NamedSharding(mesh, PartitionSpec("tasks")))
