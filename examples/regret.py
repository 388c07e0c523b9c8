"""How fast do regret and violation grow? FFML with the step sizes of its theorems.

``python examples/regret.py regret.svg`` also draws them.
"""

import sys

import jax.numpy as jnp
import numpy as np
from matplotlib.figure import Figure

import ffml
from ffml.base import Info, Model
from ffml.online.memory import MemorySettings
from ffml.recipe.recipes import Recipe, build_method
from ffml.research import analysis

ffml.configure()
NUM_TASKS, L2, RADIUS, SHOTS = 300, 1.0, 1.0, 8
MEMORY = MemorySettings(tasks_per_round=4, rows_per_task=32)

# A convex problem, learned from parameters that treat the groups very differently.
stream, linear = analysis.convex_stream(NUM_TASKS), ffml.models.linear()
model = Model(lambda key, n: {"w": jnp.full(n, 0.4), "b": jnp.zeros(())}, linear.apply)
constraint = ffml.constraints.decision_boundary_covariance(bound=0.1)
problem = ffml.fair_classification(stream.schema, model, constraint, l2=L2)

bounds = analysis.logistic_constants(stream, l2=L2, radius=RADIUS)
steps = analysis.theorem_settings(bounds, mean_multiplier=0.5)
print(f"G <= {bounds.gradient_bound:.2f}, H <= {bounds.smoothness:.2f}, μ >= {L2}")
print(f"η₁ = {steps['inner.lr']:.4f}, η₂ = {L2}/(t+1), δ = {steps['damping']:.3f}")
recipe = Recipe("ffml", settings=steps | {"num_outer_steps": 2})
learner = build_method(recipe, SHOTS)(problem)
size, common = bounds.constraint_lipschitz, {"radius": RADIUS, "num_steps": 1, "shots": SHOTS}
gen_olc = ffml.methods.gen_olc(problem, strong_convexity=L2, gradient_bound=size, **common)
still = learner._replace(
    update=lambda key, state, task, memory: (state, Info(0.0, np.zeros(1), np.zeros(1), 0))
)
found = {}
for name, player in {"FFML": learner, "GenOLC": gen_olc, "standing still": still}.items():
    game = analysis.record(problem, player, stream, shots=SHOTS, memory_settings=MEMORY)
    found[name] = analysis.analyse(game, range(20, NUM_TASKS + 1, 20), radius=RADIUS)
    regret, violation = found[name].regret, found[name].violation.clipped[:, 0]
    rates = [analysis.growth_rate(curve, found[name].rounds) for curve in (regret, violation)]
    print(
        f"{name}: regret {regret[-1]:.2f}, growing like T^{rates[0]:.2f}; "
        f"clipped violation {violation[-1]:.2f}, growing like T^{rates[1]:.2f}"
    )
if len(sys.argv) > 1:  # beside what Theorem 2 promises; standing still would dwarf them
    figure, T = Figure(figsize=(9, 3.6), layout="constrained"), np.arange(20, NUM_TASKS + 1, 20)
    for i, axes in enumerate(figure.subplots(1, 2)):
        for name in ("FFML", "GenOLC"):
            curve = (found[name].regret, found[name].violation.total.max(1))[i]
            axes.plot(T, curve, label=f"{name}, $T^{{{analysis.growth_rate(curve, T):.2f}}}$")
        for rate, shape in {"log T": np.log(T), "√(T log T)": np.sqrt(T * np.log(T))}.items():
            axes.plot(T, shape * curve.max() / shape.max(), "--", color="gray", label=f"c·{rate}")
        axes.set(title=("regret", "cumulative violation")[i], xlabel="rounds T")
        axes.legend()
    figure.savefig(sys.argv[1])
