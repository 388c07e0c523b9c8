"""Who has a label, and whether that depends on the decision, or on who somebody is.

Where labels are known of approved people only (or nearly so), nobody knows whom of the refused the
decision wronged: accuracy, rates by label and calibration cannot be measured. Among those with a
label everybody was approved, so every true positive rate would read 1.

Labels may also be those of people whom somebody else approved before. That decision is in no
column, but it leaves a trace: in the tasks that lack some labels, groups have them unequally often,
or those decided one way now do, since both decisions look at the same inputs. `selection` tells it
by a gap of `APART` or more between the shares that have a label, within tasks, that is `SURE` times
its standard error. What such labels say of true positive rates holds for nobody but their owners.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from ffml.metrics._gaps import pairs
from ffml.metrics._statistics import compared
from ffml.metrics.phrases import decided
from ffml.metrics.rates import UNKNOWN

MIN_LABELS = 20  # fewer tell little about who gets a label
SELECTIVE = 0.1  # labels are selective if one decision has less than this part of the other's share
NO_LABELS = "no labels yet"
SELECTIVE_WORDS = "labels depend on the decision"
SELECTED_WORDS = "people with a label were selected before"
UNMEASURABLE_WORDS = (SELECTIVE_WORDS, SELECTED_WORDS)
APART = 0.1  # gap between shares with a label, from which on labels may be selected
SURE = 4.0  # and as many standard errors


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


class Selection(NamedTuple):
    """Between whom the shares with a label are furthest apart, beyond chance."""

    by: str  # "decision", or the column's name
    higher: str  # who has labels more often; of decisions "1" or "0"
    lower: str
    gap: float  # between the shares with a label, within tasks


def selection(
    tables: np.ndarray, column: str = "group", names: Sequence[str] | None = None
) -> Selection | None:
    """Tell whether labels are of people whom somebody selected before; None if nothing shows it.

    Args:
        tables: ``(T, k, 3, 2)`` counts of T tasks.
        column: the protected one.
        names: of its groups.

    >>> half = [[[30, 20], [20, 30], [0, 0]], [[15, 10], [10, 15], [25, 25]]]
    >>> selection(np.array([half] * 4), "sex", ["M", "F"])
    Selection(by='sex', higher='M', lower='F', gap=0.5)
    """
    there = tables[:, :, :UNKNOWN].sum(2)  # (T, k, decision)
    counts = np.stack([tables[:, :, UNKNOWN:].sum(2), there], -1)  # (T, k, decision, has a label)
    some = np.all(counts.any((1, 2)), axis=1)  # tasks that lack labels, but not all of them
    selections = []
    for by, own, part in (
        (column, names, counts[some].sum(2)),
        ("decision", ["0", "1"], counts[some].sum(1)),
    ):
        every = compared(part[:, :, None], own, "demographic-parity") if some.any() else ()
        for one, i, j in zip(every, *pairs(part.shape[1]), strict=False):
            gap, error = one.by_people.value, one.by_people.chance
            if abs(gap) >= max(APART, SURE * error):  # NaN is not
                first, second = ((str(n) if own is None else own[n]) for n in (j, i))
                higher, lower = (first, second) if gap > 0 else (second, first)
                selections.append(Selection(by, higher, lower, abs(gap)))
    return max(selections, key=lambda one: one.gap, default=None)


def why_unmeasured(tables: np.ndarray) -> str:
    """Say in a few words why nothing that needs labels can be measured; empty if it can.

    Counts of one round, ``(k, 3, 2)``, tell only whether labels depend on the decision.
    """
    shares = label_shares(tables)
    if not shares.labelled:
        return NO_LABELS if shares.people else "no rows"
    if shares.selective:
        return SELECTIVE_WORDS
    return SELECTED_WORDS if tables.ndim > 3 and selection(tables) else ""


def any_unmeasured(several: Iterable[np.ndarray]) -> str:
    """Say why nothing that needs labels can be measured, by the counts of several columns."""
    return next(filter(None, map(why_unmeasured, several)), "")


def measurable(tables: np.ndarray) -> np.ndarray:
    """Return the counts as if nobody had a label, if labels are of selected people.

    What needs labels is then undefined in all that is made of them, and the rest is as it was.
    """
    return blinded(tables) if why_unmeasured(tables) in UNMEASURABLE_WORDS else tables


def blinded(tables: np.ndarray) -> np.ndarray:
    """Return the counts as if nobody had a label."""
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


def selected_sentence(selection: Selection, favourable: str = "") -> str:
    """Say what it means that people with a label were selected.

    >>> print(selected_sentence(Selection("sex", "M", "F", 0.25)))
    In the tasks that lack labels, M have one more often than F by 25 points (by sex), far beyond
    chance: somebody selected before whose labels are known. So accuracy, equal opportunity,
    equalized odds and calibration cannot be measured.
    """
    higher, lower, by = selection.higher, selection.lower, f" (by {selection.by})"
    if selection.by == "decision":
        ends = {"1": f"those {decided(favourable)}", "0": "the others"}
        higher, lower, by = ends[higher], ends[lower], ""
    return (
        f"In the tasks that lack labels, {higher} have one more often than {lower} by"
        f" {100 * selection.gap:.0f} points{by}, far beyond chance: somebody selected before whose"
        " labels are known. So accuracy, equal opportunity, equalized odds and calibration cannot"
        " be measured."
    )
