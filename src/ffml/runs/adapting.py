"""Adapting a saved model to a new population from a few labelled rows."""

from collections.abc import Callable

import jax
import numpy as np

from ffml.base import FFMLError, Task
from ffml.data.tables import Preprocessor, Source, labelled_task
from ffml.draws import UNLABELLED, draws
from ffml.experiment.build import build_for
from ffml.experiment.config import RunConfig, check_settings
from ffml.online.decide import asked, decide
from ffml.online.judge import MOST_UNLABELLED
from ffml.runs.artifact import KNOWLEDGE, SavedModel
from ffml.runs.config import run_config
from ffml.runs.predict import preprocessor_of
from ffml.runs.trees import restored_tree


def adapted_logits(
    model: SavedModel, support: Source, people: Source | None = None
) -> Callable[[np.ndarray], np.ndarray]:
    """Adapt a model to a labelled table: θ' of Eq. 6–7, and what else the method decides by.

    Args:
        model: what a run left behind.
        support: has the label and the sensitive columns under the names they had when the model
            was learned; all its rows are one task.
        people: the rows to be decided about, of which the features are read, by methods that look
            at them; of a large table, some rows at random.

    Returns:
        A function from encoded features to logits, which takes the place of `SavedModel.logits`.
    """
    model.refuse_without_params()
    config = run_config(model.config["run"])
    check_settings(config)
    task = _standardised_task(model, config, support)
    _, learner = build_for(config, model.schema)
    like = jax.device_get(learner.knowledge(learner.init(jax.random.key(config.seed))))
    known = restored_tree(like, KNOWLEDGE, model.knowledge)
    x = None
    if people is not None and learner.uses_unlabelled:
        rng = draws(config.seed, model.round + 1, UNLABELLED)
        x = model.standardised(some_rows(people, preprocessor_of(model), MOST_UNLABELLED, rng))
    batch = asked(
        learner,
        model.schema,
        task,
        shots=config.shots,
        seed=config.seed,
        round_=model.round + 1,
        people=x,
    )
    params = decide(learner, known, batch, f"adapting to {support.name}")
    return lambda x: np.asarray(learner.predict(params, model.standardised(x)))


def _standardised_task(model: SavedModel, config: RunConfig, support: Source) -> Task:
    options = config.data_options
    if len(options.get("sensitive", ())) < len(model.schema.sensitive):
        raise FFMLError("the model's config names fewer sensitive columns than its schema has")
    task = labelled_task(
        support,
        preprocessor_of(model),
        model.schema,
        sensitive=options["sensitive"],
        positive=options.get("positive"),
    )
    return task._replace(x=model.standardised(task.x))


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
