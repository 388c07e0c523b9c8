"""The answer of a run, from everybody in its ledger."""

from ffml.metrics.answer import Answer, answer
from ffml.runs.record import RunRecord


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
