"""When a round of learning ends: after all its iterations, or once nothing moves any more."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax import lax

from ffml.base import Array, Info, Params
from ffml.border import at_least, positive

# θ, λ, the optimiser's memory, and what the iterations so far have shown
Carry = tuple[Params, Array, Any, Info]
Iterate = Callable[[Array, Carry], Carry]
Stop = Callable[[Array, Iterate, Carry], Carry]  # most iterations, an iteration, start -> end


def all_steps() -> Stop:
    """Take all iterations, as the paper does."""

    def run(steps: Array, iterate: Iterate, start: Carry) -> Carry:
        return lax.fori_loop(0, steps, iterate, start)

    return run


def settled(tolerance: float = 0.01, window: int = 100) -> Stop:
    """End a round once θ, λ and the loss hardly change from one window of iterations to the next.

    Each iteration draws other rows, so single values never come to rest. Their means over a
    ``window`` do. A round ends after the first window whose three means differ from those of the
    window before by at most ``tolerance``, relative to their size (λ: to 1 where it is smaller)::

        |f̄ - f̄'| ≤ tol |f̄'|      ‖θ̄ - θ̄'‖ ≤ tol ‖θ̄'‖      ‖λ̄ - λ̄'‖ ≤ tol max(1, ‖λ̄'‖)

    A round has two windows at least, and never more iterations than it would have without.

    Args:
        tolerance: largest relative change that counts as none.
        window: iterations that are averaged.
    """
    positive(**{"stop.tolerance": tolerance})
    at_least(1, **{"stop.window": window})

    def run(steps: Array, iterate: Iterate, start: Carry) -> Carry:
        def goes_on(progress: _Progress) -> Array:
            return (progress.taken < steps) & ~progress.settled

        def next_window(progress: _Progress) -> _Progress:
            end = jnp.minimum(progress.taken + window, steps)
            count = end - progress.taken

            def one(i: Array, both: tuple[Carry, _Means]) -> tuple[Carry, _Means]:
                carry = iterate(i, both[0])
                seen = _Means(carry[0], carry[1], carry[3].loss)
                return carry, jax.tree.map(lambda mean, new: mean + new / count, both[1], seen)

            nothing = jax.tree.map(jnp.zeros_like, progress.means)
            carry, means = lax.fori_loop(progress.taken, end, one, (progress.carry, nothing))
            known = progress.taken > 0  # before the first window there is nothing to compare with
            settled = known & _close(means, progress.means, tolerance)
            return _Progress(end, carry, means, settled)

        means = _Means(start[0], start[1], start[3].loss)
        begin = _Progress(jnp.zeros_like(steps), start, means, jnp.zeros((), bool))
        return lax.while_loop(goes_on, next_window, begin).carry

    return run


class _Means(NamedTuple):
    """Means over the iterations of a window."""

    params: Params
    multipliers: Array
    loss: Array


class _Progress(NamedTuple):
    """Where a round is after some windows."""

    taken: Array  # () iterations so far
    carry: Carry
    means: _Means  # of the last window
    settled: Array  # () bool


def _close(now: _Means, before: _Means, tolerance: float) -> Array:
    moved = optax.tree.sub(now.params, before.params)
    turned = jnp.linalg.norm(now.multipliers - before.multipliers)
    return (
        (jnp.abs(now.loss - before.loss) <= tolerance * jnp.abs(before.loss))
        & (optax.tree.norm(moved) <= tolerance * optax.tree.norm(before.params))
        & (turned <= tolerance * jnp.maximum(1.0, jnp.linalg.norm(before.multipliers)))
    )


STOP: dict[str, Callable[..., Stop]] = {"all-steps": all_steps, "settled": settled}
