"""Who counts where as what: people whose labels and groups are known, or only expected."""

from typing import NamedTuple

import numpy as np

from ffml.base import Batch, Problem, Schema
from ffml.wrappers._membership import shares


class People(NamedTuple):
    """What is to be expected of people: their labels, and who counts where as what."""

    p: np.ndarray  # (n,) probability of label 1
    inside: np.ndarray  # (n, m) probability to count in a comparison, as one of the group
    outside: np.ndarray  # (n, m) and as one of the others


class Places(NamedTuple):
    """All groups of all comparisons: notion by notion, condition by condition, column by column."""

    names: tuple[str, ...]  # (G,)
    entry: np.ndarray  # (G,) the entry of the problem that tells a group
    is_member: np.ndarray  # (G,) whether it is the entry's group, or the others
    comparison: np.ndarray  # (G,) which groups are to be alike: those of one number


def places(problem: Problem) -> Places:
    """List the groups whose rates are compared."""
    schema, rows, block = problem.schema, [], 0
    for constraint in problem.constraints:
        for condition in constraint.conditions:
            for group in schema.groups:
                name = ", ".join(filter(None, (group.name, condition.name)))
                entry = block * len(schema.contrasts) + group.contrast
                column = block * len(schema.sensitive) + group.column
                rows.append((f"{constraint.name}[{name}]", entry, group.is_member, column))
            block += 1
    names, *numbers = zip(*rows, strict=True) if rows else ((), (), (), ())
    entries, is_member, columns = (np.array(part, int) for part in numbers)
    return Places(names, entries, is_member > 0, columns)


def by_group(places: Places, people: People) -> np.ndarray:
    """Return the probabilities to count as one of each group ``(n, G)``."""
    return np.where(
        places.is_member, people.inside[:, places.entry], people.outside[:, places.entry]
    )


def expected(problem: Problem, weights: np.ndarray, p: np.ndarray, x: np.ndarray) -> People:
    """Describe people whose labels and groups nobody knows.

    Args:
        problem: its notions say who counts in which comparison.
        weights: how features and labels tell groups, see `ffml.wrappers._membership.of_task`.
        p: their probabilities of label 1.
        x: their features.
    """
    everyone = np.ones(len(x))
    by_label = []
    for label in (0.0, 1.0):
        s = _memberships(problem.schema, weights, x, label)
        batch = Batch(x, label * everyone, s, everyone, everyone, len(x))
        by_label.append(observed(problem, batch))
    negative, positive = by_label
    share = p[:, None]
    return People(
        p,
        (1 - share) * negative.inside + share * positive.inside,
        (1 - share) * negative.outside + share * positive.outside,
    )


def _memberships(schema: Schema, weights: np.ndarray, x: np.ndarray, label: float) -> np.ndarray:
    """Return the shares of groups: what people say of themselves, or what is told of them."""
    if schema.known_groups:
        first = len(schema.features)
        return np.asarray(x, float)[:, first : first + len(schema.hints)]
    return _adding_up(schema, shares(weights, x, label))


def _adding_up(schema: Schema, s: np.ndarray) -> np.ndarray:
    """Let the shares of a column's groups add up to 1, as far as there are any."""
    column = np.zeros(len(schema.contrasts), int)
    for group in schema.groups:
        column[group.contrast] = group.column
    several = np.bincount(column, minlength=len(schema.sensitive))[column] > 1
    total = s @ (column[:, None] == column)
    return np.where(several & (total > 0), s / np.maximum(total, 1e-30), s)


def observed(problem: Problem, batch: Batch) -> People:
    """Describe people whose labels and groups are known, by what each of them counts."""
    nobody = np.zeros((len(batch.y), 0))
    rows = [np.asarray(part.rows(batch)) for c in problem.constraints for part in c.conditions]
    counts = np.concatenate([nobody, *(part[:, None] for part in rows)], axis=1)
    counts = np.repeat(counts, batch.s.shape[1], axis=1)
    member = np.tile(np.asarray(batch.s, float), len(rows))
    return People(np.asarray(batch.y, float), counts * member, counts * (1 - member))


def weighed(people: People, weight: np.ndarray) -> People:
    """Let everybody count as much as their weight ``(n,)``."""
    times = np.asarray(weight, float)[:, None]
    return people._replace(inside=times * people.inside, outside=times * people.outside)


def influence(people: People) -> np.ndarray:
    """Return what each person's positive decision adds to the gaps among just these ``(n, m)``."""
    inside, outside = people.inside.sum(0), people.outside.sum(0)
    both = (inside > 0) & (outside > 0)
    return both * (
        people.inside / np.where(both, inside, 1.0) - people.outside / np.where(both, outside, 1.0)
    )


def gaps_met(positive: np.ndarray, people: People) -> np.ndarray:
    """Return the gaps of decisions ``(m,)``, 0 where a side has nobody."""
    return positive @ influence(people)


def rows_behind(people: People) -> np.ndarray:
    """Return the rows ``1/(1/n₁ + 1/n₀)`` that gaps rest on, 0 where a side has nobody."""
    weights = np.stack([people.inside, people.outside])  # (2, n, m)
    totals = weights.sum(1)
    both = (totals > 0).all(0)
    sizes = totals**2 / np.where(both, (weights**2).sum(1), 1.0)  # rows that count differently
    return both * sizes.prod(0) / np.where(both, sizes.sum(0), 1.0)
