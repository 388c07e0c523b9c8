"""The methods that FFML is compared with: two steps by hand, where they end, and their oracles."""

import math
import sys

import jax
import numpy as np
import pytest
from closed_forms import constant_tasks, scalar_problem
from conftest import random_task
from fairlearn import reductions
from sklearn.linear_model import LogisticRegression

from ffml.base import FFMLError, Task
from ffml.methods import (
    METHODS,
    adp_olc,
    fairlearn_dp,
    fairlearn_eo,
    gen_olc,
    m_ftml,
    ogdlc,
    refit,
    sinha_vaze,
    twp,
)
from ffml.methods._fairlearn_refit import Mixture
from ffml.methods._inner import gradient_steps
from ffml.online.judge import support_batch
from ffml.online.memory import bounded
from ffml.problem.classification import fair_classification
from ffml.problem.models import linear
from ffml.problem.notions import demographic_parity

TARGET, LIMIT = 2.0, 0.25  # min ½(θ - 2)² subject to θ <= 0.25
ONLINE = {"twp": twp, "ogdlc": ogdlc, "adp-olc": adp_olc, "gen-olc": gen_olc}
ONLINE["sinha-vaze"] = sinha_vaze


def learn(learner, tasks):
    """Reveal one task after another; return the last state and info."""
    update, state = jax.jit(learner.update), learner.init(jax.random.key(0))
    for t, task in enumerate(tasks):
        state, info = update(jax.random.key(t), state, task, None)
    return state, info


def learned(method, rounds=1, **settings):
    """Learn the scalar problem; return (θ, λ)."""
    task = jax.tree.map(lambda leaf: leaf[0], constant_tasks([TARGET]))
    learner = method(scalar_problem(LIMIT), shots=2, **settings)
    state, info = learn(learner, [task] * rounds)
    assert int(info.iterations) == settings["num_steps"]
    assert int(state.step) == rounds * settings["num_steps"]
    return float(state.params), float(state.multipliers[0])


# -- the update rules, by hand -------------------------------------------------------------------


def test_twp_by_hand(float64):
    first = 0 - 0.3 * (0 - 2 + 0.5)
    second = first - 0.3 * (first - 2 + 0.5)
    theta, lam = learned(twp, lr=0.3, penalty=0.5, num_steps=2)
    assert (theta, lam) == pytest.approx((second, 0.5), rel=1e-12)


def test_ogdlc_by_hand(float64):
    theta, lam = 0.0, 0.0
    for _ in range(3):  # λ first falls below 0, is clipped, and then rises
        theta, lam = (
            theta - 0.3 * (theta - 2 + lam),
            max(lam + 0.3 * (theta - 0.25 - 0.7 * 0.3 * lam), 0.0),
        )
    assert lam > 0
    found = learned(ogdlc, lr=0.3, damping=0.7, num_steps=3)
    assert found == pytest.approx((theta, lam), rel=1e-12)


def test_adp_olc_by_hand_and_its_steps_go_on_shrinking_in_the_next_round(float64):
    theta, lam = 0.0, 0.0
    for t in (1, 2, 3, 4):
        sigma, eta = 6 * 3 * 2 / t**0.4, 3 / (2 * t**0.4)  # R = 3, G = 2, β = 0.4
        theta, lam = (
            np.clip(theta - eta * (theta - 2 + lam), -3, 3),
            max(lam + (theta - 0.25 - sigma * lam) / (sigma * (t + 1)), 0.0),
        )
    assert lam > 0
    settings = {"radius": 3.0, "gradient_bound": 2.0, "exponent": 0.4, "num_steps": 2}
    assert learned(adp_olc, 2, **settings) == pytest.approx((theta, lam), rel=1e-12)


@pytest.mark.parametrize("strong_convexity", [None, 0.8])
def test_gen_olc_by_hand(float64, strong_convexity):
    theta, lam, sigma = 0.0, 0.0, 2 * 1.5**2  # m = 1, G = 1.5
    for t in (1, 2, 3, 4):
        eta = 0.3 if strong_convexity is None else 0.8 / (t + 1)
        theta = theta - eta * (theta - 2 + lam * (theta > 0.25))  # a step on f + λ [g]₊
        lam = max(theta - 0.25, 0.0) / (sigma * eta)  # at the new θ
    settings = {"lr": 0.3, "strong_convexity": strong_convexity, "gradient_bound": 1.5}
    assert learned(gen_olc, 2, num_steps=2, **settings) == pytest.approx((theta, lam), rel=1e-12)


@pytest.mark.parametrize("horizon", [None, 50])
def test_sinha_vaze_by_hand(float64, horizon):
    """R = 3, G = 1.5, V = 2; the second step is the first that breaks θ <= 0.25."""
    theta, queue, squares, alpha, price = 0.0, 0.0, 0.0, 1 / (2 * 1.5 * 6), 0.0
    for t in (1, 2, 3, 4):
        queue += alpha * max(theta - 0.25, 0.0)
        rate = 1 / (2 * math.sqrt(horizon or t))
        price = rate * math.exp(rate * queue)
        slope = alpha * (2 * (theta - 2) + price * (theta > 0.25))
        squares += slope**2
        theta = float(np.clip(theta - math.sqrt(2) * 6 / (2 * math.sqrt(squares)) * slope, -3, 3))
    assert queue > 0 and theta != 3
    settings = {"radius": 3.0, "gradient_bound": 1.5, "loss_weight": 2.0, "horizon": horizon}
    found = learned(sinha_vaze, 2, num_steps=2, **settings)
    assert found == pytest.approx((theta, price / 2), rel=1e-12)


def test_m_ftml_by_hand_and_to_the_mean(float64):
    """θ'_k - a_k = (1-η₁)ˢ(θ - a_k), so the outer slope is (1-η₁)²ˢ(θ - mean a)."""
    memory = constant_tasks([1.0, 3.0, -1.0])
    newest = jax.tree.map(lambda leaf: leaf[-1], memory)

    def theta_after(**more):
        learner = m_ftml(scalar_problem(LIMIT), gradient_steps(0.2, 3), shots=2, **more)
        update, state = jax.jit(learner.update), learner.init(jax.random.key(0))
        for t in range(2):
            state, _ = update(jax.random.key(t), state, newest, memory)
        assert float(state.multipliers[0]) == 0.0
        return float(state.params)

    theta = 0.0
    for _ in range(2):
        theta -= 0.3 * 0.8**6 * (theta - 1.0)
    assert theta_after(outer_lr=0.3, num_outer_steps=2) == pytest.approx(theta, rel=1e-12)
    assert theta_after(outer_lr=1.0, num_outer_steps=200) == pytest.approx(1.0, rel=1e-9)


# -- where they end ------------------------------------------------------------------------------


def test_twp_ends_at_the_penalised_optimum(float64):
    """θ = a - β, feasible or not."""
    assert learned(twp, penalty=0.5, num_steps=500)[0] == pytest.approx(1.5, rel=1e-9)
    assert learned(twp, penalty=5.0, num_steps=500)[0] == pytest.approx(-3.0, rel=1e-9)


def test_ogdlc_ends_at_the_regularised_saddle_point(float64):
    """θ = a - λ and g(θ) = δηλ; without damping, that is the KKT point."""
    for damping in (0.0, 4.0):
        lam = (TARGET - LIMIT) / (1 + damping * 0.1)
        found = learned(ogdlc, lr=0.1, damping=damping, num_steps=3000)
        assert found == pytest.approx((TARGET - lam, lam), rel=1e-9)


def test_adp_olc_follows_its_vanishing_damping_to_the_kkt_point(float64):
    settings = {"radius": 3.0, "exponent": 0.9}
    for steps in (2_000, 20_000):
        damping = 6 * 3 / steps**0.9
        lam = (TARGET - LIMIT) / (1 + damping)
        found = learned(adp_olc, num_steps=steps, **settings)
        assert found == pytest.approx((TARGET - lam, lam), abs=0.3 * damping)
    assert 0 < found[0] - LIMIT < 0.005  # what is left of the violation


def test_gen_olc_ends_where_its_penalty_balances_and_feasible_as_steps_vanish(float64):
    """θ = a - λ and [g(θ)]₊ = σηλ."""
    lam = (TARGET - LIMIT) / (1 + 2 * 0.1)
    found = learned(gen_olc, lr=0.1, num_steps=500)
    assert found == pytest.approx((TARGET - lam, lam), rel=1e-9)
    steps = 5_000
    theta, lam = learned(gen_olc, strong_convexity=1.0, num_steps=steps)
    exact = 2 / (steps + 1) * (TARGET - LIMIT)  # ση_t(a - L), up to a factor 1 + O(1/t)
    assert theta - LIMIT == pytest.approx(exact, rel=1e-2)
    assert lam == pytest.approx(TARGET - LIMIT, rel=1e-2)


# -- what the online methods share ---------------------------------------------------------------


def kept_rows(task, schema, rows=128):
    return bounded(task, schema, rows, np.random.default_rng(0))


def padded(task, rows=128):
    missing = ((0, rows - len(task.x)), (0, 0))
    return task._replace(x=np.pad(task.x, missing), s=np.pad(task.s, missing))


@pytest.mark.parametrize("name", ["ogdlc", "adp-olc", "gen-olc", "sinha-vaze"])
def test_multiplier_of_a_group_that_is_missing_stays(name, schema):
    problem = fair_classification(schema, linear(), demographic_parity(0.0))
    task = random_task(1, 80, schema)
    learner = ONLINE[name](problem, num_steps=20, shots=10)
    both = padded(kept_rows(task, schema))
    one = padded(kept_rows(task._replace(groups=task.groups * 0), schema))
    before, _ = learn(learner, [both])
    after, info = learn(learner, [both, one])
    assert float(before.multipliers[0]) > 0
    np.testing.assert_array_equal(after.multipliers, before.multipliers)
    assert float(info.constraint[0]) == 0.0
    assert np.abs(after.params["w"] - before.params["w"]).max() > 0  # but it learned


@pytest.mark.parametrize("name", ONLINE)
def test_parameters_stay_in_the_ball_and_nothing_is_adapted(name, schema):
    problem = fair_classification(schema, linear(), demographic_parity(0.0))
    task = random_task(1, 80, schema)
    learner = ONLINE[name](problem, radius=0.2, num_steps=30, shots=10)
    state, _ = learn(learner, [padded(kept_rows(task, schema))])
    norm = np.sqrt(sum((leaf**2).sum() for leaf in jax.tree.leaves(state.params)))
    assert 0.1 < norm <= 0.2 * (1 + 1e-5)
    support = support_batch(task, schema, np.arange(40), 10, np.random.default_rng(0))
    assert learner.adapt(learner.knowledge(state), support) is state.params


@pytest.mark.parametrize(
    ("method", "settings", "message"),
    [
        ("twp", {"lr": 0.0}, "lr must be > 0, got 0.0"),
        ("twp", {"penalty": -1.0}, "penalty must be >= 0, got -1.0"),
        ("ogdlc", {"damping": -1.0}, "damping must be >= 0, got -1.0"),
        ("ogdlc", {"num_steps": 0}, "num_steps must be >= 1, got 0"),
        ("ogdlc", {"radius": 0.0}, "radius must be > 0, got 0.0"),
        ("adp-olc", {"exponent": 1.0}, "exponent must be between 0 and 1, got 1.0"),
        ("adp-olc", {"gradient_bound": 0.0}, "gradient_bound must be > 0, got 0.0"),
        ("gen-olc", {"strong_convexity": 0.0}, "strong_convexity must be > 0, got 0.0"),
        ("sinha-vaze", {"horizon": 0}, "horizon must be >= 1, got 0"),
        ("sinha-vaze", {"loss_weight": 0.0}, "loss_weight must be > 0, got 0.0"),
        ("m-ftml", {"outer_lr": 0.0}, "outer_lr must be > 0, got 0.0"),
        ("refit", {"inverse_l2": 0.0}, "inverse_l2 must be > 0, got 0.0"),
        ("fairlearn-dp", {"max_iter": 0}, "max_iter must be >= 1, got 0"),
        ("fairlearn-eo", {"difference_bound": 0.0}, "difference_bound must be > 0, got 0.0"),
        (
            "fairlearn-dp",
            {"derandomize": "x"},
            "unknown derandomize 'x'; known: hash, majority",
        ),
    ],
)
def test_bad_settings_are_refused(method, settings, message):
    with pytest.raises(FFMLError) as caught:
        METHODS[method](scalar_problem(0.0), **settings)
    assert str(caught.value) == message


# -- refitting -----------------------------------------------------------------------------------


@pytest.fixture
def problem(schema):
    return fair_classification(schema, linear(), demographic_parity(0.02))


def seen_and_support(learner, schema, *, shots=100):
    """Play two small tasks; return state, support of a third, and all rows plainly."""
    first, second, third = (random_task(i, 40 + 20 * i, schema) for i in range(3))
    state = learner.init(jax.random.key(0))
    for task in (first, second):
        state, _ = learner.update(None, state, padded(kept_rows(task, schema)), None)
    support = support_batch(third, schema, np.arange(30), shots, np.random.default_rng(0))
    third = Task("", *(part[:30] for part in third[1:4]))
    whole = (
        np.concatenate(parts) for parts in zip(first[1:4], second[1:4], third[1:4], strict=True)
    )
    return state, support, *whole


@pytest.mark.parametrize("positive_weight", [1.0, 3.0])
def test_refit_is_scikit_learn_on_all_rows_seen_and_the_support(schema, problem, positive_weight):
    learner = refit(problem._replace(positive_weight=positive_weight))
    state, support, x, y, _ = seen_and_support(learner, schema)
    cost = 2 / (1 + positive_weight) * np.array([1.0, positive_weight])
    shares = dict(enumerate(cost * len(y) / (2 * np.bincount(y))))  # balanced, then by cost
    oracle = LogisticRegression(class_weight=shares, tol=1e-8).fit(x.astype(float), y)
    logits = learner.predict(learner.adapt(state, support), x).logits
    np.testing.assert_allclose(logits, oracle.decision_function(x.astype(float)), atol=2e-3)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # fairlearn's own, of pandas
@pytest.mark.parametrize(
    ("method", "notion"),
    [(fairlearn_dp, "DemographicParity"), (fairlearn_eo, "EqualizedOdds")],
)
def test_fairlearn_refit_is_a_direct_fit(schema, problem, method, notion):
    learner = method(problem, max_iter=6, derandomize="majority")
    state, support, x, y, groups = seen_and_support(learner, schema)
    # The rows in the order in which the method keeps them: the fit is sensitive to it.
    rows = np.concatenate(
        [start + np.argsort(y[start:end], kind="stable") for start, end in ((0, 40), (40, 100))]
    )
    kept = np.concatenate([state.seen.x, _different(support)])
    np.testing.assert_array_equal(kept[:100], x[rows])
    order = np.concatenate([rows, 100 + _positions(kept[100:], x[100:])])
    oracle = reductions.ExponentiatedGradient(
        LogisticRegression(class_weight="balanced", solver="newton-cholesky"),
        getattr(reductions, notion)(difference_bound=0.01),
        max_iter=6,
    )
    oracle.fit(x[order].astype(float), y[order], sensitive_features=groups[order, 0])
    probability = oracle._pmf_predict(x.astype(float))[:, 1]
    assert len(np.unique(probability)) > 2  # a true mixture
    logits = learner.predict(learner.adapt(state, support), x).logits
    expected = np.clip(probability, 1e-3, 1 - 1e-3)
    np.testing.assert_allclose(1 / (1 + np.exp(-logits)), expected, atol=1e-9)


@pytest.mark.parametrize("method", [refit, fairlearn_dp, fairlearn_eo])
def test_refits_decide_positively_more_often_where_missed_positives_cost_more(
    schema, problem, method
):
    rates = []
    for positive_weight in (0.5, 2.0):
        learner = method(problem._replace(positive_weight=positive_weight))
        state, support, x, _, _ = seen_and_support(learner, schema)
        rates.append((learner.predict(learner.adapt(state, support), x).logits > 0).mean())
    assert rates[0] + 0.06 < rates[1]


def _different(support):
    mask = support.mask > 0
    return np.concatenate(
        [
            part[np.sort(np.unique(part, axis=0, return_index=True)[1])]
            for part in (support.x[mask & (support.y == label)] for label in (0, 1))
        ]
    )


def _positions(rows, among):
    return np.array([np.flatnonzero((among == row).all(1))[0] for row in rows])


def test_hashed_decisions_are_taken_as_often_as_the_mixture_says(problem):
    learner = fairlearn_dp(problem)
    members = tuple({"w": np.zeros(3), "b": np.array(sign)} for sign in (1.0, -1.0))
    mixture = Mixture(np.array([0.3, 0.7]), members)
    x = np.random.default_rng(0).normal(size=(20_000, 3)).astype(np.float32)
    decided = learner.predict(mixture, x).logits > 0
    assert decided.mean() == pytest.approx(0.3, abs=0.015)
    again = learner.predict(mixture, x[::-1]).logits > 0
    np.testing.assert_array_equal(decided[::-1], again)  # a row's place does not matter
    for share, decision in ((0.0, False), (1.0, True)):  # where all members agree, so do we
        agreed = mixture._replace(share=np.array([share, 1 - share]))
        assert ((learner.predict(agreed, x).logits > 0) == decision).all()


@pytest.mark.parametrize("name", ["fairlearn-dp", "fairlearn-eo"])
def test_groups_that_are_the_labels(name, schema, problem):
    """The reduction then weighs all rows of a label with 0."""
    learner = METHODS[name](problem, max_iter=5)
    task = random_task(1, 60, schema)
    task = task._replace(groups=task.y[:, None].astype(np.int32))
    state, _ = learner.update(
        None, learner.init(jax.random.key(0)), padded(kept_rows(task, schema)), None
    )
    nobody = support_batch(task, schema, np.arange(0), 10, np.random.default_rng(0))
    logits = learner.predict(learner.adapt(learner.knowledge(state), nobody), task.x).logits
    assert np.isfinite(logits).all()


@pytest.mark.parametrize("name", ["refit", "fairlearn-dp", "fairlearn-eo"])
def test_rows_of_one_label_one_group_or_none(name, schema, problem):
    learner = METHODS[name](problem, **({} if name == "refit" else {"max_iter": 5}))
    task = random_task(1, 60, schema)
    nobody = support_batch(task, schema, np.arange(0), 10, np.random.default_rng(0))

    def decisions(task):
        state = learner.init(jax.random.key(0))
        if task is not None:
            state, _ = learner.update(None, state, padded(kept_rows(task, schema)), None)
        return (
            learner.predict(learner.adapt(state, nobody), random_task(2, 50, schema).x).logits > 0
        )

    assert not decisions(None).any()
    assert decisions(task._replace(y=task.y * 0 + 1)).all()
    assert not decisions(task._replace(y=task.y * 0)).any()
    one_group = decisions(task._replace(groups=task.groups * 0))
    plain = LogisticRegression(class_weight="balanced").fit(task.x.astype(float), task.y)
    np.testing.assert_array_equal(one_group, plain.predict(random_task(2, 50, schema).x))
    only_positives = task._replace(y=np.where(task.groups[:, 0] == 1, 1, task.y))
    assert decisions(only_positives).shape == (50,)  # a group without negatives


def test_kept_rows_stand_for_the_whole_task_and_support_rows_for_their_rates(schema, problem):
    from ffml.methods._refit import repeated, support_rows, task_rows

    task = random_task(1, 500, schema)
    kept = kept_rows(task, schema, rows=64)
    rows = repeated(task_rows(padded(kept)))
    assert len(rows.y) == 500 and rows.y.sum() == task.y.sum()
    assert len(np.unique(rows.x, axis=0)) == 64
    pool = np.arange(400)
    support = support_batch(task, schema, pool, 20, np.random.default_rng(0))
    rows = repeated(support_rows(support))
    assert len(np.unique(rows.x, axis=0)) == 40
    assert rows.y.mean() == pytest.approx(task.y[pool].mean(), abs=0.02)
    small = support_batch(task, schema, pool[:15], 20, np.random.default_rng(0))
    rows = support_rows(small)
    assert (rows.times == 1).all() and rows.y.sum() == task.y[:15].sum() and len(rows.y) == 15


@pytest.mark.parametrize(("name", "module"), [("refit", "sklearn"), ("fairlearn-dp", "fairlearn")])
def test_a_missing_library_is_named_with_its_remedy(name, module, problem, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(FFMLError) as caught:
        METHODS[name](problem)
    assert str(caught.value) == (
        f"this method needs {module}, which is not installed; pip install 'ffml[fairlearn]'"
    )
