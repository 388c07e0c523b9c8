"""A process that was forked after JAX had started: anything that it asks of JAX waits forever."""

import os
import sys

from ffml.base import FFMLError

_forked_from_jax = False


def refuse_after_fork() -> None:
    """Refuse to learn in a forked process, where JAX would hang; predictions need no JAX."""
    if _forked_from_jax:
        raise FFMLError(
            "this process was forked after JAX had started, and would wait forever; use joblib's "
            "default backend 'loky' instead of 'multiprocessing', or start processes by 'spawn'"
        )


def _jax_has_started() -> bool:
    bridge = sys.modules.get("jax._src.xla_bridge")
    started = getattr(bridge, "backends_are_initialized", lambda: bridge is not None)
    return bool(started())


def _notice_fork() -> None:
    global _forked_from_jax
    _forked_from_jax = _jax_has_started()


if hasattr(os, "register_at_fork"):  # other systems do not fork
    os.register_at_fork(after_in_child=_notice_fork)
