"""Taking one person out of a run."""

from collections.abc import Sequence

from ffml.base import FFMLError
from ffml.store._store import Store


def forget(store: Store, person: str, tasks: Sequence[str] | None = None, who: str = "ffml") -> int:
    """Remove a person's id, content hash and features, from all tasks or some; return how often.

    Groups, decision, probability and labels stay, without a name, so that no rate of the past
    changes. The row's hash stays, so that `verify` still holds. Copies of the run know the person
    as before.
    """
    with store.transaction(who, "forget") as transaction:
        number = transaction.forget(person, tasks)
        if not number:
            raise FFMLError(f"the run knows no id {person!r}; check how it is written")
    store.wipe()
    return number
