"""What a learner knows of groups, wherever among its wrappers that is."""

from typing import Any

import numpy as np

from ffml.wrappers._evened import Evened


def membership_weights(state: Any) -> np.ndarray | None:
    """Return how columns of x tell groups, ``(columns, contrasts)``; None where nobody asked."""
    while not isinstance(state, Evened):
        if not hasattr(state, "inner"):
            return None
        state = state.inner
    return state.known.membership.weights[:-2]  # without those of the label and of the one
