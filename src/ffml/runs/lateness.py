"""Labels that are missing, and whether those that came are only of people decided positively."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:  # they need JAX, which words do not
    from ffml.online.state import Round
    from ffml.online.waiting import Waiting

MIN_LABELS = 20  # fewer tell nothing about who gets a label
SELECTIVE = 0.1  # labels are selective if others have less than this part of the positives' share


def label_summary(rounds: Sequence["Round"], waiting: Sequence["Waiting"]) -> dict[str, Any]:
    """Count the people who were decided about, and those without a label.

    ``selective`` is whether labels come for people decided positively alone: of the tasks that lack
    labels, at least `MIN_LABELS` positively decided people have one, and of the others less than
    `SELECTIVE` times their share.
    """
    decided = sum(r.n_validation + r.n_unlabelled for r in rounds)
    missing = sum(r.n_unlabelled for r in rounds)
    lacking = [one for one in waiting if not one.complete]
    labelled = np.concatenate([[], *(one.task.y[one.decided.rows] >= 0 for one in lacking)]) > 0
    positive = np.concatenate([[], *(one.decided.logits > 0 for one in lacking)]) > 0
    shares = [_share(labelled[positive]), _share(labelled[~positive])]
    selective = (
        int(labelled[positive].sum()) >= MIN_LABELS
        and shares[1] is not None
        and shares[1] < SELECTIVE * (shares[0] or 0)
    )
    return {
        "decided": decided,
        "missing": missing,
        "tasks_with_missing": [r.task for r in rounds if r.n_unlabelled],
        "labelled_share_if_positive": shares[0],
        "labelled_share_if_negative": shares[1],
        "selective": selective,
    }


def label_notes(summary: dict[str, Any]) -> list[str]:
    """Say in words what is missing, and what it means for the figures."""
    labels = summary.get("labels", {})
    if not labels.get("missing"):
        return []
    tasks = labels["tasks_with_missing"]
    shown = ", ".join(tasks[:5]) + (", …" if len(tasks) > 5 else "")
    share = 100 * labels["missing"] / labels["decided"]
    notes = [
        f"labels of {labels['missing']:,} of {labels['decided']:,} people decided about are "
        f"missing ({share:.0f} %; tasks: {shown}); the figures are of the others"
    ]
    if labels["selective"]:
        positive, negative = (
            100 * labels[f"labelled_share_if_{which}"] for which in ("positive", "negative")
        )
        notes.append(
            f"labels came for {positive:.0f} % of those decided positively and {negative:.0f} % of "
            "the others: accuracy, EO and the gaps by label speak of the former only, gaps between "
            "decision rates cannot be seen in them, and what is learned is learned from them"
        )
    return notes


def _share(labelled: np.ndarray) -> float | None:
    return float(labelled.mean()) if len(labelled) else None
