"""What boosted trees say about many people at once, in NumPy alone.

Nobody walks through trees. A node of a tree that a person fails (the feature is above the
threshold) rules out the leaves on its left. So a person's leaf is the leftmost one that no node
rules out, and what a feature rules out depends only on where it lies among the thresholds on it:
a table has one row for each place, and one set of leaves, as bits, for each tree. Features with few
thresholds share a table, with a row for each combination of their places. Forests that look at the
same people share everything.

Reference: Lucchese et al., "QuickScorer: a Fast Algorithm to Rank Documents with Additive Ensembles
of Regression Trees", 2015.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ffml.base import FFMLError
from ffml.features._coded import Codes, no_codes

CHUNK_ROWS = 2048  # whose features are looked at together
SETS = 2**15  # of leaves, that are looked up together in a core's cache
CELLS = 512  # of a grid over thresholds
MOST_PLACES = 256  # of features that share a table
MOST_KEPT = 32  # forests whose tables are kept
LEAVES = 16  # of a tree at most: a set of them is a number of 16 bits
# Numbers 1, 2, 4, … 2¹⁵ times this have each another number in their highest four of 16 bits.
DE_BRUIJN = np.uint16(0x09AF)
_kept: dict[tuple[int, ...], tuple[list[np.ndarray], "Tables"]] = {}  # by ids of thresholds


class Forest(NamedTuple):
    """Trees one behind the other; node i of a tree goes on at ``left[i]`` or ``right[i]``.

    A leaf goes on at itself, so that ``depth`` steps lead from any root to a leaf.
    """

    start: np.ndarray  # () the logit before any tree
    roots: np.ndarray  # (trees,)
    feature: np.ndarray  # (nodes,) or -1 - bundle of features
    threshold: np.ndarray  # (nodes,) people at or below it go left
    left: np.ndarray  # (nodes,)
    right: np.ndarray  # (nodes,)
    value: np.ndarray  # (nodes,) what a leaf adds to the logit
    depth: np.ndarray  # () of the deepest tree
    codes: Codes  # bundles of features


def no_forest() -> Forest:
    """Return a forest without trees: everybody's logit is 0."""
    nodes, numbers = np.zeros(0, np.int32), np.zeros(0)
    zero = np.zeros((), np.int32)
    return Forest(np.zeros(()), nodes, nodes, numbers, nodes, nodes, numbers, zero, no_codes())


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
        cells = (values - low) * self.cells_per_unit
        cell = np.fmin(np.maximum(cells, 0), len(self.below) - 1).astype(np.intp)
        place = self.below.take(cell)
        for thresholds in self.inside:
            place += values > thresholds.take(cell)
        return place


class Table(NamedTuple):
    """What leaves the places of some features leave over."""

    features: tuple[int, ...]
    grids: tuple[Grid, ...]  # of the thresholds on each of them
    left_over: np.ndarray  # (combinations of places, trees) leaves as bits

    def combinations(self, x: np.ndarray) -> np.ndarray:
        """Return which row of the table each person's features lead to."""
        found: np.ndarray | int = 0
        for feature, grid in zip(self.features, self.grids, strict=True):
            found = found * (len(grid.edges) + 1) + grid.places(x[:, feature])
        return np.asarray(found)


class Tables(NamedTuple):
    """All that forests know, in the order in which people are asked."""

    tables: tuple[Table, ...]
    values: np.ndarray  # (trees * LEAVES,) what a leaf adds to the logit, by its `_number`
    first: np.ndarray  # (trees,) where those of a tree begin


def forest_logits(forest: Forest, x: np.ndarray) -> np.ndarray:
    """Return the logits of people with these features: ``(n,)``."""
    return forests_logits((forest,), x)[:, 0]


def forests_logits(forests: Sequence[Forest], x: np.ndarray) -> np.ndarray:
    """Return the logits of people with these features by each forest: ``(n, forests)``."""
    logits = np.tile([float(forest.start) for forest in forests], (len(x), 1))
    ends = np.cumsum([len(forest.roots) for forest in forests])
    if not ends[-1]:
        return logits
    tables = tables_of(forests)
    shape = max(SETS // len(tables.first), 1), len(tables.first)
    # Memory that is asked for anew in each block would take longer to get than to fill.
    memory = np.empty(shape, np.uint16), np.empty(shape, np.uint16), np.empty(shape)
    for begin in range(0, len(x), CHUNK_ROWS):
        chunk = with_codes(forests, x[begin : begin + CHUNK_ROWS])
        places = [table.combinations(chunk) for table in tables.tables]
        for start in range(0, len(chunk), len(memory[0])):
            here = slice(start, min(start + len(memory[0]), len(chunk)))
            added = _added(tables, [place[here] for place in places], here.stop - start, *memory)
            for i, part in enumerate(np.split(added, ends[:-1], axis=1)):
                logits[begin + start : begin + here.stop, i] += part.sum(1)
    return logits


def with_codes(forests: Sequence[Forest], x: np.ndarray) -> np.ndarray:
    """Add the numbers of all bundles on the right: the last column is the first bundle's."""
    x = np.asarray(x, float)
    bundles = sum(forest.codes.width for forest in forests)
    columns = np.empty((len(x), x.shape[1] + bundles), order="F")
    columns[:, : x.shape[1]] = x
    end = columns.shape[1]
    for forest in forests:
        begin = end - forest.codes.width
        columns[:, begin:end] = forest.codes.numbers(x)[:, ::-1]
        end = begin
    return columns


def _added(
    tables: Tables,
    places: list[np.ndarray],
    rows: int,
    leaves: np.ndarray,
    kept: np.ndarray,
    values: np.ndarray,
) -> np.ndarray:
    """Return what each tree adds to the logits of people at these places: ``(rows, trees)``."""
    leaves, kept = leaves[:rows], kept[:rows]
    leaves[:] = 0xFFFF
    for table, place in zip(tables.tables, places, strict=True):
        # Places are never beyond the table: "clip" is the mode that needs no memory of its own.
        table.left_over.take(place, axis=0, out=kept, mode="clip")
        leaves &= kept
    np.negative(leaves, out=kept)
    kept &= leaves  # the lowest bit
    index = _number(kept, out=kept) + tables.first
    return tables.values.take(index, out=values[:rows], mode="clip")


def tables_of(forests: Sequence[Forest]) -> Tables:
    """Return the tables of forests, made once."""
    thresholds = [forest.threshold for forest in forests]
    key = tuple(map(id, thresholds))
    if key not in _kept:
        while len(_kept) >= MOST_KEPT:
            _kept.pop(next(iter(_kept)), None)
        _kept[key] = thresholds, _tables(forests)  # thresholds are kept: no id is used anew
    return _kept[key][1]


def _tables(forests: Sequence[Forest]) -> Tables:
    bundles = np.cumsum([0, *(forest.codes.width for forest in forests)])
    trees = [
        (forest, int(root), int(before))
        for forest, before in zip(forests, bundles, strict=False)
        for root in forest.roots
    ]
    values = np.zeros((len(trees), LEAVES))
    nodes: dict[int, list[tuple[float, int, int]]] = {}  # feature -> threshold, tree, leaves kept

    def leaves_below(node: int, tree: int, found: list[int], depth: int = 0) -> int:
        """Number the leaves below a node from left to right; return them as bits."""
        forest, _, bundles_before = trees[tree]
        left, right = int(forest.left[node]), int(forest.right[node])
        if max(depth, len(found)) >= LEAVES:
            raise FFMLError(f"a tree has more than {LEAVES} leaves; restore a copy of the file")
        if left == node:
            bit = 1 << len(found)
            values[tree, _number(np.array([bit], np.uint16))] = forest.value[node]
            found.append(node)
            return bit
        on_left = leaves_below(left, tree, found, depth + 1)
        kept = (float(forest.threshold[node]), tree, 0xFFFF & ~on_left)
        feature = int(forest.feature[node])
        nodes.setdefault(feature - bundles_before * (feature < 0), []).append(kept)
        return on_left | leaves_below(right, tree, found, depth + 1)

    for tree, (_, root, _) in enumerate(trees):
        leaves_below(root, tree, [])
    alone = [_table(feature, rules, len(trees)) for feature, rules in sorted(nodes.items())]
    first = LEAVES * np.arange(len(trees), dtype=np.min_scalar_type(LEAVES * len(trees) | 0x100))
    return Tables(tuple(_shared(alone)), values.ravel(), first)


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


def _number(bit: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """Return another number below `LEAVES` for each single bit."""
    product = np.multiply(bit, DE_BRUIJN, out=out)
    return np.right_shift(product, np.uint16(12), out=product)
