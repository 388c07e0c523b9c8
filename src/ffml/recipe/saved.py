"""A run's configuration as JSON, and back."""

import platform
from collections.abc import Mapping
from dataclasses import fields
from datetime import UTC, datetime
from functools import lru_cache
from importlib.metadata import version
from typing import Any

from ffml.base import FFMLError, Stream
from ffml.datasets import DATASETS
from ffml.kinds import refuse_other_kinds
from ffml.methods import METHODS
from ffml.recipe.build import Experiment
from ffml.recipe.config import RunConfig
from ffml.recipe.plain import plain
from ffml.recipe.policy import with_policy
from ffml.recipe.recipes import Recipe
from ffml.recipe.renamed import todays_method, todays_names
from ffml.recipe.sources import table_document


@lru_cache
def versions() -> dict[str, str]:
    """Return the versions that numbers depend on."""
    return {name: version(name) for name in ("ffml", "jax", "numpy", "optax")}


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
            "aim": config.aim,
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
    saved = with_policy(saved)
    recipe = _known_fields(Recipe, saved["recipe"])
    kinds = {"method": str, "wrappers": tuple[str, ...], "settings": dict[str, Any]}
    refuse_other_kinds(recipe, kinds)
    if "method" in recipe:
        recipe["method"] = todays_method(recipe["method"])
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
