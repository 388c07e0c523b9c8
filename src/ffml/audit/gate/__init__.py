"""A gate for pipelines: does a run keep what was asked of it, and can that be told at all?"""

from dataclasses import asdict
from typing import Any

from ffml.audit.gate._asked import findings_of, violation_finding
from ffml.audit.gate._finding import (
    ANSWERS,
    EXIT_CODES,
    FACT,
    MET,
    NO_ALARM,
    UNCLEAR,
    UNFINISHED,
    VIOLATED,
    Finding,
)
from ffml.audit.gate._limits import Limits
from ffml.audit.record import RunRecord
from ffml.base import FFMLError
from ffml.metrics import NOTIONS
from ffml.metrics.verdict import UNMEASURABLE

__all__ = [
    "EXIT_CODES",
    "FACT",
    "MET",
    "NO_ALARM",
    "UNCLEAR",
    "UNFINISHED",
    "UNMEASURABLE",
    "VIOLATED",
    "Finding",
    "Limits",
    "check",
    "findings_of",
    "to_document",
    "verdict",
]


def check(
    run: RunRecord,
    *,
    max_gap: float | None = None,
    min_ratio: float | None = None,
    notion: str | None = None,
    min_dp: float | None = None,
    min_eo: float | None = None,
    max_violation: float | None = None,
    allow_unfinished: bool = False,
) -> list[Finding]:
    """Compare everybody that a run has decided about with what is asked; see `metrics.verdict`.

    Of each thing asked there are the fact among the people decided, the answer for the rule behind
    it (met, violated, too little data to tell), and the alarm, which stays right however often one
    looks. Of several groups and columns the largest difference of any two answers. The first
    finding says how many rounds there are.

    Args:
        run: what happened.
        max_gap: largest gap between the decision rates of any two groups (0.05: five points).
        min_ratio: smallest share of the highest rate that the lowest one is.
        notion: among whom ``max_gap`` and ``min_ratio`` compare: demographic-parity (the default:
            everybody), equal-opportunity or equalized-odds.
        min_dp: as ``min_ratio`` with demographic parity.
        min_eo: as ``min_ratio`` with equalized odds.
        max_violation: largest mean over the rounds of ``max(|gap| - ε, 0)``, the worst
            constraint of a round counting; its interval resamples rounds.
        allow_unfinished: judge an unfinished run by the rounds that it has.

    Without any of these limits, what the run was asked for is checked.
    """
    given = Limits(max_gap, notion, min_dp, min_eo, min_ratio)
    given.refuse_misuse()
    if max_violation is not None and not 0 <= max_violation < float("inf"):
        raise FFMLError(f"--max-violation must be >= 0, got {max_violation}")
    asked = given.asked()
    if not asked and max_violation is None:
        asked = [one for one in run.asked if one[0] in NOTIONS]
        if not asked:
            raise FFMLError(
                "the run was asked for no gap between decisions; give --max-gap, --min-ratio or "
                "--max-violation"
            )
    findings = [_rounds_finding(run, allow_unfinished)]
    if asked:
        own = {notion for notion, bound in asked if (notion, bound) in run.asked}
        raised = [alarm for alarm in run.raised if alarm["notion"] in own]
        findings += findings_of(run, asked, run.tasks, raised=raised)
    if max_violation is not None:
        findings.append(violation_finding(run, max_violation))
    return findings


def verdict(findings: list[Finding]) -> str:
    """Return the answer that counts: unfinished, else violated, else unclear, else met."""
    return min((finding.answer for finding in findings), key=ANSWERS.index)


def to_document(findings: list[Finding]) -> dict[str, Any]:
    """Return the findings as plain JSON values."""
    return {"verdict": verdict(findings), "findings": [asdict(finding) for finding in findings]}


def _rounds_finding(run: RunRecord, allow_unfinished: bool) -> Finding:
    of = f" of {run.planned}" if run.planned and run.done <= run.planned else ""
    words = f"{run.done}{of} rounds are done, {run.judged} of them judged"
    words += "".join(f"; {note}" for note in run.notes)
    if not run.finished:
        words += "; the run is not finished"
        words += "" if allow_unfinished else ": go on with --resume, or add --allow-unfinished"
    answer = MET if run.finished or allow_unfinished else UNFINISHED
    return Finding("rounds", "at least", run.planned, run.done, None, None, answer, words)
