"""A gate for pipelines: does a run keep what was asked of it, and can that be told at all?"""

import csv
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ffml.base import FFMLError

MET, VIOLATED, UNCLEAR = "met", "violated", "too little data to tell"
EXIT_CODES = {MET: 0, VIOLATED: 1, UNCLEAR: 3}
PARTS = {"all": "pooled", "last-third": "pooled_last_third"}


@dataclass(frozen=True)
class Finding:
    """One thing asked, with the value, its 95 % interval, and the answer."""

    what: str
    limit: float
    value: float | None
    low: float | None
    high: float | None
    answer: str

    def sentence(self) -> str:
        """Say it in words."""
        relation = "at most" if self.what == "mean violation" else "at least"
        if self.value is None:
            return f"{self.what} could not be measured (asked: {relation} {self.limit:g})"
        interval = "" if self.low is None else f", interval {self.low:.3f} to {self.high:.3f}"
        return f"{self.what} {self.value:.3f}{interval}; asked: {relation} {self.limit:g}"


def check(
    run_dir: str | Path,
    *,
    min_dp: float | None = None,
    min_eo: float | None = None,
    max_violation: float | None = None,
    rounds: str = "all",
) -> list[Finding]:
    """Compare a run with what is asked, by confidence intervals.

    A minimum is met where the whole interval lies above it, violated where it lies below, and
    unclear where it holds the limit: too few people were judged to tell.

    Args:
        run_dir: folder of a run.
        min_dp: smallest demographic parity ratio, of all judged rows pooled.
        min_eo: smallest equalized odds ratio, likewise.
        max_violation: largest mean over the rounds of ``max(|gap| - ε, 0)``, the worst
            constraint of a round counting; its interval resamples rounds.
        rounds: "all", or "last-third".
    """
    if min_dp is None and min_eo is None and max_violation is None:
        raise FFMLError("nothing to check; give --min-dp, --min-eo or --max-violation")
    for name, limit in (("min-dp", min_dp), ("min-eo", min_eo)):
        if limit is not None and not 0 <= limit <= 1:
            raise FFMLError(f"--{name} must be between 0 and 1, got {limit}")
    if max_violation is not None and not max_violation >= 0:
        raise FFMLError(f"--max-violation must be >= 0, got {max_violation}")
    if rounds not in PARTS:
        raise FFMLError(f"--rounds must be one of {', '.join(PARTS)}, got '{rounds}'")
    pooled = _read_summary(Path(run_dir))[PARTS[rounds]]
    findings = []
    for what, key, limit in (("DP ratio", "dp", min_dp), ("EO ratio", "eo", min_eo)):
        if limit is not None:
            numbers = (pooled[key], pooled[f"{key}_low"], pooled[f"{key}_high"])
            findings.append(Finding(what, limit, *numbers, _answer(*numbers, limit)))
    if max_violation is not None:
        value, low, high = _violation(Path(run_dir), rounds)
        flipped = [None if number is None else -number for number in (value, high, low)]
        answer = _answer(flipped[0], flipped[1], flipped[2], -max_violation)
        findings.append(Finding("mean violation", max_violation, value, low, high, answer))
    return findings


def verdict(findings: list[Finding]) -> str:
    """Return the worst answer: violated, else unclear, else met."""
    answers = {finding.answer for finding in findings}
    return next(answer for answer in (VIOLATED, UNCLEAR, MET) if answer in answers)


def to_document(findings: list[Finding]) -> dict[str, Any]:
    """Return the findings as plain JSON values."""
    return {"verdict": verdict(findings), "findings": [asdict(finding) for finding in findings]}


def _answer(value: float | None, low: float | None, high: float | None, least: float) -> str:
    if value is None or low is None or high is None:
        return UNCLEAR
    return MET if low >= least else VIOLATED if high < least else UNCLEAR


def _read_summary(run_dir: Path) -> dict[str, Any]:
    path = run_dir / "summary.json"
    try:
        summary = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise FFMLError(f"{run_dir} holds no finished run; give the folder of one") from None
    except (OSError, ValueError) as error:
        raise FFMLError(f"{path} cannot be read ({error}); run 'ffml run --resume'") from None
    if missing := [part for part in PARTS.values() if part not in summary]:
        raise FFMLError(f"{path} has no '{missing[0]}'; it was written by an older ffml")
    return summary


def _violation(run_dir: Path, rounds: str) -> tuple[float | None, float | None, float | None]:
    with (run_dir / "rounds.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    if rounds == "last-third":
        rows = [row for t, row in enumerate(rows, 1) if 3 * t > 2 * len(rows)]
    worst = [
        max(float(cell) for cell in cells)
        for row in rows
        if (cells := [v for k, v in row.items() if k.startswith("constraint:") and v])
    ]
    if not worst:
        return None, None, None
    clipped = np.maximum(worst, 0)
    draws = np.random.default_rng(0).choice(clipped, (2000, len(clipped))).mean(1)
    low, high = np.quantile(draws, [0.025, 0.975])
    return float(clipped.mean()), float(low), float(high)
