"""What rows say of parameters: loss, gaps and constraints, all from one pass through the model."""

from typing import NamedTuple

from ffml.base import Array, Batch, Params, Problem
from ffml.problem.gaps import bounded, higher_rates, score_gaps


class Measures(NamedTuple):
    """What a batch says of parameters."""

    loss: Array  # () f
    constraint: Array  # (m,) g, 0 where not measurable
    gaps: Array  # (m,) signed gaps, 0 where not measurable
    higher: Array  # (m,) the higher mean score of the two sides, 0 where not measurable
    logits: Array  # (n,)


def measures(problem: Problem, params: Params, batch: Batch) -> Measures:
    """Measure loss, constraints and gaps together.

    Slopes of a sum of these take one pass back through the model as well. If loss and constraint
    called the model each by itself, they would take two, and slopes of slopes four.
    """
    logits = problem.apply(params, batch.x)
    gaps, higher = (of(problem, logits, batch) for of in (score_gaps, higher_rates))
    loss = problem.cost(params, logits, batch, problem.positive_weight)
    return Measures(loss, bounded(problem, gaps, higher, batch), gaps, higher, logits)
