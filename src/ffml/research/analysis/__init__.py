"""The paper's theory, measured: regret, violation, constants, step sizes, rates of growth.

`record` plays a stream and keeps what regret is made of; `analyse` compares it with the best fixed
meta-parameters in hindsight; `growth_rate` says how fast regret and violation grow.
`logistic_constants` bounds the constants of a convex problem, and `theorem_settings` gives the step
sizes that Theorems 1 and 2 derive from them. See docs/theory.md.
"""

from ffml.research.analysis._constants import Constants, logistic_constants
from ffml.research.analysis._game import Game, record
from ffml.research.analysis._growth import growth_rate
from ffml.research.analysis._hindsight import Comparator, best_in_hindsight
from ffml.research.analysis._regret import Analysis, Violation, analyse, violations
from ffml.research.analysis._steps import (
    damping_range,
    guaranteed_curvature,
    largest_inner_step,
    outer_step,
    theorem_settings,
)
from ffml.research.analysis._stream import convex_stream

__all__ = [
    "Analysis",
    "Comparator",
    "Constants",
    "Game",
    "Violation",
    "analyse",
    "best_in_hindsight",
    "convex_stream",
    "damping_range",
    "growth_rate",
    "guaranteed_curvature",
    "largest_inner_step",
    "logistic_constants",
    "outer_step",
    "record",
    "theorem_settings",
    "violations",
]
