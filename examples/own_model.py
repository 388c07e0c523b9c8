"""Keep your own classifier: FFML refits it as people come, and prices the gap of its decisions."""

import sys

import numpy as np
from matplotlib.figure import Figure
from sklearn.tree import DecisionTreeClassifier

import ffml

rng = np.random.default_rng(0)
sex = rng.choice(["F", "M"], 2400)
month = np.repeat([f"2024-{number:02d}" for number in range(1, 13)], 200)
X = rng.normal(size=(2400, 4)) + np.outer(sex == "M", [1, 0.5, 0, 0])
y = X[:, 0] + X[:, 1] * X[:, 2] + rng.logistic(size=2400) > 0.5

mine = DecisionTreeClassifier(min_samples_leaf=20, random_state=0)
figure = Figure(figsize=(8, 2.8), layout="constrained")
for max_gap, axes in zip((None, 0.05), figure.subplots(1, 2, sharey=True), strict=True):
    model = ffml.FairMetaClassifier(
        "refit",
        max_gap=max_gap,
        wrappers=["evened"],
        settings={"classifier": mine},
        shots=50,
    )
    model.fit(X, y, sensitive_features=sex, tasks=month)
    [column] = model.rounds_[0].tables
    counts = np.sum([record.tables[column] for record in model.rounds_], axis=0)
    by_month = [ffml.metrics.selection_rates(r.tables[column]) for r in model.rounds_]
    axes.plot(100 * np.array(by_month), ".-", label=["F", "M"])
    axes.set(title=f"asked for {max_gap}", xlabel="round", ylabel="selected, of 100")
    axes.legend(frameon=False, ncols=2)
    women, men = ffml.metrics.selection_rates(counts)
    print(
        f"asked for {max_gap}: F {women:.0%}, M {men:.0%} selected,"
        f" accuracy {ffml.metrics.accuracy(counts):.0%}"
    )
if sys.argv[1:]:
    figure.savefig(sys.argv[1], metadata={"Date": None})
