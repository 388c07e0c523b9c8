"""fairlearn's ThresholdOptimizer over boosting, refitted on everything seen: groups are known."""

import warnings
from typing import Any

import numpy as np

from ffml.base import Task
from ffml.draws import SPLIT, draws
from ffml.metrics import contingency_table
from ffml.metrics.summary import last_third
from ffml.online.judge import split_rows
from ffml.recipe.build import build
from ffml.recipe.config import RunConfig
from ffml.threads import one_thread


def optimized(config: RunConfig) -> dict[str, Any]:
    """Play a stream; return what its last third shows, by the people that other recipes judge."""
    experiment = build(config)
    column = experiment.stream.schema.sensitive[0]
    tasks = list(experiment.stream.tasks())[: config.rounds]
    first, tables = len(tasks) - len(last_third(tasks)), []
    for t in range(first, len(tasks)):
        y, group = tasks[t].y, tasks[t].groups[:, 0]
        rng = draws(config.seed, t + 1, SPLIT)
        rows = split_rows(len(y), config.validation_fraction, rng)
        decided = _decided(config, tasks[:t], tasks[t], rows.support, rows.validation)
        judged = y[rows.validation], decided, group[rows.validation]
        tables.append(contingency_table(*judged, len(column.groups)))
    return {
        "tables": {column.name: [table.tolist() for table in tables]},
        "balanced_accuracy": [_balanced(table) for table in tables],
    }


def _decided(
    config: RunConfig, past: list[Task], task: Task, support: np.ndarray, people: np.ndarray
) -> np.ndarray:
    from fairlearn.postprocessing import ThresholdOptimizer
    from sklearn.ensemble import HistGradientBoostingClassifier

    x, y, group = (
        np.concatenate([*(getattr(one, name) for one in past), getattr(task, name)[support]])
        for name in ("x", "y", "groups")
    )
    asked = None if config.max_gap is None else config.max_gap[0]
    optimizer = ThresholdOptimizer(
        estimator=HistGradientBoostingClassifier(random_state=0),
        objective="balanced_accuracy_score",
        predict_method="predict_proba",
        tol=1.0 if asked is None else asked,
    )
    with one_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        optimizer.fit(x, y, sensitive_features=group[:, 0])
        told = task.groups[people, 0]
        return optimizer.predict(task.x[people], sensitive_features=told, random_state=config.seed)


def _balanced(table: np.ndarray) -> float:
    """Return the balanced accuracy, NaN without both labels."""
    counts = table.sum(0)
    rows = counts[:2].sum(1)
    if not rows.all():
        return float("nan")
    return float((counts[0, 0] / rows[0] + counts[1, 1] / rows[1]) / 2)
