"""A run behind its door: who decides, who learns, who may ask."""

import time
from typing import TYPE_CHECKING, Any

from ffml.runs import open_run
from ffml.service._decider import Decider
from ffml.service._learner import Learner
from ffml.service._people import columns_of
from ffml.service.tokens import tokens_of

if TYPE_CHECKING:
    import pandas as pd

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

    def shown(self, decided: "pd.DataFrame") -> dict[str, list[Any]]:
        """Say decisions in the user's words: a list for each field."""
        values = {str(name): decided[name].to_numpy().tolist() for name in decided}
        words = {code: self.columns.word(code) for code in (-1, 0, 1)}
        return {
            **{"id": values["id"], "task": values["task"]},
            "decision_id": values.get("number", [-1] * len(values["id"])),
            "decision": [words[code] for code in values["decision"]],
            "favourable": [code == 1 for code in values["decision"]],
            "probability": values["probability"],
            "threshold": [cut if cut == cut else None for cut in values["threshold"]],
            "without_fairness": [words[code] for code in values["unpriced"]],
            "version": values["version"],
        }

    def rows(self, decided: "pd.DataFrame") -> list[dict[str, Any]]:
        """Say decisions in the user's words: an object for each person."""
        shown = self.shown(decided)
        return [dict(zip(shown, row, strict=True)) for row in zip(*shown.values(), strict=True)]
