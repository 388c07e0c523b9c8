"""What an adaptation costs: constraints add no pass through the model."""

import jax
import jax.numpy as jnp
import pytest
from conftest import random_task
from jax.extend.core import jaxprs_in_params

from ffml.methods._inner import gradient_steps, primal_dual_steps
from ffml.methods._primal_dual import lagrangian
from ffml.online.judge import padded_batch
from ffml.problem.classification import fair_classification
from ffml.problem.models import mlp
from ffml.problem.notions import demographic_parity, equalized_odds


def matrix_products(function, *arguments):
    """Count the products of two matrices in what is computed, before the compiler sees it."""

    def count(jaxpr):
        total = 0
        for step in jaxpr.eqns:
            if step.primitive.name == "dot_general":
                total += all(argument.aval.ndim >= 2 for argument in step.invars)
            total += sum(count(inner) for inner in jaxprs_in_params(step.params))
        return total

    return count(jax.make_jaxpr(function)(*arguments).jaxpr)


@pytest.fixture
def given(schema):
    notions = demographic_parity(), equalized_odds()
    problem = fair_classification(schema, mlp((5, 4)), *notions)
    rows = padded_batch(random_task(0, 40, schema), schema, jnp.arange(40))
    multipliers = jnp.full(problem.num_constraints, 0.3)
    return problem, problem.init(jax.random.key(0)), multipliers, rows


def test_slopes_of_the_lagrangian_take_one_pass(given):
    problem, params, multipliers, rows = given
    alone = matrix_products(jax.grad(problem.loss), params, rows)
    together = jax.grad(lagrangian, argnums=1)
    assert matrix_products(lambda p: together(problem, p, multipliers, rows), params) == alone


@pytest.mark.parametrize("steps", [1, 3])
def test_dual_steps_and_second_order_take_no_further_pass(given, steps):
    problem, params, multipliers, rows = given

    def slopes(inner):
        def after(params, multipliers):
            return problem.loss(inner(problem, params, multipliers, rows), rows)

        return matrix_products(jax.grad(after, argnums=(0, 1)), params, multipliers)

    assert slopes(primal_dual_steps(0.1, steps)) == slopes(gradient_steps(0.1, steps))
