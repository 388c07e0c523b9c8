"""The curve of the alarm by betting: evidence of a gap beyond what was asked for."""

from collections.abc import Sequence

import numpy as np

from ffml.base import SensitiveColumn
from ffml.metrics import GapAlarm
from ffml.metrics.alarm import column_alarms
from ffml.metrics.phrases import asked_words
from ffml.recipe.asked import asked_bounds
from ffml.report._counts import round_tables
from ffml.report._view import RunView
from ffml.report.charts import DASHES, NUM_COLOURS, Chart, Series


def evidence_charts(run: RunView) -> list[Chart]:
    """Return a chart for every gap between decision rates that was asked for, by column."""
    found = round_tables(run)
    columns = [SensitiveColumn(name, tuple(groups)) for name, (groups, _) in found.items()]
    tables = {name: counts for name, (_, counts) in found.items()}
    asked = asked_bounds(
        run.config.get("notions") or [], *(run.config.get(k) for k in ("max_gap", "min_ratio"))
    )
    bounds = {notion: asked_words(notion, bound) for notion, bound in asked}
    return [
        evidence_chart(f"evidence-{i}", column, bounds[notion], alarms, run.rounds.text("task"))
        for i, ((notion, column), alarms) in enumerate(
            column_alarms(tables, columns, asked).items() if columns else ()
        )
        if alarms
    ]


def evidence_chart(
    key: str, column: str, asked: str, alarms: Sequence[GapAlarm], tasks: Sequence[str]
) -> Chart:
    """Draw what the bets on each comparison of a column have won."""
    series = [
        Series(
            alarm.comparison,
            alarm.log_wealth / np.log(10),
            colour=f"c{i % NUM_COLOURS + 1}",
            dash=DASHES[i % len(DASHES)],
        )
        for i, alarm in enumerate(alarms)
    ]
    return Chart(
        key=key,
        title=f"Evidence against {asked}, by {column}",
        caption="Logarithm (base 10) of what bets on a broken bound have turned 1 into. At the line"
        " the alarm comes; it stands, however often one looks.",
        places=np.arange(1, len(tasks) + 1),
        names=tuple(tasks),
        series=series,
        undefined=np.zeros(len(tasks), bool),
        infeasible_above=alarms[0].log_needed / np.log(10),
    )
