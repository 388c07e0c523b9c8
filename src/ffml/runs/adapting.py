"""Deciding with a saved learner: adapted to a few labelled rows, or as far as it knows people."""

from dataclasses import replace
from typing import Any, NamedTuple

import jax
import numpy as np

from ffml.base import Features, FFMLError, Params, Task
from ffml.draws import UNLABELLED, draws
from ffml.online.decide import adapt_to, asked
from ffml.online.judge import MOST_UNLABELLED
from ffml.recipe.build import build_for
from ffml.recipe.config import RunConfig, check_settings
from ffml.recipe.recipes import step_sizes
from ffml.runs.artifact import KNOWLEDGE, SavedModel
from ffml.runs.config import run_config
from ffml.runs.predict import Rule, preprocessor_of
from ffml.runs.trees import both_restored
from ffml.tables import Preprocessor, Source, labelled_task


class Settled(NamedTuple):
    """What a saved learner decides by about one task: plain arrays, the same for every row."""

    model: SavedModel
    config: RunConfig
    columns: Any  # state of the features that describe people; None where nobody does
    params: Params  # of `Learner.adapt`: θ' of Eq. 6–7, and what else the method decides by


def settle(
    model: SavedModel,
    support: Source | None = None,
    people: Source | None = None,
    threshold: str | None = None,
) -> Settled:
    """Let a saved learner adapt to a task, once for all of its rows.

    Args:
        model: what a run left behind.
        support: labelled rows to adapt to. It has the label and the sensitive columns under the
            names they had when the model was learned; all its rows are one task. None: no label is
            known yet.
        people: the rows to be decided about, of which the features are read, by methods that look
            at them; of a large table, some rows at random.
        threshold: another goal than the run's, see `ffml.wrappers.evened`; nothing is relearned.
    """
    model.refuse_without_params()
    config = _rethresholded(run_config(model.config["run"]), threshold)
    check_settings(config)
    _, learner, features = build_for(config, model.schema)
    like = jax.device_get(learner.knowledge(learner.init(jax.random.key(config.seed))))
    columns = None if features is None else features.init()
    known, columns = both_restored(like, columns, KNOWLEDGE, model.knowledge)

    def prepared(x: np.ndarray) -> np.ndarray:
        return _prepared(model, features, columns, x)

    task = _nobody(model) if support is None else _labelled(model, config, support)
    x = None
    if learner.traits.uses_unlabelled and people is None and support is None:
        raise FFMLError(
            "what this model decides depends on who is decided about; give people, or a sample of "
            "them"
        )
    if people is not None and learner.traits.uses_unlabelled:
        rng = draws(config.seed, model.round + 1, UNLABELLED)
        x = prepared(some_rows(people, preprocessor_of(model), MOST_UNLABELLED, rng))
    batch = asked(
        learner,
        model.schema,
        task._replace(x=prepared(task.x)),
        shots=config.shots,
        seed=config.seed,
        round_=model.round + 1,
        rows=np.arange(0) if support is None else None,
        people=x,
    )
    what = "deciding" if support is None else f"adapting to {support.name}"
    params = adapt_to(learner, known, batch, what, step_sizes(config.recipe))
    return Settled(model, config, columns, params)


def rule_of(found: Settled) -> Rule:
    """Return functions from encoded features, which take the place of `SavedModel.logits`."""
    model, config, columns, params = found
    _, learner, features = build_for(config, model.schema)
    return Rule(
        lambda rows: learner.predict(params, rows),
        lambda x: _prepared(model, features, columns, x),
    )


def _prepared(
    model: SavedModel, features: Features | None, columns: Any, x: np.ndarray
) -> np.ndarray:
    """Describe and standardise encoded features, as the model learned from them."""
    return model.standardised(x if features is None else features.describe(columns, x))


def _rethresholded(config: RunConfig, threshold: str | None) -> RunConfig:
    if threshold is None:
        return config
    if "evened" not in config.recipe.wrappers:
        raise FFMLError("--threshold needs a run with --with evened, which chooses thresholds")
    settings = config.recipe.settings | {"evened.threshold": threshold}
    return replace(config, recipe=replace(config.recipe, settings=settings))


def _nobody(model: SavedModel) -> Task:
    """Return a task without a labelled row; the one row that it has is never looked at."""
    width, columns = len(model.schema.features), len(model.schema.sensitive)
    return Task("", np.zeros((1, width), np.float32), np.zeros(1), np.zeros((1, columns), np.int32))


def _labelled(model: SavedModel, config: RunConfig, support: Source) -> Task:
    options = config.data_options
    if len(options.get("sensitive", ())) < len(model.schema.sensitive):
        raise FFMLError("the model's config names fewer sensitive columns than its schema has")
    return labelled_task(
        support,
        preprocessor_of(model),
        model.schema,
        sensitive=options["sensitive"],
        positive=options.get("positive"),
    )


def some_rows(
    source: Source, preprocessor: Preprocessor, most: int, rng: np.random.Generator
) -> np.ndarray:
    """Encode the features of a table's rows; of more than ``most``, so many at random."""
    names = list(preprocessor.names)
    if missing := [name for name in names if name not in source.columns]:
        raise FFMLError(f"{source.name} has no column {missing[0]!r}, which the model needs")
    x, ranks = np.zeros((0, len(preprocessor.features)), np.float32), np.zeros(0)
    for batch in source.batches(names):
        own = rng.random(len(batch))
        # Those with the smallest of all ranks so far: each row is as likely as any other.
        rows = np.arange(len(batch)) if len(x) < most else np.flatnonzero(own < ranks.max())
        x = np.concatenate([x, preprocessor.transform(batch.select(names).take(rows))])
        ranks = np.concatenate([ranks, own[rows]])
        if len(x) > most:
            kept = np.sort(np.argpartition(ranks, most)[:most])
            x, ranks = x[kept], ranks[kept]
    return x
