"""Adapting a saved model to a new population from a few labelled rows."""

import jax
import numpy as np

from ffml.base import FFMLError, Params
from ffml.evaluation import LARGEST_CROWD, support_batch, with_people
from ffml.experiment import RunConfig, build_constraint, build_learner, build_model
from ffml.online import CROWD, SUPPORT
from ffml.predict import preprocessor_of
from ffml.runs.artifact import STATE, SavedModel
from ffml.runs.config import run_config
from ffml.runs.trees import restored_tree
from ffml.tables import Preprocessor, Source, labelled_task


def adapted_params(model: SavedModel, support: Source, people: Source | None = None) -> Params:
    """Take the model's inner steps on a labelled table: θ' of Eq. 6–7, as NumPy arrays.

    Args:
        model: what a run left behind.
        support: has the label and the sensitive columns under the names they had when the model
            was learned; all its rows are one task.
        people: the rows to be decided about, of which the features are read, by methods that look
            at them; of a large table, some rows at random.
    """
    options = model.config["run"]["data_options"]
    task = labelled_task(
        support,
        preprocessor_of(model),
        model.schema,
        sensitive=tuple(options["sensitive"]),
        positive=options.get("positive"),
    )
    scaled = (lambda x: x) if model.scaler is None else model.scaler.transform
    task = task._replace(x=scaled(task.x))
    config = run_config(model.config["run"])
    _, learner = build_learner(config, model.schema, build_model(config), build_constraint(config))
    key = jax.random.key(config.seed)
    state = restored_tree(learner.init(key), STATE, model.state)
    rows = np.arange(len(task.y))
    batch = support_batch(task, model.schema, rows, config.shots, _rng(config, model, SUPPORT))
    if people is not None and learner.uses_unlabelled:
        rng = _rng(config, model, CROWD)
        x = scaled(some_rows(people, preprocessor_of(model), LARGEST_CROWD, rng))
        batch = with_people(batch, learner, x, rng)
    return jax.device_get(learner.adapt(state, batch))


def some_rows(
    source: Source, preprocessor: Preprocessor, most: int, rng: np.random.Generator
) -> np.ndarray:
    """Encode the features of a table's rows; of more than ``most``, so many at random."""
    names = list(preprocessor.names)
    if missing := [name for name in names if name not in source.columns]:
        raise FFMLError(f"{source.name} has no column {missing[0]!r}, which the model needs")
    x, ranks = np.zeros((0, len(preprocessor.features)), np.float32), np.zeros(0)
    for batch in source.batches(names):
        x = np.concatenate([x, preprocessor.transform(batch.select(names))])
        ranks = np.concatenate([ranks, rng.random(len(batch))])
        if len(x) > most:  # the smallest of all ranks so far: each row is as likely as any other
            kept = np.sort(np.argpartition(ranks, most)[:most])
            x, ranks = x[kept], ranks[kept]
    return x


def _rng(config: RunConfig, model: SavedModel, purpose: int) -> np.random.Generator:
    """Draw as the loop would in its next round."""
    return np.random.default_rng([config.seed, model.round + 1, purpose])
