"""What fairness asks of single people: extreme decisions, and what it costs not to know groups.

Both are counted among the people decided about last, in the ledger.
"""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ffml.metrics.facts import MIN_PEOPLE
from ffml.metrics.labels import why_unmeasured

if TYPE_CHECKING:
    from ffml.audit.record import RunRecord
    from ffml.store import Store

MOST_PEOPLE = 4096
WIDE = 0.5  # probabilities of an approval and a refusal that are further apart are extreme
FAR = 0.25  # from the middle between the two: who is counted
MIN_LABELS = 200
COLUMNS = ("probability", "decision", "unpriced", "label", "cell")


def newest_people(store: "Store") -> dict[str, np.ndarray]:
    """Return the people decided about last, whole tasks of them.

    Tasks decided about before anything was learned tell nothing: all have one probability there.
    """
    parts: list[dict[str, np.ndarray]] = []
    for row in reversed(store.rounds()):
        people = store.decisions(row.round, columns=COLUMNS)
        parts.append({name: values[people["decision"] >= 0] for name, values in people.items()})
        if sum(len(one["cell"]) for one in parts) >= MOST_PEOPLE:
            break
    parts = [one for one in parts if len({*one["probability"]}) > 1] or parts
    return {name: np.concatenate([one[name] for one in parts]) for name in COLUMNS}


def extremes(store: "Store", record: "RunRecord") -> dict[str, Any] | None:
    """Find whom fairness approved at a low probability while it refused others at a high one.

    None where their probabilities are less than `WIDE` apart, or decisions know groups.
    """
    if _knows_groups(record) or not record.moved:
        return None
    people = newest_people(store)
    p, decision, unpriced = (people[name] for name in ("probability", "decision", "unpriced"))
    towards, away = (p[(decision == d) & (unpriced == 1 - d)] for d in (1, 0))
    if not len(towards) or not len(away) or away.max() - towards.min() < WIDE:
        return None
    middle = (away.max() + towards.min()) / 2
    low, high = middle - FAR, middle + FAR
    return {
        "people": len(p),
        "lowest_approved": float(towards.min()),
        "highest_refused": float(away.max()),
        "low": float(low),
        "high": float(high),
        "approved_below": int((towards < low).sum()),
        "refused_above": int((away > high).sum()),
    }


def blindness(store: "Store", record: "RunRecord") -> dict[str, Any] | None:
    """Compare decisions with those by a threshold for each group, of people who have a label.

    As many are approved and the same bound is kept; groups are those in the ledger, and labels only
    judge. None where decisions know groups anyway, where labels depend on the decision, or where
    anything but one bound on everybody's rates is asked for.
    """
    if _knows_groups(record) or not record.moved:
        return None
    if [notion for notion, _ in record.asked] != ["demographic-parity"]:
        return None
    people = newest_people(store)
    labelled = people["label"] >= 0
    if labelled.sum() < MIN_LABELS or why_unmeasured(next(iter(record.tables.values()))):
        return None
    from ffml.wrappers.by_group import decide_by_group

    p, decision, label, cell = (
        people[name][labelled] for name in ("probability", "decision", "label", "cell")
    )
    cells, ((_, bound),) = store.cells(), record.asked
    groups = [_codes([cells[c].get(column.name) for c in cell]) for column in record.columns]
    by_group = decide_by_group(p, groups, bound, float(decision.mean()))
    return {
        "people": int(labelled.sum()),
        "accuracy": float((decision == label).mean()),
        "accuracy_by_group": float((by_group == label).mean()),
    }


def _knows_groups(record: "RunRecord") -> bool:
    return bool(record.config["run"].get("decide_with_groups"))


def _codes(groups: Sequence[str | None]) -> np.ndarray:
    """Number the groups that are large enough to be compared; -1 stands for the others."""
    counted = Counter(groups)
    large = [name for name in counted if name is not None and counted[name] >= MIN_PEOPLE]
    return np.array([large.index(name) if name in large else -1 for name in groups])
