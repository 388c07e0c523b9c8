"""What this machine can do: its rate of small matrix products, and what a contender takes of it."""

import ctypes
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from outer.shapes import Shape, on_devices

STATUS, REFERENCES = Path("/proc/self/status"), Path("/proc/self/clear_refs")
WIDTH = 40
# The three products of a layer: forward, by weights, by inputs.
PRODUCTS = ("trk,tkn->trn", "trk,trn->tkn", "trn,tkn->trk")


def matrix_products(shape: Shape, devices: int) -> tuple[Callable[[int], None], float]:
    """Multiply what the network multiplies: ``run(count)``, and the FLOPs of one count.

    Each product of the second layer once, and of the first, whose inputs need no slope.
    """
    rng = np.random.default_rng(0)

    def random(*size: int) -> np.ndarray:
        return rng.normal(size=(shape.tasks, *size)).astype(np.float32)

    rows = 2 * shape.shots
    arguments = on_devices(
        (
            random(rows, shape.features),
            random(rows, WIDTH),
            random(rows, WIDTH),
            random(shape.features, WIDTH),
            random(WIDTH, WIDTH),
        ),
        devices,
    )

    def products(x, h, d, w, v):
        forward, by_weights, by_inputs = (partial(jnp.einsum, kind) for kind in PRODUCTS)
        return forward(x, w), by_weights(x, d), forward(h, v), by_weights(h, d), by_inputs(d, v)

    @jax.jit
    def multiply(count, *arguments):
        def once(i, _):
            # As if they were others each time: nothing is moved out of the loop.
            return products(*lax.optimization_barrier((i, *arguments))[1:])

        return lax.fori_loop(1, count, once, products(*arguments))

    compiled = multiply.lower(10, *arguments).compile()
    multiplied = 2 * shape.features * WIDTH + 3 * WIDTH * WIDTH
    return (
        lambda count: jax.block_until_ready(compiled(count, *arguments)) and None,
        2.0 * shape.tasks * rows * multiplied,
    )


@contextmanager
def one_core() -> Iterator[None]:
    """Keep all threads of this process on one core, on Linux.

    A device of JAX is not a core: where kernels do not wait for each other, a single device lets
    several threads work.
    """
    threads = [int(path.name) for path in Path("/proc/self/task").iterdir()]
    before = {thread: os.sched_getaffinity(thread) for thread in threads}
    core = {min(os.sched_getaffinity(0))}
    try:
        for thread in threads:
            os.sched_setaffinity(thread, core)
        yield
    finally:
        for thread, cores in before.items():
            os.sched_setaffinity(thread, cores)


def seconds_each(run: Callable[[int], None], count: int) -> float:
    """Time ``count`` iterations; return the seconds of one."""
    start = time.perf_counter()
    run(count)
    return (time.perf_counter() - start) / count


def peak_bytes(run: Callable[[int], None], count: int) -> float | None:
    """Return by how much memory grows at its highest point in ``count`` iterations, on Linux."""
    if not REFERENCES.exists():
        return None
    try:
        ctypes.CDLL(None).malloc_trim(0)
        REFERENCES.write_text("5")  # forget the highest point so far
    except (OSError, AttributeError):
        return None
    before = _status("VmRSS")
    run(count)
    return max(_status("VmHWM") - before, 0.0)


def _status(name: str) -> float:
    line = next(one for one in STATUS.read_text().splitlines() if one.startswith(name))
    return float(line.split()[1]) * 1024
