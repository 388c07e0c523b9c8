r"""A stream whose unfairness and drift are known exactly, for tests and teaching.

Task t has a unit direction w_t. A person of group s, all k groups being equally likely, has

    x ~ N(bias · c_s · w_t, I),   y ~ Bernoulli(sigmoid(SHARPNESS · w_t·x)),

with c_s evenly spaced from -1/2 (first group) to 1/2 (last). The group acts on the label through
the features alone, so the Bayes classifier is 1[w_t·x > 0] whether or not it knows the group. It
accepts group s with probability Φ(bias · c_s), see `bayes_rates`, and the gap between the last
group and the first is Φ(bias/2) - Φ(-bias/2) in every task. With two groups, the decision
boundary covariance of the Bayes logit is SHARPNESS · bias.

w_t turns by ``drift`` radians from one task to the next within a plane drawn by the seed. The bias
may change from task to task (`BIASES`). With a ``proxy``, groups also lie that far apart in a
direction that has nothing to do with labels.

With a ``change`` the stream goes from one state to another (`CHANGES`), in one thing alone: what
labels say of people (w_t of the labels turns by a half circle, people stay as they were), who comes
(everybody moves by 2 along w_t), or of which group (nine of ten are of the last one).
"""

import math
from collections.abc import Callable, Iterator

import numpy as np

from ffml.base import FFMLError, Schema, SensitiveColumn, Stream, Task
from ffml.border import at_least, one_of
from ffml.datasets._people import Dataset

SHARPNESS = 3.0

# What the bias of task t of T is, in units of ``bias``.
BIASES: dict[str, Callable[[int, int, int], float]] = {
    "constant": lambda t, last, seed: 1.0,
    "drifting": lambda t, last, seed: 2.0 * t / last,
    "reversing": lambda t, last, seed: math.cos(math.pi * t / last),
    "by-task": lambda t, last, seed: np.random.default_rng([seed, 2, t]).normal(),
}

# How far the second state is reached in task t of T: 0 to 1.
CHANGES: dict[str, Callable[[int, int], float]] = {
    "none": lambda t, tasks: 0.0,
    "abrupt": lambda t, tasks: float(2 * t >= tasks),
    "gradual": lambda t, tasks: min(max(3 * t / tasks - 1, 0.0), 1.0),
    "recurring": lambda t, tasks: float(4 * t // tasks % 2),
}
CHANGED = ("labels", "features", "groups")


def load(
    *,
    seed: int = 0,
    num_tasks: int = 20,
    rows_per_task: int | tuple[int, int] = 200,
    num_features: int = 5,
    num_groups: int = 2,
    bias: float = 1.0,
    bias_over_time: str = "constant",
    drift: float = 0.1,
    proxy: float = 0.0,
    change: str = "none",
    change_in: str = "labels",
) -> Stream:
    """Generate tasks in the order of the drift; features are as drawn, not standardised.

    Args:
        seed: draws the plane of the drift, the tasks' sizes and their people.
        num_tasks: how many tasks.
        rows_per_task: people in a task, or a range (both ends included) to draw from.
        num_features: at least 2.
        num_groups: at least 2.
        bias: distance between the means of the last and the first group.
        bias_over_time: "constant", "drifting" (from 0 to twice the bias), "reversing" (from the
            bias to its opposite) or "by-task" (drawn for each task from a normal distribution).
        drift: angle between the directions of neighbouring tasks, in radians.
        proxy: distance between the groups' means in a direction that does not matter to labels;
            it needs 3 features.
        change: "none", "abrupt" (after half of the tasks), "gradual" (over the middle third) or
            "recurring" (there and back, twice).
        change_in: what changes: "labels", "features" or "groups".

    >>> stream = load(num_tasks=3, rows_per_task=(10, 20))
    >>> [task.x.shape for task in stream.tasks()]
    [(15, 5), (17, 5), (16, 5)]
    """
    low, high = (rows_per_task, rows_per_task) if isinstance(rows_per_task, int) else rows_per_task
    at_least(1, num_tasks=num_tasks, rows_per_task=low)
    at_least(2, num_features=num_features - bool(proxy), num_groups=num_groups)
    if high < low:
        raise FFMLError(f"rows_per_task must be (low, high) with low <= high, got {(low, high)}")
    if not (math.isfinite(bias) and math.isfinite(drift)):
        raise FFMLError(f"bias and drift must be finite, got {bias} and {drift}")
    bias_of = one_of("bias_over_time", bias_over_time, BIASES)
    changed = one_of("change", change, CHANGES)
    one_of("change_in", change_in, dict.fromkeys(CHANGED))
    aside = _plane(seed, num_features)[:, 2] if proxy else np.zeros(num_features)
    schema = Schema(
        features=tuple(f"x{i}" for i in range(num_features)),
        sensitive=(SensitiveColumn("group", tuple(f"g{i}" for i in range(num_groups))),),
    )

    def tasks() -> Iterator[Task]:
        for t in range(num_tasks):
            rng = np.random.default_rng([seed, 1, t])
            n = int(rng.integers(low, high, endpoint=True))
            w = direction(t, seed=seed, num_features=num_features, drift=drift)
            groups = rng.integers(num_groups, size=(n, 1))
            far = changed(t, num_tasks)
            if change_in == "groups":
                groups[rng.random(n) < 0.9 * far] = num_groups - 1
            shift = bias * bias_of(t, max(num_tasks - 1, 1), seed) * w + proxy * aside
            x = rng.normal(size=(n, num_features)) + _centres(num_groups)[groups] * shift
            x += 2 * far * (change_in == "features") * w
            turn = math.pi * far * (change_in == "labels")
            v = direction(t, seed=seed, num_features=num_features, drift=drift, turn=turn)
            y = rng.random(n) < 1 / (1 + np.exp(-SHARPNESS * (x @ v)))
            x = x.astype(np.float32)
            yield Task(f"task {t + 1}", x, y.astype(np.int32), groups.astype(np.int32))

    return Stream("synthetic", schema, tasks, num_tasks)


def direction(
    task: int, *, seed: int = 0, num_features: int = 5, drift: float = 0.1, turn: float = 0.0
) -> np.ndarray:
    """Return w_t of the task with that index, counted from 0: the weights of its Bayes classifier.

    ``turn`` is by how many radians more the labels have turned.

    >>> first, later = direction(0), direction(10)
    >>> bool(np.isclose(first @ later, np.cos(10 * 0.1)))
    True
    """
    plane = _plane(seed, num_features)[:, :2]
    return plane @ [math.cos(drift * task + turn), math.sin(drift * task + turn)]


def _plane(seed: int, num_features: int) -> np.ndarray:
    """Return three orthogonal directions: two that labels turn in, and one aside."""
    rng = np.random.default_rng([seed, 0])
    first = rng.normal(size=(num_features, 2))
    wide = np.concatenate([first, rng.normal(size=(num_features, 1))], axis=1)
    return np.linalg.qr(wide).Q if num_features > 2 else np.linalg.qr(first).Q


def bayes_rates(bias: float = 1.0, num_groups: int = 2) -> np.ndarray:
    """Return each group's probability of a positive decision of the Bayes classifier.

    >>> bayes_rates(bias=1.0).round(4).tolist()
    [0.3085, 0.6915]
    """
    return np.array([math.erfc(-bias * c / math.sqrt(2)) / 2 for c in _centres(num_groups)])


def _centres(num_groups: int) -> np.ndarray:
    return np.linspace(-0.5, 0.5, num_groups)


SYNTHETIC = Dataset(
    name="synthetic",
    summary="Generated people with a known bias between groups and a known drift",
    load=load,
    num_tasks=20,
    num_rows=4_000,
    task="one moment of the drift",
    label="drawn from a logistic model of the features",
    sensitive="group, which shifts the features along the direction that decides the label",
    citation="generated by ffml",
    licence="MIT",
    shipped=True,
)
