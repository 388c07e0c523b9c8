"""``/metrics`` in the text format of Prometheus.

Written by hand: the format is a few lines, and what counts is in the ledger, so that all workers
show the same. Only requests and their latencies are of one worker.
"""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from itertools import accumulate
from typing import Any

from ffml.runs import Run
from ffml.service._read import label_lag, outstanding

BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
Sample = tuple[str, Mapping[str, str], float]  # suffix of the name, labels, value
HELP = {
    "ffml_requests_total": ("counter", "Requests of this worker, by path and status."),
    "ffml_request_seconds": ("histogram", "Seconds that requests of this worker took, by path."),
    "ffml_decisions_total": ("counter", "People decided about."),
    "ffml_labels_outstanding": ("gauge", "People decided about whose label has not come."),
    "ffml_label_lag_seconds": ("gauge", "Median time from decision to label, newest labels."),
    "ffml_rate": ("gauge", "Share decided favourably among everybody decided about, by group."),
    "ffml_people": ("gauge", "People decided about, by group."),
    "ffml_gap": ("gauge", "Largest difference between two groups' rates so far, by notion."),
    "ffml_alarm_evidence": ("gauge", "Evidence that the bound was broken, by notion."),
    "ffml_alarm_needed": ("gauge", "Evidence at which the alarm is raised, by notion."),
    "ffml_alarm_raised": ("gauge", "1 once the alarm is raised, by notion."),
    "ffml_version": ("gauge", "The version that decides."),
    "ffml_version_newest": ("gauge", "The version that was learned last."),
}


class Meter:
    """Counts requests of this process."""

    def __init__(self) -> None:
        self._requests: Counter[tuple[str, int]] = Counter()
        self._slower: dict[str, list[int]] = defaultdict(lambda: [0] * (len(BOUNDS) + 1))
        self._seconds: dict[str, float] = defaultdict(float)

    def count(self, path: str, status: int, seconds: float) -> None:
        """Count a request."""
        self._requests[path, status] += 1
        self._slower[path][bisect_left(BOUNDS, seconds)] += 1
        self._seconds[path] += seconds

    def samples(self) -> dict[str, list[Sample]]:
        """Return what was counted."""
        made: list[Sample] = []
        for path, counts in sorted(self._slower.items()):
            own = {"path": path}
            totals = accumulate(counts)
            for bound, total in zip((*BOUNDS, "+Inf"), totals, strict=True):
                made.append(("_bucket", own | {"le": str(bound)}, total))
            made += [("_sum", own, self._seconds[path]), ("_count", own, sum(counts))]
        requests: list[Sample] = [
            ("", {"path": path, "status": str(status)}, n)
            for (path, status), n in sorted(self._requests.items())
        ]
        return {"ffml_requests_total": requests, "ffml_request_seconds": made}


def run_samples(name: str, run: Run) -> dict[str, list[Sample]]:
    """Return what a run's ledger says now."""
    answer, record, (came, lag) = run.answer, run.record, label_lag(run)
    own = {"run": name}
    groups = [
        (own | {"column": column.name, "group": group}, int(table.sum()), int(table[..., 1].sum()))
        for column in record.columns
        for group, table in zip(column.groups, record.tables[column.name].sum(0), strict=True)
    ]
    notions = [
        (own | {"notion": one["notion"]}, one["fact"] or {}, one["alarm"] or {})
        for one in answer["notions"]
    ]
    values: dict[str, list[tuple[Mapping[str, str], float | None]]] = {
        "ffml_decisions_total": [(own, answer["people"])],
        "ffml_labels_outstanding": [(own, outstanding(run))],
        "ffml_label_lag_seconds": [(own, lag if came else None)],
        "ffml_rate": [(at, chosen / n if n else None) for at, n, chosen in groups],
        "ffml_people": [(at, n) for at, n, _ in groups],
        "ffml_gap": [(at, fact.get("gap")) for at, fact, _ in notions],
        "ffml_alarm_evidence": [(at, alarm.get("evidence")) for at, _, alarm in notions],
        "ffml_alarm_needed": [(at, alarm.get("needed")) for at, _, alarm in notions],
        "ffml_alarm_raised": [(at, alarm.get("round") is not None) for at, _, alarm in notions],
        "ffml_version": [(own, run.store.deciding)],
        "ffml_version_newest": [(own, run.store.version_number)],
    }
    return {
        key: [("", at, value) for at, value in rows if value is not None and value == value]
        for key, rows in values.items()
    }


def exposition(parts: Iterable[Mapping[str, list[Sample]]]) -> str:
    """Write samples as text.

    >>> print(exposition([{"ffml_version": [("", {"run": 'a"b'}, 3)]}]), end="")
    # HELP ffml_version The version that decides.
    # TYPE ffml_version gauge
    ffml_version{run="a\\"b"} 3
    """
    together: dict[str, list[Sample]] = defaultdict(list)
    for part in parts:
        for name, samples in part.items():
            together[name] += samples
    lines = []
    for name, samples in together.items():
        kind, words = HELP[name]
        lines += [f"# HELP {name} {words}", f"# TYPE {name} {kind}"]
        lines += [f"{name}{end}{_labels(at)} {_number(value)}" for end, at, value in samples]
    return "\n".join(lines) + "\n"


def _labels(labels: Mapping[str, str]) -> str:
    inside = ",".join(f'{name}="{_escaped(text)}"' for name, text in labels.items())
    return f"{{{inside}}}" if inside else ""


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(value: Any) -> str:
    return str(int(value)) if isinstance(value, int) else repr(float(value))
