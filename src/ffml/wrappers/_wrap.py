"""What wrappers are made with: a learner around another one, or outside of compiled programs."""

from collections.abc import Callable
from typing import Any

import jax

from ffml.base import Array, Batch, LabelledTask, Learner, Params
from ffml.runtime import compiled, shard_tasks


def wrap(
    learner: Learner,
    own: Callable[[Any], Any],
    *,
    knowledge: Callable[[Any], Any] | None = None,
    adapt: Callable[[Any, Batch], Params] | None = None,
    predict: Callable | None = None,
    update: Callable | None = None,
    **traits: bool,
) -> Learner:
    """Put a state of one's own around a learner's; what is not given is the learner's own.

    Args:
        learner: what is wrapped.
        own: the learner's first state -> the wrapper's: a named tuple that keeps it as ``inner``.
        knowledge: the wrapper's state -> what its decisions need, with what those of the learner
            need as ``inner``. By default all of the state.
        adapt: as `Learner.adapt`, from the wrapper's knowledge.
        predict: as `Learner.predict`, from what ``adapt`` returns.
        update: as `Learner.update`, of the wrapper's state.
        **traits: those of `Traits` that differ from the learner's.
    """

    def known(state: Any) -> Any:
        return state._replace(inner=learner.knowledge(state.inner))

    def inner_adapt(known: Any, support: Batch) -> Params:
        return learner.adapt(known.inner, support)

    def inner_update(key: Array, state: Any, task: LabelledTask, tasks: LabelledTask):
        inner, info = learner.update(key, state.inner, task, tasks)
        return state._replace(inner=inner), info

    return Learner(
        init=lambda key: own(learner.init(key)),
        adapt=adapt or inner_adapt,
        predict=predict or learner.predict,
        update=update or inner_update,
        knowledge=knowledge or known,
        traits=learner.traits._replace(**traits),
    )


def on_host(learner: Learner) -> Learner:
    """Compile what is pure, and return NumPy arrays, so that a wrapper can work with them."""
    if not learner.traits.pure:
        return learner
    compiled_adapt, compiled_update = compiled(learner.adapt), compiled(learner.update)

    def adapt(knowledge: Any, support: Batch) -> Params:
        if not learner.traits.uses_unlabelled:  # or their number would compile it anew
            support = support._replace(unlabelled=None)
        return jax.device_get(compiled_adapt(knowledge, support))

    def update(key: Array, state: Any, task: LabelledTask, tasks: LabelledTask) -> Any:
        return jax.device_get(compiled_update(key, state, task, shard_tasks(tasks)))

    return learner._replace(
        adapt=adapt,
        update=update,
        knowledge=lambda state: jax.device_get(learner.knowledge(state)),
        init=lambda key: jax.device_get(learner.init(key)),
        traits=learner.traits._replace(pure=False),
    )
