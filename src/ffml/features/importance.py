"""By which inputs trees tell people apart: how much of what they say varies with each of them.

Over some people, what a tree says varies by ``Σ_nodes n_L n_R / (n_L + n_R) · (m_L - m_R)²`` / n,
with the people and the mean on either side of each node: every node has its part, and so has the
input that it looks at.
"""

from itertools import pairwise

import numpy as np

from ffml.features.scoring import Forest


def variance_by_feature(forest: Forest, x: np.ndarray) -> np.ndarray:
    """Return how much of what the trees say varies with each feature: ``(features,)``.

    A column of categories counts at its first feature.

    Args:
        forest: the trees.
        x: ``(n, features)`` people, at the features' own scale.
    """
    importance = np.zeros(x.shape[1])
    if not forest.known or not len(x):
        return importance
    numbers = forest.codes.numbers(x)
    codes = forest.codes
    first = [int(codes.feature[codes.column == c].min()) for c in range(codes.width)]
    for begin, end in pairwise([0, *np.cumsum(forest.sizes).tolist()]):
        left, feature, threshold = (
            part[begin:end] for part in (forest.left, forest.feature, forest.threshold)
        )
        for at, variance in _tree(left, feature, threshold, x, numbers):
            importance[at if at >= 0 else first[-1 - at]] += variance / len(x)
    return importance


def _tree(
    left: np.ndarray,
    feature: np.ndarray,
    threshold: np.ndarray,
    x: np.ndarray,
    numbers: np.ndarray,
) -> list[tuple[int, float]]:
    """Return what each inner node of a tree adds, with the feature that it looks at."""
    people, total, found = np.zeros(len(left)), np.zeros(len(left)), []
    here = {0: np.arange(len(x))}
    for node in range(len(left)):  # children come after their parent
        rows = here.pop(node)
        people[node] = len(rows)
        if left[node] < 0:
            total[node] = len(rows) * threshold[node]
            continue
        seen = x[rows, feature[node]] if feature[node] >= 0 else numbers[rows, -1 - feature[node]]
        beyond = ~(seen <= threshold[node])
        here[int(left[node])], here[int(left[node]) + 1] = rows[~beyond], rows[beyond]
    for node in reversed(range(len(left))):
        if left[node] < 0:
            continue
        a, b = int(left[node]), int(left[node]) + 1
        total[node] = total[a] + total[b]
        if people[a] and people[b]:
            apart = total[a] / people[a] - total[b] / people[b]
            part = people[a] * people[b] / people[node] * apart**2
            found.append((int(feature[node]), float(part)))
    return found
