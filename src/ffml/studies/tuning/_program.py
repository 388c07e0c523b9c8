"""A method for many settings at once: one compiled program, with an axis over settings.

The settings that are numbers are traced. Problem and learner are built from them inside
`jax.vmap`, so that any method whose factory takes tracers can be tuned; the axis is spread over the
devices. What no setting changes is computed once for all of them: the draws of support and query
rows above all, which go by the round's key and by counters.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, PartitionSpec

from ffml.base import (
    Array,
    Batch,
    Info,
    LabelledTask,
    Learner,
    Params,
    Prediction,
    Problem,
    Schema,
    Traits,
)
from ffml.recipe.build import build_for
from ffml.recipe.config import OWN_SETTINGS, RunConfig

Values = Mapping[str, Array]  # setting -> (settings,), or (settings, notions) for max_gap

_UNTRACEABLE = (jax.errors.ConcretizationTypeError, jax.errors.TracerArrayConversionError)
_AXIS = "settings"


class Program(NamedTuple):
    """A compiled `Learner` whose states and parameters have a leading axis over settings."""

    problem: Problem  # with one of the settings, for what does not depend on them
    uses_unlabelled: bool
    init: Callable[[Array, Values], Any]
    adapt: Callable[[Values, Any, Batch], Params]  # values, state, support -> params
    predict: Callable[[Values, Params, Array], Prediction]  # of one setting
    update: Callable[[Array, Values, Any, LabelledTask, LabelledTask], Any]


def with_values(config: RunConfig, values: Values) -> RunConfig:
    """Put values, perhaps traced, in the places of a run's settings."""
    own = {name: value for name, value in values.items() if name in OWN_SETTINGS}
    if "max_gap" in own:
        own["max_gap"] = tuple(own["max_gap"][i] for i in range(len(own["max_gap"])))
    of_recipe = {name: value for name, value in values.items() if name not in OWN_SETTINGS}
    recipe = replace(config.recipe, settings=config.recipe.settings | of_recipe)
    return replace(config, recipe=recipe, **own)


def traceable(config: RunConfig, schema: Schema, names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the settings that one program can take any value of.

    A method may decide by the value of a number what to compute, such as to leave out a term of
    weight 0; such a setting needs a program for each value.
    """
    if _counters_are_shared(config, schema, names) is not None:
        return names
    return tuple(n for n in names if _counters_are_shared(config, schema, (n,)) is not None)


def compile_program(
    config: RunConfig, schema: Schema, names: tuple[str, ...], size: int, num_devices: int
) -> Program:
    """Compile a method for ``size`` settings that differ in the traced settings ``names``.

    They are spread over the devices, so ``size`` is a multiple of their number.
    """
    one = _Single(config, schema, names)
    axes = _axes(one, shared=bool(_counters_are_shared(config, schema, names)))
    mesh = jax.sharding.Mesh(
        np.array(jax.devices()[:num_devices]), (_AXIS,), axis_types=(AxisType.Auto,)
    )

    def compiled(function: Callable, in_axes: Any, out_axes: Any) -> Any:
        many = jax.vmap(function, in_axes, out_axes, axis_size=size // num_devices)
        specs = {"in_specs": _specs(in_axes), "out_specs": _specs(out_axes)}
        # Every device works for itself: nothing is summed over settings.
        return jax.jit(jax.shard_map(many, mesh=mesh, **specs, check_vma=False))

    built = build_for(config, schema)
    return Program(
        problem=built.problem,
        uses_unlabelled=built.learner.traits.uses_unlabelled,
        init=compiled(one.init, (None, 0), axes),
        adapt=compiled(one.adapt, (0, axes, None), 0),
        predict=jax.jit(one.predict),
        update=compiled(one.update, (None, 0, axes, None, None), axes),
    )


def many_learners(program: Program, values: Values) -> Learner:
    """Return the learners of these settings as one, for `ffml.studies.tuning._play.many_loop`.

    What ``adapt`` returns has the settings beside the parameters; ``predict`` takes one of them.
    """

    def update(key: Array, state: Any, task: LabelledTask, memory: LabelledTask):
        # The loop has spread the tasks over the devices; here it is the settings that are.
        tasks = jax.device_get((task, memory))
        nothing = jnp.zeros(())
        return program.update(key, values, state, *tasks), Info(nothing, nothing, nothing, 0)

    return Learner(
        init=lambda key: program.init(key, values),
        adapt=lambda state, support: (values, program.adapt(values, state, support)),
        predict=lambda decision, x: program.predict(decision[0], decision[1], x),
        update=update,
        knowledge=lambda state: state,
        # It is compiled already.
        traits=Traits(pure=False, uses_unlabelled=program.uses_unlabelled),
    )


def bytes_for_one(config: RunConfig, schema: Schema) -> int:
    """Guess the memory that an update needs for each setting.

    It is a multiple of what the model computes for all drawn rows, because of support, query and
    derivatives of derivatives: measured, 9 times for a linear model and 5 times for an MLP.
    """
    rows = 2 * (config.shots or config.rows_per_task)
    problem = build_for(config, schema).problem
    params = jax.eval_shape(problem.init, jax.random.key(0))
    x = jax.ShapeDtypeStruct((rows, len(schema.features)), np.float32)
    steps = jax.make_jaxpr(problem.apply)(params, x).jaxpr.eqns
    computed = sum(out.aval.size for step in steps for out in step.outvars)
    return 10 * 4 * computed * config.tasks_per_round


class _Single:
    """A method with one value of each traced setting."""

    def __init__(self, config: RunConfig, schema: Schema, names: tuple[str, ...]) -> None:
        self.config, self.schema, self.names = config, schema, names

    def learner(self, values: Values) -> Learner:
        return build_for(with_values(self.config, values), self.schema).learner

    def init(self, key: Array, values: Values) -> Any:
        return self.learner(values).init(key)

    def adapt(self, values: Values, state: Any, support: Batch) -> Params:
        learner = self.learner(values)
        return learner.adapt(learner.knowledge(state), support)

    def predict(self, values: Values, params: Params, x: Array) -> Prediction:
        return self.learner(values).predict(params, x)

    def update(
        self, key: Array, values: Values, state: Any, task: LabelledTask, memory: LabelledTask
    ) -> Any:
        return self.learner(values).update(key, state, task, memory)[0]

    def state(self) -> Any:
        """Return the shapes of a state."""
        values = jax.tree.map(lambda v: v[0], self.values(1))
        return jax.eval_shape(self.init, jax.random.key(0), values)

    def values(self, size: int) -> Values:
        """Return the shapes of the values of so many settings."""
        shapes = {
            name: (size, len(self.config.max_gap or ())) if name == "max_gap" else (size,)
            for name in self.names
        }
        return {name: np.ones(shape, np.float32) for name, shape in shapes.items()}


def _axes(one: _Single, shared: bool) -> Any:
    """Where the axis over settings is; counters are the same for all settings if ``shared``."""
    return jax.tree.map(lambda leaf: None if shared and _counts(leaf) else 0, one.state())


def _specs(axes: Any) -> Any:
    """Spread over the devices what has an axis over settings."""
    return jax.tree.map(
        lambda axis: PartitionSpec() if axis is None else PartitionSpec(_AXIS),
        axes,
        is_leaf=lambda axis: axis is None,
    )


def _counts(leaf: Any) -> bool:
    return jnp.issubdtype(leaf.dtype, jnp.integer)


def _counters_are_shared(config: RunConfig, schema: Schema, names: tuple[str, ...]) -> bool | None:
    """Tell whether rounds and steps are counted once for all settings; None: not traceable.

    They are not where a setting ends a round early.
    """
    one = _Single(config, schema, names)
    try:
        axes = _axes(one, True)
        many = jax.vmap(one.update, (None, 0, axes, None, None), axes, axis_size=2)
        key, values = jax.random.key(0), one.values(2)
        state = jax.eval_shape(jax.vmap(one.init, (None, 0), axes, axis_size=2), key, values)
        jax.eval_shape(many, key, values, state, *_tasks(config, schema))
    except _UNTRACEABLE:
        return None
    except ValueError:  # vmap: a counter depends on a setting
        return False
    return True


def _tasks(config: RunConfig, schema: Schema) -> tuple[LabelledTask, LabelledTask]:
    """Return the shapes of a task and of a round's tasks."""
    shape = partial(jax.ShapeDtypeStruct, dtype=np.float32)
    count = partial(jax.ShapeDtypeStruct, dtype=np.int32)

    def tasks(*leading: int) -> LabelledTask:
        rows = (*leading, config.rows_per_task)
        return LabelledTask(
            shape((*rows, schema.num_columns)),
            shape((*rows, len(schema.contrasts))),
            count((*leading, 2)),
            count((*leading, 2)),
        )

    return tasks(), tasks(config.tasks_per_round)
