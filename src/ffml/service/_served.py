"""A run behind its door: who decides, who learns, who may ask."""

import time
from collections.abc import Mapping
from typing import Any

from ffml.runs import open_run
from ffml.service._decider import Decider
from ffml.service._learner import Learner
from ffml.service._people import columns_of
from ffml.service.tokens import tokens_of

TOKENS_KNOWN = 1.0  # seconds after which tokens are read again


class Served:
    """A run that is served."""

    def __init__(self, name: str, address: str, promote: str | None = None) -> None:
        self.name, self.run = name, open_run(address)
        self.columns = columns_of(self.run)
        if promote is not None:
            self.run.promote_by(promote)
        self.decider, self.learner = Decider(self.run), Learner(address)
        self._tokens: tuple[float, list[dict[str, Any]]] = (-TOKENS_KNOWN, [])

    def close(self) -> None:
        """Finish what has begun, then close the ledger."""
        self.decider.close()
        self.learner.close()
        self.run.close()

    @property
    def knows_tokens(self) -> bool:
        """Whether `tokens` answers without asking the ledger."""
        return time.monotonic() - self._tokens[0] < TOKENS_KNOWN

    def tokens(self) -> list[dict[str, Any]]:
        """Return names, scopes and hashes of the run's tokens, not older than a second."""
        if not self.knows_tokens:
            self._tokens = (time.monotonic(), tokens_of(self.run.store))
        return self._tokens[1]

    def shown(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Say a decision in the user's words."""
        threshold, word = row["threshold"], self.columns.word
        return {
            **{"id": row["id"], "task": row["task"], "decision_id": row["number"]},
            "decision": word(row["decision"]),
            **{"favourable": bool(row["decision"]), "probability": row["probability"]},
            "threshold": threshold if threshold == threshold else None,
            "without_fairness": word(row["unpriced"]),
            "version": row["version"],
        }
