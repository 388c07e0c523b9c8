"""Evening out decisions about people whose features are known and whose groups are not.

The rows of a new task that are labelled are few, and the gap that they show is mostly chance. The
people to be decided about are more, they are exactly those whose decisions will be judged, and
their features tell something about their groups (`ffml.membership`). So the gap that a decision is
to be expected to have among them can be computed before it is made, and what of it exceeds the
bounds can be taken out.
"""

import jax
import jax.numpy as jnp
from jax import lax
from jax.flatten_util import ravel_pytree
from jax.scipy.sparse.linalg import cg

from ffml.base import Array, Batch, Params, Problem, Unlabelled
from ffml.membership import Membership, of_task, shares
from ffml.meta import least_step

NUM_STEPS = 12
DAMPING = 0.7  # of a step: slopes are those of smooth decisions, and gaps those of decisions
LARGEST_STEP = 0.5  # in standard deviations of the logits
RIDGE = 0.01  # of directions, in mean squares of features
SOLVER_STEPS = 30


def expected_people(problem: Problem, params: Params, support: Batch, known: Membership) -> Batch:
    """Describe the people to be decided about, with groups and labels as far as features tell.

    Labels, which only some notions ask for, are the probabilities of the model, brought from
    labels drawn evenly to the label rate of the support rows. Where nothing is known of the
    people, the support rows stand for them.

    Args:
        problem: its model, and what a missed positive costs.
        params: what the model knows of the task so far.
        support: labelled rows of the task, with the others' features in ``unlabelled``.
        known: what past tasks tell of groups; the support rows' own groups are added to it.
    """
    x, weight = support.unlabelled or Unlabelled(support.x, support.weight)
    positives = support.weight @ support.y / jnp.maximum(support.weight.sum(), 1e-30)
    rate = jnp.clip(positives, 0.01, 0.99)
    prior = jnp.log(rate / (1 - rate)) - jnp.log(problem.positive_weight)
    return Batch(
        x=x,
        y=jax.nn.sigmoid(problem.apply(params, x) + prior),
        s=shares(of_task(known, support), x),
        mask=(weight > 0) * 1.0,
        weight=weight,
        pool=(weight > 0).sum(),
    )


def even_out_expected(
    problem: Problem,
    params: Params,
    people: Batch,
    margin: float | Array = 0.0,
    missed: float | Array = 0.0,
) -> Params:
    """Move θ until the gaps expected among ``people`` are within ``ε = (1 - margin) bounds``.

    ``θ ← θ - Σ_i c_i v_i`` with one direction an entry (`directions`) and the c for which the
    expected gaps of decisions exceed ε by least. It is found by damped Newton steps::

        c ← c - 0.7 Jᵀ (J Jᵀ + ρI)⁻¹ (gap - clip(gap, -ε, ε))        J = ∂(smooth gap)/∂c

    (`ffml.meta.least_step`), and the best c on the way is kept: decisions about few people change
    by jumps. Where groups cannot be told from the features nothing is expected, and θ stays.

    Args:
        problem: its gaps and bounds.
        params: θ, adapted to the labelled rows.
        people: of `expected_people`.
        margin: share of the bounds by which expected gaps stay below them.
        missed: ``(m,)`` by how much gaps of such decisions have been larger than expected so far.
    """
    bounds = (1 - margin) * problem.bounds
    theta, unflatten = ravel_pytree(params)
    steps = directions(problem, params, people)  # (m, parameters)

    def moved(price: Array) -> Params:
        return unflatten(theta - price @ steps)

    def excess(price: Array) -> Array:
        gaps = problem.judged_gaps(moved(price), people) + missed
        return gaps - jnp.clip(gaps, -bounds, bounds)

    def step(_, carry: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        price, best, least = carry
        slopes = jax.jacfwd(lambda c: problem.gaps(moved(c), people))(price)
        ahead = DAMPING * least_step(slopes, excess(price))
        price -= jnp.clip(ahead, -LARGEST_STEP, LARGEST_STEP)
        left = jnp.abs(excess(price)).sum()
        better = left < least - 1e-6
        return price, jnp.where(better, price, best), jnp.where(better, left, least)

    nothing = jnp.zeros(problem.num_constraints)
    start = (nothing, nothing, jnp.abs(excess(nothing)).sum())
    _, price, _ = lax.fori_loop(0, NUM_STEPS, step, start)
    return moved(price)


def directions(problem: Problem, params: Params, people: Batch) -> Array:
    """Find the step in θ that moves the logits of people by how much they count in each gap.

    A gap of scores is a weighted sum ``Σ_n u_n h_n``. Of all changes of the logits that shrink it
    by so much, the one along u is the smallest in mean square. The step is that whose first-order
    effect on the logits comes nearest to it::

        v = argmin_v  mean_n (∂h_n/∂θ · v - u_n)² + r ‖v‖²

    scaled so that logits move by as much as they differ. For a linear model and groups linear in
    the features, those are the weights of the membership itself.

    Returns:
        ``(m, parameters)``; 0 for an entry that cannot be measured.
    """
    theta, unflatten = ravel_pytree(params)
    logits, forward = jax.linearize(lambda t: problem.apply(unflatten(t), people.x), theta)
    backward = jax.linear_transpose(forward, theta)
    share = people.weight / jnp.maximum(people.weight.sum(), 1e-30)
    # Where all logits are 0, smooth decisions have the same slope for everybody.
    counts = jax.jacrev(lambda h: problem.gaps_at(h, people))(jnp.zeros_like(logits))  # (m, n)

    def squares(step: Array) -> Array:
        return backward(share * forward(step))[0] + RIDGE * step

    def direction(count: Array) -> Array:
        step, _ = cg(squares, backward(count)[0], maxiter=SOLVER_STEPS)
        unit = _deviation(logits, share) / jnp.maximum(_deviation(forward(step), share), 1e-9)
        return unit * step

    return jax.vmap(direction)(counts)


def _deviation(values: Array, share: Array) -> Array:
    return jnp.sqrt(share @ (values - share @ values) ** 2)
