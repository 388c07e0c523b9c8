"""From a configuration to a run: everything that is needed to repeat it, in one place."""

import inspect
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, NamedTuple

from ffml.augmentation import augmented
from ffml.base import FFMLError, Learner, Problem, Schema, SensitiveColumn, Stream
from ffml.checks import at_least, one_of, positive
from ffml.constraints import CONSTRAINTS, Constraint, combine
from ffml.memory import MemorySettings
from ffml.methods import METHODS
from ffml.models import MODELS, Model
from ffml.online import OnlineLoop, check_judging
from ffml.presets import preset
from ffml.problem import fair_classification
from ffml.scaling import RunningScaler
from ffml.sources import open_stream

# What is in the units of a preset's own constraints.
OF_CONSTRAINTS = ("bounds", "gap_penalty")

# To build a learner without data, and so to find out whether its settings will do.
SMALLEST_SCHEMA = Schema(("feature",), (SensitiveColumn("group", ("a", "b")),))


@dataclass(frozen=True)
class RunConfig:
    """Everything that decides what a run does."""

    data: str
    data_options: dict[str, Any] = field(default_factory=dict)
    method: str = "ffml"
    method_settings: dict[str, Any] = field(default_factory=dict)
    model: str = "linear"
    model_settings: dict[str, Any] = field(default_factory=dict)
    constraints: tuple[str, ...] = ("demographic-parity",)
    bounds: tuple[float, ...] = (0.02,)
    temperature: float = 1.0
    relative_temperature: bool = False
    l2: float = 0.0
    natural_rates: bool = True
    noise_allowance: float = 1.0
    positive_weight: float = 1.0
    seed: int = 0
    rounds: int | None = None
    validation_fraction: float = 0.5
    shots: int = 100
    tasks_per_round: int = 32
    rows_per_task: int = 1024
    memory_policy: str = "all"
    memory_capacity: int = 256
    augment_to: int = 0  # fill tasks up to so many rows, see `ffml.augmentation`; 0: as they are
    judge_from: float = 0.0  # the share of the stream that is only learned from
    judge_min_rows: int = 0  # rounds with fewer validation rows are only learned from

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return asdict(self)

    @property
    def settings(self) -> dict[str, Any]:
        """All hyper-parameters, flat, with the method's defaults filled in."""
        own = {f.name: getattr(self, f.name) for f in fields(self)}
        for nested in ("data", "data_options", "method_settings", "model_settings", "method"):
            del own[nested]
        return own | self.model_settings | method_defaults(self.method) | self.method_settings


class Experiment(NamedTuple):
    """What a configuration describes, ready to run."""

    config: RunConfig
    stream: Stream
    problem: Problem
    loop: OnlineLoop


def method_defaults(method: str) -> dict[str, Any]:
    """Return the settings that a method takes, with their defaults."""
    parameters = inspect.signature(one_of("method", method, METHODS)).parameters.values()
    return {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}


def configure_run(data: str, given: Mapping[str, Any], preset_name: str = "default") -> RunConfig:
    """Sort settings into their places; ``given`` wins over the preset, which wins over defaults.

    A setting that neither the run nor the chosen method has is refused. Bounds of a preset, and
    the price of gaps, are those of its own constraints, so other constraints do not take them over.
    """
    method = given.get("method", "ffml")
    chosen = preset(preset_name, data, method)
    if "constraints" in given and tuple(given["constraints"]) != chosen.get("constraints"):
        chosen = {name: value for name, value in chosen.items() if name not in OF_CONSTRAINTS}
    merged = chosen | dict(given)
    own = {f.name for f in fields(RunConfig)}
    known = method_defaults(method)
    nested: dict[str, Any] = {}
    flat: dict[str, Any] = {}
    for name, value in merged.items():
        if name == "hidden":
            flat["model_settings"] = {"hidden": tuple(value)}
        elif name in own:
            flat[name] = value
        elif name in known:
            nested[name] = value
        elif name in given:
            raise FFMLError(
                f"method '{method}' has no setting '{name}'; it takes {', '.join(known)}"
            )
    return RunConfig(data=data, method_settings=nested, **flat)


def build_constraint(config: RunConfig) -> Constraint:
    """Build the notions asked for, each with its bound."""
    names, bounds = config.constraints, config.bounds
    if not names:
        raise FFMLError(f"at least one constraint is needed; known: {', '.join(CONSTRAINTS)}")
    if len(bounds) not in (1, len(names)):
        each = f", or one for each of the {len(names)} constraints" if len(names) > 1 else ""
        raise FFMLError(f"give one bound{each}; got {len(bounds)}")
    positive(temperature=config.temperature)
    built = []
    for name, bound in zip(names, bounds * (len(names) // len(bounds)), strict=True):
        factory = one_of("constraint", name, CONSTRAINTS)
        takes = inspect.signature(factory).parameters
        smooth = {"temperature": config.temperature, "relative": config.relative_temperature}
        built.append(factory(bound, **{k: v for k, v in smooth.items() if k in takes}))
    return combine(*built)


def build_model(config: RunConfig) -> Model:
    """Build the model asked for, refusing settings that it does not have."""
    factory = one_of("model", config.model, MODELS)
    accepted = inspect.signature(factory).parameters
    if unknown := [name for name in config.model_settings if name not in accepted]:
        raise FFMLError(f"model '{config.model}' has no setting '{unknown[0]}'")
    return factory(**config.model_settings)


def build_learner(
    config: RunConfig, schema: Schema, model: Model, constraint: Constraint
) -> tuple[Problem, Learner]:
    """State the problem for a stream of this schema, and build the method that solves it."""
    problem = fair_classification(
        schema,
        model,
        constraint,
        l2=config.l2,
        natural_rates=config.natural_rates,
        noise_allowance=config.noise_allowance,
        positive_weight=config.positive_weight,
    )
    settings = dict(config.method_settings)
    if "shots" in method_defaults(config.method):
        settings["shots"] = config.shots
    return problem, one_of("method", config.method, METHODS)(problem, **settings)


def build_loop(
    config: RunConfig,
    schema: Schema,
    problem: Problem,
    learner: Learner,
    scaler: RunningScaler | None = None,
    judge_after: int = 0,
) -> OnlineLoop:
    """Put the loop together; a ``scaler`` is for streams whose features are not standardised."""
    return OnlineLoop(
        problem,
        learner,
        schema,
        seed=config.seed,
        validation_fraction=config.validation_fraction,
        shots=config.shots,
        memory_settings=memory_settings(config),
        judge_after=judge_after,
        judge_min_rows=config.judge_min_rows,
        scaler=scaler,
    )


def memory_settings(config: RunConfig) -> MemorySettings:
    """Collect what is said about memory, and refuse what cannot work."""
    return MemorySettings(
        config.tasks_per_round, config.rows_per_task, config.memory_policy, config.memory_capacity
    ).validate()


def build(
    config: RunConfig, data_home: str | None = None, sql_url: str | None = None
) -> Experiment:
    """Load the data and put problem, learner and loop together; refuses what cannot work."""
    check_config(config)
    stream, scaler = open_stream(
        config.data, config.data_options, seed=config.seed, data_home=data_home, sql_url=sql_url
    )
    return assemble(config, stream, scaler)


def check_config(config: RunConfig) -> None:
    """Refuse what cannot work whatever the data are, before they are loaded."""
    build_learner(config, SMALLEST_SCHEMA, build_model(config), build_constraint(config))
    memory_settings(config)
    check_judging(config.validation_fraction, config.shots, config.judge_min_rows)
    if config.rounds is not None:
        at_least(1, rounds=config.rounds)
    at_least(0, seed=config.seed, augment_to=config.augment_to)
    if not 0 <= config.judge_from < 1:
        raise FFMLError(f"judge_from must be at least 0 and below 1, got {config.judge_from}")


def assemble(config: RunConfig, stream: Stream, scaler: RunningScaler | None) -> Experiment:
    """Put problem, learner and loop together for a stream that is open."""
    if config.augment_to:
        if scaler is not None:
            raise FFMLError(
                "augment_to mixes features that must be on one scale, as those of the package's "
                "data sets are; leave it out for a table of your own"
            )
        stream = augmented(stream, config.augment_to, config.seed)
    model, constraint = build_model(config), build_constraint(config)
    problem, learner = build_learner(config, stream.schema, model, constraint)
    judge_after = last_unjudged_round(config, stream)
    loop = build_loop(config, stream.schema, problem, learner, scaler, judge_after)
    return Experiment(config, stream, problem, loop)


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
