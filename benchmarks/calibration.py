"""Do probabilities mean what they say, and would a recalibration learned from past rounds help?

    python benchmarks/calibration.py adult crime --seed 100

For every stream, over the judged people of the last third: the expected calibration error in points
(ten bins), beside what chance alone makes of it for labels drawn by the very probabilities; the
intercept and slope of the labels' logit on that of the probabilities (0 and 1 where all is right);
and the log loss. Then the same after a recalibration: for each round, intercept and slope of the
rounds before, which count 0.9 times as much with every round, pulled towards 0 and 1 as if by
20 people.
"""

import argparse

import numpy as np
from scipy.special import expit, logit
from streams import named

from ffml.metrics.reliability import reliability, reliability_counts
from ffml.metrics.summary import last_third
from ffml.online.loop import step
from ffml.recipe.build import build
from ffml.recipe.config import configure_run
from ffml.runtime import configure

MEMORY, PULL = 0.9, 20.0
CERTAIN = 1e-6
DRAWS = 100


def intercept_and_slope(
    logits: np.ndarray, labels: np.ndarray, weight: np.ndarray | None = None, pull: float = 1e-6
) -> np.ndarray:
    """Fit the labels' logit by that of the probabilities, by Newton steps.

    >>> rng = np.random.default_rng(0)
    >>> logits = rng.normal(size=50_000)
    >>> labels = rng.random(50_000) < expit(0.5 + 2 * logits)
    >>> intercept_and_slope(logits, labels).round(1).tolist()
    [0.5, 2.0]
    """
    found = start = np.array([0.0, 1.0])
    columns = np.stack([np.ones_like(logits), logits], axis=1)
    weight = np.ones_like(logits) if weight is None else weight
    for _ in range(30):
        chance = expit(columns @ found)
        slope = columns.T @ (weight * (chance - labels)) + pull * (found - start)
        curvature = (columns * (weight * chance * (1 - chance))[:, None]).T @ columns
        found = found - np.linalg.solve(curvature + pull * np.eye(2), slope)
    return found


def recalibrated(logits: list[np.ndarray], labels: list[np.ndarray]) -> list[np.ndarray]:
    """Correct the logits of each round by what the rounds before show."""
    corrected = logits[:1]
    for t in range(1, len(logits)):
        ages = [np.full(len(logits[s]), MEMORY ** (t - 1 - s)) for s in range(t)]
        past = (np.concatenate(part[:t]) for part in (logits, labels))
        intercept, slope = intercept_and_slope(*past, np.concatenate(ages), PULL)
        corrected.append(intercept + slope * logits[t])
    return corrected


def line(logits: list[np.ndarray], labels: list[np.ndarray]) -> str:
    """Write the figures of the last third as cells of a table."""
    h, y = (np.concatenate(last_third(part)) for part in (logits, labels))
    p, rng = expit(h), np.random.default_rng(0)
    by_chance = [error(p, rng.random(len(p)) < p) for _ in range(DRAWS)]
    intercept, slope = intercept_and_slope(h, y)
    loss = np.mean(np.logaddexp(0, h) - y * h)
    return (
        f"{100 * error(p, y):.1f} | {100 * np.mean(by_chance):.1f} | {intercept:+.2f} | "
        f"{slope:.2f} | {loss:.4f} |"
    )


def error(probabilities: np.ndarray, labels: np.ndarray) -> float:
    """Return the expected calibration error."""
    return reliability(reliability_counts(probabilities, labels))["error"]


def main() -> None:
    """Play the streams and print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("streams", nargs="*", default=["synthetic"], help="as in promise.py")
    parser.add_argument("--seed", type=int, default=100)
    parser.add_argument("--small", action="store_true", help="six rounds without boosting")
    arguments = parser.parse_args()
    configure(devices=1)
    print("| stream | people | probabilities | error | by chance | intercept | slope | log loss |")
    print("| --- | ---: | --- | ---: | ---: | ---: | ---: | ---: |")
    for text in arguments.streams:
        stream = named(text)
        given = {"seed": arguments.seed, "data_options": stream.options}
        given |= {"rounds": 6, "wrappers": ("evened",)} if arguments.small else {}
        experiment = build(configure_run(stream.data, given))
        state, logits, labels = experiment.state, [], []
        for t, task in enumerate(experiment.stream.tasks()):
            if t == experiment.config.rounds:
                break
            state, record = step(experiment.loop, state, task)
            decided = record.decided
            logits.append(logit(np.clip(decided.probabilities, CERTAIN, 1 - CERTAIN)))
            labels.append(np.asarray(task.y)[decided.rows].astype(float))
        people = sum(map(len, last_third(labels)))
        print(f"| {stream.name} | {people:,} | as they are | {line(logits, labels)}")
        print(f"| | | recalibrated | {line(recalibrated(logits, labels), labels)}", flush=True)


if __name__ == "__main__":
    main()
