"""What tasks ask for together: means of gaps, and the price of tasks' own gaps."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from closed_forms import constant_tasks, learn, scalar_problem

from ffml.base import Band, Batch, LabelledTask
from ffml.methods import ffml
from ffml.methods._ffml import draw
from ffml.methods._inner import primal_dual_steps
from ffml.methods.outer import Drawn, loss_only, mean_over_tasks, pooled
from ffml.problem.classification import fair_classification
from ffml.problem.gaps import gaps
from ffml.problem.models import linear
from ffml.problem.notions import demographic_parity

RHO = 3.0


@pytest.mark.parametrize(
    ("outer", "loss", "constraint", "gap"),
    [
        # Tasks with gaps 0.3, -0.1 and none: each counts the same, or by its rows.
        (mean_over_tasks(), (0.3 + 0.1) / 2, (0.3 + 0.1) / 2 - 0.02, 0.1),
        (pooled(), (8 * 0.3 + 24 * 0.1) / 32, (0.3 - 0.1) / 2 - 0.02, 0.1),
        (loss_only(), (0.3 + 0.1) / 2, 0.0, 0.0),
        (loss_only(by_size=True), (8 * 0.3 + 24 * 0.1) / 32, 0.0, 0.0),
    ],
    ids=["mean-over-tasks", "pooled", "loss-only", "loss-only by size"],
)
def test_means_over_tasks_by_hand(float64, outer, loss, constraint, gap):
    tasks = constant_tasks([0.3, -0.1, 7.0])
    totals = np.array([[4, 4], [12, 12], [0, 0]])
    tasks = tasks._replace(totals=totals, counts=np.minimum(tasks.counts, totals))
    problem = scalar_problem(0.0)
    notion = problem.constraints[0]._replace(
        bound=Band(0.0, 0.02), score=lambda h, batch: batch.x[:, 0] * batch.s[:, 0]
    )
    problem = problem._replace(
        constraints=(notion,),
        cost=lambda theta, logits, batch, weight: jnp.abs(batch.x[:, 0]) @ batch.mask / 4,
    )
    seen = outer(problem, jnp.zeros(3), draw(jax.random.key(0), tasks, 2))
    found = seen.loss, seen.constraint[0], seen.gaps[0]
    np.testing.assert_allclose(found, (loss, constraint, gap), rtol=1e-12)


@pytest.mark.parametrize(("rows", "own_gap"), [(12, 0.3), (60, 0.0)])
def test_the_penalty_is_the_squared_gap_of_many_rows_however_few_are_drawn(schema, own_gap, rows):
    """Logits h = own_gap·s + noise, and the constraint on σ(h/τ) with a large τ: nearly linear."""
    temperature = 50.0
    notion = demographic_parity(0.0, temperature, relative=False)
    problem = fair_classification(schema, linear(), notion)
    rng = np.random.default_rng(0)
    draws = 20_000
    s = np.broadcast_to((np.arange(rows) % 3 == 0)[:, None] * 1.0, (draws, rows, 1))
    x = np.zeros((draws, rows, 3))
    x[..., 0] = own_gap * s[..., 0] + rng.normal(size=(draws, rows))
    ones = np.ones((draws, rows))
    queries = Batch(x, np.zeros((draws, rows)), s, ones, ones, np.full(draws, rows), ones)
    theta = {"w": jnp.array([1.0, 0.0, 0.0]), "b": jnp.zeros(())}
    adapted = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (draws, *leaf.shape)), theta)
    seen = pooled(RHO)(problem, adapted, Drawn(queries, queries, jnp.ones(draws)))
    price = float(seen.penalty) * (4 * temperature) ** 2 / RHO  # σ'(0) = 1/4
    assert price == pytest.approx(own_gap**2, abs=0.006)
    own = np.asarray(jax.vmap(lambda theta, query: gaps(problem, theta, query))(adapted, queries))
    assert ((own * 4 * temperature) ** 2).mean() > own_gap**2 + 4 / rows  # squares alone


def test_where_the_penalty_leads_by_hand(float64):
    """min ½(θ - 2)² + ρ (θ² - chance), with scores θ and 0 of two rows each: chance is θ²/3."""
    problem = scalar_problem(limit=10.0)
    problem = problem._replace(
        constraints=(problem.constraints[0]._replace(bound=Band(0.0, 10.0)),)
    )
    learner = ffml(
        problem,
        primal_dual_steps(1e-9, 1),
        pooled(RHO),
        outer_lr=0.1,
        num_outer_steps=100,
        shots=2,
    )
    state, _ = learn(learner, [constant_tasks([2.0])] * 2)
    assert float(state.params) == pytest.approx(2 / (1 + 2 * RHO * 2 / 3), rel=1e-6)


def opposed_tasks(rng, tasks=8, rows=200):
    """Half of the tasks have group 1 high in the first feature, half have it low."""
    s = np.broadcast_to((np.arange(rows) % 2 == 0)[:, None] * 1.0, (tasks, rows, 1))
    side = np.where(np.arange(tasks) % 2 == 0, 1.0, -1.0)[:, None]
    x = rng.normal(size=(tasks, rows, 3))
    x[..., 0] += side * (s[..., 0] - 0.5) * 2
    y = x[..., 0] + x[..., 1] + rng.normal(size=(tasks, rows)) > 0
    order = np.argsort(y, axis=1, kind="stable")
    positives = y.sum(1)
    return LabelledTask(
        np.take_along_axis(x, order[..., None], 1),
        np.take_along_axis(s, order[..., None], 1),
        np.stack([rows - positives, positives], 1),
        np.stack([rows - positives, positives], 1),
    )


def test_tasks_that_oppose_each_other_are_evened_out_where_their_mean_shows_nothing(schema):
    memory = opposed_tasks(np.random.default_rng(0))
    problem = fair_classification(schema, linear(), demographic_parity(0.02, relative=False))

    def reliance(penalty):
        """How much of the model's weight is on the feature that makes the gaps."""
        learner = ffml(
            problem,
            primal_dual_steps(0.1, 1, 200.0),
            pooled(penalty),
            optimizer="adam",
            num_outer_steps=50,
            damping=0.02,
            shots=20,
        )
        state, _ = learn(learner, [memory] * 5)
        first, second, _ = np.asarray(state.params["w"])
        return first / second

    assert reliance(0.0) > 0.8  # the mean gap is within its bound
    assert reliance(RHO) < 0.5
