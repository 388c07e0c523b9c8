"""The answer of a run, from everybody in its ledger."""

from typing import Any

from ffml.audit.record import RunRecord
from ffml.metrics.answer import answer
from ffml.metrics.words import sentences


class Answer(dict[str, Any]):
    """What the first lines of the terminal say, as values; it prints itself in words."""

    def __str__(self) -> str:
        return "\n".join(sentences(self))


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
        )
    )
