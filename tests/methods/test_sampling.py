import jax
import jax.numpy as jnp
import numpy as np
import pytest
from conftest import random_task
from hypothesis import given, settings
from hypothesis import strategies as st

from ffml.base import LabelledTask
from ffml.methods.sampling import draw_support_and_query
from ffml.online.judge import padded_batch, split_rows, support_batch
from ffml.online.memory import bounded, padded_rows

ROWS, SHOTS = 64, 8
draw = jax.jit(draw_support_and_query, static_argnums=2)


def numbered_task(negatives, positives, rows=ROWS):
    """A task whose only feature is the number of the row."""
    counts = np.array([negatives, positives])
    x = np.where(np.arange(rows) < counts.sum(), np.arange(rows), -1.0)[:, None]
    return LabelledTask(x.astype(np.float32), np.zeros((rows, 1), np.float32), counts, counts)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 32), st.integers(0, 32), st.integers(0, 2**31 - 1))
def test_draws_are_disjoint_balanced_and_never_padding(negatives, positives, seed):
    task = numbered_task(negatives, positives)
    parts = draw(jax.random.key(seed), task, SHOTS)
    rows = [np.asarray(part.x[:, 0]).astype(int)[np.asarray(part.mask) > 0] for part in parts]
    assert not set(rows[0]) & set(rows[1])
    for part, drawn in zip(parts, rows, strict=True):
        assert (drawn >= 0).all()
        np.testing.assert_array_equal(part.y, np.repeat([0.0, 1.0], SHOTS))
        labels = np.asarray(part.y)[np.asarray(part.mask) > 0]
        np.testing.assert_array_equal(drawn >= negatives, labels == 1)  # rows sorted by label
    for label, count in enumerate((negatives, positives)):
        in_class = [np.asarray(p.mask)[label * SHOTS : (label + 1) * SHOTS] for p in parts]
        assert set(in_class[0]) == {float(count >= 1)}
        assert set(in_class[1]) == {float(count >= 2)}  # a single row goes to support
        drawn = [r[(r >= negatives) == label] for r in rows]
        if count >= 2 * SHOTS:  # enough for drawing without replacement
            assert all(len(set(d)) == SHOTS for d in drawn)


def test_every_row_is_drawn_equally_often():
    task, draws = jax.tree.map(jnp.asarray, numbered_task(20, 30)), 2000
    keys = jax.random.split(jax.random.key(0), draws)
    support, query = jax.jit(jax.vmap(lambda key: draw_support_and_query(key, task, SHOTS)))(keys)
    for part in (support, query):
        counts = np.bincount(np.asarray(part.x[..., 0]).astype(int).ravel(), minlength=50)
        expected = np.repeat([SHOTS / 20, SHOTS / 30], [20, 30]) * draws
        assert np.abs(counts / expected - 1).max() < 0.15  # four standard deviations and more


def test_weights_restore_the_label_rates_of_the_whole_task():
    task = numbered_task(20, 20)._replace(totals=np.array([900, 100]))
    support, query = draw(jax.random.key(0), task, SHOTS)
    for part in (support, query):
        assert float(part.weight @ part.y / part.weight.sum()) == pytest.approx(0.1)
        assert int(part.pool_size) == 500


def test_padding_changes_no_draw(schema):
    kept = bounded(random_task(0, 30, schema), schema, 64, np.random.default_rng(0))
    for part in zip(
        draw(jax.random.key(0), padded_rows(kept, 64), SHOTS),
        draw(
            jax.random.key(0),
            padded_rows(kept, 64)._replace(
                x=np.pad(kept.x, ((0, 34), (0, 0)), constant_values=9e9)
            ),
            SHOTS,
        ),
        strict=True,
    ):
        jax.tree.map(np.testing.assert_array_equal, *part)


@given(st.integers(1, 300), st.floats(0.01, 0.99), st.integers(0, 1000))
def test_split_covers_all_rows_once_and_always_judges(rows, fraction, seed):
    split = split_rows(rows, fraction, np.random.default_rng(seed))
    np.testing.assert_array_equal(np.sort(np.concatenate(split)), np.arange(rows))
    assert len(split.validation) == min(max(round(rows * fraction), 1), rows)


@pytest.mark.parametrize("rows", [0, 1, 3, 40, 500])
def test_support_batch_uses_every_row_it_can(schema, rows):
    task = random_task(2, 600, schema)
    task = task._replace(x=np.arange(600, dtype=np.float32)[:, None].repeat(3, 1))
    chosen = np.arange(rows)
    batch = support_batch(task, schema, chosen, 20, np.random.default_rng(0))
    assert batch.x.shape == (40, 3) and int(batch.pool_size) == rows
    for label in (0, 1):
        part = slice(20 * label, 20 * label + 20)
        available = chosen[task.y[chosen] == label]
        drawn = set(batch.x[part, 0][batch.mask[part] > 0].astype(int))
        assert drawn <= set(available) and len(drawn) == min(20, len(available))


def test_padded_batch_has_few_shapes_and_keeps_the_rows(schema):
    task = random_task(2, 5000, schema)
    shapes = {padded_batch(task, schema, np.arange(n)).x.shape for n in range(1, 5000, 97)}
    assert len(shapes) == 4
    batch = padded_batch(task, schema, np.arange(300))
    np.testing.assert_array_equal(batch.x[:300], task.x[:300])
    assert batch.mask.sum() == 300 and not batch.x[300:].any()


@pytest.mark.parametrize("rows", [4096, 4097, 2**20])
def test_large_tasks_are_drawn_from_all_their_rows(rows):
    """Positions of 2²⁰ rows leave hardly any random bits beside them in 32."""
    negatives, shots, draws = rows - 10, 400, 2
    task = jax.tree.map(jnp.asarray, numbered_task(negatives, 10, rows))
    places = [
        np.asarray(part.x[:shots, 0])
        for seed in range(draws)
        for part in draw(jax.random.key(seed), task, shots)
    ]
    counts = np.histogram(np.concatenate(places), bins=10, range=(0, negatives))[0]
    expected = 2 * shots * draws / 10
    chi_squared = ((counts - expected) ** 2 / expected).sum()
    assert chi_squared < 27.9  # nine degrees of freedom, one in a thousand
