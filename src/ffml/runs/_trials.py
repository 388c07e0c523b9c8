"""When a newer version may decide: labels that neither it nor the one that decides learned from.

A run's rule of promotion is "newest" (what was learned last decides, as in a new run), "manual"
(what `Run.promote` said) or "auto". By "auto" every task of people who came one by one is a trial
once its labels are there, before it is learned from: the newest version and the one that decides
both decide about its people once more. The newest is promoted when, over all trials since the last
promotion,

- there are at least `LEAST_LABELLED` people with labels, and labels do not depend on the decision;
- it makes no more errors than the version that decides. Where that one's gap is beyond the bound
  and its own is narrower, it may make as many more as decisions have to change for that: if labels
  are biased, who keeps the bound differs from them more often;
- the bound is expected to hold: its gap is within the bound, or not wider than that of the version
  that decides; where it is not narrower, the trials do not say "not kept" of the rule behind it.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ffml.base import Ratio, SensitiveColumn, Task
from ffml.metrics.answer import answer
from ffml.metrics.labels import label_shares
from ffml.metrics.phrases import bound_of
from ffml.metrics.rates import contingency_table
from ffml.metrics.verdict import NOT_KEPT, apart, most_apart
from ffml.recipe.asked import asked_in
from ffml.runs._promotion import RULE
from ffml.runs._session import Session
from ffml.scoring import prepare
from ffml.store import Transaction

LEAST_LABELLED = 50
TRIALS = "trials"  # the document of the ledger


class Trial(NamedTuple):
    """What the trials since the last promotion say."""

    document: dict[str, Any]
    version: int | None  # to be promoted now
    words: str

    def write(self, ledger: Transaction) -> None:
        """Keep it; promote."""
        if self.version is not None:
            ledger.promote(self.version)
        ledger.put_document(TRIALS, self.document)
        ledger.what = f"{ledger.what}; {self.words}"


def try_newest(session: Session, tasks: Sequence[Task]) -> Trial | None:
    """Let the newest version and the one that decides decide about people whose labels came."""
    store, newest = session.store, session.version
    decides = store.deciding
    if not tasks or decides == newest or store.document(RULE) != "auto":
        return None
    scorers = [prepare(session.at(number).model()) for number in (newest, decides)]
    before = store.document(TRIALS) or {}
    rows = before["tasks"] if before.get("against") == decides else []
    for task in tasks:
        said = [scorer.decide(task.x).decision.astype(int) for scorer in scorers]
        rows = [*rows, _row(task, newest, said, session.schema.sensitive)]
    why = refusal(rows, session.schema.sensitive, asked_in(store.document("config")))
    document = {"against": decides, "tasks": rows, "refused": why}
    mine, theirs = np.sum([row["errors"] for row in rows], 0).tolist()
    people = sum(row["labelled"] for row in rows)
    words = f"{mine} errors about {people} people, before {theirs}"
    if why:
        return Trial(document, None, f"version {decides} goes on deciding: {why}")
    return Trial(document, newest, f"version {newest} promoted: {words}")


def refusal(
    rows: Sequence[dict[str, Any]],
    columns: Sequence[SensitiveColumn],
    asked: Sequence[tuple[str, float | Ratio]],
) -> str:
    """Say why a version is not promoted by its trials; empty if it is."""
    labelled = sum(row["labelled"] for row in rows)
    if labelled < LEAST_LABELLED:
        return f"labels of {labelled} people are too few, {LEAST_LABELLED} are needed"
    mine, theirs = ({c.name: _tables(rows, i, c.name) for c in columns} for i in (0, 1))
    if label_shares(theirs[columns[0].name]).selective:
        return "labels depend on the decision, so that errors cannot be compared"
    found, other = (answer(tables, columns, asked) for tables in (mine, theirs))
    mended = 0.0  # the share of people about whom it has to decide otherwise to mend a bound
    for new, old in zip(found["notions"], other["notions"], strict=True):
        if (bound := bound_of(new)) is None:  # what was asked for is no gap between decisions
            continue
        gap, before, most = _apart(new, bound), _apart(old, bound), most_apart(bound)
        if gap > np.nanmax([most, before]) or (new["verdict"] == NOT_KEPT and gap >= before):
            return f"{new['notion']} would be {gap:.3f} apart, {most:.3f} are allowed"
        if gap < before > most:
            mended = max(mended, old["fact"]["gap"] - new["fact"]["gap"])
    errors = np.sum([row["errors"] for row in rows], 0)
    if errors[0] > errors[1] + mended * labelled:
        return f"the newest makes {errors[0]} errors about {labelled} people, it {errors[1]}"
    return ""


def _row(
    task: Task, version: int, said: list[np.ndarray], columns: Sequence[SensitiveColumn]
) -> dict[str, Any]:
    labelled = task.y >= 0
    return {
        "task": task.name,
        "version": version,
        "labelled": int(labelled.sum()),
        "errors": [int((one[labelled] != task.y[labelled]).sum()) for one in said],
        "tables": [
            {c.name: _counts(task, one, i, c) for i, c in enumerate(columns)} for one in said
        ],
    }


def _counts(task: Task, said: np.ndarray, place: int, column: SensitiveColumn) -> Any:
    group = np.asarray(task.groups)[:, place]
    known = group >= 0
    counts = contingency_table(task.y[known], said[known], group[known], len(column.groups))
    return counts.tolist()


def _tables(rows: Sequence[dict[str, Any]], which: int, column: str) -> np.ndarray:
    return np.array([row["tables"][which][column] for row in rows], np.int64)


def _apart(notion: dict[str, Any], bound: float | Ratio) -> float:
    """Return how far apart groups are; NaN where that cannot be measured, as of nobody approved."""
    return math.nan if notion["fact"] is None else apart(notion["fact"], bound)
