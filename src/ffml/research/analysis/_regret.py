"""Regret and violation of a game, by round."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ffml.base import FFMLError
from ffml.research.analysis._game import Game
from ffml.research.analysis._hindsight import Comparator, best_in_hindsight

NUM_ROUNDS = 25  # at which regret is computed if nobody says which


class Violation(NamedTuple):
    """Sums over the rounds so far, each ``(T, m)``."""

    total: np.ndarray  # Σ_t g_{t,i}(θ'_t), the constraint of Eq. 4
    clipped: np.ndarray  # Σ_t [g_{t,i}(θ'_t)]₊: rounds with slack pay for no others
    squared: np.ndarray  # Σ_t ([g_{t,i}(θ'_t)]₊)², what GenOLC bounds


class Analysis(NamedTuple):
    """A game in numbers, after some of its rounds."""

    rounds: np.ndarray  # (k,) numbers of rounds
    regret: np.ndarray  # (k,) Eq. 4
    regret_at_most: np.ndarray  # (k,) with the certified bound of the comparator
    violation: Violation  # each (k, m)
    multipliers: np.ndarray  # (k, m) λ
    comparators: list[Comparator]


def violations(constraint: np.ndarray) -> Violation:
    """Add up constraint values, by round; an entry that was not measurable adds nothing.

    Args:
        constraint: ``(T, m)`` as in `Game.constraint`, or stacked from
            `ffml.online.loop.Round.constraint`.

    >>> violations(np.array([[0.5], [-0.25], [np.nan]])).total.ravel().tolist()
    [0.5, 0.25, 0.25]
    """
    values = np.nan_to_num(np.asarray(constraint, float), nan=0.0)
    if values.ndim != 2:
        raise FFMLError(f"constraint must have a row for each round, got shape {values.shape}")
    clipped = np.maximum(values, 0)
    return Violation(values.cumsum(0), clipped.cumsum(0), (clipped**2).cumsum(0))


def analyse(
    game: Game,
    rounds: Sequence[int] | None = None,
    *,
    radius: float = 100.0,
    tolerance: float = 1e-6,
) -> Analysis:
    """Compute regret (Eq. 4), violation and multipliers after some numbers of rounds.

    ``Regret_n = Σ_{t<=n} f_t(Alg_t(θ_t)) - min_θ Σ_{t<=n} f_t(Alg_t(θ))``, the minimum being over
    the parameters whose mean constraint over these n rounds is <= 0. Both sums go over the same
    validation rows, through the same adaptation. Each n has a minimum of its own, so that regret
    after n rounds is what it would have been had the stream ended there.

    It can be negative: the learner may use other parameters in each round, and may break the
    constraint, which the comparator may not.

    Args:
        game: what was played, see `record`.
        rounds: the numbers n, ascending; by default 25 evenly spaced ones.
        radius: R, as the learner's.
        tolerance: of the comparator's mean loss and constraint, see `best_in_hindsight`. Regret
            after n rounds is known to n times that.
    """
    if rounds is None:
        spread = np.linspace(0, game.num_rounds, NUM_ROUNDS + 1)[1:]
        rounds = np.unique(np.ceil(spread).astype(int)).tolist()
    comparators = best_in_hindsight(game, rounds, radius=radius, tolerance=tolerance)
    numbers = np.array([comparator.num_rounds for comparator in comparators])
    incurred = game.loss.cumsum()[numbers - 1]
    return Analysis(
        numbers,
        incurred - numbers * [comparator.loss for comparator in comparators],
        incurred - numbers * [comparator.at_least for comparator in comparators],
        Violation(*(sums[numbers - 1] for sums in violations(game.constraint))),
        game.multipliers[numbers - 1],
        comparators,
    )
