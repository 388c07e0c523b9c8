"""The curve of the alarm by betting: evidence of a gap beyond what was asked for."""

from collections.abc import Sequence

import numpy as np

from ffml.base import SensitiveColumn
from ffml.metrics import NOTIONS, GapAlarm
from ffml.metrics.alarm import column_alarms
from ffml.recipe.asked import asked_bounds
from ffml.report._charts import DASHES, NUM_COLOURS, Chart, Series
from ffml.report._counts import round_tables
from ffml.report._files import Run


def evidence_charts(run: Run) -> list[Chart]:
    """Return a chart for every gap between decision rates that was asked for, by column."""
    found = round_tables(run)
    columns = [SensitiveColumn(name, tuple(groups)) for name, (groups, _) in found.items()]
    tables = {name: counts for name, (_, counts) in found.items()}
    asked = asked_bounds(run.config.get("notions") or [], run.config.get("max_gap"))
    return [
        evidence_chart(f"evidence-{i}-{j}", column, gap, alarms, run.rounds.text("task"))
        for i, (notion, gap) in enumerate(asked)
        if columns and isinstance(gap, float) and notion in NOTIONS
        for j, (column, alarms) in enumerate(column_alarms(tables, columns, gap, notion).items())
    ]


def evidence_chart(
    key: str, column: str, most: float, alarms: Sequence[GapAlarm], tasks: Sequence[str]
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
        title=f"Evidence of a gap above {100 * most:g} points by {column}",
        caption="Logarithm (base 10) of what bets on such a gap have turned 1 into. At the line the"
        " alarm comes; it stands, however often one looks.",
        places=np.arange(1, len(tasks) + 1),
        names=tuple(tasks),
        series=series,
        undefined=np.zeros(len(tasks), bool),
        infeasible_above=alarms[0].log_needed / np.log(10),
    )
