"""A fairness notion of your own: equal false positive rates (predictive equality)."""

import numpy as np

import ffml
from ffml.base import Constraint
from ffml.problem.notions import CONSTRAINTS, decision_constraint


def predictive_equality(
    bound: float = 0.05, temperature: float = 1.0, relative: bool = True
) -> Constraint:
    """``|mean(σ(h/τ) | s=1, y=0) - mean(σ(h/τ) | s=0, y=0)| - ε <= 0``."""
    return decision_constraint(
        "predictive-equality",
        {"": lambda batch: batch.weight * (1 - batch.y)},
        bound,
        temperature,
        relative,
    )


CONSTRAINTS["predictive-equality"] = predictive_equality  # now it has a name everywhere
ffml.configure()

rng = np.random.default_rng(0)
sex, town = rng.choice(["F", "M"], 2400), np.repeat(np.arange(12), 200)
X = rng.normal(size=(2400, 3)) + np.outer(sex == "M", [1.2, 0, 0])
y = X @ [1, 1, 0] + rng.logistic(size=2400) > 0.6

for max_gap in (None, 0.02):
    model = ffml.FairMetaClassifier(notion="predictive-equality", max_gap=max_gap)
    model.fit(X, y, sensitive_features=sex, tasks=town)
    last = model.rounds_[6:]
    [column] = last[0].tables
    counts = np.sum([r.tables[column] for r in last], axis=0)  # [group, label, decision]
    first, second = ffml.metrics.false_positive_rates(counts)
    print(
        f"asked for {max_gap}: false positive rates F {first:.2f}, M {second:.2f}, "
        f"balanced accuracy {ffml.metrics.balanced_accuracy(counts):.2f}"
    )
