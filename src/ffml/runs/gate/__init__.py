"""A gate for pipelines: does a run keep what was asked of it, and can that be told at all?"""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from ffml.base import FFMLError
from ffml.metrics import NOTIONS
from ffml.runs.gate._alarm import alarm_finding
from ffml.runs.gate._asked import (
    gap_findings,
    pooled_ratio_finding,
    ratio_findings,
    violation_finding,
)
from ffml.runs.gate._finding import (
    ANSWERS,
    EXIT_CODES,
    MET,
    NO_ALARM,
    UNCLEAR,
    UNFINISHED,
    VIOLATED,
    Finding,
)
from ffml.runs.judged import JudgedRounds, judged_rounds

__all__ = [
    "EXIT_CODES",
    "MET",
    "NO_ALARM",
    "UNCLEAR",
    "UNFINISHED",
    "VIOLATED",
    "Finding",
    "check",
    "to_document",
    "verdict",
]

PARTS = ("all", "last-third")


def check(
    run_dir: str | Path,
    *,
    max_gap: float | None = None,
    min_ratio: float | None = None,
    notion: str | None = None,
    min_dp: float | None = None,
    min_eo: float | None = None,
    max_violation: float | None = None,
    rounds: str = "all",
    allow_unfinished: bool = False,
) -> list[Finding]:
    """Compare the rounds that a run has done with what is asked, by 95 % intervals.

    A limit is met where the whole interval is within it, violated where it is wholly beyond, and
    unclear where it holds the limit: too few people or rounds were judged to tell. Opposite gaps
    of two tasks cancel once their rows are pooled, so gaps and ratios are judged within tasks as
    well. Of several groups and columns the worst one answers. The first finding says how many
    rounds there are.

    Intervals are right for one look: who looks every month will find one beyond the limit some
    day. With ``max_gap`` and all rounds there is also the alarm by betting, which stays right
    however often one looks (`ffml.metrics.gap_alarms`). It is violated once a gap was shown to
    exceed ``max_gap`` in some round, and says "no alarm" otherwise, which decides nothing.

    Args:
        run_dir: folder of a run.
        max_gap: largest gap between the decision rates of the groups (0.05: five percentage
            points), for the long-run gap and for the typical gap (`ffml.metrics.gap_statistics`).
        min_ratio: smallest share of the higher rate that the lower one is, of each group and the
            others, all judged rows pooled (`ffml.metrics.ratio_statistics`): what ``ffml run
            --min-ratio`` asks for.
        notion: among whom ``max_gap`` and ``min_ratio`` compare: demographic-parity (the default:
            everybody), equal-opportunity or equalized-odds.
        min_dp: smallest demographic parity ratio: of all judged rows pooled, and within tasks,
            where it is ``1 - typical gap / the higher of the two pooled rates``.
        min_eo: smallest equalized odds ratio, likewise among the rows of each label.
        max_violation: largest mean over the rounds of ``max(|gap| - ε, 0)``, the worst
            constraint of a round counting; its interval resamples rounds.
        rounds: "all", or "last-third".
        allow_unfinished: judge an unfinished run by the rounds that it has.
    """
    _refuse_misuse(max_gap, min_ratio, notion, min_dp, min_eo, max_violation, rounds)
    run = judged_rounds(Path(run_dir))
    findings = [_rounds_finding(run, allow_unfinished)]
    if rounds == "last-third":
        run = run.last_third()
    if max_gap is not None:
        findings += gap_findings(run, max_gap, notion or "demographic-parity")
        if rounds == "all":  # the last third begins elsewhere at every look
            findings.append(alarm_finding(run, max_gap, notion or "demographic-parity"))
    if min_ratio is not None:
        findings.append(pooled_ratio_finding(run, min_ratio, notion or "demographic-parity"))
    for metric, least in (("dp", min_dp), ("eo", min_eo)):
        if least is not None:
            findings += ratio_findings(run, metric, least)
    if max_violation is not None:
        findings.append(violation_finding(run, max_violation))
    return findings


def verdict(findings: list[Finding]) -> str:
    """Return the answer that counts: unfinished, else violated, else unclear, else met."""
    return min((finding.answer for finding in findings), key=ANSWERS.index)


def to_document(findings: list[Finding]) -> dict[str, Any]:
    """Return the findings as plain JSON values."""
    return {"verdict": verdict(findings), "findings": [asdict(finding) for finding in findings]}


def _rounds_finding(run: JudgedRounds, allow_unfinished: bool) -> Finding:
    of = f" of {run.planned}" if run.planned else ""
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
    rounds: str,
) -> None:
    if max_gap is min_ratio is min_dp is min_eo is max_violation is None:
        raise FFMLError(
            "nothing to check; give --max-gap, --min-ratio, --min-dp, --min-eo or --max-violation"
        )
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
    if rounds not in PARTS:
        raise FFMLError(f"--rounds must be one of {', '.join(PARTS)}, got '{rounds}'")
