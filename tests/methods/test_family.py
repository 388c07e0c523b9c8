"""FFML by steps and FFML solved exactly: where they end at the same point, and where not."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from closed_forms import SCHEMA, constant_tasks, learn, scalar_problem

from ffml.base import Batch, LabelledTask
from ffml.methods import ffml_exact, m_ftml
from ffml.methods._ffml_exact import Labelled, Leader, adapted
from ffml.methods._inner import gradient_steps, primal_dual_steps
from ffml.methods._primal_dual import ascend
from ffml.methods.trust import TRUSTS
from ffml.problem.classification import fair_classification
from ffml.problem.models import linear
from ffml.problem.notions import decision_boundary_covariance
from ffml.wrappers._group_prices import Groups, Pool, Pricing

NOBODY = np.zeros(0)


def mirrored(points, rows=4):
    """Tasks whose rows of a label are all alike: positives at a point, negatives opposite."""
    x = np.concatenate([-np.ones(rows // 2), np.ones(rows // 2)])[:, None] * points[:, None]
    half = np.full((len(points), 2), rows // 2)
    return LabelledTask(x, np.ones((len(points), rows, 1)), half, half)


def test_many_outer_steps_end_at_the_leader(float64):
    """Without adaptation both levels minimise the same, and so end at the same parameters."""
    points = np.array([[1.0, 0.2], [0.3, -1.0], [-0.4, 0.5], [0.8, -0.3]])
    tasks = mirrored(points)
    schema = SCHEMA.__class__(("a", "b"), SCHEMA.sensitive)
    exact = ffml_exact(fair_classification(schema, linear()), inverse_l2=0.5, trust=0.0)
    newest = jax.tree.map(lambda leaf: leaf[-1], tasks)
    leader, _ = exact.update(jax.random.key(0), exact.init(None), newest, tasks)
    # The leader's objective is a sum over 16 rows, FFML's a mean.
    problem = fair_classification(schema, linear(), l2=1 / (0.5 * 16))
    steps = m_ftml(problem, gradient_steps(1e-9, 1), outer_lr=1.0, num_outer_steps=600, shots=2)
    state, _ = learn(steps, [tasks, tasks])
    assert np.abs(leader.weights[:2]).min() > 0.1
    np.testing.assert_allclose(state.params["w"], leader.weights[:2], rtol=1e-5)
    np.testing.assert_allclose([state.params["b"], leader.weights[2]], 0, atol=1e-9)


@pytest.mark.parametrize("curvatures", [(1.0, 1.0), (0.2, 1.0)])
def test_the_leader_is_best_after_adaptation_too_where_tasks_are_bent_alike(float64, curvatures):
    """Elsewhere tasks that adaptation mends count less for FFML: h (1-ηh)²ˢ instead of h."""
    bent, centers, lr, steps = np.array(curvatures), np.array([1.0, 3.0]), 0.4, 3

    def cost(theta, logits, batch, weight):
        h, center = batch.x[0, 0], batch.x[0, 1]
        return h / 2 * (theta - center) ** 2

    problem = scalar_problem(0.0)._replace(cost=cost)
    tasks = constant_tasks([0.0, 0.0])
    tasks = tasks._replace(x=np.tile(np.stack([bent, centers], 1)[:, None], (1, 8, 1)))
    learner = m_ftml(problem, gradient_steps(lr, steps), outer_lr=1.0, num_outer_steps=400, shots=2)
    state, _ = learn(learner, [tasks, tasks])
    leader = np.average(centers, weights=bent)
    after = np.average(centers, weights=bent * (1 - lr * bent) ** (2 * steps))
    assert float(state.params) == pytest.approx(after, rel=1e-6)
    assert (after == pytest.approx(leader)) == (bent[0] == bent[1])


@pytest.mark.parametrize("steps", [1, 5, 20])
def test_a_few_steps_are_an_argmin_with_a_proximal_term(float64, steps):
    """For ½(θ - a)², s steps of size η end at ``argmin c ½(θ' - a)² + ½(θ' - θ)²``.

    With ``1 + c = (1 - η)⁻ˢ``: more steps are more trust in the task's own rows.
    """
    theta, center, lr = 2.0, -1.0, 0.1
    task = jax.tree.map(lambda leaf: leaf[0], constant_tasks([center]))
    ones = jnp.ones(8)
    support = Batch(task.x, ones, task.s, ones, ones, 8, ones)
    stepped = gradient_steps(lr, steps)(scalar_problem(0.0), jnp.asarray(theta), NOBODY, support)
    trust = (1 - lr) ** -steps - 1
    assert float(stepped) == pytest.approx((theta + trust * center) / (1 + trust), rel=1e-9)


def test_many_steps_with_the_proximal_term_end_at_the_exact_adaptation(float64):
    rng = np.random.default_rng(0)
    x = np.c_[rng.normal(size=(60, 2)), np.ones(60)]
    y = 1.0 * (x @ [1.0, -0.5, 0.2] + 0.5 * rng.normal(size=60) > 0)
    start, bent, trust = np.array([-0.5, 0.3, 0.0]), 5 * np.cov(x.T) + np.eye(3), 3.0
    leader = Leader(start, bent, np.zeros(len(TRUSTS)))
    exact = adapted(leader, trust, Labelled(x, y.astype(int), np.ones(60), 0.0))

    def cost(params, logits, batch, weight):
        moved = jnp.append(params["w"], params["b"]) - start
        loss = jnp.sum(jax.nn.softplus(logits) - batch.y * logits)
        return loss + moved @ (bent / trust) @ moved / 2

    problem = fair_classification(SCHEMA.__class__(("a", "b"), SCHEMA.sensitive), linear())
    ones = np.ones(60)
    support = Batch(x[:, :2], y, np.ones((60, 1)), ones, ones, 60, ones)
    theta = {"w": jnp.asarray(start[:2]), "b": jnp.asarray(start[2])}
    steps = gradient_steps(0.03, 500)
    stepped = steps(problem._replace(cost=cost), theta, NOBODY, support)
    np.testing.assert_allclose([*stepped["w"], stepped["b"]], exact, atol=1e-5)


def test_a_constraint_moves_parameters_along_the_estimate_of_the_group(float64):
    """The saddle point of the inner level is the unconstrained score less a price on q(x).

    With the gap between mean logits bounded and a proximal term bent as least squares are, θ' - θ
    is a multiple of φ, by which least squares tell the group. That is what `evened` does to scores.
    """
    rng = np.random.default_rng(1)
    member = 1.0 * (np.arange(80) % 2)
    x = rng.normal(size=(80, 2)) + np.c_[member, 0.3 * member]
    z, start, bound = np.c_[x, np.ones(80)], np.array([1.0, 0.4, -0.3]), 0.1
    bent = z.T @ z / 80

    def cost(params, logits, batch, weight):
        moved = jnp.append(params["w"], params["b"]) - start
        return moved @ bent @ moved / 2

    schema = SCHEMA.__class__(("a", "b"), SCHEMA.sensitive)
    problem = fair_classification(schema, linear(), decision_boundary_covariance(bound))
    problem, ones = problem._replace(cost=cost), np.ones(80)
    support = Batch(x, member, member[:, None], ones, ones, 80, ones)
    theta = {"w": jnp.asarray(start[:2]), "b": jnp.asarray(start[2])}
    solved = primal_dual_steps(0.05, 1000)(problem, theta, jnp.zeros(1), support)
    change = x @ (np.asarray(solved["w"]) - start[:2])
    scores = x @ np.asarray(solved["w"])
    gap = scores[member == 1].mean() - scores[member == 0].mean()
    assert abs(gap) == pytest.approx(bound, abs=1e-3)
    share = z @ np.linalg.lstsq(z, member, rcond=None)[0]  # q(x) = (x, 1) φ
    assert np.corrcoef(change, share)[0, 1] == pytest.approx(-1, abs=1e-6)


def people(rows=600, seed=0):
    rng = np.random.default_rng(seed)
    share = rng.uniform(size=rows)
    return np.clip(rng.beta(2, 2, size=rows) + 0.3 * (share - 0.5), 0, 1), np.c_[share, 1 - share]


def priced(score, chance, **settings):
    return Pricing(Pool(score, np.ones(len(score)), threshold=0.5), [Groups(chance, **settings)])


def test_dual_steps_on_the_people_at_hand_end_at_the_price():
    """λ ← [λ + η (gap - ε)]₊, with the best decisions at each λ: means of λ tend to the price."""
    score, chance = people()
    effect = chance / chance.mean(0) / len(score)
    exact = priced(score, chance, width=0.05).best(np.zeros(2)).price
    price, total = 0.0, 0.0
    for t in range(1, 6001):
        gain = score - price * len(score) * (effect[:, 0] - effect[:, 1])
        gap = (gain > 0.5) @ (effect[:, 0] - effect[:, 1])
        price = max(price + 0.3 / t**0.5 * (gap - 0.05), 0.0)
        total += price if t > 3000 else 0.0
    assert exact[0] == pytest.approx(-exact[1]) and exact[0] > 0.01
    assert total / 3000 == pytest.approx(exact[0], rel=0.02)


def test_an_exact_price_forgets_where_it_began_and_an_offset_stays():
    """So what earlier tasks showed is no starting point here: it moves the gap that is bounded."""
    score, chance = people()
    fresh = priced(score, chance, width=0.05).best(np.zeros(2)).price
    used = priced(score, chance, width=0.05)
    used.best(np.array([0.2, -0.1]))  # the next search starts from there
    np.testing.assert_allclose(used.best(np.zeros(2)).price, fresh, atol=1e-9)
    moved = priced(score, chance, width=0.05).best(np.array([0.03, 0.0])).price
    tighter = priced(score, chance, width=0.02).best(np.zeros(2)).price
    np.testing.assert_allclose(moved, tighter, atol=1e-9)
    assert moved[0] > fresh[0]


@pytest.mark.parametrize("steps", [3, 30])
def test_a_start_of_the_price_fades_with_the_steps(float64, steps):
    """For min ½(θ - a)², θ <= L, s exact dual steps from λ₁ have the price of a bound L + b.

    b = (1 - η)ˢ (λ* - λ₁) is the offset that a start stands for: none once steps are many.
    """
    a, limit, start, lr = 2.0, 0.25, 0.5, 0.2
    price = start
    for _ in range(steps):
        price = float(ascend(price, (a - price) - limit, lr))
    offset = (1 - lr) ** steps * ((a - limit) - start)
    assert price == pytest.approx(a - (limit + offset), rel=1e-12)
