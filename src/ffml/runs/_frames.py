"""Rounds and decisions as data frames."""

from typing import TYPE_CHECKING

from ffml.report.files import round_row
from ffml.runs._rounds import rounds_from
from ffml.store import Store

if TYPE_CHECKING:
    import pandas as pd

    from ffml.runs._run import Run


def rounds_frame(run: "Run") -> "pd.DataFrame":
    """Return one row a round."""
    import pandas as pd

    record = run.record
    names = run.session().loop.problem.constraint_names
    rows = [
        round_row(one, names, float)
        for one in rounds_from(record.kept, record.counts, record.columns)
    ]
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


def _known(values: object) -> "pd.Series":
    import pandas as pd

    series = pd.Series(values, dtype="Int64")
    return series.mask(series < 0)
