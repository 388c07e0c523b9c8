"""How soon the alarm by betting finds a gap, and how often it is false, on simulated streams.

python benchmarks/alarm_delay.py [--streams N] [--looks N] [--out alarm_delay.svg]
"""

import argparse
from pathlib import Path

import numpy as np

from ffml.metrics import gap_alarms, round_gaps

ASKED = 0.05
RATE = 0.4  # of the group with the lower one
GAPS = (0.06, 0.08, 0.1, 0.15, 0.2, 0.3)
# Rows of a round, half of them of each group, and rounds without a gap before those with one.
SETTINGS = ((20, 0), (100, 0), (500, 0), (100, 100))
MOST_ROWS = 600_000  # a stream without an alarm ends here


def draw(rng: np.random.Generator, gap: float, rows: int, rounds: int) -> np.ndarray:
    """Draw decisions of two groups with this gap: counts (T, 2, 2, 2)."""
    size = rows // 2
    chosen = rng.binomial(size, [RATE, RATE + gap], (rounds, 2))
    tables = np.zeros((rounds, 2, 2, 2), int)
    tables[..., 0, 1], tables[..., 0, 0] = chosen, size - chosen
    return tables


def delays(gap: float, rows: int, streams: int, before: int = 0) -> np.ndarray:
    """Return after how many rows with the gap the alarm came; infinite where it did not.

    Args:
        gap: the true one.
        rows: of a round.
        streams: how many to draw.
        before: rounds without a gap that come first.
    """
    rounds = min(MOST_ROWS, int(40 * rows_of_one_look(gap)) + 20 * rows) // rows
    found = []
    for seed in range(streams):
        rng = np.random.default_rng(seed)
        tables = [draw(rng, 0.0, rows, before), draw(rng, gap, rows, rounds)]
        (alarm,) = gap_alarms(np.concatenate(tables), ASKED)
        found.append(np.inf if alarm.round is None else rows * (alarm.round + 1 - before))
    return np.array(found)


def rows_of_one_look(gap: float) -> float:
    """Return how many rows a 95 % interval needs to lie above the bound in half of the cases."""
    variance = RATE * (1 - RATE) + (RATE + gap) * (1 - RATE - gap)
    return float(2 * variance * (1.96 / (gap - ASKED)) ** 2)


def false_alarms(streams: int, looks: int, rows: int = 100) -> tuple[float, float]:
    """Return in what share of streams with the very gap that is asked one look finds it larger.

    By betting, and by the 95 % interval of all rows so far, looked at after every round.
    """
    betting = intervals = 0
    for seed in range(streams):
        tables = draw(np.random.default_rng(seed), ASKED, rows, looks)
        betting += gap_alarms(tables, ASKED)[0].round is not None
        so_far = round_gaps(tables.cumsum(0))
        error = np.sqrt(so_far.gap**2 - so_far.square)  # of the gap, by its unbiased variance
        low, high = so_far.gap - 1.96 * error, so_far.gap + 1.96 * error
        intervals += bool(((low > ASKED) | (high < -ASKED)).any())
    return betting / streams, intervals / streams


def plot(found: dict[tuple[int, int], list[np.ndarray]], path: Path) -> None:
    """Draw the median delay by gap, and where the middle 80 % of the streams lie."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "alarm_delay"
    from matplotlib import pyplot
    from matplotlib.ticker import ScalarFormatter

    figure, axes = pyplot.subplots(figsize=(6.4, 3.8), layout="constrained")
    points = 100 * np.array(GAPS)
    colours = ("#0072b2", "#d55e00", "#009e73", "#b0558a")
    for ((rows, before), delay), colour in zip(found.items(), colours, strict=True):
        low, middle, high = np.quantile(delay, (0.1, 0.5, 0.9), axis=1, method="nearest")
        axes.plot(points, middle, "o-", color=colour, label=_name(rows, before))
        axes.fill_between(points, low, high, color=colour, alpha=0.15, linewidth=0)
    once = [rows_of_one_look(gap) for gap in GAPS]
    axes.plot(points, once, "--", color="#5b5f66", label="interval, one look in the end")
    axes.set(xscale="log", yscale="log", xticks=points)
    axes.set(xlabel="true gap in points (asked: at most 5)", ylabel="rows until it is found")
    axes.xaxis.set_major_formatter(ScalarFormatter())
    axes.xaxis.set_minor_locator(matplotlib.ticker.NullLocator())
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="#e0e0e0")
    axes.legend(frameon=False)
    figure.savefig(path, metadata={"Date": None})


def _name(rows: int, before: int) -> str:
    return f"alarm, {rows} rows a round" + (f", after {before} even ones" if before else "")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--streams", type=int, default=200)
    parser.add_argument("--looks", type=int, default=10_000)
    parser.add_argument("--out", type=Path, default=Path("alarm_delay.svg"))
    arguments = parser.parse_args()
    found: dict[tuple[int, int], list[np.ndarray]] = {setting: [] for setting in SETTINGS}
    print("| rows a round | even rounds before | true gap | median rows until the alarm |", end="")
    print(" median rounds | 90 % within rows | rows for one look |")
    print("|" + " ---: |" * 7)
    for rows, before in SETTINGS:
        for gap in GAPS:
            delay = delays(gap, rows, arguments.streams, before)
            found[rows, before].append(delay)
            middle, late = np.quantile(delay, (0.5, 0.9), method="nearest")
            once = rows_of_one_look(gap)
            print(
                f"| {rows} | {before} | {100 * gap:g} | {middle:,.0f} | {middle / rows:,.0f} | "
                f"{late:,.0f} | {once:,.0f} |",
                flush=True,
            )
    plot(found, arguments.out)
    betting, intervals = false_alarms(arguments.streams, arguments.looks)
    print(
        f"false alarms at the very gap that is asked, {arguments.looks:,} looks: betting "
        f"{betting:.1%}, interval at every look {intervals:.1%} of {arguments.streams} streams"
    )


if __name__ == "__main__":
    main()
