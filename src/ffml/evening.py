"""Evening out decisions about people whose features are known and whose groups are not.

The rows of a new task that are labelled are few, and the gap that they show is mostly chance. The
people to be decided about are more, they are exactly those whose decisions will be judged, and
their features tell something about their groups (`ffml.membership`). So it can be told before how
even decisions about them will probably be, and where that is not enough they can be evened out.

Decisions about few people are uneven by chance alone. What counts is therefore the ratio between
the rates of positive decisions that is to be expected, divided by what chance alone would show
(`ffml.evenness`): what is expected of a metric divided by its noise ceiling. Large tasks are
evened out as far as they can be, and small ones as far as it can be seen.
"""

import jax
import jax.numpy as jnp
from jax import lax
from jax.flatten_util import ravel_pytree
from jax.scipy.sparse.linalg import cg

from ffml.base import Array, Batch, Params, Problem, Unlabelled
from ffml.constraints import group_gap
from ffml.evenness import expected_evenness
from ffml.membership import Membership, of_task, shares
from ffml.meta import least_step

NUM_STEPS = 24
FARTHEST = 1.5  # beyond a gap of 0 by half: groups are told with errors, and true gaps are larger
DAMPING = 0.7  # of a step: slopes are those of smooth decisions, and gaps those of decisions
LARGEST_STEP = 0.5  # in standard deviations of the logits
TEMPERATURE = 0.5  # of smooth decisions, in standard deviations of the logits
RIDGE = 0.01  # of directions, in mean squares of features
SOLVER_STEPS = 30
LEAST_TOLD = 1e-4  # of the distance between two groups, 0 to 2: less than that is rounding


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
    goal: float | Array = 1.0,
    missed: float | Array = 0.0,
) -> Params:
    """Move θ until decisions about ``people`` are to be expected as even as ``goal`` says.

    ``θ ← θ - Σ_i c_i v_i`` with one direction an entry (`directions`). Expected gaps are brought
    down together, from all of what they are, by one damped Newton step for each sixteenth, to
    minus half of it::

        c ← c - 0.7 Jᵀ (J Jᵀ + ρI)⁻¹ (gap(c) - (1 - k/16) gap(0))    J = ∂(smooth gap)/∂c

    for k = 1 to 24 (`ffml.meta.least_step`). Of the θ on the way, the first is taken whose expected
    evenness reaches the goal, or else the most even one. Where groups cannot be told from the
    features nothing is expected, and θ stays.

    Args:
        problem: its model, and who is compared.
        params: θ, adapted to the labelled rows.
        people: of `expected_people`.
        goal: how even is enough, see `ffml.evenness`; 0 leaves θ as it is.
        missed: ``(m,)`` by how much gaps of such decisions have been larger than expected so far.
    """
    sides = problem.sides(people)
    theta, unflatten = ravel_pytree(params)
    steps = directions(problem, params, people)  # (m, parameters)

    def logits(price: Array) -> Array:
        return problem.apply(unflatten(theta - price @ steps), people.x)

    start = jnp.zeros(len(steps))
    share = people.weight / jnp.maximum(people.weight.sum(), 1e-30)
    unit = TEMPERATURE * jnp.maximum(_deviation(logits(start), share), 1e-9)

    def gaps(price: Array) -> Array:
        return group_gap((logits(price) > 0) * 1.0, sides.members, sides.rows)[0] + missed

    def smooth_gaps(price: Array) -> Array:
        return group_gap(jax.nn.sigmoid(logits(price) / unit), sides.members, sides.rows)[0]

    expected = gaps(start)

    def step(price: Array, left: Array) -> tuple[Array, Array]:
        ahead = least_step(jax.jacfwd(smooth_gaps)(price), gaps(price) - left * expected)
        price -= jnp.clip(DAMPING * ahead, -LARGEST_STEP, LARGEST_STEP)
        return price, price

    left = 1 - FARTHEST * jnp.arange(1, NUM_STEPS + 1) / NUM_STEPS
    _, path = lax.scan(step, start, left)
    path = jnp.concatenate([start[None], path])  # (steps + 1, m)
    evenness = expected_evenness(jax.vmap(logits)(path) > 0, people, sides, missed)
    enough = evenness >= goal
    chosen = jnp.where(enough.any(), jnp.argmax(enough), jnp.argmax(evenness))
    return unflatten(theta - path[chosen] @ steps)


def directions(problem: Problem, params: Params, people: Batch) -> Array:
    """Find the step in θ that moves the logits of people by how much they count in each gap.

    A gap of scores is a weighted sum ``Σ_n u_n h_n``. Of all changes of the logits that shrink it
    by so much, the one along u is the smallest in mean square. The step is that whose first-order
    effect on the logits comes nearest to it::

        v = argmin_v  mean_n (∂h_n/∂θ · v - u_n)² + r ‖v‖²

    scaled so that logits move by as much as they differ. For a linear model and groups linear in
    the features, those are the weights of the membership itself.

    Returns:
        ``(m, parameters)``; 0 for an entry that cannot be measured, or whose groups features do
        not tell.
    """
    theta, unflatten = ravel_pytree(params)
    logits, forward = jax.linearize(lambda t: problem.apply(unflatten(t), people.x), theta)
    backward = jax.linear_transpose(forward, theta)
    share = people.weight / jnp.maximum(people.weight.sum(), 1e-30)
    rows, members = problem.sides(people)
    counts = jax.jacrev(lambda values: group_gap(values, members, rows)[0])(logits)  # (m, n) u
    told = jnp.abs(counts).sum(-1, keepdims=True) > LEAST_TOLD
    counts = jnp.where(told, counts, 0.0)

    def squares(step: Array) -> Array:
        return backward(share * forward(step))[0] + RIDGE * step

    def direction(count: Array) -> Array:
        step, _ = cg(squares, backward(count)[0], maxiter=SOLVER_STEPS)
        unit = _deviation(logits, share) / jnp.maximum(_deviation(forward(step), share), 1e-9)
        return unit * step

    return jax.vmap(direction)(counts)


def _deviation(values: Array, share: Array) -> Array:
    return jnp.sqrt(share @ (values - share @ values) ** 2)
