"""A run behind its door: who decides, who learns, who may ask, what was made of it."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, TypeVar

from starlette.concurrency import run_in_threadpool

from ffml.runs import Run, open_run
from ffml.service._decider import Decider, Decisions
from ffml.service._learner import Learner
from ffml.service._people import columns_of
from ffml.service.tokens import tokens_of

TOKENS_KNOWN = 1.0  # seconds after which tokens are read again
MOST_KEPT = 64  # values that are kept of a run
T = TypeVar("T")


class Kept:
    """What was made of a run, kept until its ledger changes: all who ask share it."""

    def __init__(self, run: Run) -> None:
        self._run, self._turn = run, threading.Lock()
        self._values: OrderedDict[Any, tuple[Any, str]] = OrderedDict()
        self.seconds = 0.0  # that the slowest of the values in use took

    def of(self, make: Callable[[Run], T], *key: Any) -> tuple[T, str]:
        """Return what a function makes of the run at one moment, and the ledger's newest hash."""
        with self._turn:
            if key not in self._values or self._values[key][1] != self._run.store.head:
                began = time.perf_counter()
                with self._run.store.snapshot():
                    self._values[key] = make(self._run), self._run.store.head
                self.seconds = max(0.9 * self.seconds, time.perf_counter() - began)
            self._values.move_to_end(key)
            while len(self._values) > MOST_KEPT:
                self._values.popitem(last=False)
            return self._values[key]


class Served:
    """A run that is served."""

    def __init__(self, name: str, address: str, promote: str | None = None) -> None:
        self.name, self.run = name, open_run(address)
        self.columns, self.kept = columns_of(self.run), Kept(self.run)
        if promote is not None:
            self.run.promote_by(promote)
        self.decider, self.learner = Decider(self.run), Learner(address)
        self._tokens: list[dict[str, Any]] = []
        self._tokens_at = -TOKENS_KNOWN

    def close(self) -> None:
        """Finish what has begun, then close the ledger."""
        self.decider.close()
        self.learner.close()
        self.run.close()

    async def tokens(self) -> list[dict[str, Any]]:
        """Return names, scopes and hashes of the run's tokens, not older than a second."""
        if time.monotonic() - self._tokens_at >= TOKENS_KNOWN:
            self._tokens = await run_in_threadpool(tokens_of, self.run.store)
            self._tokens_at = time.monotonic()
        return self._tokens

    def shown(self, values: Decisions) -> dict[str, list[Any]]:
        """Say decisions in the user's words: a list for each field."""
        words = {code: self.columns.word(code) for code in (-1, 0, 1)}
        return {
            "id": values["id"],
            "task": values["task"],
            "decision_id": values.get("number", [-1] * len(values["id"])),
            "decision": [words[code] for code in values["decision"]],
            "favourable": [code == 1 for code in values["decision"]],
            "probability": values["probability"],
            "threshold": [cut if cut == cut else None for cut in values["threshold"]],
            "without_fairness": [words[code] for code in values["unpriced"]],
            "version": values["version"],
        }

    def rows(self, decided: Decisions) -> list[dict[str, Any]]:
        """Say decisions in the user's words: an object for each person."""
        shown = self.shown(decided)
        return [dict(zip(shown, row, strict=True)) for row in zip(*shown.values(), strict=True)]
