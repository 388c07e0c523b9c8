"""The bare program: the paper's outer iteration by hand, without a package around it.

It is given its rows; everyone else of this package draws them anew in each iteration.
"""

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from outer.shapes import BOUND, INNER_LR, LAMBDA, Contender, Given, on_devices


def bare(given: Given, devices: int, label: str) -> Contender:
    """Write Eq. 6-10 down for one network and one constraint."""
    steps = given.shape.steps

    def logits(params: Any, x: Any) -> Any:
        for layer in params[:-1]:
            x = jax.nn.relu(x @ layer["w"] + layer["b"])
        return (x @ params[-1]["w"] + params[-1]["b"])[:, 0]

    def look(params: Any, rows: Any) -> tuple[Any, Any]:
        x, y, s = rows
        h = logits(params, x)
        gap = h @ s / s.sum() - h @ (1 - s) / (1 - s).sum()
        return jnp.mean(jax.nn.softplus(h) - y * h), jnp.abs(gap) - BOUND

    def task(theta: Any, lam: Any, support: Any, query: Any) -> Any:
        params, own = theta, lam
        for step in range(steps):
            (loss, g), back = jax.vjp(lambda p: look(p, support), params)
            if step:
                own = jnp.maximum(own + INNER_LR * g, 0)
            slope = back((jnp.ones_like(loss), own))[0]
            params = jax.tree.map(lambda p, d: p - INNER_LR * d, params, slope)
        loss, g = look(params, query)
        return loss + lam * g

    def lagrangian(theta: Any, lam: Any, support: Any, query: Any) -> Any:
        return jax.vmap(task, (None, None, 0, 0))(theta, lam, support, query).mean()

    slopes = jax.grad(lagrangian, (0, 1))

    @jax.jit
    def iterate(count: Any, theta: Any, lam: Any, support: Any, query: Any) -> Any:
        def step(_: Any, pair: Any) -> Any:
            slope, dual = slopes(*pair, support, query)
            theta = jax.tree.map(lambda p, d: p - 0.01 * d, pair[0], slope)
            return theta, jnp.maximum(pair[1] + 0.01 * (dual - 0.5 * pair[1]), 0)

        return lax.fori_loop(0, count, step, (theta, lam))

    rows = on_devices((tuple(given.support), tuple(given.query)), devices)
    start = (given.params, jnp.float32(LAMBDA))
    compiled = iterate.lower(10, *start, *rows).compile()

    def run(count: int) -> None:
        jax.block_until_ready(compiled(count, *start, *rows))

    return Contender(
        "bare JAX program, rows given",
        label,
        run,
        (lambda: jax.device_get(jax.jit(slopes)(*start, *rows))) if devices == 1 else None,
        compiled.cost_analysis()["flops"] * devices,
    )
