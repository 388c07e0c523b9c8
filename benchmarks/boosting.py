"""Libraries for gradient boosting beside each other: worth, time of fits, decisions, bytes.

    python benchmarks/boosting.py adult "loans.csv label=approved sensitive=sex task=month"

Boosting is fitted to at most 20,000 rows of a stream's earlier tasks, once for the label and once
for the most frequent group, and judged on all later tasks; three times, at another point of the
stream each. Seconds are processor time of one thread, the least of three. All have as many leaves
and steps; libraries that are not installed are left out. "as they come" are a library's defaults.
"""

import argparse
import importlib.util
import pickle
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit
from sklearn.metrics import log_loss, roc_auc_score
from streams import named

from ffml.features._coded import Codes, bundles
from ffml.features.forest import Target, fit_forests
from ffml.features.scoring import forests_logits
from ffml.recipe.build import build
from ffml.recipe.config import configure_run
from ffml.runtime import configure
from ffml.threads import one_thread

MOST_ROWS = 20_000
DECISIONS = 100_000
POINTS = (0.4, 0.6, 0.8)  # of the tasks are known


class Fit(NamedTuple):
    """What a library made of the rows: logits of both targets, and what it would write down."""

    logits: Callable[[np.ndarray], np.ndarray]
    bytes: int


class Library(NamedTuple):
    """How to fit both targets; and what people are to it: features, or codes of categories."""

    needs: str
    coded: bool
    fit: Callable[[np.ndarray, list[np.ndarray], np.ndarray, int], Fit]
    # ^ features or codes, targets, weights, and how many of the last columns are codes


def ffml(x, targets, weight, categories):
    forests = fit_forests(x, [Target(y, weight, x.shape[1]) for y in targets])
    return Fit(lambda new: forests_logits(forests, new), _size(forests))


def one_hot(x, targets, weight, categories):
    forests = fit_forests(x, [Target(y, weight, x.shape[1]) for y in targets], [])
    return Fit(lambda new: forests_logits(forests, new), _size(forests))


def _size(forests):
    return sum(part.nbytes for f in forests for part in (*f[:-1], *f.codes))


def scikit_learn(x, targets, weight, categories, **settings):
    from sklearn.ensemble import HistGradientBoostingClassifier

    kinds = np.arange(x.shape[1]) >= x.shape[1] - categories
    settings = {"early_stopping": False, "random_state": 0} | settings
    model = HistGradientBoostingClassifier(categorical_features=kinds, **settings)
    models = [type(model)(**model.get_params()).fit(x, y, sample_weight=weight) for y in targets]
    return Fit(
        lambda new: np.stack([m.decision_function(new) for m in models], 1),
        len(pickle.dumps(models)),
    )


def lightgbm(x, targets, weight, categories, rounds=100, **settings):
    import lightgbm

    settings |= {"objective": "binary", "num_threads": 1, "verbose": -1, "deterministic": True}
    codes = [*range(x.shape[1] - categories, x.shape[1])]
    rows = lightgbm.Dataset(
        x, weight=weight, categorical_feature=codes, params=settings
    ).construct()
    models = [lightgbm.train(settings, rows.set_label(y), rounds) for y in targets]
    return Fit(
        lambda new: np.stack([m.predict(new, raw_score=True, num_threads=1) for m in models], 1),
        sum(len(m.model_to_string()) for m in models),
    )


def xgboost(x, targets, weight, categories, rounds=100, **settings):
    import xgboost

    settings |= {"objective": "binary:logistic", "nthread": 1}
    kinds = ["q"] * (x.shape[1] - categories) + ["c"] * categories
    rows = xgboost.DMatrix(
        x, weight=weight, feature_types=kinds, enable_categorical=True, nthread=1
    )
    models = []
    for y in targets:
        rows.set_label(y)
        models.append(xgboost.train(settings, rows, rounds))
    return Fit(
        lambda new: np.stack([m.inplace_predict(new, predict_type="margin") for m in models], 1),
        sum(len(m.save_raw()) for m in models),
    )


def _with(fit, **settings):
    return lambda *given: fit(*given, **settings)


SCIKIT = {"max_iter": 60, "max_leaf_nodes": 15, "learning_rate": 0.2, "l2_regularization": 1.0}
LIGHT = {"rounds": 60, "num_leaves": 15, "learning_rate": 0.2, "lambda_l2": 1.0}
XG = {"rounds": 60, "max_leaves": 15, "max_depth": 0, "grow_policy": "lossguide", "eta": 0.2}
LIBRARIES = {
    "ffml (XGBoost, a number a category)": Library("xgboost", False, ffml),
    "ffml, one-hot": Library("xgboost", False, one_hot),
    "scikit-learn": Library("sklearn", True, _with(scikit_learn, **SCIKIT)),
    "LightGBM": Library("lightgbm", True, _with(lightgbm, **LIGHT)),
    "XGBoost": Library("xgboost", True, _with(xgboost, **XG)),
    "scikit-learn as it comes": Library("sklearn", True, scikit_learn),
    "LightGBM as it comes": Library("lightgbm", True, lightgbm),
    "XGBoost as it comes": Library("xgboost", True, xgboost),
}


def codes_of(x: np.ndarray, categories: list[list[int]]) -> np.ndarray:
    """Return numbers, and behind them the number of each category among its like."""
    sizes = [*map(len, categories)]
    member = np.array([i for members in categories for i in members], int)
    place = np.concatenate([np.zeros(0), *(1.0 + np.arange(size) for size in sizes)])
    codes = Codes(member, np.repeat(np.arange(len(sizes)), sizes), place)
    numbers = np.setdiff1d(np.arange(x.shape[1]), member)
    return np.c_[x[:, numbers], codes.numbers(x)].astype(np.float32)


def splits(text: str) -> tuple[str, np.ndarray, list[np.ndarray], Iterator[Any]]:
    """Return a stream's name, features and both targets of all rows, and which are known when."""
    stream = named(text)
    tasks = list(build(configure_run(stream.data, {"data_options": stream.options})).stream.tasks())
    x, y, groups = (
        np.concatenate([getattr(t, part) for t in tasks]) for part in ("x", "y", "groups")
    )
    task = np.repeat(np.arange(len(tasks)), [len(t.y) for t in tasks])
    targets = [y.astype(float), 1.0 * (groups[:, 0] == np.bincount(groups[:, 0]).argmax())]

    def known(seed: int, point: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        rng, last = np.random.default_rng(seed), np.quantile(task, point)
        rows = np.sort(rng.permutation(np.flatnonzero(task <= last))[:MOST_ROWS])
        return rows, np.flatnonzero(task > last), rng.uniform(0.5, 2, len(rows))

    return stream.name, x, targets, (known(i, point) for i, point in enumerate(POINTS))


def least(call: Callable[[], Any]) -> tuple[float, Any]:
    """Call three times; return the least processor time, and what came back."""
    times = []
    for _ in range(3):
        start = time.process_time()
        found = call()
        times.append(time.process_time() - start)
    return min(times), found


def judged(library: Library, x, targets, rows, new, weight) -> list[float]:
    """Fit and judge: seconds of both and of one, µs a decision, areas, losses, bytes."""
    categories = bundles(x[rows])
    seen = codes_of(x, categories) if library.coded else x.astype(np.float32)
    known = [y[rows] for y in targets]
    one, _ = least(lambda: library.fit(seen[rows], known[:1], weight, len(categories)))
    both, fit = least(lambda: library.fit(seen[rows], known, weight, len(categories)))
    many = np.resize(seen[new], (DECISIONS, seen.shape[1]))
    fit.logits(many[:10])
    seconds, _ = least(lambda: fit.logits(many))
    logits = fit.logits(seen[new])
    areas = [roc_auc_score(y[new], logit) for y, logit in zip(targets, logits.T, strict=True)]
    losses = [log_loss(y[new], expit(logit)) for y, logit in zip(targets, logits.T, strict=True)]
    return [
        one,
        both,
        1e6 * seconds / DECISIONS,
        areas[0],
        losses[0],
        areas[1],
        losses[1],
        fit.bytes,
    ]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("streams", nargs="*", default=["adult"])
    parser.add_argument("--points", type=int, default=len(POINTS), help="how many, to be quick")
    arguments = parser.parse_args()
    configure(devices=1)
    print(
        "| stream | library | one fit, s | both, s | a decision by both, µs | label: area | "
        "log loss | group: area | log loss | kB |\n| --- | --- | " + " | ".join(["---:"] * 8) + " |"
    )
    for text in arguments.streams:
        name, x, targets, points = splits(text)
        known = [next(points) for _ in range(arguments.points)]
        for kind, library in LIBRARIES.items():
            if importlib.util.find_spec(library.needs) is None:
                continue
            with one_thread():
                found = np.array([judged(library, x, targets, *point) for point in known])
            one, both, decision = found[:, :3].min(0)
            areas = " | ".join(f"{value:.4f}" for value in found[:, 3:7].mean(0))
            times, size = f"{one:.3f} | {both:.3f} | {decision:.2f}", found[:, 7].mean() / 1000
            print(f"| {name} | {kind} | {times} | {areas} | {size:.0f} |", flush=True)


if __name__ == "__main__":
    main()
