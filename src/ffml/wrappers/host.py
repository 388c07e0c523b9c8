"""Wrappers that work outside of compiled programs, around learners that are compiled."""

from typing import Any

import jax

from ffml.base import Array, Batch, LabelledTask, Learner, Params
from ffml.runtime import compiled, shard_tasks


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
