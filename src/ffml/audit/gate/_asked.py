"""What can be asked of the rounds of a run: gaps, ratios, and how far constraints were violated."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ffml.audit.gate._finding import (
    ANSWER_OF,
    FACT,
    MET,
    NO_ALARM,
    UNCLEAR,
    VIOLATED,
    Finding,
    finite,
    unmeasured,
)
from ffml.audit.record import RunRecord
from ffml.base import Ratio
from ffml.metrics import MIN_TASKS, phrases, words
from ffml.metrics.alarm import Asked, alarm_sentence
from ffml.metrics.answer import answer


def findings_of(
    run: RunRecord,
    asked: Asked,
    tasks: Sequence[str] | None = None,
    by_task: bool = True,
    raised: Sequence[Mapping[str, Any]] = (),
) -> list[Finding]:
    """Return the fact, the rule and the alarm of everything asked, of everybody decided about.

    Args:
        run: the rounds, from the first one on.
        asked: notions with their bounds.
        tasks: the rounds' names, to be said beside their numbers.
        by_task: False: all rows are one population.
        raised: alarms of what was asked before, which stand.
    """
    found = answer(
        run.tables,
        run.columns,
        asked,
        tasks,
        favourable=run.favourable,
        by_task=by_task,
        raised=raised,
    )
    return [one for notion in found["notions"] for one in notion_findings(found, notion)]


def notion_findings(found: Mapping[str, Any], notion: Mapping[str, Any]) -> list[Finding]:
    """Return what is to be said of one notion."""
    bound = phrases.bound_of(notion)
    by_ratio, fact, rule = isinstance(bound, Ratio), notion["fact"], notion["rule"]
    relation = "at least" if by_ratio else "at most"
    limit = bound.least if isinstance(bound, Ratio) else bound
    what = f"{'ratio' if by_ratio else 'gap'} ({notion['notion']})"
    value = None if fact is None else finite(fact["ratio" if by_ratio else "gap"])
    low, high = finite(rule["low"]), finite(rule["high"])
    if by_ratio:
        low, high = (None if end is None else 1 - end for end in (high, low))
    told = ANSWER_OF[notion["verdict"]]
    fact_words, rule_words = words.fact_sentence(found, notion), words.rule_sentence(found, notion)
    findings = [Finding(f"{what}, so far", relation, limit, value, None, None, FACT, fact_words)]
    findings.append(
        Finding(f"{what}, the rule", relation, limit, value, low, high, told, rule_words)
    )
    findings += [
        Finding("compared", relation, limit, None, None, None, FACT, said)
        for said in words.compared_sentences(notion, found["by_task"])
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
        return unmeasured("mean violation", "at most", most, "no round had a measured constraint")
    clipped = np.maximum(np.nanmax(measured, axis=1), 0)
    draws = np.random.default_rng(0).choice(clipped, (2000, len(clipped))).mean(1)
    low, high = np.quantile(draws, [0.025, 0.975]).tolist()
    told = MET if high <= most else VIOLATED if low > most else UNCLEAR
    said = (
        f"mean violation {clipped.mean():.3f}, interval {low:.3f} to {high:.3f}; "
        f"asked: at most {most:g}"
    )
    if len(clipped) < MIN_TASKS:
        told = UNCLEAR
        said += f"; that takes {MIN_TASKS} rounds, and {len(clipped)} could be measured"
    return Finding("mean violation", "at most", most, float(clipped.mean()), low, high, told, said)
