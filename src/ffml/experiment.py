"""From a configuration to a run: everything that is needed to repeat it, in one place."""

import inspect
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, NamedTuple

from ffml.base import FFMLError, Learner, Problem, Schema, Stream
from ffml.checks import at_least, one_of
from ffml.constraints import CONSTRAINTS, Constraint, combine
from ffml.memory import MemorySettings
from ffml.methods import METHODS
from ffml.models import MODELS, Model
from ffml.online import OnlineLoop
from ffml.presets import preset
from ffml.problem import fair_classification
from ffml.scaling import RunningScaler
from ffml.sources import open_stream


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
    l2: float = 0.0
    natural_rates: bool = True
    noise_allowance: float = 1.0
    seed: int = 0
    rounds: int | None = None
    validation_fraction: float = 0.5
    shots: int = 100
    tasks_per_round: int = 32
    rows_per_task: int = 1024
    memory_policy: str = "all"
    memory_capacity: int = 256

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

    A setting that neither the run nor the chosen method has is refused.
    """
    merged = preset(preset_name, data) | dict(given)
    own = {f.name for f in fields(RunConfig)}
    method = merged.get("method", "ffml")
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
        raise FFMLError(f"give one bound, or one for each of the {len(names)} constraints")
    if not config.temperature > 0:
        raise FFMLError(f"temperature must be > 0, got {config.temperature}")
    built = []
    for name, bound in zip(names, bounds * (len(names) // len(bounds)), strict=True):
        factory = one_of("constraint", name, CONSTRAINTS)
        smooth = "temperature" in inspect.signature(factory).parameters
        built.append(factory(bound, **({"temperature": config.temperature} if smooth else {})))
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
    one_of("method", config.method, METHODS)
    model, constraint = build_model(config), build_constraint(config)
    memory_settings(config)
    if config.rounds is not None:
        at_least(1, rounds=config.rounds)
    at_least(0, seed=config.seed)
    stream, scaler = open_stream(
        config.data, config.data_options, seed=config.seed, data_home=data_home, sql_url=sql_url
    )
    problem, learner = build_learner(config, stream.schema, model, constraint)
    loop = build_loop(config, stream.schema, problem, learner, scaler)
    return Experiment(config, stream, problem, loop)
