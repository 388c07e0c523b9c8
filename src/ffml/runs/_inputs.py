"""What stands in for the group: which inputs tell it, and which the model goes by.

Of each input, how much of what is said varies with it among the people met lately: of the score
for the label (weights above trees), and of the guess which group a person is of. Shares add up to
1, and what two inputs say together is not divided further.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ffml.features.boosted import Boosted
from ffml.features.importance import variance_by_feature
from ffml.wrappers import membership_weights

if TYPE_CHECKING:
    from ffml.base import Schema
    from ffml.runs._session import Session


def inputs_of(session: "Session") -> dict[str, Any]:
    """Return ``columns``, what the model ``goes_by`` and by protected column what ``tells`` it.

    Empty where the learner is no linear model, or has met nobody.
    """
    state, schema = session.state, session.loop.schema
    weights = _linear(session.model().params)
    if weights is None or not len(state.recent) or not weights.any():
        return {}
    x, raw = state.scaled(state.recent), state.recent
    trees = state.features if isinstance(state.features, Boosted) else None
    names = schema.features
    parts = [] if trees is None else [trees.labels, *trees.groups]
    inner = [variance_by_feature(one, raw[:, : len(names)]) for one in parts]
    columns = _columns(names, schema)
    found: dict[str, Any] = {
        "columns": list(columns),
        "goes_by": _shares(weights, x, columns, len(names), inner),
        "tells": {},
    }
    told = None if schema.known_groups else membership_weights(state.learner)
    if told is None:
        return found
    for column, places in _contrasts(schema).items():
        each = [_shares(told[:, i], x, columns, len(names), inner) for i in places]
        found["tells"][column] = np.mean(each, axis=0).tolist()
    return found


def _linear(params: Any) -> np.ndarray | None:
    weights = params.get("w") if isinstance(params, Mapping) else None
    return None if weights is None or np.ndim(weights) != 1 else np.asarray(weights, float)


def _columns(names: Sequence[str], schema: "Schema") -> dict[str, list[int]]:
    """Find the features of each input column; those of one category are one column."""
    coded = {i for members in schema.categories for i in members}
    columns: dict[str, list[int]] = {}
    for i, name in enumerate(names):
        columns.setdefault(name.partition("=")[0] if i in coded else name, []).append(i)
    return columns


def _contrasts(schema: "Schema") -> dict[str, list[int]]:
    """Find the comparisons of each protected column."""
    places: dict[str, list[int]] = {}
    for group in schema.groups:
        places.setdefault(schema.sensitive[group.column].name, []).append(group.contrast)
    return {column: sorted(set(some)) for column, some in places.items()}


def _shares(
    weights: np.ndarray,
    x: np.ndarray,
    columns: Mapping[str, Sequence[int]],
    width: int,
    inner: Sequence[np.ndarray],
) -> list[float]:
    """Return each column's share of what a weighted sum of x varies by.

    Columns of x beyond the features are what trees say: they are divided as the trees are.
    """
    part = np.array([np.var(x[:, some] @ weights[some]) for some in columns.values()])
    for i, by_feature in enumerate(inner):
        at = width + i
        if at < len(weights) and by_feature.any():
            divided = np.array([by_feature[some].sum() for some in columns.values()])
            part = part + np.var(x[:, at] * weights[at]) * divided / by_feature.sum()
    return (part / part.sum() if part.any() else part).tolist()
