"""How JAX is set up: a CPU device a core, a compilation cache, and several processes as one."""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax.experimental import multihost_utils
from jax.sharding import AxisType, NamedSharding, PartitionSpec

from ffml.base import FFMLError, LabelledTask
from ffml.threads import available_cores


def configure(devices: int | None = None, cache: bool = True) -> None:
    """Use every core and keep compiled programs between runs.

    Call it before anything else touches JAX: one CPU device uses one core only, and the number
    of devices cannot change once JAX has started.
    """
    number = devices or available_cores()
    try:
        if jax.config.values["jax_num_cpu_devices"] != number:
            jax.config.update("jax_num_cpu_devices", number)
    except RuntimeError:
        raise FFMLError(
            "JAX has started already; configure it first, and let a plug-in compute nothing while "
            "it is loaded, only within its functions"
        ) from None
    if cache:
        from platformdirs import user_cache_path

        folder = Path(os.environ.get("FFML_JAX_CACHE") or user_cache_path("ffml") / "jax")
        jax.config.update("jax_compilation_cache_dir", str(folder))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
        jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)


def compiled(function: Callable[..., Any]) -> Any:
    """Compile a function when it is first called; on CPUs in two thirds of the usual time.

    There LLVM's quick passes make programs that are about as fast (docs/speed.md), and a round's
    programs take longer to compile than to run.
    """
    quick = {"xla_backend_optimization_level": 1} if jax.default_backend() == "cpu" else None
    return jax.jit(function, compiler_options=quick)


def join_processes() -> None:
    """Make this process one of several that share every round's tasks.

    SLURM, Open MPI, Kubernetes and TPU pods tell JAX by themselves which process is which.
    Elsewhere ``JAX_COORDINATOR_ADDRESS`` (host and port of the first), ``JAX_NUM_PROCESSES`` and
    ``JAX_PROCESS_ID`` do. Call it after `configure` and before anything else touches JAX.

    Raises:
        FFMLError: nothing says which process this is, or the others cannot be reached.
    """
    count, own = _number("JAX_NUM_PROCESSES"), _number("JAX_PROCESS_ID")
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    try:
        jax.distributed.initialize(num_processes=count, process_id=own)
    except (ValueError, RuntimeError) as error:
        reason = str(error).strip().splitlines()[0]
        raise FFMLError(
            f"the processes of a run cannot join ({reason}); start them with srun or mpirun, or "
            "set JAX_COORDINATOR_ADDRESS, JAX_NUM_PROCESSES and JAX_PROCESS_ID"
        ) from error


def _number(variable: str) -> int | None:
    text = os.environ.get(variable)
    if text is None:
        return None
    if not text.isdecimal():
        raise FFMLError(f"{variable} must be a whole number, got '{text}'")
    return int(text)


def is_first_process() -> bool:
    """Tell whether this process writes and prints: one of several does."""
    return jax.process_index() == 0


def wait_for_all(where: str) -> None:
    """Go on once every process has come here."""
    multihost_utils.sync_global_devices(where)


def refuse_differences(state: Any) -> None:
    """Refuse to go on where processes have learned different things; no-op for one process.

    Compiled learners agree by construction: one program, whose result all of them get. What
    wrappers compute outside of it, every process computes for itself.
    """
    if jax.process_count() == 1:
        return
    digest = hashlib.sha256()
    for leaf in jax.tree.leaves(state):
        digest.update(np.asarray(leaf).tobytes())
    found = multihost_utils.process_allgather(np.frombuffer(digest.digest(), np.uint8))
    if (found != found[0]).any():
        raise FFMLError(
            "the processes have come to different numbers, perhaps on different kinds of machines; "
            "use machines of one kind, or leave out wrappers: --with none"
        )


def shard_tasks(tasks: LabelledTask) -> Any:
    """Spread the leading (task) axis over the devices.

    Over as many devices as divide it; where several processes share a run, over all devices, with
    empty tasks added until they divide it: a process without a task could not take part.
    """
    num_tasks, devices = len(tasks.totals), jax.devices()
    if jax.process_count() > 1:
        count, missing = len(devices), -num_tasks % len(devices)
        tasks = LabelledTask(
            *(np.pad(leaf, ((0, missing), *[(0, 0)] * (leaf.ndim - 1))) for leaf in tasks)
        )
    else:
        count = max(n for n in range(1, len(devices) + 1) if num_tasks % n == 0)
    mesh = jax.sharding.Mesh(np.array(devices[:count]), ("tasks",), axis_types=(AxisType.Auto,))
    sharding = NamedSharding(mesh, PartitionSpec("tasks"))
    if jax.process_count() == 1:
        return jax.device_put(tasks, sharding)
    # Each process brings its own devices' part: `device_put` would send all of it around.
    return LabelledTask(
        *(jax.make_array_from_callback(leaf.shape, sharding, leaf.__getitem__) for leaf in tasks)
    )
