"""Who has a label, and whether that depends on what was decided about them.

Where labels are known of approved people only (or nearly so), nobody knows whom of the refused the
decision wronged: accuracy, rates by label and calibration cannot be measured. Among those with a
label everybody was approved, so every true positive rate would read 1.
"""

from typing import NamedTuple

import numpy as np

from ffml.metrics.phrases import decided
from ffml.metrics.rates import UNKNOWN

MIN_LABELS = 20  # fewer tell little about who gets a label
SELECTIVE = 0.1  # labels are selective if one decision has less than this part of the other's share
NO_LABELS = "no labels yet"
SELECTIVE_WORDS = "labels depend on the decision"


class LabelShares(NamedTuple):
    """How many people were decided about, and which share of them has a label, by decision.

    The shares are of the rounds that lack labels: None where nobody got that decision there.
    """

    people: int
    labelled: int
    if_negative: float | None
    if_positive: float | None
    selective: bool


def label_shares(tables: np.ndarray) -> LabelShares:
    """Compare who has a label among those decided positively and among the others.

    Labels are selective if, in the rounds that lack some, one decision has none of them, or less
    than a tenth of the other's share with at least `MIN_LABELS` labels.

    Args:
        tables: ``(T, k, 3, 2)`` counts of T rounds, or ``(k, 3, 2)`` of one.

    >>> label_shares(np.array([[[0, 30], [0, 60], [100, 10]]])).selective
    True
    """
    rounds = tables.sum(-3).reshape(-1, *tables.shape[-2:])  # (T, label, decision)
    people, known = int(rounds.sum()), int(rounds[:, :UNKNOWN].sum())
    lacking = rounds[rounds[:, UNKNOWN:].any((1, 2))].sum(0)
    decided, labelled = lacking.sum(0), lacking[:UNKNOWN].sum(0)
    shares = [float(a / b) if b else None for a, b in zip(labelled, decided, strict=True)]
    return LabelShares(people, known, shares[0], shares[1], _selective(labelled, decided))


def _selective(labelled: np.ndarray, decided: np.ndarray) -> bool:
    if not decided.all() or not labelled.any():
        return False
    low, high = sorted(labelled / decided)
    return bool(low == 0 or (low < SELECTIVE * high and labelled.max() >= MIN_LABELS))


def why_unmeasured(tables: np.ndarray) -> str:
    """Say in a few words why nothing that needs labels can be measured; empty if it can."""
    found = label_shares(tables)
    if not found.labelled:
        return NO_LABELS if found.people else "no rows"
    return SELECTIVE_WORDS if found.selective else ""


def measurable(tables: np.ndarray) -> np.ndarray:
    """Return the counts as if nobody had a label, if labels depend on the decision.

    What needs labels is then undefined in all that is made of them, and the rest is as it was.
    """
    if not label_shares(tables).selective:
        return tables
    blind = np.zeros_like(tables)
    blind[..., UNKNOWN, :] = tables.sum(-2)
    return blind


def selective_sentence(found: LabelShares, favourable: str = "") -> str:
    """Say what it means that labels depend on the decision.

    >>> print(selective_sentence(LabelShares(200, 90, 0.0, 0.9, True), "approved"))
    Labels came for 90 % of those approved and 0 % of the others, so that accuracy, equal
    opportunity, equalized odds and calibration cannot be measured: of the others nobody knows who
    was wronged.
    """
    whom = decided(favourable)
    shares = (100 * (share or 0.0) for share in (found.if_positive, found.if_negative))
    positive, negative = (f"{share:.0f} %" for share in shares)
    fewer = f"those {whom}" if (found.if_positive or 0) < (found.if_negative or 0) else "the others"
    return (
        f"Labels came for {positive} of those {whom} and {negative} of the others, so that"
        " accuracy, equal opportunity, equalized odds and calibration cannot be measured: of"
        f" {fewer} nobody knows who was wronged."
    )
