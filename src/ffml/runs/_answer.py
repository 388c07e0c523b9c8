"""The answer of a run, from everybody in its ledger."""

from collections.abc import Sequence
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any

from ffml.audit.record import RunRecord, read_record
from ffml.metrics import NOTIONS
from ffml.metrics.answer import answer
from ffml.metrics.words import sentences
from ffml.recipe.plain import plain
from ffml.store import Store, Transaction

if TYPE_CHECKING:
    from ffml.recipe.config import RunConfig


class Answer(dict[str, Any]):
    """What the first lines of the terminal say, as values; it prints itself in words."""

    def __str__(self) -> str:
        return "\n".join(sentences(self))


def needs_labels(config: "RunConfig") -> bool:
    """Tell whether labels that come later can change what an alarm rests on.

    Where they cannot, an alarm follows from counts that stay, whenever one looks.
    """
    return any(NOTIONS.get(notion, (None,)) != (None,) for notion in config.notions)


def keep_alarms(
    store: Store, ledger: Transaction | None = None, shown: Sequence[dict[str, Any]] = ()
) -> None:
    """Write alarms that were raised to the ledger: what was raised once stands.

    Args:
        store: the ledger.
        ledger: a transaction that has begun; None: one of its own.
        shown: alarms that somebody was shown a moment ago; they stand too.
    """
    record = read_record(store)
    raised = raised_in(answer_of(record._replace(raised=[*record.raised, *shown])))
    if raised == record.raised:
        return
    own = store.transaction("answer", "an alarm was raised")
    with own if ledger is None else nullcontext(ledger) as writer:
        writer.put_document("alarms", raised)


def keep_shown(store: Store, record: RunRecord, shown: Answer) -> None:
    """Keep an alarm that somebody is about to read, unless the ledger was opened to read only.

    Tasks whose people come one by one still grow, and evidence in them may shrink again.
    """
    raised = raised_in(shown)
    if store.writable and raised != record.raised:
        store.afterwards(partial(keep_alarms, store, shown=raised))


def raised_in(found: Answer) -> list[dict[str, Any]]:
    """Return the alarms of an answer that were raised."""
    alarms = (notion["alarm"] for notion in found["notions"])
    return plain([one for one in alarms if one and one["round"] is not None])


def answer_of(record: RunRecord) -> Answer:
    """Say the fact, the verdict and the alarm of everything that was asked."""
    asked = record.asked or [(notion, None) for notion in record.config["notions"]]
    return Answer(
        answer(
            record.tables,
            record.columns,
            asked,
            record.tasks,
            favourable=record.favourable,
            raised=record.raised,
            policy=record.policy,
            everybody=record.counts.everybody,
        )
    )
