"""Boosting on one-hot features, and on one number for each column of categories: worth and time.

    python benchmarks/categories.py adult bank --repeats 3

The rows of all tasks of a stream are pooled and split at random. Boosting is fitted to at most
20,000 of them in both ways, and judged on as many others. Seconds are processor time of one fit.
"""

import argparse
import time

import numpy as np
from scipy.special import expit
from sklearn.metrics import log_loss, roc_auc_score
from streams import named

from ffml.features import _coded as coded
from ffml.features.forest import fit_boosting
from ffml.recipe.build import build
from ffml.recipe.config import configure_run
from ffml.runtime import configure

MOST_ROWS = 20_000
WAYS = {"one-hot": 10**9, "one number a column": coded.LEAST_FEATURES}  # least size of a bundle


def pooled(text: str) -> tuple[str, np.ndarray, np.ndarray]:
    """Return a stream's name, and features and labels of all its rows."""
    stream = named(text)
    tasks = list(build(configure_run(stream.data, {"data_options": stream.options})).stream.tasks())
    x, y = (np.concatenate([getattr(task, part) for task in tasks]) for part in ("x", "y"))
    return stream.name, x.astype(np.float32), y.astype(float)


def judged(x: np.ndarray, y: np.ndarray, seed: int, least: int) -> tuple[float, ...]:
    """Fit to some rows and judge on others: features, seconds, area under the curve, log loss."""
    order = np.random.default_rng(seed).permutation(len(y))
    size = min(MOST_ROWS, len(y) // 2)
    known, new = order[:size], order[size : 2 * size]
    before, coded.LEAST_FEATURES = coded.LEAST_FEATURES, least
    start = time.process_time()
    model = fit_boosting(x[known], y[known])
    seconds = time.process_time() - start
    coded.LEAST_FEATURES = before
    chance = expit(model.decision_function(x[new]))
    features = model.coded(x[:1]).shape[1]
    return features, seconds, roc_auc_score(y[new], chance), log_loss(y[new], chance)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("streams", nargs="*", default=["adult"])
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    configure(devices=1)
    print("| stream | boosting sees | features | seconds | area under the curve | log loss |")
    print("| --- | --- | ---: | ---: | ---: | ---: |")
    for text in arguments.streams:
        name, x, y = pooled(text)
        judged(x[:1000], y[:1000], 0, 3)  # what is loaded once is not timed
        for way, least in WAYS.items():
            found = np.array([judged(x, y, seed, least) for seed in range(arguments.repeats)])
            features, seconds, area, loss = found.mean(0)
            print(f"| {name} | {way} | {features:.0f} | {seconds:.2f} | {area:.4f} | {loss:.4f} |")


if __name__ == "__main__":
    main()
