"""How fast a curve grows, and a figure of it beside what Theorem 2 promises."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from ffml.base import FFMLError
from ffml.border import one_of
from ffml.research.analysis._regret import Analysis
from ffml.studies.drawing import DARK, GREY, looks, panels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Theorem 2: regret is O(log T) and violation O(√(T log T)).
RATES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "log T": lambda rounds: np.log(rounds),
    "√(T log T)": lambda rounds: np.sqrt(rounds * np.log(rounds)),
}


def growth_rate(
    values: np.ndarray, rounds: np.ndarray | None = None, *, start: float = 0.5
) -> float:
    """Return the exponent p of the power T^p that fits a curve best.

    A bound on growth speaks of how high a curve gets, so the fit is made to its running maximum
    (what it loses again does not count): the slope of the least-squares line through log(maximum)
    against log(round), over the rounds from ``start · T`` on where the maximum is positive. Below
    1 means that the curve divided by T vanishes; log T has an exponent of about 1/log T.

    A curve that never gets above 0 (regret can be negative) is below every bound, and its
    exponent is ``-inf``. One that is positive at one round only has none: ``nan``.

    Args:
        values: the curve.
        rounds: where it was taken, ascending; 1 … T if not given.
        start: the first part of the rounds that is left out.

    >>> round(growth_rate(3 * np.arange(1, 101) ** 0.5), 3)
    0.5
    >>> growth_rate(-np.arange(10.0))
    -inf
    """
    values, rounds = _checked(values, rounds)
    if not 0 <= start < 1:
        raise FFMLError(f"start must be at least 0 and below 1, got {start}")
    highest = np.maximum.accumulate(values)
    if highest[-1] <= 0:
        return -np.inf
    used = (rounds >= start * rounds[-1]) & (highest > 0)
    if used.sum() < 2:
        return np.nan
    heights, logs = highest[used], np.log(rounds[used])
    logs = logs - logs.mean()
    return float(logs @ np.log(heights / heights[0]) / (logs @ logs))


def fitted_scale(values: np.ndarray, rounds: np.ndarray, rate: str) -> float:
    """Return the c for which ``c · rate`` fits a curve best, in least squares over all rounds.

    Args:
        values: the curve.
        rounds: where it was taken.
        rate: one of `RATES`.

    >>> fitted_scale(np.log([2, 5, 9]) * 3, np.array([2, 5, 9]), "log T")
    3.0
    """
    values, rounds = _checked(values, rounds)
    shape = one_of("rate", rate, RATES)(rounds)
    return float(shape @ values / (shape @ shape))


def plot_growth(analyses: Mapping[str, Analysis]) -> "Figure":
    """Draw regret and violation against T, with the fitted rates of Theorem 2.

    Two panels: regret, and the largest Σ_t g_i among the constraints. Dashed and dotted are
    c·log T and c·√(T log T), with c fitted to the first game. The legend gives exponents
    (`growth_rate`). Save it with ``figure.savefig("regret.svg")``, or as PNG or PDF.

    Args:
        analyses: what to call each game, and its numbers (`analyse`).
    """
    if not analyses:
        raise FFMLError("plot_growth needs at least one analysed game")
    with panels(1, 2, (9, 3.6)) as (figure, [[left, right]]):
        rounds = {name: analysis.rounds for name, analysis in analyses.items()}
        _draw(left, "regret", rounds, {name: a.regret for name, a in analyses.items()})
        totals = {name: a.violation.total.max(1) for name, a in analyses.items()}
        _draw(right, "cumulative violation", rounds, totals)
        return figure


def _draw(
    axes: "Axes", title: str, rounds: dict[str, np.ndarray], curves: dict[str, np.ndarray]
) -> None:
    look_of = looks(list(curves))
    for name, values in curves.items():
        label = name.replace("$", r"\$") + _words(growth_rate(values, rounds[name]))
        axes.plot(rounds[name], values, color=look_of[name].colour, lw=1.8, label=label)
    first = next(iter(curves))
    line = np.linspace(max(rounds[first][0], 2), rounds[first][-1], 200)
    for rate, dash in zip(RATES, ("--", ":"), strict=True):
        scale = fitted_scale(curves[first], rounds[first], rate)
        axes.plot(line, scale * RATES[rate](line), dash, color=DARK, lw=1.3, label=f"c·{rate}")
    axes.axhline(0, color=GREY, lw=0.8)
    axes.set_title(title, loc="left", fontsize=11)
    axes.set_xlabel("rounds T")
    axes.legend()


def _words(exponent: float) -> str:
    """Return an exponent as the legend says it."""
    if np.isnan(exponent):
        return ", positive once"
    return ", never positive" if exponent == -np.inf else f", $T^{{{exponent:.2f}}}$"


def _checked(values: np.ndarray, rounds: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Refuse what no curve can be fitted to."""
    values = np.asarray(values, float)
    if values.ndim != 1 or len(values) < 2 or not np.isfinite(values).all():
        raise FFMLError("a curve is two or more finite numbers, one a round")
    rounds = np.arange(1, len(values) + 1) if rounds is None else np.asarray(rounds)
    if rounds.shape != values.shape or rounds[0] < 1 or (np.diff(rounds) <= 0).any():
        raise FFMLError("rounds must be one ascending number from 1 on for each value")
    return values, rounds
