"""How long prices by group take, and how far their decisions are from the linear program's.

People have a score and estimated memberships; rates of no two groups may differ by more than 5
points (or: the lowest is at least 80 % of the highest). The linear program is solved by HiGHS.

    python benchmarks/prices.py --people 1000 10000 100000 --groups 2 7
"""

import argparse
import time

import numpy as np
from scipy.optimize import linprog

from ffml.wrappers._group_prices import Groups, Pool, Pricing

BOUNDS = {"gap 5": (0.05, 0.0), "ratio .8": (0.0, 0.2)}


def drawn(rng, n, groups, width, share):
    """Draw people whose scores differ by group."""
    chance = rng.dirichlet(np.full(groups, 0.3), n)
    score = rng.uniform(size=n) + chance @ rng.normal(scale=0.3, size=groups)
    return Pool(score, np.ones(n), 0.5), Groups(chance, width, share)


def program(pricing, offset):
    """Return the highest gain, by HiGHS."""
    people, part = pricing.people, pricing.comparisons[0]
    n = len(people.score)
    rates = np.concatenate(
        [(people.weight[:, None] * pricing.effect).T, -np.ones((len(offset), 1))], 1
    )
    lower = -rates
    lower[:, -1] *= 1 - part.share
    most = np.concatenate([-offset, part.width + offset])
    cost = np.append(-(people.score - people.threshold), 0.0)
    bounds = [(0, 1)] * n + [(None, None)]
    return -linprog(cost, np.concatenate([rates, lower]), most, bounds=bounds).fun / n


def seconds(function):
    """Return what a function gives, and how long it took."""
    start = time.perf_counter()
    value = function()
    return value, time.perf_counter() - start


def measured(seed, n, groups, bound):
    """Solve once; return times and how decisions compare."""
    rng = np.random.default_rng(seed)
    people, comparison = drawn(rng, n, groups, *BOUNDS[bound])
    offset = rng.normal(scale=0.02, size=groups)
    pricing, built = seconds(lambda: Pricing(people, [comparison]))
    prices, found = seconds(lambda: pricing.settled(pricing.best(offset), offset))
    best, highs = seconds(lambda: program(pricing, offset))
    positive = pricing.margin(prices) > 0
    weight = pricing.people.weight
    gain = positive @ (weight * (people.score - people.threshold))
    excess = float(pricing.excess((positive * weight) @ pricing.effect, offset))
    return built + found, highs, excess * 100, (best - gain) * n


def main():
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, nargs="+", default=[1000, 10_000, 100_000])
    parser.add_argument("--groups", type=int, nargs="+", default=[2, 7])
    parser.add_argument("--seeds", type=int, default=5)
    given = parser.parse_args()
    print("| people | groups | bound | ms | HiGHS, ms | missed by at most, points | gain, people |")
    print("|---|---|---|---|---|---|---|")
    for n in given.people:
        for groups in given.groups:
            for bound in BOUNDS:
                rows = np.array([measured(s, n, groups, bound) for s in range(given.seeds)])
                ours, highs = np.median(rows[:, :2], axis=0) * 1000
                worst, lost = rows[:, 2].max(), np.abs(rows[:, 3]).max()
                print(
                    f"| {n} | {groups} | {bound} | {ours:.1f} | {highs:.1f} | {worst:.3f} "
                    f"| {lost:.2f} |"
                )


if __name__ == "__main__":
    main()
