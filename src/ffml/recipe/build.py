"""From a configuration to a run: stream, problem, learner and loop."""

import math
from functools import lru_cache
from typing import NamedTuple

from ffml.base import Features, FFMLError, Learner, Problem, Schema, SensitiveColumn, Stream
from ffml.border import at_least
from ffml.datasets.augmentation import augmented
from ffml.forks import refuse_after_fork
from ffml.methods import DEFAULT_PARTS, METHODS, PARTS
from ffml.online.drift import InputWatch
from ffml.online.loop import start
from ffml.online.memory import MemorySettings
from ffml.online.state import Loop, LoopState, check_judging
from ffml.problem.models import MODELS
from ffml.problem.notions import CONSTRAINTS
from ffml.recipe.config import RunConfig, check_settings
from ffml.recipe.plugins import restore_plugins
from ffml.recipe.recipes import (
    Recipe,
    additions,
    build_features,
    build_method,
    build_problem,
    step_sizes,
)
from ffml.recipe.sources import open_stream
from ffml.tables import Source, TableStream, with_groups
from ffml.tables.scaling import RunningScaler

# To build a learner without data, and so to find out whether its settings will do.
SMALLEST_SCHEMA = Schema(("feature",), (SensitiveColumn("group", ("a", "b")),))


class Built(NamedTuple):
    """The functions of a run."""

    problem: Problem
    learner: Learner
    features: Features | None


class Experiment(NamedTuple):
    """What a configuration describes, ready to run."""

    config: RunConfig
    stream: Stream
    loop: Loop
    state: LoopState  # before the first round

    @property
    def problem(self) -> Problem:
        """What is minimised and what is constrained."""
        return self.loop.problem


def build(
    config: RunConfig,
    data_home: str | None = None,
    sql_url: str | None = None,
    source: Source | None = None,
) -> Experiment:
    """Load the data and put problem, learner and loop together; refuses what cannot work."""
    refuse_after_fork()
    restore_plugins(config.plugins)
    check_config(config)
    stream, scaler = open_stream(
        config.data,
        config.data_options,
        seed=config.seed,
        data_home=data_home,
        sql_url=sql_url,
        source=source,
    )
    return assemble(config, stream, scaler)


def check_config(config: RunConfig) -> None:
    """Refuse what cannot work whatever the data are, before they are loaded."""
    check_settings(config)
    build_for(config, SMALLEST_SCHEMA)
    memory_settings(config)
    check_judging(config.validation_fraction, config.shots, config.judge_min_rows)
    if config.rounds is not None:
        at_least(1, rounds=config.rounds)
    at_least(0, seed=config.seed, augment_to=config.augment_to, label_delay=config.label_delay)
    if not 0 <= config.judge_from < 1:
        raise FFMLError(f"judge_from must be at least 0 and below 1, got {config.judge_from}")


def build_for(config: RunConfig, schema: Schema) -> Built:
    """State the problem for a stream of this schema, and build the recipe that solves it.

    The problem has the bounds that are kept, and the learner those that are aimed at.
    """
    recipe = config.recipe
    problem = build_problem(recipe, schema, config.asked)
    features = build_features(recipe, schema)
    aimed = problem if config.aim is None else build_problem(recipe, schema, config.aimed)
    described = aimed if features is None else aimed._replace(schema=features.schema)
    return Built(problem, build_method(recipe, config.shots, config.policy)(described), features)


def shared_functions(config: RunConfig, schema: Schema) -> Built:
    """Do as `build_for`, once for equal settings, so that JAX compiles them once a process.

    A name that was registered anew stands for something else. With an estimator among the settings
    nothing is compiled, and nothing shared.
    """
    restore_plugins(config.plugins)
    recipe = config.recipe
    if any(hasattr(value, "fit") for value in recipe.settings.values()):
        return build_for(config, schema)
    settings = {k: tuple(v) if isinstance(v, list) else v for k, v in recipe.settings.items()}
    factories = (
        METHODS[recipe.method],
        MODELS[recipe.part("model")],
        *(PARTS[slot][recipe.part(slot)] for slot in DEFAULT_PARTS.get(recipe.method, {})),
        *(additions()[name] for name in recipe.wrappers),
        *(CONSTRAINTS[name] for name, _ in config.asked),
    )
    return _shared(
        (recipe.method, recipe.wrappers, tuple(sorted(settings.items()))),
        (config.notions, config.max_gap, config.min_ratio, config.aim, config.shots, config.policy),
        schema,
        factories,
    )


@lru_cache(maxsize=32)
def _shared(recipe: tuple, asked: tuple, schema: Schema, factories: tuple) -> Built:
    del factories  # they belong to the key alone
    method, wrappers, settings = recipe
    built = Recipe(method, wrappers, dict(settings))
    names = ("notions", "max_gap", "min_ratio", "aim", "shots", "policy")
    config = RunConfig("", recipe=built, **dict(zip(names, asked, strict=True)))
    return build_for(config, schema)


def build_loop(config: RunConfig, built: Built, schema: Schema, judge_after: int = 0) -> Loop:
    """Put the loop together, for tasks of this schema."""
    return Loop(
        built.problem,
        built.learner,
        schema,
        built.features,
        seed=config.seed,
        validation_fraction=config.validation_fraction,
        shots=config.shots,
        memory_settings=memory_settings(config),
        judge_after=judge_after,
        judge_min_rows=config.judge_min_rows,
        label_delay=config.label_delay,
        step_sizes=step_sizes(config.recipe),
    )


def memory_settings(config: RunConfig) -> MemorySettings:
    """Collect what is said about memory, and refuse what cannot work."""
    return MemorySettings(
        config.tasks_per_round, config.rows_per_task, config.memory_policy, config.memory_capacity
    ).validate()


def assemble(config: RunConfig, stream: Stream, scaler: RunningScaler | None) -> Experiment:
    """Put problem, learner and loop together for a stream that is open."""
    if config.augment_to:
        if scaler is not None:
            raise FFMLError(
                "augment_to mixes features that must be on one scale, as those of the package's "
                "data sets are; leave it out for a table of your own"
            )
        stream = augmented(stream, config.augment_to, config.seed)
    if config.decide_with_groups:
        stream = with_groups(stream)
    built = shared_functions(config, stream.schema)
    loop = build_loop(config, built, stream.schema, last_unjudged_round(config, stream))
    watch = InputWatch.of(stream.preprocessor) if isinstance(stream, TableStream) else None
    return Experiment(config, stream, loop, start(loop, scaler, watch))


def num_rounds(config: RunConfig, stream: Stream) -> int | None:
    """Return how many rounds a run has; None if the stream does not know its end."""
    return min(filter(None, (config.rounds, stream.num_tasks)), default=None)


def last_unjudged_round(config: RunConfig, stream: Stream) -> int:
    """Return the last round of the share that is only learned from.

    With ``judge_from`` = 2/3 the rounds t with 3t > 2T are judged: the last third.
    """
    if not config.judge_from:
        return 0
    if stream.num_tasks is None:
        raise FFMLError(
            f"judge_from needs to know how many tasks there are, and '{stream.name}' does not say; "
            "use judge_from 0"
        )
    # 2/3 of 9 rounds are 6, though the float 2/3 is a little less.
    return math.floor(config.judge_from * (num_rounds(config, stream) or 0) + 1e-9)
