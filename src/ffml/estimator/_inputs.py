"""What a person hands to the estimator besides features: labels, groups and tasks, as codes."""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from sklearn.utils import assert_all_finite, column_or_1d
from sklearn.utils.multiclass import type_of_target

from ffml.base import FFMLError, SensitiveColumn
from ffml.tables import (
    adverse_warning,
    as_table,
    label_values,
    needs_positive,
    refuse_adverse,
    role_texts,
    sensitive_column,
)

# Where no sensitive features are given, there is nobody to compare with.
NO_GROUPS = SensitiveColumn("(none)", ("everyone",))
# Data without tasks are dealt into parts: as many as have ROWS_PER_PART rows, within limits.
MIN_PARTS, MAX_PARTS, ROWS_PER_PART = 4, 10, 50


def read_labels(y: Any, num_rows: int) -> np.ndarray:
    """Return labels as a flat array, refusing missing ones and more than two kinds."""
    if y is None:
        raise FFMLError("This FairMetaClassifier requires y to be passed, but the target y is None")
    labels = column_or_1d(y, warn=True)
    if len(labels) != num_rows:
        raise FFMLError(f"y has {len(labels)} values and X has {num_rows} rows; pass one per row")
    assert_all_finite(labels, input_name="y")
    if labels.dtype == object and any(label is None for label in labels):
        raise FFMLError("y holds missing labels; leave such rows out")
    kind = type_of_target(labels, input_name="y", raise_unknown=True)
    if kind != "binary":
        raise FFMLError(
            f"Only binary classification is supported. The type of the target is {kind}."
        )
    return labels


def two_classes(values: Any) -> np.ndarray:
    """Return the two labels in their order."""
    classes = np.unique(values)
    if len(classes) != 2:
        found = "one class" if len(classes) == 1 else f"{len(classes)} classes"
        shown = ", ".join(repr(value) for value in classes[:5].tolist())
        raise FFMLError(f"two classes are needed, got {found} ({shown}); pass rows of both")
    return classes


def favourable_last(
    classes: np.ndarray, positive: Any, must_say: bool, name: str = "y"
) -> np.ndarray:
    """Put the favourable label last; the order of the alphabet never says which one it is.

    Args:
        classes: the two labels, sorted.
        positive: the favourable one; None: the larger number, or yes of no and yes.
        must_say: whether texts that do not say it are refused, or left in their order.
        name: what y is called; "default" does not say that 1 is favourable.

    >>> favourable_last(np.array(["approved", "denied"]), "approved", True).tolist()
    ['denied', 'approved']
    """
    texts = [str(label) for label in classes.tolist()]
    if must_say:
        refuse_adverse(name, texts, positive, "positive=")
    for said in adverse_warning(name, positive):
        warnings.warn(said.replace("(--positive)", "(positive=)"), stacklevel=4)
    are_numbers = classes.dtype.kind in "biuf"
    if positive is None and (are_numbers or (needs_positive(texts) and not must_say)):
        return classes
    codes = label_values(name, texts, positive, option="positive=")
    return classes[::-1] if codes[texts[0]] else classes


def label_codes(labels: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Turn labels into 0 and 1, the second of the classes being 1."""
    known = np.isin(labels, classes)
    if not known.all():
        low, high = classes.tolist()
        stray = labels[~known].tolist()[0]
        raise FFMLError(f"y holds {stray!r}, which is neither {low!r} nor {high!r}; correct it")
    return (labels == classes[1]).astype(np.int32)


def read_groups(sensitive_features: Any, num_rows: int) -> dict[str, pa.Array]:
    """Return every sensitive column's groups as texts, row by row.

    >>> read_groups([0, 1, 1], 3)["sensitive_feature"].to_pylist()
    ['0', '1', '1']
    """
    if sensitive_features is None:
        return {NO_GROUPS.name: pa.repeat(NO_GROUPS.groups[0], num_rows)}
    return {
        name: _texts(values, name, "sensitive", num_rows)
        for name, values in _named_columns(sensitive_features).items()
    }


def sensitive_columns(
    groups: Mapping[str, pa.Array], declared: Any = None
) -> tuple[SensitiveColumn, ...]:
    """Say which groups there are: those found and those declared."""
    if list(groups) == [NO_GROUPS.name]:
        return (NO_GROUPS,)
    more = declared_groups(declared, list(groups))
    return tuple(
        sensitive_column(name, {*values.unique().to_pylist(), *more.get(name, ())})
        for name, values in groups.items()
    )


def declared_groups(declared: Any, names: Sequence[str]) -> dict[str, list[str]]:
    """Read ``groups=``: the groups of the only column, or a mapping from columns to groups."""
    if declared is None:
        return {}
    if not isinstance(declared, Mapping):
        declared = dict.fromkeys(names, declared)
    if unknown := [name for name in declared if name not in names]:
        raise FFMLError(
            f"groups= names {unknown[0]!r}, which is no sensitive feature; they are {_list(names)}"
        )
    return {
        name: _texts(values, name, "sensitive").to_pylist() for name, values in declared.items()
    }


def group_codes(groups: Mapping[str, pa.Array], columns: Sequence[SensitiveColumn]) -> np.ndarray:
    """Turn groups into codes ``(n, columns)``, refusing columns and groups not seen at first."""
    names = [column.name for column in columns]
    if list(groups) != names:
        raise FFMLError(
            f"sensitive_features has {_list(groups)}, and at first it had {_list(names)}; "
            "pass the same columns in the same order"
        )
    codes = []
    for column in columns:
        texts = groups[column.name]
        _refuse_new_groups(texts.unique().to_pylist(), column)
        codes.append(np.asarray(pc.index_in(texts, pa.array(column.groups, texts.type))))
    return np.stack(codes, axis=1)


def refuse_new(
    classes: Any, groups: Any, known: np.ndarray, columns: Sequence[SensitiveColumn]
) -> None:
    """Refuse classes and groups that are declared in a later call and not in the first."""
    if classes is not None and list(two_classes(classes)) != list(known):
        raise FFMLError(f"classes were {known.tolist()} in the first call; pass the same")
    declared = declared_groups(groups, [column.name for column in columns])
    for column in columns:
        _refuse_new_groups(declared.get(column.name, ()), column)


def _refuse_new_groups(texts: Sequence[str], column: SensitiveColumn) -> None:
    if new := [text for text in texts if text not in column.groups]:
        raise FFMLError(
            f"sensitive feature {column.name!r} has a new group {new[0]!r}; name all groups in "
            "the first call of partial_fit (groups=), or fit again"
        )


def task_rows(tasks: Any, num_rows: int) -> dict[str, np.ndarray]:
    """Return the rows of every task, in the order in which tasks first appear.

    >>> task_rows(["b", "a", "b"], 3)
    {'b': array([0, 2]), 'a': array([1])}
    """
    encoded = _texts(tasks, "tasks", "task", num_rows).dictionary_encode()
    codes = np.asarray(encoded.indices)
    rows = np.split(np.argsort(codes, kind="stable"), np.cumsum(np.bincount(codes))[:-1])
    return dict(zip(encoded.dictionary.to_pylist(), rows, strict=True))


def random_parts(codes: np.ndarray, seed: int) -> dict[str, np.ndarray]:
    """Deal rows at random into parts of about the same size and label rate."""
    rng = np.random.default_rng([seed, 0])  # the loop's rounds begin with 1
    count = min(MAX_PARTS, max(MIN_PARTS, len(codes) // ROWS_PER_PART), len(codes))
    order = rng.permutation(len(codes))
    order = order[np.argsort(codes[order], kind="stable")]
    return {f"part {i + 1}": np.sort(order[i::count]) for i in range(count)}


def _named_columns(data: Any) -> dict[str, Any]:
    """Name the columns of what groups come in: flat values, several columns, a data frame."""
    if hasattr(data, "columns") or isinstance(data, Mapping):
        table = as_table(data)
        return {name: table[name] for name in table.column_names}
    shape = getattr(data, "shape", None) or np.shape(data)
    if len(shape) > 2:
        raise FFMLError(f"sensitive_features has {len(shape)} dimensions; pass one column or more")
    if len(shape) == 2:
        columns = np.asarray(data, object)
        return {f"sensitive_feature_{i}": columns[:, i].tolist() for i in range(shape[1])}
    return {str(getattr(data, "name", None) or "sensitive_feature"): data}


def _texts(values: Any, name: str, part: str, num_rows: int | None = None) -> pa.Array:
    """Return a column as texts; every row must have a value."""
    argument = "tasks" if part == "task" else "sensitive_features"
    if isinstance(values, str) or not hasattr(values, "__len__"):
        raise FFMLError(f"{argument} must hold one value per row, got {values!r}")
    texts = role_texts(as_table({name: values})[name].combine_chunks(), name, part)
    if num_rows is not None and len(texts) != num_rows:
        raise FFMLError(
            f"{argument} has {len(texts)} values and X has {num_rows} rows; pass one per row"
        )
    if texts.null_count:
        raise FFMLError(
            f"{argument} has no value in {texts.null_count} rows; fill them in or leave them out"
        )
    return texts


def _list(names: Any) -> str:
    return ", ".join(repr(name) for name in names)
