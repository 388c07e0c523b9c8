"""Runs of ffml 0.2, which kept checkpoints and no ledger."""

import csv
import json
from pathlib import Path

from ffml.base import FFMLError
from ffml.recipe.config import RunConfig
from ffml.recipe.saved import run_config
from ffml.recipe.sources import find_data
from ffml.runs._run import Run, open_run
from ffml.runs.starting import play, start

OLD, NEW = "old-0.2", "ledger"
_NAMES = (
    *("config.json", "rounds.csv", "groups.csv", "timings.csv", "summary.json", "report.html"),
    *("model_card.md", "model.safetensors", "checkpoint", "decisions", ".lock"),
)


def upgrade_run(folder: Path) -> Run:
    """Play a run of 0.2 again into a ledger; nothing is moved before that has worked.

    Stopped while it moves files, it goes on from there.
    """
    if (folder / "run.db").exists():
        raise FFMLError(f"{folder} has a ledger already; there is nothing to upgrade")
    if not (folder / OLD).is_dir():
        _play_again(folder)
    _exchange(folder)
    return open_run(folder)


def later_tasks(folder: Path, run: Run) -> list[str]:
    """Name the tasks that the old run had and the new one has not: they came with later tables."""
    try:
        with (folder / OLD / "rounds.csv").open(encoding="utf-8", newline="") as file:
            before = [row["task"] for row in csv.DictReader(file)]
    except (OSError, ValueError, LookupError):
        return []
    played = {row.task for row in run.store.rounds()}
    return [task for task in before if task not in played]


def _play_again(folder: Path) -> None:
    config = _config(folder)
    found = find_data(config.data, dict(config.data_options))
    started = start(found, config, folder / NEW, overwrite=True)
    play(started)
    started.run.close()


def _config(folder: Path) -> RunConfig:
    try:
        return run_config(json.loads((folder / "config.json").read_text("utf-8"))["run"])
    except (FFMLError, OSError, ValueError, LookupError, TypeError) as error:
        raise FFMLError(
            f"{folder} holds no run of ffml 0.2 that can be converted; its files stay as they are: "
            "start a new run in another folder"
        ) from error


def _exchange(folder: Path) -> None:
    """Put the old files aside and the new ones in their place, the ledger last."""
    (folder / OLD).mkdir(exist_ok=True)
    for name in _NAMES:
        if (folder / name).exists() and not (folder / OLD / name).exists():
            (folder / name).rename(folder / OLD / name)
    for path in sorted((folder / NEW).iterdir(), key=lambda path: path.name == "run.db"):
        path.rename(folder / path.name)
    (folder / NEW).rmdir()
