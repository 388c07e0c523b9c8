"""What became of each constraint, as text."""

import numpy as np

from ffml.report._view import RunView
from ffml.report.numbers import UNDEFINED, number


def constraint_totals(run: RunView) -> list[dict]:
    """Write what became of each constraint: rounds within the bound, last λ, both sums."""
    rows = []
    for name in run.constraints:
        g = run.rounds.numbers(f"constraint:{name}")
        measured = g[np.isfinite(g)]
        ends = [
            number(_last(run.rounds.numbers(f"{kind}:{name}")))
            for kind in ("multiplier", "violation", "clipped_violation")
        ]
        within = f"{(measured <= 0).sum()} of {len(measured)}" if len(measured) else UNDEFINED
        largest = number(measured.max()) if len(measured) else UNDEFINED
        rows.append({"name": name, "cells": [within, largest, *ends]})
    return rows


def _last(values: np.ndarray) -> float:
    """Return the last defined value."""
    defined = values[np.isfinite(values)]
    return float(defined[-1]) if len(defined) else float("nan")
