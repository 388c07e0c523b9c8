"""summary.json: a run in a few numbers."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ffml import metrics
from ffml.base import SensitiveColumn
from ffml.online import Round
from ffml.summary import summarise


def run_summary(
    rounds: Sequence[Round],
    columns: Sequence[SensitiveColumn],
    constraint_names: Sequence[str],
    status: str,
) -> dict[str, Any]:
    """Means over all rounds and over the last third, and metrics of all rows pooled."""
    rows = [record.metrics | {"n_validation": record.n_validation} for record in rounds]
    pooled = metrics.worst(
        [
            metrics.judge(np.sum([r.tables[column.name] for r in rounds], axis=0), column.groups)
            for column in columns
        ]
    )
    last = rounds[-1]
    return {
        "status": status,
        "rounds": len(rounds),
        "seconds": sum(record.seconds for record in rounds),
        **{part: summary["columns"] for part, summary in summarise(rows).items()},
        "pooled": pooled.values,
        "collapsed_rounds": int(sum(row["collapsed"] for row in rows)),
        "multipliers": dict(zip(constraint_names, last.multipliers.tolist(), strict=True)),
        "violation": dict(zip(constraint_names, last.violation.tolist(), strict=True)),
        "clipped_violation": dict(
            zip(constraint_names, last.clipped_violation.tolist(), strict=True)
        ),
    }
