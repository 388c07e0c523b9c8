"""Adapting a saved model to a new population from a few labelled rows."""

import jax
import numpy as np

from ffml.base import Params
from ffml.evaluation import support_batch
from ffml.experiment import build_constraint, build_learner, build_model
from ffml.online import SUPPORT
from ffml.predict import preprocessor_of
from ffml.runs.artifact import STATE, SavedModel
from ffml.runs.config import run_config
from ffml.runs.trees import restored_tree
from ffml.tables import Source, labelled_task


def adapted_params(model: SavedModel, support: Source) -> Params:
    """Take the model's inner steps on a labelled table: θ' of Eq. 6–7, as NumPy arrays.

    The table has the label and the sensitive columns under the names they had when the model
    was learned; all its rows are one task.
    """
    options = model.config["run"]["data_options"]
    task = labelled_task(
        support,
        preprocessor_of(model),
        model.schema,
        sensitive=tuple(options["sensitive"]),
        positive=options.get("positive"),
    )
    if model.scaler is not None:
        task = task._replace(x=model.scaler.transform(task.x))
    config = run_config(model.config["run"])
    _, learner = build_learner(config, model.schema, build_model(config), build_constraint(config))
    key = jax.random.key(config.seed)
    state = restored_tree(learner.init(key), STATE, model.state)
    rows = np.arange(len(task.y))
    rng = np.random.default_rng([config.seed, model.round + 1, SUPPORT])  # as the loop draws
    batch = support_batch(task, model.schema, rows, config.shots, rng)
    return jax.device_get(learner.adapt(state, batch))
