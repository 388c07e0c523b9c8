"""Draw the README's picture: a lender's months with and without fairness, from one run.

python scripts/draw_kept.py [--max-gap 0.05] [--aim 0.02] [--rounds 24] [--out docs]
"""

import argparse
from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib
import pandas as pd

import ffml

matplotlib.use("Agg")
matplotlib.rcParams.update({"svg.hashsalt": "ffml", "font.size": 9, "axes.spines.top": False})
matplotlib.rcParams.update({"axes.spines.right": False})
from matplotlib import pyplot  # noqa: E402

LOOKS = {"women": (".-", "#0072b2"), "men": (".--", "#c75600")}  # as in the report


def play(max_gap: float, aim: float, rounds: int) -> tuple[pd.DataFrame, str]:
    """Return everybody decided about, and what the gate says of the bound that is to be kept."""
    with TemporaryDirectory() as folder:
        asked = {"max_gap": max_gap, "aim": aim, "rounds": rounds}
        run = ffml.run("lender", out=Path(folder, "run"), **asked)
        people = run.decisions.dropna(subset=["decision"])
        words = " ".join(f"{one.answer}: {one.words}" for one in run.check())
        run.close()
    return people, words


def draw(people: pd.DataFrame, max_gap: float, aim: float) -> "pyplot.Figure":
    """Draw rates by month, side by side; the band is what is to be kept."""
    names = {"unpriced": "without fairness", "decision": f"{100 * aim:g} points aimed for"}
    figure, both = pyplot.subplots(1, 2, figsize=(8, 2.7), sharey=True, layout="constrained")
    for axes, (column, title) in zip(both, names.items(), strict=True):
        rates = 100 * people.groupby(["task", "sex"])[column].mean().unstack()
        middle = 100 * people.groupby("task")[column].mean()
        band = middle - 50 * max_gap, middle + 50 * max_gap
        axes.fill_between(range(len(middle)), *band, color="#009e73", alpha=0.2, linewidth=0)
        for group, (line, color) in LOOKS.items():
            axes.plot(range(len(rates)), rates[group], line, color=color, label=group)
        whole = 100 * people.groupby("sex")[column].mean()
        gap = whole.max() - whole.min()
        axes.set_title(f"{title}: {gap:.1f} points apart", fontsize=10)
        axes.set_xticks(range(0, len(rates), 6), rates.index[::6])
    both[0].set_ylabel("approved, of 100")
    both[1].legend(frameon=False, ncols=2, loc="lower right")
    return figure


def main() -> None:
    """Play, say what the gate says, and draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--max-gap", type=float, default=0.05)
    parser.add_argument("--aim", type=float, default=0.02)
    parser.add_argument("--rounds", type=int, default=24)
    parser.add_argument("--out", type=Path, default=Path("docs"))
    asked = parser.parse_args()
    people, words = play(asked.max_gap, asked.aim, asked.rounds)
    figure = draw(people, asked.max_gap, asked.aim)
    figure.savefig(asked.out / "kept.svg", metadata={"Date": None}, facecolor="white")
    print(f"{words}\nwrote kept.svg")


if __name__ == "__main__":
    main()
