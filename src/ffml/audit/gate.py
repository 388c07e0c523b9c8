"""A gate for pipelines: does a run keep what was asked of it, and can that be told at all?"""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ffml.audit._limits import Limits
from ffml.audit.record import RunRecord
from ffml.base import FFMLError, Ratio
from ffml.metrics import MIN_TASKS, NOTIONS, phrases, words
from ffml.metrics.alarm import Asked, alarm_sentence
from ffml.metrics.answer import answer
from ffml.metrics.verdict import KEPT, NOT_KEPT, SO_FAR, UNMEASURABLE
from ffml.metrics.verdict import UNCLEAR as CANNOT_TELL

MET, VIOLATED, UNCLEAR = "met", "violated", "too little data to tell"
MET_SO_FAR = "met so far"  # of tasks to come it cannot be told
UNFINISHED = "unfinished"
NO_ALARM = "no alarm"  # which shows nothing: others have to say whether it is met
FACT = "fact"  # of the people decided about; the rule behind it answers
# The first of these among the findings counts.
ANSWERS = (UNFINISHED, VIOLATED, UNMEASURABLE, UNCLEAR, MET_SO_FAR, MET, NO_ALARM, FACT)
EXIT_CODES = {MET: 0, VIOLATED: 1} | dict.fromkeys(
    (UNCLEAR, MET_SO_FAR, UNMEASURABLE, UNFINISHED), 3
)
ANSWER_OF = {
    KEPT: MET,
    NOT_KEPT: VIOLATED,
    SO_FAR: MET_SO_FAR,
    CANNOT_TELL: UNCLEAR,
    UNMEASURABLE: UNMEASURABLE,
}


@dataclass(frozen=True)
class Finding:
    """One thing asked, with the value, its 95 % interval, the answer, and all of it in words."""

    what: str
    relation: str  # of the value to the limit: "at least" or "at most"
    limit: float | None
    value: float | None
    low: float | None
    high: float | None
    answer: str
    words: str


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
    it (met, met so far, violated, too little data to tell), and the alarm, which stays right
    however often one looks. Of several groups and columns the largest difference of any two
    answers. The first finding says how many rounds there are.

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
        findings += findings_of(run, asked)
    if max_violation is not None:
        findings.append(violation_finding(run, max_violation))
    return findings


def verdict(findings: list[Finding]) -> str:
    """Return the answer that counts: unfinished, else violated, else unclear, else met."""
    return min((finding.answer for finding in findings), key=ANSWERS.index)


def exit_code(findings: list[Finding], so_far: bool = False) -> int:
    """Return what a pipeline reads; ``so_far``: what is met so far passes."""
    outcome = verdict(findings)
    return 0 if so_far and outcome == MET_SO_FAR else EXIT_CODES[outcome]


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


def findings_of(run: RunRecord, asked: Asked) -> list[Finding]:
    """Return the fact, the rule and the alarm of everything asked, of everybody decided about.

    Alarms that the run raised stand for what it was asked for.
    """
    summary = answer(
        run.tables,
        run.columns,
        asked,
        run.tasks,
        favourable=run.favourable,
        raised=run.raised,
        asked_before=run.asked,
        everybody=run.counts.everybody,
    )
    return [one for notion in summary["notions"] for one in notion_findings(summary, notion)]


def notion_findings(summary: Mapping[str, Any], notion: Mapping[str, Any]) -> list[Finding]:
    """Return what is to be said of one notion."""
    bound = phrases.bound_of(notion)
    by_ratio, fact, rule = isinstance(bound, Ratio), notion["fact"], notion["rule"]
    relation = "at least" if by_ratio else "at most"
    limit = bound.least if isinstance(bound, Ratio) else bound
    what = f"{'ratio' if by_ratio else 'gap'} ({notion['notion']})"
    value = None if fact is None else _finite(fact["ratio" if by_ratio else "gap"])
    low, high = _finite(rule["low"]), _finite(rule["high"])
    if by_ratio:
        low, high = (None if end is None else 1 - end for end in (high, low))
    outcome = ANSWER_OF[notion["verdict"]]
    fact_words, rule_words = (
        words.fact_sentence(summary, notion),
        words.rule_sentence(summary, notion),
    )
    findings = [Finding(f"{what}, so far", relation, limit, value, None, None, FACT, fact_words)]
    findings.append(
        Finding(f"{what}, the rule", relation, limit, value, low, high, outcome, rule_words)
    )
    findings += [
        Finding("compared", relation, limit, None, None, None, FACT, said)
        for said in words.compared_sentences(notion, summary["by_task"])
    ]
    if (alarm := notion["alarm"]) is not None:
        raised = NO_ALARM if alarm["round"] is None else VIOLATED
        said = alarm_sentence(alarm, phrases.limit_words(notion))
        name = f"alarm ({alarm['column']}: {alarm['comparison']})"
        numbers = (alarm["needed"], alarm["evidence"], None, None)
        findings.append(Finding(name, "at most", *numbers, raised, said))
    return findings


def violation_finding(run: RunRecord, most: float) -> Finding:
    """Compare the mean violation of the worst constraint of each round with the largest allowed."""
    measured = run.constraint[np.isfinite(run.constraint).any(1)]
    if not len(measured):
        said = "mean violation could not be measured (no round had a measured constraint)"
        said += f"; asked: at most {most:g}"
        return Finding("mean violation", "at most", most, None, None, None, UNCLEAR, said)
    clipped = np.maximum(np.nanmax(measured, axis=1), 0)
    draws = np.random.default_rng(0).choice(clipped, (2000, len(clipped))).mean(1)
    low, high = np.quantile(draws, [0.025, 0.975]).tolist()
    outcome = MET if high <= most else VIOLATED if low > most else UNCLEAR
    said = (
        f"mean violation {clipped.mean():.3f}, interval {low:.3f} to {high:.3f}; "
        f"asked: at most {most:g}"
    )
    if len(clipped) < MIN_TASKS:
        outcome = UNCLEAR
        said += f"; that takes {MIN_TASKS} rounds, and {len(clipped)} could be measured"
    return Finding(
        "mean violation", "at most", most, float(clipped.mean()), low, high, outcome, said
    )


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
