"""config.json: what a run is, in a form that people read and that a resumed run starts from."""

import platform
from collections.abc import Mapping
from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ffml.base import FFMLError, Stream
from ffml.datasets import DATASETS
from ffml.kinds import refuse_other_kinds
from ffml.methods import METHODS
from ffml.recipe.build import Experiment, build
from ffml.recipe.config import RunConfig
from ffml.recipe.recipes import Recipe
from ffml.recipe.renamed import todays_names
from ffml.recipe.sources import table_document
from ffml.runs.files import CONFIG, plain
from ffml.runs.generations import newest_generation
from ffml.runs.ownership import read_config
from ffml.runs.snapshot import versions


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
            "method": config.recipe.method,
            "method_summary": (METHODS[config.recipe.method].__doc__ or "").strip().split("\n")[0],
            "wrappers": config.recipe.wrappers,
            "model": config.recipe.part("model"),
            "notions": config.notions,
            "max_gap": config.max_gap,
            "min_ratio": config.min_ratio,
            "seed": config.seed,
            "rounds": config.rounds,
            "settings": config.settings,
            "recipe": config.to_json()["recipe"],
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
        raise FFMLError(f"{run_dir} is not a folder; give the folder of a run")
    newest = newest_generation(run_dir)
    kept = newest.contents.document["config"] if newest else None
    found = read_config(run_dir)
    if found is not None and kept is not None:
        refuse_changes(kept["run"], found["run"], run_dir)
    if kept is None and found is None:
        if (run_dir / CONFIG).exists():
            raise FFMLError(
                f"{run_dir / CONFIG} is damaged and no round was done; start another run with --out"
            )
        raise FFMLError(f"{run_dir} holds no run; give the folder of one")
    return kept or found or {}


def saved_preprocessing(run_dir: Path) -> dict[str, Any] | None:
    """Read how a table's columns became features in the rounds that are done; None if none is."""
    newest = newest_generation(run_dir)
    return newest.contents.document["preprocessing"] if newest else None


def refuse_changes(saved: Mapping[str, Any], now: Mapping[str, Any], run_dir: Path) -> None:
    """Refuse to go on with other settings than those of the rounds before.

    A setting that is younger than the run counts as having had its default.
    """
    before, after = (_flat(run_config(run)) for run in (saved, now))
    for name in before | after:
        old, new = (repr(given[name]) if name in given else "not set" for given in (before, after))
        if old != new:
            raise FFMLError(
                f"{name} is {new} now, but the rounds in {run_dir} were done with {old}; put it "
                "back, or start another run with --out"
            )


def _flat(config: RunConfig) -> dict[str, Any]:
    """Return all that was given, by the names that people know."""
    run = plain(config.to_json())
    recipe = run.pop("recipe")
    return run | recipe.pop("settings") | recipe


def rebuilt_experiment(
    config: Mapping[str, Any],
    data_home: str | None = None,
    sql_url: str | None = None,
    preprocessing: dict[str, Any] | None = None,
) -> Experiment:
    """Build a run again from its config.json; refuse data that are not the same any more."""
    experiment = build(run_config(config["run"]), data_home, sql_url, preprocessing)
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
    if not isinstance(saved.get("data"), str):
        raise FFMLError("config.json does not say what to run; restore a copy of it")
    if "recipe" not in saved:
        raise FFMLError(
            "an older ffml wrote this run, with settings that are not there any more; its model "
            "still predicts (without --support), and to learn on, start a new run"
        )
    recipe = _known_fields(Recipe, saved["recipe"])
    kinds = {"method": str, "wrappers": tuple[str, ...], "settings": dict[str, Any]}
    refuse_other_kinds(recipe, kinds)
    return RunConfig(**_known_fields(RunConfig, todays_names(saved)) | {"recipe": Recipe(**recipe)})


def _known_fields(kind: type, saved: Any) -> dict[str, Any]:
    if not isinstance(saved, Mapping):
        raise FFMLError("config.json does not say what to run; restore a copy of it")
    if unknown := sorted(set(saved) - {f.name for f in fields(kind)}):
        raise FFMLError(f"config.json has a setting '{unknown[0]}' that this ffml does not know")
    return {name: _with_tuples(value) for name, value in saved.items()}


def _with_tuples(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _with_tuples(part) for key, part in value.items()}
    return tuple(map(_with_tuples, value)) if isinstance(value, list) else value
