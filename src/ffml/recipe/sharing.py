"""Problems and learners that are equal are shared, so that JAX compiles them once a process."""

from functools import lru_cache

from ffml.base import Schema
from ffml.methods import DEFAULT_PARTS, METHODS, PARTS
from ffml.problem.models import MODELS
from ffml.problem.notions import CONSTRAINTS
from ffml.recipe.build import Built, build_for
from ffml.recipe.config import RunConfig
from ffml.recipe.plugins import restore_plugins
from ffml.recipe.recipes import Recipe, additions


def shared_functions(config: RunConfig, schema: Schema) -> Built:
    """Build the problem and the learner, or return those built before for equal settings.

    A name that was registered anew stands for something else. With an estimator among the settings
    nothing is compiled, and nothing shared.
    """
    restore_plugins(config.plugins)
    recipe = config.recipe
    settings = {k: tuple(v) if isinstance(v, list) else v for k, v in recipe.settings.items()}
    slots = DEFAULT_PARTS.get(recipe.method, {})
    factories = (
        METHODS[recipe.method],
        MODELS[recipe.part("model")],
        *(PARTS[slot][recipe.part(slot)] for slot in slots),
        *(additions()[name] for name in recipe.wrappers),
        *(CONSTRAINTS[name] for name, _ in config.asked),
    )
    foreign = any(hasattr(value, "fit") for value in settings.values())
    build = _shared.__wrapped__ if foreign else _shared
    return build(
        (recipe.method, recipe.wrappers, tuple(sorted(settings.items()))),
        (config.notions, config.max_gap, config.min_ratio, config.shots, config.policy),
        schema,
        factories,
    )


@lru_cache(maxsize=32)
def _shared(recipe: tuple, asked: tuple, schema: Schema, factories: tuple) -> Built:
    del factories  # they belong to the key alone
    method, wrappers, settings = recipe
    notions, max_gap, min_ratio, shots, policy = asked
    built = Recipe(method, wrappers, dict(settings))
    config = RunConfig("", {}, notions, max_gap, min_ratio, built, shots=shots, policy=policy)
    return build_for(config, schema)
