"""What boosted trees say about many people at once, in NumPy alone."""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from ffml.base import FFMLError
from ffml.features._coded import Codes, no_codes
from ffml.features._tables import LEAVES, Tables, Tree, number_of, tables_of

CHUNK_ROWS = 2048  # whose features are looked at together
SETS = 2**15  # of leaves, that are looked up together in a core's cache
MOST_KEPT = 32  # forests whose tables are kept
_kept: dict[tuple[int, ...], tuple[list[np.ndarray], Tables]] = {}  # by ids of arrays


class Forest(NamedTuple):
    """Trees one behind the other.

    Node 0 of a tree is its root. People at or below a node's threshold go on at ``left``, the
    others at the node after that. A leaf goes on nowhere (-1), and its threshold is what it adds.
    """

    start: np.ndarray  # () the logit before any tree
    sizes: np.ndarray  # (trees,) nodes of each
    left: np.ndarray  # (nodes,) counted from the root
    feature: np.ndarray  # (nodes,) or -1 - column of categories
    threshold: np.ndarray  # (nodes,)
    codes: Codes  # columns of categories

    @property
    def known(self) -> bool:
        """Whether there is a tree."""
        return len(self.sizes) > 0

    @property
    def roots(self) -> np.ndarray:
        """Where each tree begins."""
        return np.cumsum(self.sizes) - self.sizes

    def predict_proba(self, x: np.ndarray) -> np.ndarray:
        """Return the probabilities of both labels, as classifiers of scikit-learn do."""
        chance = expit(forest_logits(self, x))
        return np.stack([1 - chance, chance], axis=1)


def no_forest() -> Forest:
    """Return a forest without trees: everybody's logit is 0."""
    nodes, numbers = np.zeros(0, np.int32), np.zeros(0)
    return Forest(np.zeros(()), nodes, nodes, nodes, numbers, no_codes())


def forest_logits(forest: Forest, x: np.ndarray) -> np.ndarray:
    """Return the logits of people with these features: ``(n,)``."""
    return forests_logits((forest,), x)[:, 0]


def forests_logits(forests: Sequence[Forest], x: np.ndarray) -> np.ndarray:
    """Return the logits of people with these features by each forest: ``(n, forests)``.

    Raises:
        FFMLError: these are no trees, or trees for other features.
    """
    logits = np.tile([float(forest.start) for forest in forests], (len(x), 1))
    ends = np.cumsum([len(forest.sizes) for forest in forests])
    if not ends[-1]:
        return logits
    tables = _tables(forests, x.shape[1])
    shape = max(SETS // len(tables.first), 1), len(tables.first)
    # Memory that is asked for anew in each block would take longer to get than to fill.
    memory = np.empty(shape, np.uint16), np.empty(shape, np.uint16), np.empty(shape)
    for begin in range(0, len(x), CHUNK_ROWS):
        chunk = np.asarray(x[begin : begin + CHUNK_ROWS])
        numbers = np.concatenate([forest.codes.numbers(chunk) for forest in forests], axis=1)
        places = [table.combinations(chunk, numbers) for table in tables.tables]
        for start in range(0, len(chunk), len(memory[0])):
            here = slice(start, min(start + len(memory[0]), len(chunk)))
            added = _added(tables, [place[here] for place in places], here.stop - start, *memory)
            for i, part in enumerate(np.split(added, ends[:-1], axis=1)):
                logits[begin + start : begin + here.stop, i] += part.sum(1)
    return logits


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
    index = number_of(kept, out=kept) + tables.first
    return tables.values.take(index, out=values[:rows], mode="clip")


def _tables(forests: Sequence[Forest], features: int) -> Tables:
    """Return the tables of forests, made once."""
    parts = [part for forest in forests for part in (*forest[:-1], *forest.codes)]
    key = features, *map(id, parts)
    if key not in _kept:
        if not all(_sound(forest, features) for forest in forests):
            raise FFMLError(
                f"the trees of boosting are damaged, or not for {features} features; restore a "
                "copy of the file"
            )
        while len(_kept) >= MOST_KEPT:
            _kept.pop(next(iter(_kept)), None)
        _kept[key] = parts, tables_of(_trees(forests))  # parts are kept: no id is used anew
    return _kept[key][1]


def _trees(forests: Sequence[Forest]) -> list[Tree]:
    """Take forests apart; columns of categories are numbered through all of them."""
    trees, before = [], 0
    for forest in forests:
        feature = forest.feature - before * (forest.feature < 0)
        for begin, end in pairwise([0, *np.cumsum(forest.sizes)]):
            parts = (part[begin:end] for part in (forest.left, feature, forest.threshold))
            trees.append(Tree(*parts))
        before += forest.codes.width
    return trees


def _sound(forest: Forest, features: int) -> bool:
    """Tell whether every path ends in a leaf, and looks only at what there is."""
    left, sizes, codes = forest.left, forest.sizes, forest.codes
    lengths = {len(part) for part in (left, forest.feature, forest.threshold)}
    if (sizes < 1).any() or (sizes >= 2 * LEAVES).any() or lengths != {int(sizes.sum())}:
        return False
    if len({*map(len, codes)}) > 1 or not ((codes.column >= 0) & (codes.column < features)).all():
        return False
    root, size = (np.repeat(part, sizes) for part in (forest.roots, sizes))
    node = np.arange(len(left))
    child = (left + root)[left >= 0]
    return bool(
        ((left == -1) | ((left > node - root) & (left < size - 1))).all()
        and np.array_equal(np.sort([*child, *(child + 1)]), node[node > root])  # one parent each
        and ((forest.feature >= -codes.width) & (forest.feature < features)).all()
        and ((codes.feature >= 0) & (codes.feature < features)).all()
        and (np.abs(codes.place) <= features).all()
        and np.isfinite(forest.start)
        and (np.abs(forest.threshold) <= 1e300).all()
    )
