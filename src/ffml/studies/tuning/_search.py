"""A search: settings × seeds on one data set, judged where no reported number comes from."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from ffml.base import FFMLError, Schema, Stream
from ffml.border import at_least
from ffml.online.judge import split_rows
from ffml.recipe.build import build_for, check_config, num_rounds
from ffml.recipe.config import RunConfig, configure_run
from ffml.recipe.policy import PAPERS_POLICY
from ffml.recipe.sources import open_stream
from ffml.studies.compare import RunSpec, enough_rows, known_kinds
from ffml.studies.tuning._space import check_name

REPORTED_SEEDS = range(100)  # for tables, of which the largest has 0 to 63 so far
SEEDS = tuple(range(100, 105))
MIDDLE_THIRD = 1 / 3  # `RunConfig.judge_from`; the last third is what tables report


class Span(NamedTuple):
    """The rounds that judge settings: T/3 < t <= 2T/3 of the stream's T rounds."""

    schema: Schema
    rounds: int  # T
    together: bool = True  # whether many settings can be one compiled program

    @property
    def first(self) -> int:
        """The first round that judges."""
        return self.rounds // 3 + 1

    @property
    def last(self) -> int:
        """The last one, and the last that is played at all."""
        return last_round(self.rounds)


def last_round(rounds: int) -> int:
    """Return the last t with 3t <= 2T: tables report the rounds after it."""
    return 2 * rounds // 3


@dataclass(frozen=True)
class Search:
    """What to try, and how it is measured.

    Args:
        data: a data set, or the path of a table.
        settings: what differs, one dictionary for each setting tried.
        given: what all settings have in common, beside the preset.
        preset: see `ffml.recipe.presets`.
        seeds: draw the order of the tasks, splits and starts; the same for every setting.
        min_validation: rounds judged on fewer rows do not count.
        fingerprint: of a table of one's own.
    """

    data: str
    settings: tuple[dict[str, Any], ...]
    given: dict[str, Any] = field(default_factory=dict)
    preset: str = "default"
    seeds: tuple[int, ...] = SEEDS
    min_validation: int = 50
    fingerprint: str = ""

    @property
    def method(self) -> str:
        """The method whose settings these are."""
        return self.configs[0].recipe.method

    @property
    def names(self) -> tuple[str, ...]:
        """The settings that are tried, in their order."""
        return tuple(dict.fromkeys(name for setting in self.settings for name in setting))

    @property
    def seed_words(self) -> str:
        """The seeds as ``--seeds`` takes them."""
        return ",".join(map(str, self.seeds))

    @cached_property
    def configs(self) -> tuple[RunConfig, ...]:
        """What each setting means for a run, apart from how it is measured here."""
        return tuple(
            configure_run(self.data, self.given | setting, self.preset, PAPERS_POLICY)
            for setting in self.settings
        )

    def kinds(self, number: int) -> dict[str, Any]:
        """Return the kinds of value that the settings of setting ``number`` take."""
        return known_kinds(self.data, self.given | self.settings[number], self.preset)

    def cell(self, number: int, seed: int) -> RunSpec:
        """Return the run of setting ``number`` (0, 1, …) with a seed."""
        measured = replace(
            self.configs[number],
            seed=seed,
            judge_from=MIDDLE_THIRD,
            judge_min_rows=self.min_validation,
        )
        return RunSpec(str(number + 1), measured, self.fingerprint)

    @property
    def cells(self) -> list[RunSpec]:
        """All runs, seed by seed."""
        return [self.cell(i, seed) for seed in self.seeds for i in range(len(self.settings))]


def plan_search(
    data: str,
    settings: Sequence[Mapping[str, Any]],
    *,
    method: str = "ffml",
    given: Mapping[str, Any] | None = None,
    preset: str = "default",
    seeds: Sequence[int] = SEEDS,
    min_validation: int | None = None,
    data_options: Mapping[str, Any] | None = None,
    fingerprint: str = "",
    plugins: Mapping[str, str] | None = None,
) -> Search:
    """Put a search together; refuses what would make its result dishonest or meaningless.

    Args:
        data: a data set, or the path of a table.
        settings: of `grid_settings` or `draw_settings`; the same one twice counts once.
        method: a key of `ffml.methods.METHODS`.
        given: settings that all have in common.
        preset: what all others are, see `ffml.recipe.presets`.
        seeds: none of `REPORTED_SEEDS`.
        min_validation: rounds judged on fewer rows do not count; by default 50 (Crime: 10).
        data_options: options of the data set, or roles of the table's columns.
        fingerprint: of a table.
        plugins: of `ffml.recipe.plugins.load_plugins`.

    >>> search = plan_search("adult", [{"damping": 0.0}, {"damping": 1.0}], seeds=[100, 101])
    >>> [(cell.config.settings["damping"], cell.config.seed) for cell in search.cells]
    [(0.0, 100), (1.0, 100), (0.0, 101), (1.0, 101)]
    """
    seeds = tuple(dict.fromkeys(seeds))
    if not seeds or not settings:
        raise FFMLError("a search needs at least one seed and one setting")
    if reported := [seed for seed in seeds if seed in REPORTED_SEEDS]:
        raise FFMLError(
            f"seed {reported[0]} is one of those that tables report (0-{REPORTED_SEEDS[-1]}), and "
            "settings must not be chosen on what is reported; use others, such as 100-104"
        )
    enough = enough_rows(data) if min_validation is None else min_validation
    at_least(1, min_validation=enough)
    common = dict(given or {}) | {"method": method}
    for setting in settings:
        kinds = known_kinds(data, {**common, **setting, "method": method}, preset)
        for name, value in setting.items():
            check_name(name, kinds, method)
            _check_finite(name, value)
    if twice := [name for name in settings[0] if name in common]:
        raise FFMLError(f"'{twice[0]}' has both one value for all and several to try; give one")
    common |= {"data_options": dict(data_options or {}), "plugins": dict(plugins or {})}
    different = {json.dumps(s, sort_keys=True, default=str): dict(s) for s in settings}
    search = Search(
        data, tuple(different.values()), common, preset, seeds, enough, fingerprint=fingerprint
    )
    for config in search.configs:
        check_config(config)
    return search


def check_search(search: Search) -> Span:
    """Open the data (downloading it if need be), build every learner, and see what judges.

    Raises:
        FFMLError: data or a setting is not what it must be, or no round could judge.
    """
    config = search.configs[0]
    stream, _ = open_stream(
        config.data,
        config.data_options,
        seed=search.seeds[0],
    )
    built = [build_for(tried, stream.schema) for tried in search.configs]
    together = all(one.learner.traits.pure and one.features is None for one in built)
    total = num_rounds(config, stream)
    if total is None or total < 2:
        raise FFMLError(f"a search needs 2 tasks or more; '{stream.name}' has {total or 'no end'}")
    span = Span(stream.schema, total, together)
    if _most_validation_rows(config, stream, span) < search.min_validation:
        raise FFMLError(
            f"none of the rounds {span.first} to {span.last} of {total} (the middle third) has "
            f"{search.min_validation} validation rows; give more rounds (--set rounds=N), "
            "or a smaller --min-validation"
        )
    return span


def _most_validation_rows(config: RunConfig, stream: Stream, span: Span) -> int:
    """Count the rows that judge the largest task of the span."""
    tasks = islice(stream.tasks(), span.first - 1, span.last)
    most = max((len(task.y) for task in tasks), default=0)
    rows = max(most, config.augment_to)
    return len(split_rows(rows, config.validation_fraction, np.random.default_rng(0)).validation)


def _check_finite(name: str, value: Any) -> None:
    parts = value if isinstance(value, tuple) else (value,)
    if any(isinstance(part, float) and not math.isfinite(part) for part in parts):
        raise FFMLError(f"{name} must be a finite number, got {value}")
