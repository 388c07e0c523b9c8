"""Time from a command to what it first has to say: help, or the line of the first round.

    python benchmarks/first_result.py [--repeats N] [--only WORD]

Cold means an empty cache of compiled programs; warm, that the command ran before. Seconds are those
of the clock, and of the processor up to then, which other work of the machine changes less.
"""

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

FIRST_ROUND = re.compile(r"\s+1  \S")
COMMANDS = {
    "--help": (),
    "run adult": ("run", "adult"),
    "run synthetic --method ffml": ("run", "synthetic", "--method", "ffml"),
    "run synthetic --preset paper": ("run", "synthetic", "--preset", "paper"),
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeats", type=int, default=3, help="warm starts, and cold ones")
    parser.add_argument("--only", default="", help="commands with this in their name")
    arguments = parser.parse_args()
    print("| ffml … | start | seconds | of processor |\n| --- | --- | --- | --- |")
    for name, words in COMMANDS.items():
        if arguments.only not in name:
            continue
        starts = {"cold": [], "warm": []}
        for _ in range(arguments.repeats):
            with tempfile.TemporaryDirectory() as folder:
                starts["cold"].append(first_line(words, Path(folder)))
                starts["warm"].append(first_line(words, Path(folder)))
        for start, found in starts.items():
            clock, processor = (statistics.median(column) for column in zip(*found, strict=True))
            print(f"| {name} | {start} | {clock:.2f} | {processor:.2f} |", flush=True)


def first_line(words: tuple[str, ...], folder: Path) -> tuple[float, float]:
    """Run a command until it has said something; return the seconds by clock and processor."""
    command = [sys.executable, "-m", "ffml", *(words or ("--help",))]
    if words:
        command += ["--out", str(folder / "run"), "--overwrite"]
    environment = os.environ | {"FFML_JAX_CACHE": str(folder / "jax"), "PYTHONUNBUFFERED": "1"}
    wanted = FIRST_ROUND if words else re.compile(".*Usage")
    start = time.perf_counter()
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, env=environment, encoding="utf-8"
    ) as process:
        found = next((line for line in process.stdout if wanted.match(line)), None)
        clock, processor = time.perf_counter() - start, processor_seconds(process.pid)
        process.kill()
    if found is None:
        raise SystemExit(f"{' '.join(command)} ended without a result")
    return clock, processor


def processor_seconds(pid: int) -> float:
    """Return the seconds that a process has used so far, of all its threads; NaN if not known."""
    status = Path(f"/proc/{pid}/stat")
    if not status.exists():
        return float("nan")
    after_name = status.read_text().rpartition(")")[2].split()
    return sum(map(int, after_name[11:13])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
