"""Draw the pictures of the concept pages from small simulations: gap, adaptation, price, alarm.

python scripts/draw_concepts.py [--out docs]
"""

import argparse
from pathlib import Path

import matplotlib
import numpy as np
from scipy.optimize import minimize

from ffml.metrics import gap_alarms

matplotlib.use("Agg")
matplotlib.rcParams.update({"svg.hashsalt": "ffml", "font.size": 9, "axes.spines.top": False})
matplotlib.rcParams.update({"axes.spines.right": False, "figure.constrained_layout.use": True})
from matplotlib import pyplot  # noqa: E402

BLUE, ORANGE, GREY = "#0072b2", "#d55e00", "#767676"  # told apart by everybody


def draw_gap(out: Path, tasks: int = 300) -> None:
    """Show gaps of tasks of three sizes, of a rule that approves everybody at the same rate."""
    rng = np.random.default_rng(0)
    figure, axes = pyplot.subplots(figsize=(6.4, 2.6))
    for place, people in enumerate((40, 400, 4000)):
        rates = rng.binomial(people // 2, 0.5, (tasks, 2)) / (people // 2)
        gaps = 100 * (rates[:, 0] - rates[:, 1])
        heights = place + rng.uniform(-0.3, 0.3, tasks)
        axes.plot(gaps, heights, ".", color=BLUE, alpha=0.35, markersize=4)
    axes.axvspan(-5, 5, color=GREY, alpha=0.15, linewidth=0)
    axes.set_yticks(range(3), ["40 people", "400 people", "4,000 people"])
    axes.set_xlabel("gap seen in one task, points (grey: within 5)")
    save(figure, out / "concept_gap.svg")


def draw_adaptation(out: Path, tasks: int = 40) -> None:
    """Show how accurate three ways are on a new task, by how many of its labels are known."""
    sizes = (2, 5, 10, 20, 50, 100, 200)
    right = np.mean([_accuracies(np.random.default_rng(seed), sizes) for seed in range(tasks)], 0)
    figure, axes = pyplot.subplots(figsize=(6.4, 3))
    for line, name, color in zip(
        right.T,
        ("earlier tasks alone", "these labels alone", "adapted"),
        (GREY, ORANGE, BLUE),
        strict=True,
    ):
        axes.plot(sizes, 100 * line, "o-", color=color, label=name, markersize=4)
    axes.set_xscale("log")
    axes.set_xticks(sizes, [str(size) for size in sizes])
    axes.minorticks_off()
    axes.set_xlabel("labels of the new task")
    axes.set_ylabel("right decisions, %")
    axes.legend(frameon=False)
    save(figure, out / "concept_adaptation.svg")


def _accuracies(rng: np.random.Generator, sizes: tuple[int, ...]) -> np.ndarray:
    """Return (sizes, ways) shares of right decisions about people of a task that is a bit new."""
    common = rng.normal(size=5)
    own = common + 0.7 * rng.normal(size=5)
    x = rng.normal(size=(2000, 5))
    y = rng.random(2000) < 1 / (1 + np.exp(-2 * x @ own))

    def right(theta: np.ndarray) -> float:
        return float(np.mean((x[1000:] @ theta > 0) == y[1000:]))

    rows = []
    for size in sizes:
        given = x[:size], y[:size]
        fits = 2 * common, _fit(np.zeros(5), *given, 0.1), _fit(2 * common, *given, 1.0)
        rows.append([right(theta) for theta in fits])
    return np.array(rows)


def _fit(start: np.ndarray, x: np.ndarray, y: np.ndarray, stay: float) -> np.ndarray:
    """Fit a logistic regression that is pulled towards where it starts."""

    def loss(theta: np.ndarray) -> float:
        z = x @ theta
        return float(np.logaddexp(0, z).sum() - z @ y + stay / 2 * np.sum((theta - start) ** 2))

    return minimize(loss, start, method="BFGS").x


def draw_price(out: Path, people: int = 4000) -> None:
    """Show two groups' probabilities, and the threshold of each before and after a price."""
    rng = np.random.default_rng(1)
    women, men = (1 / (1 + np.exp(-rng.normal(m, 1, people))) for m in (-0.3, 0.3))
    low, high = 0.5, 0.5
    while (men > high).mean() - (women > low).mean() > 0.05:
        low, high = low - 0.001, high + 0.001
    figure, both = pyplot.subplots(1, 2, figsize=(6.4, 2.4), sharey=True)
    for axes, (a, b), title in zip(
        both,
        ((0.5, 0.5), (low, high)),
        ("one threshold", "the smallest price for 5 points"),
        strict=True,
    ):
        for scores, cut, name, color in ((women, a, "F", ORANGE), (men, b, "M", BLUE)):
            axes.hist(scores, 60, range=(0, 1), histtype="step", color=color)
            share = 100 * np.mean(scores > cut)
            axes.axvline(cut, color=color, linestyle="--", label=f"{name}: {share:.0f} of 100")
        axes.set_title(title, fontsize=9)
        axes.legend(frameon=False, fontsize=8, loc="upper left", ncols=2)
        axes.set_xlabel("probability of the favourable outcome")
        axes.set_yticks([])
        axes.margins(y=0.35)
    save(figure, out / "concept_price.svg")


def draw_alarm(out: Path, months: int = 36, people: int = 600) -> None:
    """Show how evidence grows once a gap of 15 points begins, where 5 are allowed."""
    rng = np.random.default_rng(3)
    gaps = np.where(np.arange(months) < 18, 0.02, 0.15)
    chosen = rng.binomial(people // 2, np.stack([0.4 + 0 * gaps, 0.4 + gaps], 1))
    tables = np.zeros((months, 2, 2, 2), int)
    tables[..., 0, 1], tables[..., 0, 0] = chosen, people // 2 - chosen
    looks = [gap_alarms(tables[: month + 1], 0.05)[0] for month in range(months)]
    figure, (above, below) = pyplot.subplots(2, 1, figsize=(6.4, 3.6), sharex=True)
    seen = 200 * (chosen[:, 1] - chosen[:, 0]) / people
    above.bar(range(1, months + 1), seen, color=BLUE)
    above.axhline(5, color=GREY, linestyle="--")
    above.set_ylabel("gap, points")
    below.plot(range(1, months + 1), [look.log_largest / np.log(10) for look in looks], color=BLUE)
    below.axhline(looks[0].log_needed / np.log(10), color=ORANGE, linestyle="--")
    below.set_ylabel("evidence (powers of 10)")
    below.set_xlabel("month")
    save(figure, out / "concept_alarm.svg")


def save(figure: "pyplot.Figure", path: Path) -> None:
    """Write a figure with a white ground, the same bytes every time."""
    figure.savefig(path, metadata={"Date": None}, facecolor="white")
    pyplot.close(figure)
    print("wrote", path.name)


def main() -> None:
    """Draw all of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("docs"))
    out = parser.parse_args().out
    for draw in (draw_gap, draw_adaptation, draw_price, draw_alarm):
        draw(out)


if __name__ == "__main__":
    main()
