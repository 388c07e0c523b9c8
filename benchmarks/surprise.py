"""What FFML's surprise correction does to decisions on people not yet met.

    python benchmarks/surprise.py [--streams N] [--bound ε] [--absolute]

Each stream is two years of loans as in docs/quickstart.md, from a generator of its own (seeds 100,
101, …). FFML learns it with the correction and without, with a relative temperature of 0.5 or the
default absolute one of 1. Reported are the decisions of the last two thirds of the months, every
month judged before it is learned from.
"""

import argparse

import numpy as np
import pandas as pd

import ffml
from ffml import FairMetaClassifier, metrics


def loans(seed: int) -> pd.DataFrame:
    """Draw two years in which one sex has the lower incomes."""
    rng, months = np.random.default_rng(seed), []
    for number, month in enumerate(pd.period_range("2023-01", "2024-12", freq="M").astype(str)):
        n = rng.integers(150, 600)
        rows = pd.DataFrame({"month": month, "sex": rng.choice(["F", "M"], n)})
        rows["job"] = rng.choice(["office", "shop", "farm"], n)
        rows["income"] = rng.normal(46 + 8 * (rows.sex == "M"), 12).round(1)
        rows["debt"] = rng.gamma(3, 6, n).round(1)
        score = (rows.income - 50) / 8 - (rows.debt - 18) / 5 + (rows.job == "office")
        rows["approved"] = np.where(score + rng.logistic(size=n) > 0.04 * number, "yes", "no")
        months.append(rows)
    return pd.concat(months, ignore_index=True)


def play(stream: pd.DataFrame, seed: int, bound: float, settings: dict) -> list[float]:
    """Return the gap in points (M over F), balanced accuracy, and λ at the end."""
    model = FairMetaClassifier(bound=bound, settings=settings, random_state=seed)
    inputs = stream[["job", "income", "debt"]]
    model.fit(inputs, stream.approved, sensitive_features=stream.sex, tasks=stream.month)
    counts = np.array([r.tables["sex"] for r in model.rounds_[model.n_rounds_ // 3 :]])
    rates, rows = metrics.selection_rates(counts), counts.sum((-2, -1))  # (month, sex)
    evidence = rows.prod(1) / rows.sum(1)  # n₁n₂/(n₁+n₂)
    gap = np.average(rates[:, 1] - rates[:, 0], weights=evidence)
    accuracy = metrics.balanced_accuracy(counts).mean()
    return [100 * gap, accuracy, *model.multipliers_.values()]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--streams", type=int, default=8)
    parser.add_argument("--bound", type=float, default=0.02)
    parser.add_argument("--absolute", action="store_true")
    arguments = parser.parse_args()
    if arguments.streams < 2:
        parser.error("a standard error needs at least 2 streams")
    ffml.configure()
    smooth = {} if arguments.absolute else {"relative_temperature": True, "temperature": 0.5}
    kind = "absolute" if arguments.absolute else "relative"
    outcomes = []
    for seed in range(100, 100 + arguments.streams):
        stream = loans(seed)
        outcomes.append(
            [
                play(stream, seed, arguments.bound, smooth | {"surprise_memory": memory})
                for memory in (0.9, 0.0)
            ]
        )
    corrected, plain = np.array(outcomes).swapaxes(0, 1)
    print(
        f"{kind} τ, bound {arguments.bound:g}, {arguments.streams} streams: mean ± standard error"
    )
    for name, values in {
        "surprise_memory 0.9": corrected,
        "surprise_memory 0": plain,
        "difference, pairwise": corrected - plain,
    }.items():
        mean, error = values.mean(0), values.std(0, ddof=1) / len(values) ** 0.5
        print(
            f"{name:<20}  gap {mean[0]:4.1f} ± {error[0]:.1f} points  "
            f"balanced accuracy {mean[1]:6.3f} ± {error[1]:.3f}  λ {mean[2]:5.2f}"
        )


if __name__ == "__main__":
    main()
