"""Rounds and decisions as data frames."""

from typing import TYPE_CHECKING

import numpy as np

from ffml.report.files import round_row
from ffml.runs._views import past_of
from ffml.store import Store

if TYPE_CHECKING:
    import pandas as pd

    from ffml.runs._run import Run


def rounds_frame(run: "Run") -> "pd.DataFrame":
    """Return one row a round."""
    import pandas as pd

    _, rounds, names = past_of(run)
    rows = [round_row(one, names, float) for one in rounds]
    return pd.DataFrame(rows).set_index("round")


def decisions_frame(store: Store) -> "pd.DataFrame":
    """Return one row a person decided about."""
    import pandas as pd

    kept = store.decisions()
    tasks = {row.round: row.task for row in store.rounds()}
    cells = store.cells()
    columns = list(dict.fromkeys(name for groups in cells.values() for name in groups))
    frame = pd.DataFrame(
        {
            "task": [tasks[number] for number in kept["round"].tolist()],
            "id": kept["id"],
            **{name: [cells[c].get(name) for c in kept["cell"].tolist()] for name in columns},
            "probability": kept["probability"],
            "decision": _known(kept["decision"]),
            "unpriced": _known(kept["unpriced"]),
            "label": _known(kept["label"]),
            "version": kept["version"],
        }
    )
    return frame[frame["decision"].notna()].reset_index(drop=True)


def rates_frame(store: Store, start: str | None, end: str | None, by: str | None) -> "pd.DataFrame":
    """Return rates by period, protected column and group."""
    import pandas as pd

    with store.snapshot():
        rows, cells = store.periods(start, end, by), store.cells()
    key = ["period", "column", "group"]
    counts = pd.DataFrame(
        [
            (
                period,
                column,
                group,
                n,
                n * decision,
                n * max(unpriced, 0),
                n * (y >= 0),
                n * max(y, 0),
            )
            for period, cell, y, decision, unpriced, n in rows
            for column, group in cells[cell].items()
            if group is not None
        ],
        columns=[*key, "people", "positive", "unpriced", "labelled", "label_rate"],
    )
    frame = counts.groupby(key, as_index=False).sum()
    frame.insert(5, "rate", frame["positive"] / frame["people"])
    frame["unpriced"] = frame["unpriced"] / frame["people"]
    frame["label_rate"] = frame["label_rate"] / frame["labelled"].replace(0, np.nan)
    return frame if by else frame.drop(columns="period")


def _known(values: object) -> "pd.Series":
    import pandas as pd

    series = pd.Series(values, dtype="Int64")
    return series.mask(series < 0)
