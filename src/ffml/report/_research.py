"""What researchers look at: ratios with ceilings, loss, constraints and multipliers by round."""

import numpy as np

from ffml.report._view import RunView
from ffml.report.charts import Line, line_figure
from ffml.report.numbers import number


def research_pictures(run: RunView) -> list[str]:
    """Draw ratios with their ceilings, loss, constraints and multipliers by round."""
    tasks, rounds = run.rounds.text("task"), run.rounds

    def line(name: str, column: str, muted: bool = False) -> Line:
        values, low, high = (rounds.numbers(column + end).tolist() for end in ("", "_low", "_high"))
        known = f"{column}_low" in rounds.columns
        return Line(name, values, low if known else None, high if known else None, muted)

    def ratio(key: str, title: str) -> str:
        lines = [line(key.upper(), key), line("Noise ceiling", f"{key}_ceiling", muted=True)]
        caption = "1 means equal rates; the ceiling is what chance alone leaves of that."
        return line_figure(key, title, caption, tasks, lines, number, ends=(0.0, 1.0))

    drawn = [
        ratio("dp", "Demographic parity (DP)"),
        ratio("eo", "Equalized odds (EO)"),
        line_figure(
            "accuracy",
            "Accuracy",
            "Share of right decisions; balanced: the mean of both labels’ shares.",
            tasks,
            [line("Balanced accuracy", "balanced_accuracy"), line("Accuracy", "accuracy")],
            number,
            ends=(0.0, 1.0),
        ),
        line_figure("loss", "Loss", "Mean cross-entropy.", tasks, [line("Loss", "loss")], number),
    ]
    for kind, title, caption, limit in _CONSTRAINTS if run.constraints else ():
        lines = [line(name, f"{kind}:{name}") for name in run.constraints]
        if kind != "multiplier" or any(np.nan_to_num(one.values).any() for one in lines):
            key = kind.replace("_", "-")
            drawn.append(line_figure(key, title, caption, tasks, lines, number, limit=limit))
    return drawn


_CONSTRAINTS = (
    ("constraint", "Constraint values g", "The gap minus what is allowed.", 0.0),
    ("multiplier", "Multipliers λ", "Weight on each constraint. It grows while g > 0.", None),
    ("violation", "Cumulative violation Σ g", "Rounds within the bound make up for others.", 0.0),
    (
        "clipped_violation",
        "Cumulative clipped violation Σ max(g, 0)",
        "What exceeds the bound; nothing makes up for it. Flat is good.",
        None,
    ),
)
