"""A loop over data frames: one round for each new month, then a model adapted to the next."""

import numpy as np
import pandas as pd

import ffml


def month(number: int, rows: int = 200) -> pd.DataFrame:
    """Draw a month of applications; what age is worth changes from month to month."""
    rng = np.random.default_rng(number)
    frame = pd.DataFrame({"sex": rng.choice(["F", "M"], rows)})
    frame["job"] = rng.choice(["office", "shop", None], rows, p=[0.6, 0.3, 0.1])
    frame["income"] = rng.normal(46 + 8 * (frame.sex == "M"), 12)
    frame["age"] = rng.integers(20, 65, rows)
    score = (frame.income - 50) / 8 + 0.2 * np.sin(2 * number) * (frame.age - 42)
    frame["approved"] = np.where(score + rng.logistic(size=rows) > 0, "yes", "no")
    return frame


FEATURES = ["job", "income", "age"]  # never the sensitive column
ffml.configure()  # one JAX device a core, and a compilation cache
model = ffml.FairMetaClassifier(notion="demographic-parity", max_gap=0.02)
for number in range(1, 9):
    frame = month(number)
    model.partial_fit(frame[FEATURES], frame.approved, sensitive_features=frame.sex)
    metrics = model.rounds_[-1].metrics
    print(
        f"month {number}: DP {metrics['dp']:.2f} of ceiling {metrics['dp_ceiling']:.2f}, "
        f"balanced accuracy {metrics['balanced_accuracy']:.2f}"
    )

# A month has begun: 60 outcomes are known, the others are to be decided about.
new = month(9)
known, others = new[:60], new[60:]
adapted = model.adapt(
    known[FEATURES],
    known.approved,
    sensitive_features=known.sex,
    unlabelled=others[FEATURES],
)
for name, classifier in (("as learned", model), ("adapted", adapted)):
    approved = classifier.predict(others[FEATURES]) == "yes"
    rates = pd.Series(approved).groupby(others.sex.to_numpy()).mean()
    print(
        f"new month, {name}: accuracy {classifier.score(others[FEATURES], others.approved):.2f}, "
        f"approved F {rates['F']:.2f}, M {rates['M']:.2f}"
    )
