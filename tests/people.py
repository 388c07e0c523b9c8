"""People to be decided about, for the tests of what is expected of decisions about them."""

import jax.numpy as jnp
import numpy as np

from ffml.base import LabelledTask, Unlabelled
from ffml.evaluation import support_batch
from ffml.evening import expected_people
from ffml.memory import bounded, padded_rows
from ffml.models import linear


def theta():
    """Parameters of the precision that a test computes with."""
    return {"w": jnp.array([1.0, 0.5, -0.2]), "b": jnp.array(0.3)}


def remembered(schema, *tasks, rows=2000):
    """Tasks as memory hands them out, padded to equal size."""
    rng = np.random.default_rng(0)
    kept = [padded_rows(bounded(task, schema, rows, rng), rows) for task in tasks]
    return LabelledTask(*(np.stack(leaves) for leaves in zip(*kept, strict=True)))


def people_of(problem, task, known, params=None, labelled=200):
    """Support rows, and all others as people of whom only the features are known."""
    schema, rows = problem.schema, np.arange(len(task.y))
    support = support_batch(task, schema, rows[:labelled], 100, np.random.default_rng(0))
    others = Unlabelled(task.x[labelled:], np.ones(len(rows) - labelled))
    support = support._replace(unlabelled=others)
    return expected_people(problem, params or theta(), support, known), rows[labelled:]


def true_gap(params, task, rows, label=None):
    decided = np.asarray(linear().apply(params, task.x[rows])) > 0
    counts = np.ones(len(rows), bool) if label is None else task.y[rows] == label
    member = task.groups[rows, 0] == 1
    return decided[member & counts].mean() - decided[~member & counts].mean()
