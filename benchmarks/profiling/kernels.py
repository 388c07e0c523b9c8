"""Read a trace: which kernels of compiled programs took how long."""

import gzip
import json
import re
from collections import Counter
from pathlib import Path

# Kinds of kernels, by the names that the compiler gives them; the first that fits.
KINDS = {
    "sums over devices": r"all-reduce|all_reduce|all-gather|collective|psum",
    "sorting, for draws": r"sort",
    "random numbers": r"threefry|shift|xor|random|rng",
    "gathering rows": r"gather|scatter|dynamic",
    "matrix products and sums": r"dot|ynn|reduce",
}
OUTSIDE = ("while", "call", "conditional")  # hold other kernels


def kernel_seconds(folder: Path) -> Counter:
    """Add up the time of kernels by kind."""
    found: Counter = Counter()
    for path in sorted(folder.rglob("perfetto_trace.json.gz"))[-1:]:
        with gzip.open(path, "rt", encoding="utf-8") as file:
            events = json.load(file)["traceEvents"]
        for event in events:
            kernel = (event.get("args") or {}).get("hlo_op")
            if event.get("ph") == "X" and kernel and not kernel.startswith(OUTSIDE):
                found[_kind(kernel)] += event["dur"] / 1e6
    return found


def _kind(kernel: str) -> str:
    for kind, names in KINDS.items():
        if re.search(names, kernel):
            return kind
    return "element by element"
