"""The counts of every round, from groups.csv."""

import numpy as np

from ffml.report._view import RunView

COUNTS = ("n", "n_selected", "n_labelled", "n_label_1", "n_selected_label_0", "n_selected_label_1")


def round_tables(run: RunView) -> dict[str, tuple[list[str], np.ndarray]]:
    """Return each column's groups, as the data describe them, and counts ``(T, k, 3, 2)``."""
    columns, groups = run.groups.text("column"), run.groups.text("group")
    place = {number: t for t, number in enumerate(run.rounds.numbers("round").tolist())}
    names = _names(run, columns, groups)
    tables = {c: np.zeros((len(run.rounds), len(g), 3, 2), int) for c, g in names.items()}
    codes = {(column, g): i for column in names for i, g in enumerate(names[column])}
    rounds = np.array([place.get(number, -1) for number in run.groups.numbers("round").tolist()])
    group = np.array([codes[key] for key in zip(columns, groups, strict=True)])
    counts = _counts(run)
    for column, table in tables.items():
        here = (np.array(columns) == column) & (rounds >= 0)
        table[rounds[here], group[here]] = counts[here]
    return {column: (names[column], tables[column]) for column in names}


def _counts(run: RunView) -> np.ndarray:
    """Return each line's counts by label (0, 1, not known) and decision: ``(lines, 3, 2)``."""
    n, selected, labelled, positives, false_positives, true_positives = (
        np.nan_to_num(run.groups.numbers(name)).astype(int) for name in COUNTS
    )
    chosen = np.stack(
        [false_positives, true_positives, selected - false_positives - true_positives], axis=1
    )
    people = np.stack([labelled - positives, positives, n - labelled], axis=1)
    return np.stack([people - chosen, chosen], axis=2)


def _names(run: RunView, columns: list[str], groups: list[str]) -> dict[str, list[str]]:
    described = [
        (str(column.get("name")), str(group))
        for column in run.config.get("data", {}).get("sensitive") or []
        for group in column.get("groups") or []
    ]
    order = {key: i for i, key in enumerate(described)}
    found = dict.fromkeys(zip(columns, groups, strict=True))
    names: dict[str, list[str]] = {}
    for column, group in sorted(found, key=lambda key: order.get(key, len(order))):
        names.setdefault(column, []).append(group)
    return names
