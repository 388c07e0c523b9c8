"""The constants of the paper's assumptions, bounded in closed form."""

import math
from typing import NamedTuple

import numpy as np

from ffml.base import FFMLError, Stream
from ffml.border import at_least, positive

SIGMOID_SLOPE = 1 / 4  # the largest |σ'|
SIGMOID_CURVATURE = 1 / (6 * math.sqrt(3))  # the largest |σ''|


class Constants(NamedTuple):
    """What Assumptions 2 and 3 name, for losses f and constraints g on the ball ‖θ‖ <= R."""

    loss_lipschitz: float  # L_f
    constraint_lipschitz: float  # L_g
    loss_smoothness: float  # β_f
    constraint_smoothness: float  # β_g
    loss_hessian_lipschitz: float  # ρ_f
    constraint_hessian_lipschitz: float  # ρ_g
    loss_strong_convexity: float  # μ_f
    constraint_strong_convexity: float  # μ_g
    radius: float  # R
    num_constraints: int  # m

    @property
    def gradient_bound(self) -> float:
        """G = max(L_f, L_g)."""
        return max(self.loss_lipschitz, self.constraint_lipschitz)

    @property
    def smoothness(self) -> float:
        """H = max(β_f, β_g)."""
        return max(self.loss_smoothness, self.constraint_smoothness)

    @property
    def loss_range(self) -> float:
        """Bound F, the most that two losses differ by on the ball: 2 L_f R."""
        return 2 * self.loss_lipschitz * self.radius

    @property
    def constraint_range(self) -> float:
        """Bound D, the largest constraint value on the ball: L_g R (as θ = 0 is feasible)."""
        return self.constraint_lipschitz * self.radius


def logistic_constants(stream: Stream, *, l2: float, radius: float) -> Constants:
    """Bound the constants of logistic regression with l2 and constraint ``dbc``, from the data.

    Errors at both labels cost the same: ``positive_weight`` is 1.

    With x̃ = (x, 1) and maxima over all rows of all tasks::

        L_f <= max ‖x̃‖ + l2 R         β_f <= max ‖x̃‖²/4 + l2       ρ_f <= max ‖x̃‖³/(6√3)
        L_g <= 2 max ‖x - centre‖      β_g = ρ_g = 0                 μ_f >= l2,  μ_g = 0

    The centre is halfway between the means of the two sides of a comparison, in each task. L, β
    and ρ are upper bounds, μ_f is a lower bound. They hold for the loss and the constraint on
    any rows of a task (support, query or validation), as a mean over rows is at most the largest.

    Assumption 3 also asks the constraints to be strongly convex, and Assumption 2 that they are
    smooth. ``|DBC| - ε``, which the paper gives as an example, is linear on either side of
    DBC = 0: μ_g is 0, and β_g = 0 leaves out the kink. The theorems' formulas are defined with
    these values; where the loss is strongly convex, so is the Lagrangian on either side.

    Args:
        stream: the data.
        l2: the μ of `ffml.problem.fair_classification`.
        radius: R of the learner.
    """
    at_least(0, l2=l2)
    positive(radius=radius)
    largest, furthest = 0.0, 0.0
    for task in stream.tasks():
        x = np.asarray(task.x, float)
        if len(x):
            largest = max(largest, float(np.sqrt((x**2).sum(1).max() + 1)))
        for members in stream.schema.memberships(task.groups).T:
            inside, outside = x[members > 0], x[members == 0]
            if len(inside) and len(outside):
                centre = (inside.mean(0) + outside.mean(0)) / 2
                furthest = max(furthest, float(np.linalg.norm(x - centre, axis=1).max()))
    if not largest:
        raise FFMLError(f"stream '{stream.name}' has no rows: there is nothing to bound")
    return Constants(
        loss_lipschitz=largest + l2 * radius,
        constraint_lipschitz=2 * furthest,
        loss_smoothness=SIGMOID_SLOPE * largest**2 + l2,
        constraint_smoothness=0.0,
        loss_hessian_lipschitz=SIGMOID_CURVATURE * largest**3,
        constraint_hessian_lipschitz=0.0,
        loss_strong_convexity=l2,
        constraint_strong_convexity=0.0,
        radius=radius,
        num_constraints=len(stream.schema.contrasts),
    )
