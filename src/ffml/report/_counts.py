"""The counts of every round, restored from the rates in groups.csv."""

import numpy as np

from ffml.report._files import Run


def round_tables(run: Run) -> dict[str, tuple[list[str], np.ndarray]]:
    """Return each column's groups, as the data describe them, and counts ``(T, k, 2, 2)``.

    The file has rates; the counts behind them are whole numbers, so rounding restores them.
    """
    columns, groups = run.groups.text("column"), run.groups.text("group")
    place = {number: t for t, number in enumerate(run.rounds.numbers("round").tolist())}
    names = _names(run, columns, groups)
    tables = {c: np.zeros((len(run.rounds), len(g), 2, 2), int) for c, g in names.items()}
    codes = {(column, g): i for column in names for i, g in enumerate(names[column])}
    rounds = np.array([place.get(number, -1) for number in run.groups.numbers("round").tolist()])
    group = np.array([codes[key] for key in zip(columns, groups, strict=True)])
    counts = np.stack(_counts(run), axis=1).reshape(-1, 2, 2)
    for column, table in tables.items():
        here = (np.array(columns) == column) & (rounds >= 0)
        table[rounds[here], group[here]] = counts[here]
    return {column: (names[column], tables[column]) for column in names}


def _counts(run: Run) -> list[np.ndarray]:
    """Return rejected and selected rows of label 0, then of label 1."""
    n, positives, tpr, fpr = (
        np.nan_to_num(run.groups.numbers(name))
        for name in ("n", "n_label_1", "true_positive_rate", "false_positive_rate")
    )
    selected = [np.rint(fpr * (n - positives)), np.rint(tpr * positives)]
    return [n - positives - selected[0], selected[0], positives - selected[1], selected[1]]


def _names(run: Run, columns: list[str], groups: list[str]) -> dict[str, list[str]]:
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
