"""Which curves the report shows, what each one says, and its description for those who listen."""

import numpy as np

from ffml.report._view import RunView
from ffml.report.charts import DASHES, NUM_COLOURS, Chart, Series
from ffml.report.numbers import counted, number


def metric_charts(run: RunView) -> list[Chart]:
    """Return the charts of what was measured on the validation rows."""
    return [
        _ratio_chart(
            run,
            "dp",
            "Demographic parity (DP)",
            "Ratio between the groups’ selection rates. 1 means equal rates.",
        ),
        _ratio_chart(
            run,
            "eo",
            "Equalized odds (EO)",
            "Smaller of the ratios between the groups’ true and false positive rates.",
        ),
        _accuracy_chart(run),
        _chart(
            run,
            "loss",
            "Loss",
            "Mean cross-entropy on the validation rows, after adapting to the task.",
            [Series("Loss", run.rounds.numbers("loss"))],
        ),
    ]


def constraint_charts(run: RunView) -> list[Chart]:
    """Return the charts of the constraints; none where the run has no constraint.

    Multipliers are left out where the method has none: they are 0 throughout.
    """
    if not run.constraints:
        return []
    multipliers = _constraint_series(run, "multiplier")
    charts = [
        _chart(
            run,
            "constraint",
            "Constraint values g",
            "The round’s gap minus what is allowed. At or below 0 the gap is within its bound.",
            _constraint_series(run, "constraint"),
            infeasible_above=0.0,
        ),
        _chart(
            run,
            "multiplier",
            "Multipliers λ",
            "Weight that the method puts on each constraint. It grows while g > 0.",
            multipliers,
        ),
        _chart(
            run,
            "violation",
            "Cumulative violation Σ g",
            "Running sum of g; rounds within the bound make up for others.",
            _constraint_series(run, "violation"),
            infeasible_above=0.0,
        ),
        _chart(
            run,
            "clipped-violation",
            "Cumulative clipped violation Σ max(g, 0)",
            "Running sum of what exceeds the bound; nothing makes up for it. Flat is good.",
            _constraint_series(run, "clipped_violation"),
        ),
    ]
    has_multipliers = any(np.nan_to_num(one.values).any() for one in multipliers)
    return [chart for chart in charts if has_multipliers or chart.key != "multiplier"]


def reliability_chart(run: RunView) -> Chart | None:
    """Return the chart of how often label 1 came by probability; None where nobody counted."""
    bins = (run.summary.get("reliability") or {}).get("bins")
    if not bins:
        return None
    said, came = (np.array([one[key] for one in bins]) for key in ("probability", "label_share"))
    return Chart(
        key="reliability",
        title="Reliability of the probabilities",
        caption="How often label 1 came among people who were given about the same probability.",
        places=said,
        series=[
            Series("Label 1 came", came),
            Series("As often as was said", said, colour="muted", dash=DASHES[1], dots=False),
        ],
        undefined=np.zeros(len(said), bool),
        axis="probability",
        unit_interval=True,
    )


def describe(chart: Chart) -> str:
    """Say what the chart shows, for screen readers."""
    count = counted(len(chart.places), chart.axis).replace("probabilitys", "probabilities")
    parts = [f"{chart.title} by {chart.axis}, {count}."]
    for series in chart.series:
        defined = np.flatnonzero(np.isfinite(series.values))
        if not len(defined):
            parts.append(f"{series.label}: undefined everywhere.")
            continue
        first, last = defined[0], defined[-1]
        parts.append(
            f"{series.label}: {number(series.values[first])} at {chart.axis}"
            f" {chart.places[first]:g}, {number(series.values[last])} at {chart.axis}"
            f" {chart.places[last]:g}, lowest"
            f" {number(np.nanmin(series.values))}, highest {number(np.nanmax(series.values))}."
        )
    if chart.undefined.any():
        parts.append(f"Undefined in {counted(int(chart.undefined.sum()), 'round')}.")
    return " ".join(parts)


def _chart(
    run: RunView,
    key: str,
    title: str,
    caption: str,
    series: list[Series],
    infeasible_above: float | None = None,
) -> Chart:
    return Chart(
        key=key,
        title=title,
        caption=caption,
        places=run.rounds.numbers("round"),
        names=tuple(run.rounds.text("task")),
        series=series,
        undefined=np.isnan(np.stack([line.values for line in series])).any(axis=0),
        infeasible_above=infeasible_above,
    )


def _ratio_chart(run: RunView, metric: str, title: str, caption: str) -> Chart:
    value = _with_interval(run, metric, metric.upper())
    ceiling = Series(
        "Noise ceiling",
        run.rounds.numbers(f"{metric}_ceiling"),
        colour="muted",
        dash=DASHES[1],
        dots=False,
    )
    return Chart(
        key=metric,
        title=title,
        caption=caption,
        places=run.rounds.numbers("round"),
        names=tuple(run.rounds.text("task")),
        series=[value, ceiling],
        undefined=np.isnan(value.values),
        unit_interval=True,
    )


def _accuracy_chart(run: RunView) -> Chart:
    balanced = _with_interval(run, "balanced_accuracy", "Balanced accuracy")
    accuracy = _with_interval(run, "accuracy", "Accuracy", colour="c2", dash=DASHES[1])
    return Chart(
        key="accuracy",
        title="Accuracy",
        caption="Share of right decisions; balanced: the mean of both labels’ shares.",
        places=run.rounds.numbers("round"),
        names=tuple(run.rounds.text("task")),
        series=[balanced, accuracy],
        undefined=np.isnan(balanced.values) | np.isnan(accuracy.values),
        unit_interval=True,
    )


def _with_interval(
    run: RunView, metric: str, label: str, colour: str = "c1", dash: tuple[float, ...] = ()
) -> Series:
    value, low, high = (run.rounds.numbers(f"{metric}{end}") for end in ("", "_low", "_high"))
    return Series(label, value, low, high, colour=colour, dash=dash)


def _constraint_series(run: RunView, kind: str) -> list[Series]:
    return [
        Series(
            name,
            run.rounds.numbers(f"{kind}:{name}"),
            colour=f"c{i % NUM_COLOURS + 1}",
            dash=DASHES[i % len(DASHES)],
            dots=len(run.constraints) <= 3,
        )
        for i, name in enumerate(run.constraints)
    ]
