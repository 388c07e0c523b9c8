"""What boosted trees say about many people at once, in NumPy alone.

Nobody walks through trees. A node of a tree that a person fails (the feature is above the
threshold) rules out the leaves on its left. So a person's leaf is the leftmost one that no node
rules out, and what a feature rules out depends only on where it lies among the thresholds on it:
each feature has a table with one row for each place, and one set of leaves, as bits, for each tree.

Reference: Lucchese et al., "QuickScorer: a Fast Algorithm to Rank Documents with Additive Ensembles
of Regression Trees", 2015.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ffml.base import FFMLError

BLOCK_ROWS = 1024  # whose sets of leaves stay in a core's cache
CELLS = 512  # of a grid over thresholds
MOST_KEPT = 32  # forests whose tables are kept
_BITS = np.array([1 << i for i in range(16)], np.uint16)
_kept: dict[int, tuple[np.ndarray, "Tables"]] = {}  # by the id of the forest's thresholds


class Forest(NamedTuple):
    """Trees one behind the other; node i of a tree goes on at ``left[i]`` or ``right[i]``.

    A leaf goes on at itself, so that ``depth`` steps lead from any root to a leaf.
    """

    start: np.ndarray  # () the logit before any tree
    roots: np.ndarray  # (trees,)
    feature: np.ndarray  # (nodes,)
    threshold: np.ndarray  # (nodes,) people at or below it go left
    left: np.ndarray  # (nodes,)
    right: np.ndarray  # (nodes,)
    value: np.ndarray  # (nodes,) what a leaf adds to the logit
    depth: np.ndarray  # () of the deepest tree


def no_forest() -> Forest:
    """Return a forest without trees: everybody's logit is 0."""
    nodes, numbers = np.zeros(0, np.int32), np.zeros(0)
    zero = np.zeros((), np.int32)
    return Forest(np.zeros(()), nodes, nodes, numbers, nodes, nodes, numbers, zero)


class Grid(NamedTuple):
    """Equal cells between the least and the largest threshold on a feature: no search is needed.

    A value is beyond all thresholds of the cells before its own, and is compared with those in it.
    """

    low: float
    cells_per_unit: float
    below: np.ndarray  # (cells + 1,) thresholds in cells before; in the last, nothing follows
    inside: tuple[np.ndarray, ...]  # (cells + 1,) each: a threshold in the cell, infinite for none

    def places(self, values: np.ndarray) -> np.ndarray:
        """Count the thresholds that each value is above; what is missing is above all."""
        cells = (values - self.low) * self.cells_per_unit
        cell = np.fmin(np.maximum(cells, 0), len(self.below) - 1).astype(np.intp)
        place = self.below.take(cell)
        for thresholds in self.inside:
            place += values > thresholds.take(cell)
        return place


class Tables(NamedTuple):
    """What leaves each feature leaves over, and what each leaf says."""

    features: tuple[int, ...]  # those that some node looks at
    grids: tuple[Grid, ...]  # of the thresholds on each of them
    left_over: tuple[np.ndarray, ...]  # of each of them: (places, trees) leaves as bits
    values: np.ndarray  # (trees * 16,) what a leaf adds to the logit
    first: np.ndarray  # (trees,) where those of a tree begin


def forest_logits(forest: Forest, x: np.ndarray) -> np.ndarray:
    """Return the logits of people with these features: ``(n,)``."""
    logits = np.full(len(x), float(forest.start))
    if not len(forest.roots):
        return logits
    tables = tables_of(forest)
    leftmost = _leftmost()
    for begin in range(0, len(x), BLOCK_ROWS):
        rows = slice(begin, begin + BLOCK_ROWS)
        block = np.asarray(x[rows], float)
        leaves = np.full((len(block), len(forest.roots)), 0xFFFF, np.uint16)
        for feature, grid, left_over in zip(
            tables.features, tables.grids, tables.left_over, strict=True
        ):
            leaves &= left_over.take(grid.places(block[:, feature]), axis=0)
        logits[rows] += tables.values.take(leftmost.take(leaves) + tables.first).sum(1)
    return logits


def tables_of(forest: Forest) -> Tables:
    """Return the tables of a forest, made once."""
    key = id(forest.threshold)
    if key not in _kept:
        while len(_kept) >= MOST_KEPT:
            _kept.pop(next(iter(_kept)), None)
        _kept[key] = forest.threshold, _tables(forest)  # which keeps the id from being used anew
    return _kept[key][1]


def _tables(forest: Forest) -> Tables:
    trees = len(forest.roots)
    values = np.zeros((trees, len(_BITS)))
    nodes: dict[int, list[tuple[float, int, int]]] = {}  # feature -> threshold, tree, leaves kept

    def leaves_below(node: int, tree: int, found: list[int], depth: int = 0) -> int:
        """Number the leaves below a node from left to right; return them as bits."""
        left, right = int(forest.left[node]), int(forest.right[node])
        if max(depth, len(found)) >= len(_BITS):
            raise FFMLError(f"a tree has more than {len(_BITS)} leaves; restore a copy of the file")
        if left == node:
            values[tree, len(found)] = forest.value[node]
            found.append(node)
            return 1 << (len(found) - 1)
        on_left = leaves_below(left, tree, found, depth + 1)
        kept = (float(forest.threshold[node]), tree, 0xFFFF & ~on_left)
        nodes.setdefault(int(forest.feature[node]), []).append(kept)
        return on_left | leaves_below(right, tree, found, depth + 1)

    for tree, root in enumerate(forest.roots):
        leaves_below(int(root), tree, [])
    features = tuple(sorted(nodes))
    thresholds = tuple(np.unique([t for t, _, _ in nodes[feature]]) for feature in features)
    left_over = []
    for feature, edges in zip(features, thresholds, strict=True):
        table = np.full((len(edges) + 1, trees), 0xFFFF, np.uint16)
        for threshold, tree, kept in nodes[feature]:
            table[np.searchsorted(edges, threshold) + 1, tree] &= kept
        left_over.append(np.bitwise_and.accumulate(table, axis=0))
    first = len(_BITS) * np.arange(trees, dtype=np.int32)
    grids = tuple(_grid(edges) for edges in thresholds)
    return Tables(features, grids, tuple(left_over), values.ravel(), first)


def _grid(edges: np.ndarray) -> Grid:
    """Lay a grid over thresholds, from small to large."""
    low, span = float(edges[0]), float(edges[-1] - edges[0])
    count = CELLS if span > 0 and np.isfinite(CELLS / span) else 1
    per_unit = (count - 1) / span if count > 1 else 1.0
    cell = ((edges - low) * per_unit).astype(np.intp)  # as `Grid.places` does it
    below = np.searchsorted(cell, np.arange(count + 1))
    inside = np.full((np.bincount(cell).max(), count + 1), np.inf)
    inside[np.arange(len(edges)) - below[cell], cell] = edges
    return Grid(low, per_unit, below, tuple(inside))


@lru_cache(maxsize=1)
def _leftmost() -> np.ndarray:
    """Return the place of the lowest bit of each number of 16 bits."""
    places = np.zeros(1 << len(_BITS), np.int32)
    for place, bit in reversed(list(enumerate(_BITS))):
        places[(np.arange(len(places)) & int(bit)) > 0] = place
    return places
