"""Rounds that were played without a ledger, and how a ledger goes on with them."""

from collections.abc import Sequence

from ffml.online.state import LoopState
from ffml.runs._answer import keep_alarms
from ffml.runs._played import Played, play_round
from ffml.runs._rounds import round_document, rounds_from
from ffml.runs._session import Session
from ffml.runs._state import StateWriter
from ffml.store import Store

__all__ = [
    "Played",
    "Session",
    "go_on",
    "keep_alarms",
    "play_round",
    "round_document",
    "rounds_from",
]


def go_on(store: Store, played: Sequence[Played], state: LoopState, who: str) -> None:
    """Write rounds, and what is known after the last of them: all or nothing.

    Args:
        store: the ledger, as it stood before these rounds.
        played: the rounds.
        state: what is known after them.
        who: played them, for the ledger.
    """
    waiting = {one.task.name for one in state.waiting if not one.learned}
    learned = [
        row.task for row in store.rounds() if row.status == "decided" and row.task not in waiting
    ]
    names = ", ".join(one.record.task for one in played)
    saved = StateWriter().write(state)
    with store.transaction(who, f"rounds up to {state.round}: {names}") as ledger:
        numbers = [one.write(ledger, state) for one in played]
        for task in learned:
            ledger.set_status(task, "learned")
        document = {"round": state.round}
        ledger.put_version(document, saved.data, saved.parts, saved.new, numbers[-1])
