"""config.json: what a run is, in a form that people read and that a resumed run starts from."""

import json
import platform
from collections.abc import Mapping
from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ffml.base import FFMLError, Stream
from ffml.datasets import DATASETS
from ffml.experiment import Experiment, RunConfig, build
from ffml.methods import METHODS
from ffml.runs.files import CONFIG, plain
from ffml.runs.generations import newest_generation
from ffml.runs.snapshot import versions
from ffml.sources import table_document


def config_document(experiment: Experiment, command: str) -> dict[str, Any]:
    """Describe a run before its first round, as plain JSON values."""
    import jax

    config = experiment.config
    return plain(
        {
            "ffml_version": versions()["ffml"],
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
            "command": command,
            "data": _data_document(experiment.stream),
            "method": config.method,
            "method_summary": (METHODS[config.method].__doc__ or "").strip().split("\n")[0],
            "model": config.model,
            "constraint": config.constraints,
            "bound": config.bounds,
            "seed": config.seed,
            "rounds": config.rounds,
            "settings": config.settings,
            "run": config.to_json(),
            "versions": {
                "python": platform.python_version(),
                **{name: versions()[name] for name in ("jax", "numpy", "optax")},
            },
            "devices": jax.device_count(),
        }
    )


def _data_document(stream: Stream) -> dict[str, Any]:
    """Describe the stream, and the data set where it is one of the package's."""
    document: dict[str, Any] = {
        "name": stream.name,
        "num_tasks": stream.num_tasks,
        "label": stream.schema.label,
        "sensitive": [
            {"name": column.name, "groups": column.groups} for column in stream.schema.sensitive
        ],
        "features": len(stream.schema.features),
    }
    if dataset := DATASETS.get(stream.name):
        document |= {k: getattr(dataset, k) for k in ("summary", "label", "citation", "licence")}
    return document | table_document(stream)


def saved_config(run_dir: Path) -> dict[str, Any]:
    """Read the config of a run that is to be resumed, from the checkpoint if config.json is lost.

    Raises:
        FFMLError: there is no run, or config.json says something else than the checkpoint.
    """
    if not run_dir.is_dir():
        raise FFMLError(f"{run_dir} is not a folder; give --resume the folder of a run")
    newest = newest_generation(run_dir)
    kept = newest.contents.document["config"] if newest else None
    found = _read_config(run_dir / CONFIG)
    if found is not None and kept is not None:
        refuse_changes(kept["run"], found["run"], run_dir)
    if kept is None and found is None:
        if (run_dir / CONFIG).exists():
            raise FFMLError(
                f"{run_dir / CONFIG} is damaged and no round was done; start with --overwrite"
            )
        raise FFMLError(f"{run_dir} holds no run; give --resume the folder of one")
    return kept or found or {}


def _read_config(path: Path) -> dict[str, Any] | None:
    """Read config.json; None if it is not there or does not hold what a run needs."""
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    whole = isinstance(config, dict) and isinstance(config.get("run"), dict)
    return config if whole and "data" in config["run"] else None


def refuse_changes(saved: Mapping[str, Any], now: Mapping[str, Any], run_dir: Path) -> None:
    """Refuse to go on with other settings than those of the rounds before.

    A setting that is younger than the run counts as having had its default.
    """
    before, after = (plain(run_config(run).to_json()) for run in (saved, now))
    for name, value in after.items():
        if value != before[name]:
            raise FFMLError(
                f"{name} is {value!r} now, but the rounds in {run_dir} were done with "
                f"{before[name]!r}; put it back, or start another run with --out"
            )


def rebuilt_experiment(
    config: Mapping[str, Any], data_home: str | None = None, sql_url: str | None = None
) -> Experiment:
    """Build a run again from its config.json; refuse data that are not the same any more."""
    experiment = build(run_config(config["run"]), data_home, sql_url)
    before = config["data"].get("fingerprint")
    if before != table_document(experiment.stream).get("fingerprint"):
        raise FFMLError(
            f"{config['data']['name']} has changed since the run began; restore it, or start "
            "another run with --out"
        )
    return experiment


def run_config(saved: Mapping[str, Any]) -> RunConfig:
    """Read a `RunConfig` back from JSON, where tuples have become lists.

    >>> config = RunConfig("synthetic", data_options={"rows_per_task": (10, 20)})
    >>> run_config(plain(config.to_json())) == config
    True
    """
    if "relative_temperature" not in saved:  # written by 0.1
        saved = _as_in_0_1(saved)
    if unknown := sorted(set(saved) - {f.name for f in fields(RunConfig)}):
        raise FFMLError(f"config.json has a setting '{unknown[0]}' that this ffml does not know")
    return RunConfig(**{name: _with_tuples(value) for name, value in saved.items()})


def _as_in_0_1(saved: Mapping[str, Any]) -> dict[str, Any]:
    """Spell out what version 0.1 did where today's defaults do something else."""
    settings = saved.get("method_settings", {})
    if saved.get("method", "ffml") == "ffml":
        settings = {"gap_weighting": "tasks", "surprise_memory": 0.0} | settings
    before = {"temperature": 1.0, "relative_temperature": False}
    return before | dict(saved) | {"method_settings": settings}


def _with_tuples(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _with_tuples(part) for key, part in value.items()}
    return tuple(map(_with_tuples, value)) if isinstance(value, list) else value
