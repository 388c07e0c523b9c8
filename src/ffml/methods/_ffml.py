"""Follow the fair meta leader (FFML): Algorithm 1 of the paper."""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax import lax

from ffml.base import Array, Batch, Info, LabelledTask, Learner, Params, Problem, Unlabelled
from ffml.checks import at_least, at_most, one_of, positive
from ffml.evening import even_out_expected, expected_people
from ffml.evenness import decision_gaps
from ffml.membership import Membership, learn_membership, nothing_known
from ffml.meta import adapt_pair, even_out, outer_objective
from ffml.primal_dual import ascend, project_to_ball
from ffml.sampling import draw_support_and_query
from ffml.surprise import Surprise, met, no_surprise, shift, task_precision

OPTIMIZERS = {"sgd": optax.identity, "adam": optax.scale_by_adam}
SCHEDULES = {"constant": lambda t: 1.0, "inverse": lambda t: 1.0 / (t + 1)}
TASK_WEIGHTS = {"uniform": jnp.ones_like, "size": lambda size: size}
GAP_WEIGHTS = ("tasks", "evidence")
SMOOTHING = 0.9  # of what is seen from one iteration to the next: change, gaps
FRESH_DRAWS = 4  # of a task just met: how often it is split into support and query


class FFMLState(NamedTuple):
    """The meta pair (θ, λ), the optimiser's memory, rounds so far, and what is known of gaps."""

    params: Params
    multipliers: Array
    optimizer_state: Any
    round: Array
    learned_gap: Array  # (m,) mean smooth gap of the tasks in memory, as seen last
    surprise: Surprise  # how far gaps on new tasks were from it
    membership: Membership
    missed: Surprise  # how far expected gaps were off


def ffml(
    problem: Problem,
    *,
    inner_lr: float = 0.1,
    outer_lr: float = 0.01,
    dual_lr: float | None = 0.5,
    num_inner_steps: int = 3,
    num_outer_steps: int = 50,
    tolerance: float = 0.0,
    outer_schedule: str = "constant",
    optimizer: str | optax.GradientTransformation = "adam",
    damping: float = 0.02,
    radius: float = 100.0,
    initial_multiplier: float = 0.0,
    shots: int = 100,
    inner_shrinkage: float = 200.0,
    task_weighting: str = "size",
    gap_weighting: str = "evidence",
    pooled_constraint: bool = True,
    surprise_memory: float = 0.9,
    gap_spread: float = 0.0,
    gap_penalty: float = 0.0,
    predict_gaps: bool = False,
    parity_goal: float = 1.0,
    first_order: bool = False,
    inner_constraints: bool = True,
    outer_constraints: bool = True,
    augmented_term: bool = True,
) -> Learner:
    """Learn a pair (θ, λ) from which a few constrained steps fit a new task.

    Inner level, on a task's support rows, ``num_inner_steps`` times (Eq. 6–7)::

        θ_k ← θ_k - η₁ ∇_θ [f + Σ λ_{k,i} g_i](θ_k)        λ_k ← [λ_k + η₁ g(θ_k)]₊

    With ``gap_spread`` > 0, and not in the paper, the task's own gap is then taken out as far as
    its support rows bear it out: ``θ'_k = even_out(θ_k)``, otherwise ``θ'_k = θ_k``. With
    ``predict_gaps``, not in the paper either, the decision about new people is evened out once
    more, by what their features let expect (`ffml.evening`); nothing is learned through that.

    Outer level, on the query rows of the tasks in memory, ``num_outer_steps`` times a round,
    from the second round on (Eq. 8–10)::

        L(θ, λ) = mean_k { f(θ'_k) + Σ_i (λ_i g_i(θ'_k) - δη₂/2 λ_i²) }
        θ ← Π_B(θ - η₂ ∇_θ L)                              λ ← [λ + η₂ ∇_λ L]₊

    Both outer gradients go through the inner steps: θ'_k depends on θ and on λ. With
    ``gap_penalty`` = ρ > 0, and not in the paper, L has another term, ``ρ mean_k Σ_i gap_i(θ'_k)²``
    without what chance adds to the squares.

    Args:
        problem: loss and constraints, see `ffml.problem.fair_classification`.
        inner_lr: η₁, step size of the adaptation.
        outer_lr: η₂, step size of θ; with the inverse schedule, μ_f of Theorem 2.
        dual_lr: step size of λ; None means η₂ as in the paper.
        num_inner_steps: adaptation steps.
        num_outer_steps: outer iterations a round (an upper limit where ``tolerance`` > 0).
        tolerance: stop a round when the smoothed relative change of the pair,
            ``‖Δθ‖/‖θ‖ + ‖Δλ‖/(1 + ‖λ‖)``, falls below it; 0 never stops early.
        outer_schedule: "constant", or "inverse" for η₂ = μ_f/(t+1) in round t (Theorem 2).
        optimizer: what turns ∇_θ L into a direction: "sgd" (the paper's plain descent), "adam",
            or any optax transformation without a learning rate.
        damping: δ of the augmented term; it multiplies the dual step size.
        radius: R of the ball B that θ is projected onto.
        initial_multiplier: λ₁ of every constraint.
        shots: support rows and query rows drawn for each class.
        inner_shrinkage: a task whose support pool has n rows takes steps of
            η₁ · n/(n + inner_shrinkage), so that small tasks stay near the meta parameters.
        task_weighting: "uniform" (the paper's mean over tasks) or "size".
        gap_weighting: what a task counts in the mean of the constraints: "tasks" (as in that of
            the loss) or "evidence" (by its rows of each group, see `ffml.surprise`).
        pooled_constraint: bound the mean gap over the tasks, ``|mean_k gap_k| - ε``, at the outer
            level, instead of the mean of ``|gap_k| - ε`` (the paper's).
        surprise_memory: constrain the gaps that new tasks will show (those of decisions, where
            the temperature is relative) rather than those of the tasks learned from
            (`ffml.surprise`); a task counts that much less with each round that has gone by
            since. Expected gaps (``predict_gaps``) are corrected likewise. 0 takes the gaps as
            they are (the paper's).
        gap_spread: how much the gaps of tasks differ: their variance, in variances of a single
            decision. After the inner steps, a task's own gap is taken out as far as it is to be
            expected on other rows of the task (`ffml.meta.even_out`). 0 does without (the
            paper's); 0.05 to 0.2 was good on the package's data sets.
        gap_penalty: ρ, what the squares of the tasks' own gaps cost beyond chance. A bound is on
            the mean gap, which is 0 if half of the tasks favour one group and half the other; ρ
            is the price of such differences, as far as a model that all tasks share can avoid
            them. 0 does without (the paper's).
        predict_gaps: look at the features of the people to be decided about
            (``support.unlabelled``), estimate which groups they belong to, and even out decisions
            about them until they are to be expected as even as ``parity_goal`` says
            (`ffml.evening`). Groups are estimated from past tasks and the support rows
            (`ffml.membership`), never asked for. False does without (the paper's).
        parity_goal: how even is enough: the ratio of positive decisions to be expected, divided by
            the ratio that decisions unrelated to the groups would show. 1 is as even as chance,
            0.8 may be a fifth below, and a little more than 1 leaves room for errors of the
            estimates. So what is learned may be bounded loosely, and decisions tightly. Only with
            ``predict_gaps``.
        first_order: take the inner gradients as constants in the outer derivative.
        inner_constraints: False leaves the constraints out of the inner level, and takes no gap
            out, expected ones neither (ablation).
        outer_constraints: False leaves them out of the outer level, the penalty too; λ then stays
            λ₁ (ablation).
        augmented_term: False leaves out the term in λ² (ablation).

    Differs from the paper: the defaults. `ffml.presets` has the paper's settings by name.

    Reference: Zhao, Chen & Thuraisingham, "Fairness-Aware Online Meta-learning", KDD 2021.
    """
    positive(inner_lr=inner_lr, outer_lr=outer_lr, radius=radius)
    at_least(1, num_inner_steps=num_inner_steps, num_outer_steps=num_outer_steps, shots=shots)
    at_least(
        0,
        damping=damping,
        tolerance=tolerance,
        initial_multiplier=initial_multiplier,
        inner_shrinkage=inner_shrinkage,
        surprise_memory=surprise_memory,
        gap_spread=gap_spread,
        gap_penalty=gap_penalty,
        parity_goal=parity_goal,
    )
    at_most(1, surprise_memory=surprise_memory)
    one_of("gap_weighting", gap_weighting, dict.fromkeys(GAP_WEIGHTS))
    goes_to_limit = not isinstance(tolerance, jax.core.Tracer) and tolerance == 0
    constrains = inner_constraints and problem.num_constraints > 0
    predicts_gaps = constrains and predict_gaps
    evens_out = constrains and _may_be_positive(gap_spread)
    if dual_lr is None:
        dual_lr = outer_lr
    positive(dual_lr=dual_lr)
    schedule = one_of("outer_schedule", outer_schedule, SCHEDULES)
    task_weights = one_of("task_weighting", task_weighting, TASK_WEIGHTS)
    direction = (
        one_of("optimizer", optimizer, OPTIMIZERS)() if isinstance(optimizer, str) else optimizer
    )

    def init(key: Array) -> FFMLState:
        params = project_to_ball(problem.init(key), radius)  # Alg. 1, line 1
        multipliers = jnp.full(problem.num_constraints, initial_multiplier, float)
        schema, none = problem.schema, no_surprise(problem.num_constraints)
        return FFMLState(
            params,
            multipliers,
            optimizer_state=direction.init(params),
            round=jnp.zeros((), int),
            learned_gap=jnp.zeros(problem.num_constraints),
            surprise=none,
            membership=nothing_known(len(schema.features), len(schema.contrasts)),
            missed=none,
        )

    def expected_shift(surprise: Surprise) -> Array:
        return jnp.where(surprise_memory > 0, shift(surprise), 0.0)

    def adapted(params: Params, multipliers: Array, support: Batch, gap_shift: Array) -> Params:
        theta, _ = adapt_pair(
            problem,
            params,
            multipliers,
            support,
            step_size=inner_lr * _shrink(support.pool, inner_shrinkage),
            num_steps=num_inner_steps,
            constrained=inner_constraints,
            first_order=first_order,
            shift=gap_shift,
        )
        return even_out(problem, theta, support, gap_spread, first_order) if evens_out else theta

    def fitted(state: FFMLState, support: Batch) -> Params:
        return adapted(state.params, state.multipliers, support, expected_shift(state.surprise))

    def adapt(state: FFMLState, support: Batch) -> Params:
        theta = fitted(state, support)
        if not predicts_gaps:
            return theta
        people = expected_people(problem, theta, support, state.membership)
        return evened_out(state, theta, people)

    def evened_out(state: FFMLState, theta: Params, people: Batch) -> Params:
        return even_out_expected(problem, theta, people, parity_goal, expected_shift(state.missed))

    def meet(key: Array, state: FFMLState, task: LabelledTask) -> tuple[Surprise, Surprise]:
        """Compare decisions on a task not yet learned from with the gaps of the tasks learned.

        And with the gaps that were to be expected of them, where decisions go by such.
        """

        def gaps_and_evidence(key: Array) -> tuple[Array, Array, Array]:
            support, query = draw_support_and_query(key, task, shots)
            theta, off = fitted(state, support), jnp.zeros(problem.num_constraints)
            if predicts_gaps:
                seen = support._replace(unlabelled=Unlabelled(query.x, query.weight))
                people = expected_people(problem, theta, seen, state.membership)
                evened = evened_out(state, theta, people)
                off = decision_gaps(problem, evened, query) - decision_gaps(problem, evened, people)
            return problem.judged_gaps(theta, query), off, problem.evidence(query)

        gaps, off, rows = jax.vmap(gaps_and_evidence)(jax.random.split(key, FRESH_DRAWS))
        learned = state.round >= 2  # before, there is nothing to compare with
        evidence = jnp.where(learned, rows.mean(0), 0.0)

        def mean(values: Array) -> Array:
            return (rows * values).sum(0) / jnp.maximum(rows.sum(0), 1e-30)

        def taken_in(before: Surprise, difference: Array) -> Surprise:
            return met(before, difference, evidence, surprise_memory)

        missed = taken_in(state.missed, mean(off)) if predicts_gaps else state.missed
        return taken_in(state.surprise, mean(gaps) - state.learned_gap), missed

    def outer_gradient(
        params: Params,
        multipliers: Array,
        tasks: LabelledTask,
        key: Array,
        dual_step: Array,
        gap_shift: Array,
    ) -> tuple[tuple[Params, Array], tuple[Array, Array, Array]]:
        """∇_(θ,λ) of Eq. 8 on fresh draws of all tasks (Alg. 1, lines 10–16)."""
        keys = jax.random.split(key, len(tasks.totals))
        supports, queries = jax.vmap(partial(draw_support_and_query, shots=shots))(keys, tasks)
        usable = (supports.mask.sum(1) > 0) & (queries.mask.sum(1) > 0)
        weights = jnp.where(usable, task_weights(tasks.totals.sum(1) * 1.0), 0.0)
        weights /= jnp.maximum(weights.sum(), 1e-30)
        gap_weights = None
        if gap_weighting == "evidence":
            evidence = usable[:, None] * jax.vmap(problem.evidence)(queries)
            gap_weights = task_precision(evidence)
            gap_weights /= jnp.maximum(gap_weights.sum(0), 1e-30)

        def objective(params: Params, multipliers: Array):
            return outer_objective(
                problem,
                jax.vmap(adapted, (None, None, 0, None))(params, multipliers, supports, gap_shift),
                multipliers,
                queries,
                weights,
                damping=damping * dual_step if augmented_term else 0.0,
                constrained=outer_constraints,
                pooled=pooled_constraint,
                gap_weights=gap_weights,
                shift=gap_shift,
                gap_penalty=gap_penalty if _may_be_positive(gap_penalty) else None,
            )

        return jax.grad(objective, argnums=(0, 1), has_aux=True)(params, multipliers)

    def update(key: Array, state: FFMLState, task: LabelledTask, memory: LabelledTask):
        t = state.round + 1
        surprise, missed = state.surprise, state.missed
        if inner_constraints or outer_constraints:
            surprise, missed = meet(jax.random.fold_in(key, num_outer_steps), state, task)
        gap_shift = expected_shift(surprise)
        primal_step, dual_step = outer_lr * schedule(t), dual_lr * schedule(t)
        limit = jnp.where(t >= 2, num_outer_steps, 0)  # Alg. 1, line 7

        def iterate(carry):
            i, theta, lam, optimizer_state, info, learned_gap = carry
            (slope, dual_slope), (loss, values, gaps) = outer_gradient(
                theta, lam, memory, jax.random.fold_in(key, i), dual_step, gap_shift
            )
            if not outer_constraints:
                dual_slope = jnp.zeros_like(dual_slope)
            ahead, optimizer_state = direction.update(slope, optimizer_state, theta)
            new_theta = project_to_ball(
                jax.tree.map(lambda p, d: p - primal_step * d, theta, ahead), radius
            )  # Eq. 9
            new_lam = ascend(lam, dual_slope, dual_step)  # Eq. 10
            change = _relative_change(theta, new_theta, lam, new_lam)
            info = Info(loss, values, i + 1, _smoothed(i, info.change, change))
            learned_gap = _smoothed(i, learned_gap, gaps)
            return i + 1, new_theta, new_lam, optimizer_state, info, learned_gap

        def unfinished(carry):
            i, *_, info, _ = carry
            if goes_to_limit:  # what no setting changes is computed once, see `ffml.tuning`
                return i < limit
            return (i < limit) & ((i == 0) | (info.change >= tolerance))

        nothing = jnp.zeros(())
        no_info = Info(nothing, jnp.zeros(problem.num_constraints), jnp.zeros((), int), nothing)
        start = (
            jnp.zeros((), int),
            state.params,
            state.multipliers,
            state.optimizer_state,
            no_info,
            state.learned_gap,
        )
        _, theta, lam, optimizer_state, info, gap = lax.while_loop(unfinished, iterate, start)
        known = learn_membership(memory) if predicts_gaps else state.membership
        return FFMLState(theta, lam, optimizer_state, t, gap, surprise, known, missed), info

    return Learner(init, adapt, problem.apply, update, uses_unlabelled=predicts_gaps)


def _may_be_positive(setting: float | Array) -> bool:
    """Tell whether what a setting switches on has to be in the program."""
    return isinstance(setting, jax.core.Tracer) or setting > 0


def _shrink(pool: Array, shrinkage: float) -> Array:
    return jnp.where(pool > 0, pool / jnp.maximum(pool + shrinkage, 1), 0.0)


def _smoothed(i: Array, before: Array, now: Array) -> Array:
    """Average over about 10 iterations, from the round's first on."""
    return jnp.where(i == 0, now, SMOOTHING * before + (1 - SMOOTHING) * now)


def _relative_change(theta: Params, new_theta: Params, lam: Array, new_lam: Array) -> Array:
    moved = optax.tree.norm(optax.tree.sub(new_theta, theta))
    dual_moved = jnp.linalg.norm(new_lam - lam)
    return moved / jnp.maximum(optax.tree.norm(theta), 1e-12) + dual_moved / (
        1 + jnp.linalg.norm(lam)
    )
