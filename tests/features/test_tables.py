"""Trees as tables."""

import numpy as np

from ffml.features._tables import CELLS, LEAVES, MOST_PLACES, Tree, number_of, tables_of


def stump(feature, threshold):
    return Tree(np.array([1, -1, -1]), np.array([feature, 0, 0]), np.array([threshold, -1.0, 1.0]))


def test_each_leaf_has_a_number_of_its_own():
    bits = np.uint16(1) << np.arange(LEAVES, dtype=np.uint16)
    assert sorted(number_of(bits)) == [*range(LEAVES)]


def test_places_are_counts_of_thresholds_below():
    """A grid finds them whether thresholds are spread evenly, crowded or far apart."""
    rng = np.random.default_rng(0)
    for edges in (rng.normal(size=300), 1e-9 * rng.normal(size=50), [-1e300, 0, 1e-9, 1e300], [3]):
        edges = np.unique(edges)
        (table,) = tables_of([stump(0, edge) for edge in edges]).tables
        values = np.array([*edges, *np.nextafter(edges, 9e300), -1.7e300, 1.7e300, np.nan])
        expected = [len(edges) if np.isnan(v) else (edges < v).sum() for v in values]
        np.testing.assert_array_equal(table.grids[0].places(values), expected)
    assert len(tables_of([stump(0, e) for e in range(9)]).tables[0].grids[0].below) == CELLS + 1


def test_features_with_few_thresholds_share_a_table():
    tables = tables_of([stump(feature, 0.5) for feature in range(-2, 10)]).tables
    assert sorted(len(table.features) for table in tables) == [4, 8]
    assert all(len(table.left_over) <= MOST_PLACES for table in tables)
