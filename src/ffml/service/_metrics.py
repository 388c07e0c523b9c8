"""``/metrics`` in the text format of Prometheus.

Written by hand: the format is a few lines, and what counts is in the ledger, so that all workers
show the same. Only requests and their latencies are of one worker.
"""

import statistics
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ffml.runs import Run

BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
MOST_DELAYS = 2000  # newest labels whose lag is looked at
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
            total = 0
            for bound, number in zip((*BOUNDS, "+Inf"), counts, strict=True):
                total += number
                made.append(("_bucket", {"path": path, "le": str(bound)}, total))
            made += [
                ("_sum", {"path": path}, self._seconds[path]),
                ("_count", {"path": path}, total),
            ]
        requests = sorted(self._requests.items())
        return {
            "ffml_requests_total": [
                ("", {"path": path, "status": str(status)}, n) for (path, status), n in requests
            ],
            "ffml_request_seconds": made,
        }


def run_samples(name: str, run: "Run") -> dict[str, list[Sample]]:
    """Return what a run's ledger says now."""
    with run.store.snapshot():
        answer, record = run.answer, run.record
        delays, totals = run.store.delays(MOST_DELAYS), run.store.totals()
        decides, newest = run.store.deciding, run.store.version_number
    own = {"run": name}
    read = datetime.fromisoformat
    lags = [(read(came) - read(at)).total_seconds() for at, came in delays]
    groups = [
        (own | {"column": column.name, "group": group}, int(table.sum()), int(table[..., 1].sum()))
        for column in record.columns
        for group, table in zip(column.groups, record.tables[column.name].sum(0), strict=True)
    ]
    alarms = [(own | {"notion": one["notion"]}, one) for one in answer["notions"]]
    found: dict[str, Iterable[tuple[Mapping[str, str], float | None]]] = {
        "ffml_decisions_total": [(own, answer["people"])],
        "ffml_labels_outstanding": [(own, _outstanding(totals))],
        "ffml_label_lag_seconds": [(own, statistics.median(lags) if lags else None)],
        "ffml_rate": [(at, chosen / n if n else None) for at, n, chosen in groups],
        "ffml_people": [(at, n) for at, n, _ in groups],
        "ffml_gap": [(at, one["fact"] and one["fact"]["gap"]) for at, one in alarms],
        "ffml_alarm_evidence": [(at, (one["alarm"] or {}).get("evidence")) for at, one in alarms],
        "ffml_alarm_needed": [(at, (one["alarm"] or {}).get("needed")) for at, one in alarms],
        "ffml_alarm_raised": [
            (at, float(bool(one["alarm"] and one["alarm"]["round"] is not None)))
            for at, one in alarms
        ],
        "ffml_version": [(own, decides)],
        "ffml_version_newest": [(own, newest)],
    }
    return {
        key: [("", at, value) for at, value in rows if value is not None and value == value]
        for key, rows in found.items()
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


def _outstanding(totals: Any) -> int:
    return int(totals.n[(totals.label < 0) & (totals.decision >= 0)].sum())


def _labels(labels: Mapping[str, str]) -> str:
    inside = ",".join(f'{name}="{_escaped(text)}"' for name, text in labels.items())
    return f"{{{inside}}}" if inside else ""


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(value: Any) -> str:
    return str(value) if isinstance(value, int) else repr(float(value))
