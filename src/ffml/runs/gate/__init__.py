"""A gate for pipelines: does a run keep what was asked of it, and can that be told at all?"""

from dataclasses import asdict
from typing import Any

from ffml.base import FFMLError, Ratio
from ffml.metrics import NOTIONS
from ffml.metrics.verdict import UNMEASURABLE
from ffml.runs.gate._asked import findings_of, violation_finding
from ffml.runs.gate._finding import (
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
from ffml.runs.record import RunRecord

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
    "check",
    "findings_of",
    "limits",
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
    _refuse_misuse(max_gap, min_ratio, notion, min_dp, min_eo, max_violation)
    asked = limits(max_gap, min_ratio, notion, min_dp, min_eo)
    if not asked and max_violation is None:
        asked = [one for one in run.asked if one[0] in NOTIONS]
        if not asked:
            raise FFMLError(
                "the run was asked for no gap between decisions; give --max-gap, --min-ratio or "
                "--max-violation"
            )
    findings = [_rounds_finding(run, allow_unfinished)]
    if asked:
        findings += findings_of(run, asked, run.tasks)
    if max_violation is not None:
        findings.append(violation_finding(run, max_violation))
    return findings


def limits(
    max_gap: float | None,
    min_ratio: float | None,
    notion: str | None,
    min_dp: float | None,
    min_eo: float | None,
) -> list[tuple[str, float | Ratio]]:
    """Pair notions with what is asked of them."""
    whom = notion or "demographic-parity"
    asked: list[tuple[str, float | Ratio]] = [] if max_gap is None else [(whom, float(max_gap))]
    for name, least in (
        (whom, min_ratio),
        ("demographic-parity", min_dp),
        ("equalized-odds", min_eo),
    ):
        if least is not None:
            asked.append((name, Ratio(least)))
    return asked


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


def _refuse_misuse(
    max_gap: float | None,
    min_ratio: float | None,
    notion: str | None,
    min_dp: float | None,
    min_eo: float | None,
    max_violation: float | None,
) -> None:
    shares = {"max-gap": max_gap, "min-ratio": min_ratio, "min-dp": min_dp, "min-eo": min_eo}
    for name, limit in shares.items():
        if limit is not None and not 0 <= limit <= 1:
            raise FFMLError(f"--{name} must be between 0 and 1, got {limit}")
    if max_violation is not None and not 0 <= max_violation < float("inf"):
        raise FFMLError(f"--max-violation must be >= 0, got {max_violation}")
    if notion is not None and max_gap is min_ratio is None:
        raise FFMLError(
            "--notion says whom --max-gap and --min-ratio compare; give one of these too"
        )
    if notion is not None and notion not in NOTIONS:
        raise FFMLError(f"--notion must be one of {', '.join(NOTIONS)}, got '{notion}'")
