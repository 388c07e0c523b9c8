"""What a saved model decides by: its standing rule, or one found for a population."""

from dataclasses import replace
from typing import Any

import jax
import numpy as np

from ffml.base import FFMLError, Task, pair_of
from ffml.draws import UNLABELLED, draws
from ffml.online.arrays import watch_arrays
from ffml.online.decide import (
    MOST_PEOPLE,
    Known,
    Rule,
    described_by,
    find_rule,
)
from ffml.online.loop import knowledge
from ffml.online.state import Loop, LoopState
from ffml.online.trees import leaves_by_name, restored_tree
from ffml.recipe.build import build_loop, shared_functions
from ffml.recipe.config import check_settings
from ffml.recipe.saved import run_config
from ffml.scoring.model import (
    FEATURES,
    KNOWLEDGE,
    SavedModel,
    preprocessor_of,
    refuse_divergence,
)
from ffml.scoring.table import needed_columns
from ffml.tables import Preprocessor, Source, labelled_task


def find(
    model: SavedModel,
    support: Source | None = None,
    people: Source | None = None,
    policy: str | None = None,
) -> Rule:
    """Find a model's rule, once for all rows.

    Args:
        model: what a run has learned.
        support: labelled rows of a population to adapt to. It has the label and the sensitive
            columns under the names they had when the model was learned.
        people: those to be decided about, where they come together and prices are to be found on
            them; of a large table, some rows at random. Without them and without support, the
            standing rule is found: prices are of people met lately.
        policy: another one than the run's, see `ffml.wrappers.evened`; nothing is relearned.
    """
    model.refuse_without_params()
    loop = loop_of(model, policy)
    known = known_of(model, loop)
    task = _nobody(model) if support is None else _labelled(model, support)
    rows = np.arange(len(task.y))
    if people is not None:
        rng = draws(loop.seed, known.round + 1, UNLABELLED)
        x = some_rows(people, preprocessor_of(model), MOST_PEOPLE, rng)
        more = (0, len(x))  # rows behind the labelled ones, whose labels and groups nobody reads
        task = task._replace(
            x=np.concatenate([task.x, x]),
            y=np.pad(task.y, more),
            groups=np.pad(task.groups, (more, (0, 0))),
        )
    what = "deciding" if support is None else f"adapting to {support.name}"
    if not len(task.y):
        return find_rule(loop, known, what=what)
    described = task._replace(x=described_by(loop, known.features, task.x))
    return find_rule(loop, known, described, rows, np.arange(len(rows), len(task.y)), what)


def model_of(
    loop: Loop,
    state: LoopState,
    config: dict[str, Any],
    preprocessing: dict[str, Any] | None,
    version: int = 0,
    status: str = "complete",
) -> SavedModel:
    """Take what decisions need out of a loop's state."""
    known = knowledge(loop, state)
    pair = pair_of(known, loop.problem.num_constraints)
    arrays: dict[str, np.ndarray] = {}
    if jax.tree.leaves(pair.params):  # else it knows all rows seen: not for model files
        arrays = leaves_by_name(known, KNOWLEDGE) | leaves_by_name(state.features, FEATURES)
    refuse_divergence([*arrays.values(), np.asarray(pair.multipliers)])
    settings = config["run"]["recipe"]["settings"].items()
    return SavedModel(
        model=config["model"],
        model_settings={k.removeprefix("model."): v for k, v in settings if k.startswith("model.")},
        params=jax.tree.map(np.asarray, pair.params),
        multipliers=np.asarray(pair.multipliers),
        knowledge=arrays,
        constraint_names=tuple(loop.problem.constraint_names),
        scaler=state.scaler,
        recent=state.recent,
        preprocessing=preprocessing,
        schema=loop.schema,
        round=state.round,
        version=version,
        config=config,
        status=status,
        inputs=watch_arrays(state.watch),
        adds_columns=loop.features is not None,
    )


def loop_of(model: SavedModel, policy: str | None = None) -> Loop:
    """Build what a model decides by."""
    config = run_config(model.config["run"])
    config = config if policy is None else replace(config, policy=policy)
    check_settings(config)
    return build_loop(config, shared_functions(config, model.schema), model.schema)


def known_of(model: SavedModel, loop: Loop) -> Known:
    """Read what decisions need out of a model's arrays."""
    state = loop.learner.init(jax.random.key(loop.seed))
    like = jax.device_get(loop.learner.knowledge(state))
    learner = restored_tree(like, KNOWLEDGE, model.knowledge)
    features = None
    if loop.features is not None:
        features = restored_tree(loop.features.init(), FEATURES, model.knowledge)
    return Known(model.round, learner, features, model.scaler, model.recent)


def some_rows(
    source: Source, preprocessor: Preprocessor, most: int, rng: np.random.Generator
) -> np.ndarray:
    """Encode the features of a table's rows; of more than ``most``, so many at random."""
    needed_columns(preprocessor, source.columns, (), source.name)
    names = list(preprocessor.names)
    x, ranks = np.zeros((0, preprocessor.width), np.float32), np.zeros(0)
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


def _nobody(model: SavedModel) -> Task:
    width, columns = model.schema.num_columns, len(model.schema.sensitive)
    x, groups = np.zeros((0, width), np.float32), np.zeros((0, columns), np.int32)
    return Task("", x, np.zeros(0), groups)


def _labelled(model: SavedModel, support: Source) -> Task:
    options = run_config(model.config["run"]).data_options
    if len(options.get("sensitive", ())) < len(model.schema.sensitive):
        raise FFMLError("the model's config names fewer sensitive columns than its schema has")
    return labelled_task(
        support,
        preprocessor_of(model),
        model.schema,
        sensitive=options["sensitive"],
        positive=options.get("positive"),
        known=model.config.get("data", {}).get("labels"),
    )
