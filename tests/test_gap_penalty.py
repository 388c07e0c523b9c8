"""The price of tasks' own gaps: without bias, in closed form, and seen to even tasks out."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from closed_forms import constant_tasks, learn, scalar_problem

from ffml.base import Batch, FFMLError, LabelledTask
from ffml.constraints import demographic_parity
from ffml.meta import outer_objective
from ffml.methods import ffml
from ffml.models import linear
from ffml.problem import fair_classification

RHO = 3.0


@pytest.mark.parametrize("own_gap", [0.0, 0.3])
@pytest.mark.parametrize("rows", [12, 60])
def test_it_is_the_squared_gap_of_many_rows_however_few_are_drawn(schema, own_gap, rows):
    """Logits h = own_gap·s + noise, and the constraint on σ(h/τ) with a large τ: nearly linear."""
    temperature = 50.0
    problem = fair_classification(schema, linear(), demographic_parity(0.0, temperature))
    rng = np.random.default_rng(0)
    draws = 20_000
    s = np.broadcast_to((np.arange(rows) % 3 == 0)[:, None] * 1.0, (draws, rows, 1))
    x = np.zeros((draws, rows, 3))
    x[..., 0] = own_gap * s[..., 0] + rng.normal(size=(draws, rows))
    ones = np.ones((draws, rows))
    queries = Batch(x, np.zeros((draws, rows)), s, ones, ones, np.full(draws, rows), ones)
    theta = {"w": jnp.array([1.0, 0.0, 0.0]), "b": jnp.zeros(())}
    adapted = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (draws, *leaf.shape)), theta)

    def objective(gap_penalty):
        return outer_objective(
            problem,
            adapted,
            jnp.zeros(1),
            queries,
            jnp.full(draws, 1 / draws),
            damping=0.0,
            gap_penalty=gap_penalty,
        )[0]

    price = float(objective(RHO) - objective(None)) * (4 * temperature) ** 2 / RHO  # σ'(0) = 1/4
    assert price == pytest.approx(own_gap**2, abs=0.006)
    gaps = np.asarray(jax.vmap(problem.gaps)(adapted, queries)) * 4 * temperature
    assert (gaps**2).mean() > own_gap**2 + 4 / rows  # what squares alone would cost


def test_where_it_leads_by_hand(float64):
    """min ½(θ - 2)² + ρ θ²: θ = 2/(1 + 2ρ), whatever the bound that is kept anyway."""
    learner = ffml(
        scalar_problem(limit=10.0),
        gap_penalty=RHO,
        inner_lr=1e-9,
        outer_lr=0.1,
        optimizer="sgd",
        num_outer_steps=100,
        pooled_constraint=False,
        surprise_memory=0.0,
        shots=2,
    )
    state, _ = learn(learner, [constant_tasks([2.0])] * 2)
    assert float(state.params) == pytest.approx(2 / (1 + 2 * RHO), rel=1e-6)


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
    problem = fair_classification(schema, linear(), demographic_parity(0.02))

    def reliance(**more):
        """How much of the model's weight is on the feature that makes the gaps."""
        learner = ffml(problem, num_inner_steps=1, shots=20, **more)
        state, _ = learn(learner, [memory] * 5)
        first, second, _ = np.asarray(state.params["w"])
        return first / second

    assert reliance() > 0.8  # the mean gap is within its bound
    assert reliance(gap_penalty=RHO) < 0.5
    assert reliance(gap_penalty=RHO, outer_constraints=False) > 0.8  # left out with the others


def test_a_negative_price_is_refused(schema):
    problem = fair_classification(schema, linear(), demographic_parity(0.02))
    with pytest.raises(FFMLError, match="gap_penalty must be >= 0, got -1"):
        ffml(problem, gap_penalty=-1)
