"""Names and fingerprints of rows: the same for the same people, whatever their order."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ffml.base import Schema, SensitiveColumn, Task
from ffml.runs._people import fingerprints, names_of

SCHEMA = Schema(("a", "b"), (SensitiveColumn("sex", ("F", "M")),))


def task(x, y=None, groups=None, ids=None):
    x = np.asarray(x, np.float32)
    y = np.zeros(len(x), np.int32) if y is None else np.asarray(y, np.int32)
    groups = np.zeros((len(x), 1), np.int32) if groups is None else np.asarray(groups)
    return Task("t", x, y, groups, ids=ids)


rows = st.lists(st.tuples(*[st.integers(-2, 2)] * 2, st.integers(0, 1), st.integers(-1, 1)))


@settings(max_examples=60, deadline=None)
@given(rows.filter(len), st.randoms())
def test_the_order_of_rows_changes_no_name(people, random):
    """Each person, told by features, group and label, keeps the name in a shuffled table."""
    turned = random.sample(people, len(people))
    found = []
    for some in (people, turned):
        one = task([p[:2] for p in some], [p[3] for p in some], [[p[2]] for p in some])
        prints = fingerprints(one, SCHEMA)
        found.append((sorted(zip(names_of(one, prints.rows), some, strict=True)), prints.columns))
    assert found[0] == found[1]
    assert len({name for name, _ in found[0][0]}) == len(people)


def test_a_label_is_no_part_of_the_content():
    x = [[1, 2], [3, 4]]
    early, late = (fingerprints(task(x, y), SCHEMA) for y in ([-1, -1], [0, 1]))
    assert (early.rows == late.rows).all() and early.columns == late.columns


@pytest.mark.parametrize("column", ["a", "b", "sex"])
def test_a_changed_cell_changes_its_row_and_its_column_alone(column):
    x, groups = np.arange(8.0).reshape(4, 2), np.zeros((4, 1), int)
    before = fingerprints(task(x, groups=groups), SCHEMA)
    if column == "sex":
        groups[2] = 1
    else:
        x[2, "ab".index(column)] += 0.5
    after = fingerprints(task(x, groups=groups), SCHEMA)
    assert np.flatnonzero(before.rows != after.rows).tolist() == [2]
    assert [k for k in before.columns if before.columns[k] != after.columns[k]] == [column]


def test_values_that_change_places_are_noticed():
    """Sums alone would not see that two columns, or two rows, have exchanged a value."""
    before = fingerprints(task([[1, 2], [3, 4]]), SCHEMA)
    assert (before.rows != fingerprints(task([[2, 1], [3, 4]]), SCHEMA).rows).tolist() == [1, 0]
    exchanged = fingerprints(task([[3, 2], [1, 4]]), SCHEMA)
    assert (before.rows != exchanged.rows).all() and before.columns == exchanged.columns


def test_zero_has_one_sign_and_a_hole_is_a_value():
    zero, minus = (fingerprints(task([[v, 1]]), SCHEMA).rows for v in (0.0, -0.0))
    hole = fingerprints(task([[np.nan, 1]]), SCHEMA).rows
    assert zero == minus and hole != zero


def test_ids_of_the_table_are_names():
    one = task([[1, 2], [1, 2]], ids=np.array(["x", 7], object))
    assert names_of(one, fingerprints(one, SCHEMA).rows) == ["x", "7"]


def test_many_different_rows_have_different_fingerprints():
    x = np.stack(np.meshgrid(np.arange(300), np.arange(300)), -1).reshape(-1, 2)
    assert len(np.unique(fingerprints(task(x), SCHEMA).rows)) == 90_000
