"""Boosted trees as lookup tables: a decision needs no walk from node to node.

A node whose threshold a person is above rules out the leaves on its left. The person ends in the
leftmost leaf that no node rules out. What a feature rules out depends only on the interval between
thresholds that it lies in: a table has a row for each interval, with a bitmask of leaves for each
tree. Features with few thresholds share a table, with a row for each combination of intervals.
Forests that look at the same people share all tables.

Reference: Lucchese et al., "QuickScorer: a Fast Algorithm to Rank Documents with Additive Ensembles
of Regression Trees", 2015.
"""

from typing import NamedTuple

import numpy as np

CELLS = 512  # of a grid over thresholds
MOST_PLACES = 256  # of features that share a table
LEAVES = 16  # of a tree at most: a set of them is a number of 16 bits
# 1, 2, 4, … 2¹⁵ times this differ in the highest four of 16 bits.
DE_BRUIJN = np.uint16(0x09AF)


class Tree(NamedTuple):
    """A tree's nodes, from its root on; see `Forest`."""

    left: np.ndarray
    feature: np.ndarray  # or -1 - column of categories, of all forests
    threshold: np.ndarray


class Grid(NamedTuple):
    """Equal cells between the least and the largest threshold on a feature: no search is needed.

    A value is beyond all thresholds of the cells before its own, and is compared with those in it.
    """

    edges: np.ndarray  # (thresholds,) from small to large
    cells_per_unit: float
    below: np.ndarray  # (cells + 1,) thresholds in cells before; in the last, nothing follows
    inside: tuple[np.ndarray, ...]  # (cells + 1,) each: a threshold in the cell, infinite for none

    def places(self, values: np.ndarray) -> np.ndarray:
        """Count the thresholds that each value is above; what is missing is above all."""
        low = self.edges[0]
        if len(self.edges) == 1:
            return (~(values <= low)).astype(np.intp)
        with np.errstate(over="ignore"):  # infinity is beyond the last cell too
            cells = (values - low) * self.cells_per_unit
        cell = np.fmin(np.maximum(cells, 0), len(self.below) - 1).astype(np.intp)
        place = self.below.take(cell)
        for thresholds in self.inside:
            place += values > thresholds.take(cell)
        return place


class Table(NamedTuple):
    """Bitmask of leaves still reachable, per combination of intervals of some features."""

    features: tuple[int, ...]  # or -1 - column of categories, of all forests
    grids: tuple[Grid, ...]  # of the thresholds on each of them
    left_over: np.ndarray  # (combinations of places, trees) leaves as bits

    def combinations(self, x: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        """Return which row of the table each person's features and categories lead to."""
        row: np.ndarray | int = 0
        for feature, grid in zip(self.features, self.grids, strict=True):
            values = x[:, feature] if feature >= 0 else numbers[:, -1 - feature]
            row = row * (len(grid.edges) + 1) + grid.places(values.astype(float))
        return np.asarray(row)


class Tables(NamedTuple):
    """Some forests as tables."""

    tables: tuple[Table, ...]
    values: np.ndarray  # (trees * LEAVES,) what a leaf adds to the logit, by its `number_of`
    first: np.ndarray  # (trees,) where those of a tree begin


def tables_of(trees: list[Tree]) -> Tables:
    """Make the tables of trees."""
    values = np.zeros((len(trees), LEAVES))
    rules: dict[int, list[tuple[float, int, int]]] = {}  # feature -> threshold, tree, leaves kept
    for i, tree in enumerate(trees):
        left, feature, threshold = (part.tolist() for part in tree)
        leaves: list[int] = []  # from left to right

        def below(node: int) -> int:
            """Number the leaves below a node; return them as bits."""
            if left[node] < 0:  # noqa: B023  it is done with before the next tree
                leaves.append(node)  # noqa: B023
                return 1 << len(leaves) - 1  # noqa: B023
            on_left = below(left[node])  # noqa: B023
            rule = threshold[node], i, 0xFFFF & ~on_left  # noqa: B023
            rules.setdefault(feature[node], []).append(rule)  # noqa: B023
            return on_left | below(left[node] + 1)  # noqa: B023

        below(0)
        bits = np.uint16(1) << np.arange(len(leaves), dtype=np.uint16)
        values[i, number_of(bits)] = tree.threshold[leaves]
    alone = [_table(feature, own, len(trees)) for feature, own in sorted(rules.items())]
    first = LEAVES * np.arange(len(trees), dtype=np.min_scalar_type(LEAVES * len(trees) | 0x100))
    return Tables(tuple(_shared(alone)), values.ravel(), first)


def number_of(bit: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """Number the 16 single bits from 0 to 15, each differently."""
    product = np.multiply(bit, DE_BRUIJN, out=out)
    return np.right_shift(product, np.uint16(12), out=product)


def _table(feature: int, rules: list[tuple[float, int, int]], trees: int) -> Table:
    """Make the table of one feature from its thresholds and the leaves that these keep."""
    edges = np.unique([threshold for threshold, _, _ in rules])
    left_over = np.full((len(edges) + 1, trees), 0xFFFF, np.uint16)
    for threshold, tree, kept in rules:
        left_over[np.searchsorted(edges, threshold) + 1, tree] &= kept
    return Table((feature,), (_grid(edges),), np.bitwise_and.accumulate(left_over, axis=0))


def _shared(tables: list[Table]) -> list[Table]:
    """Join tables, the smallest first, as long as they have few rows."""
    joined: list[Table] = []
    for table in sorted(tables, key=lambda table: len(table.left_over)):
        if joined and len(joined[-1].left_over) * len(table.left_over) <= MOST_PLACES:
            before = joined.pop()
            both = before.left_over[:, None] & table.left_over[None]
            table = Table(
                before.features + table.features,
                before.grids + table.grids,
                both.reshape(-1, both.shape[-1]),
            )
        joined.append(table)
    return joined


def _grid(edges: np.ndarray) -> Grid:
    """Lay a grid over thresholds, from small to large."""
    low, span = float(edges[0]), float(edges[-1] - edges[0])
    count = CELLS if span > 0 and np.isfinite(CELLS / span) else 1
    per_unit = (count - 1) / span if count > 1 else 1.0
    cell = ((edges - low) * per_unit).astype(np.intp)  # as `Grid.places` does it
    below = np.searchsorted(cell, np.arange(count + 1))
    inside = np.full((np.bincount(cell).max(), count + 1), np.inf)
    inside[np.arange(len(edges)) - below[cell], cell] = edges
    return Grid(edges, per_unit, below, tuple(inside))
