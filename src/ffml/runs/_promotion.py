"""Which version of the learner decides."""

from ffml.base import FFMLError
from ffml.runs._run_reader import RunReader

RULE = "promotion"  # the document of the ledger that says which of these
RULES = ("newest", "manual", "auto")


class Promotion(RunReader):
    """A run whose versions can be promoted and rolled back."""

    @property
    def promotion(self) -> str:
        """The rule by which versions are promoted now.

        By "newest", one that was promoted by number, or rolled back to, stays: that is "manual".
        """
        rule = self.store.document(RULE) or "newest"
        chosen = (self.store.document("deciding") or {"version": None})["version"]
        return "manual" if rule == "newest" and chosen is not None else rule

    def promote(self, number: int | None = None) -> int:
        """Let a version decide from now on, whatever is learned; return its number.

        The newest three versions can be promoted, and those that were before.

        Args:
            number: the version; None: always the newest one, which is the rule "newest".
        """
        with self.store.transaction("promote", f"version {number or 'newest'}") as ledger:
            ledger.promote(number)
            if number is None:
                ledger.put_document(RULE, "newest")
        return self.store.deciding

    def promote_by(self, rule: str) -> None:
        """Say how versions come to decide: "newest", "manual", or "auto" (`ffml.runs._trials`).

        By the last two, the version that decides now goes on until another one is promoted.
        """
        if rule not in RULES:
            raise FFMLError(f"no rule {rule!r}; versions are promoted by {', '.join(RULES)}")
        if self.store.document(RULE) == rule:
            return
        with self.store.transaction("promote", f"by rule: {rule}") as ledger:
            ledger.put_document(RULE, rule)
            ledger.promote(None if rule == "newest" else self.store.deciding)

    def roll_back(self) -> int:
        """Let the version decide that can and came before the one that does; return its number."""
        with self.store.transaction("promote", "roll back") as ledger:
            rows, now = self.store.versions(), self.store.deciding
            before = [row.number for row in rows if row.kept and row.number < now]
            if not before:
                raise FFMLError(f"no version before {now} has kept its state; promote another")
            ledger.promote(before[-1])
            ledger.what = f"roll back from version {now} to {before[-1]}"
        return before[-1]
