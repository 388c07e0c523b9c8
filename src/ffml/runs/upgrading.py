"""Runs of ffml 0.2, which kept checkpoints and no ledger."""

import json
from pathlib import Path

from ffml.base import FFMLError
from ffml.recipe.saved import run_config
from ffml.recipe.sources import Found, find_data
from ffml.runs._run import Run
from ffml.runs.starting import play, start

OLD = "old-0.2"
_NAMES = (
    *("config.json", "rounds.csv", "groups.csv", "timings.csv", "summary.json", "report.html"),
    *("model_card.md", "model.safetensors", "checkpoint", "decisions", ".lock"),
)


def upgrade_run(folder: Path) -> Run:
    """Play a run of 0.2 again into a ledger; nothing is moved before that has worked."""
    if (folder / "run.db").exists():
        raise FFMLError(f"{folder} has a ledger already; there is nothing to upgrade")
    try:
        saved = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        config = run_config(saved["run"])
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise FFMLError(
            f"{folder} holds no run of ffml 0.2 that can be read ({error}); start a new run"
        ) from error
    found = find_data(config.data, dict(config.data_options))
    new = folder / "ledger"
    started = start(Found(*found), config, new, overwrite=True)
    play(started)
    started.run.write_views()
    started.run.close()
    _exchange(folder, new)
    return Run(_open(folder))


def _open(folder: Path):  # type: ignore[no-untyped-def]
    from ffml.store import Store

    return Store.open(folder)


def _exchange(folder: Path, new: Path) -> None:
    """Put the old files aside and the new ones in their place."""
    old = folder / OLD
    old.mkdir(exist_ok=True)
    for name in _NAMES:
        if (folder / name).exists():
            (folder / name).rename(old / name)
    for path in sorted(new.iterdir()):
        path.rename(folder / path.name)
    new.rmdir()
