"""How fast do regret and violation grow? FFML with the step sizes of its theorems.

``python examples/regret.py regret.svg`` also draws them.
"""

import sys

import jax.numpy as jnp
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import ffml
from ffml.base import Info, Model
from ffml.online.memory import MemorySettings
from ffml.recipe.recipes import Recipe, build_method
from ffml.research import analysis

ffml.configure()
NUM_TASKS, L2, RADIUS, SHOTS = 300, 1.0, 1.0, 8

# A convex problem, learned from parameters that treat the groups very differently.
stream = analysis.convex_stream(NUM_TASKS)
model = Model(
    lambda key, n: {"w": jnp.full(n, 0.4), "b": jnp.zeros(())}, ffml.models.linear().apply
)
constraint = ffml.constraints.decision_boundary_covariance(bound=0.1)
problem = ffml.fair_classification(stream.schema, model, constraint, l2=L2)

bounds = analysis.logistic_constants(stream, l2=L2, radius=RADIUS)
steps = analysis.theorem_settings(bounds, mean_multiplier=0.5)
print(f"G <= {bounds.gradient_bound:.2f}, H <= {bounds.smoothness:.2f}, μ >= {L2}")
print(f"η₁ = {steps['inner.lr']:.4f}, η₂ = {L2}/(t+1), δ = {steps['damping']:.3f}")

recipe = Recipe("ffml", settings=steps | {"num_outer_steps": 2})
learner = build_method(recipe, SHOTS)(problem)
size = bounds.constraint_lipschitz
gen_olc = ffml.methods.gen_olc(
    problem, strong_convexity=L2, gradient_bound=size, radius=RADIUS, num_steps=1, shots=SHOTS
)
still = learner._replace(
    update=lambda key, state, task, memory: (state, Info(0.0, np.zeros(1), np.zeros(1), 0))
)
found = {}
for name, player in {"FFML": learner, "GenOLC": gen_olc, "standing still": still}.items():
    memory = MemorySettings(tasks_per_round=4, rows_per_task=32)
    game = analysis.record(problem, player, stream, shots=SHOTS, memory_settings=memory)
    found[name] = analysis.analyse(game, range(20, NUM_TASKS + 1, 20), radius=RADIUS)
    regret, violation = found[name].regret, found[name].violation.clipped[:, 0]
    rates = [analysis.growth_rate(curve, found[name].rounds) for curve in (regret, violation)]
    print(
        f"{name}: regret {regret[-1]:.2f}, growing like T^{rates[0]:.2f}; "
        f"clipped violation {violation[-1]:.2f}, growing like T^{rates[1]:.2f}"
    )


# Theorem 2: regret is O(log T) and violation O(√(T log T)).
RATES = {"log T": np.log, "√(T log T)": lambda rounds: np.sqrt(rounds * np.log(rounds))}


def draw(axes: Axes, title: str, curves: dict[str, tuple[np.ndarray, np.ndarray]]) -> None:
    """Draw curves against T, and the rates, fitted to the first of them."""
    for name, (rounds, values) in curves.items():
        exponent = analysis.growth_rate(values, rounds)
        axes.plot(rounds, values, lw=1.8, label=f"{name}, $T^{{{exponent:.2f}}}$")
    rounds, values = next(iter(curves.values()))
    for (name, rate), dash in zip(RATES.items(), ("--", ":"), strict=True):
        shape = rate(rounds)
        fitted = shape * (shape @ values) / (shape @ shape)
        axes.plot(rounds, fitted, dash, color="#5b5f66", lw=1.3, label=f"c·{name}")
    axes.set_title(title, loc="left", fontsize=11)
    axes.set_xlabel("rounds T")
    axes.legend(frameon=False)


if len(sys.argv) > 1:
    del found["standing still"]  # it would dwarf the others
    figure = Figure(figsize=(9, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    draw(left, "regret", {name: (a.rounds, a.regret) for name, a in found.items()})
    totals = {name: (a.rounds, a.violation.total.max(1)) for name, a in found.items()}
    draw(right, "cumulative violation", totals)
    figure.savefig(sys.argv[1])
