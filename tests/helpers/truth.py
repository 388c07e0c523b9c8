"""The truth about a plain table of people, recomputed in SQL: what every face has to say.

A person is a task, a group in each column, a decision, and a label or None. Nothing here uses the
package but to count people for the functions that take counts.
"""

import csv
import sqlite3
from dataclasses import dataclass, field

import numpy as np

MIN_PEOPLE = 30


@dataclass(frozen=True)
class Truth:
    """People in a database of their own."""

    columns: dict  # name -> groups
    rows: list  # (task, {column: group}, decision, label or None)
    database: sqlite3.Connection = field(init=False, repr=False)

    def __post_init__(self):
        database = sqlite3.connect(":memory:")
        names = ", ".join(f'"{name}" text' for name in self.columns)
        database.execute(f"create table people (task int, decision int, label int, {names})")
        marks = ", ".join("?" * (3 + len(self.columns)))
        database.executemany(
            f"insert into people values ({marks})",
            [(t, d, y, *(groups[c] for c in self.columns)) for t, groups, d, y in self.rows],
        )
        object.__setattr__(self, "database", database)

    def ask(self, query, *values):
        """Return all rows of an answer."""
        return self.database.execute(query, values).fetchall()

    def rates(self, column, label=None, task=None):
        """Return each group's rate of positive decisions and its people, largest groups only."""
        found = self.ask(
            f'select "{column}", avg(decision), count(*) from people'
            " where (?1 is null or label = ?1) and (?2 is null or task = ?2)"
            f' group by "{column}" order by "{column}"',
            label,
            task,
        )
        large = [one for one in found if one[2] >= MIN_PEOPLE]
        kept = large if len(large) > 1 and task is None else found
        return {group: (rate, people) for group, rate, people in kept}

    def gap(self, column, label=None, task=None):
        """Return the largest difference between any two groups."""
        rates = [rate for rate, _ in self.rates(column, label, task).values()]
        return max(rates) - min(rates) if len(rates) > 1 else None

    def ratio(self, column, label=None, task=None):
        """Return the lowest rate over the highest."""
        rates = [rate for rate, _ in self.rates(column, label, task).values()]
        return min(rates) / max(rates) if len(rates) > 1 and max(rates) > 0 else None

    def accuracy(self):
        """Return the share of right decisions among those with a label."""
        return self.ask("select avg(decision = label) from people where label is not null")[0][0]

    def people(self):
        """Count everybody, and those with a label."""
        return self.ask("select count(*), count(label) from people")[0]

    def tables(self):
        """Count people by task, group, label and decision: column -> ``(T, k, 3, 2)``."""
        tasks = 1 + max(task for task, *_ in self.rows)
        found = {}
        for column, groups in self.columns.items():
            table = np.zeros((tasks, len(groups), 3, 2), int)
            for task, of, decision, label in self.rows:
                table[task, groups.index(of[column]), 2 if label is None else label, decision] += 1
            found[column] = table
        return found

    def write(self, path):
        """Write the table for ``ffml audit``: task, approved, repaid, and the columns."""
        with path.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["task", "approved", "repaid", *self.columns])
            for task, groups, decision, label in self.rows:
                known = "" if label is None else label
                writer.writerow(
                    [f"t{task:04d}", "yes" if decision else "no", known, *groups.values()]
                )
        return path


def people(rates, tasks=12, size=60, seed=0, label=lambda rng, decision: int(rng.random() < 0.6)):
    """Draw people of one column "sex" with these rates, in tasks of this size.

    Args:
        rates: group -> rate of positive decisions.
        tasks: how many.
        size: people of a task.
        seed: of the draws.
        label: draws a label or None, given the decision.
    """
    rng, names = np.random.default_rng(seed), list(rates)
    rows = []
    for task in range(tasks):
        for _ in range(size):
            group = names[rng.integers(len(names))]
            decision = int(rng.random() < rates[group])
            rows.append((task, {"sex": group}, decision, label(rng, decision)))
    return Truth({"sex": names}, rows)


def approved_only(rng, decision):
    """Know the label of approved people alone."""
    return int(rng.random() < 0.8) if decision else None


def sometimes(rng, decision):
    """Know half of the labels, whatever was decided."""
    return int(rng.random() < 0.6) if rng.random() < 0.5 else None


def selected_before(rng, decision):
    """Know the label of whom somebody approved before, who went by much the same inputs."""
    return int(rng.random() < 0.6) if rng.random() < (0.8 if decision else 0.3) else None


def never(rng, decision):
    """Know no label."""
    return None


def late(truth, tasks):
    """Take away the labels of the last tasks."""
    last = 1 + max(task for task, *_ in truth.rows) - tasks
    return Truth(truth.columns, [(t, g, d, None if t >= last else y) for t, g, d, y in truth.rows])


def one_person_tasks(rates, tasks=250, seed=0):
    """Give everybody a task of their own."""
    return people(rates, tasks, 1, seed)


def one_sex_branches(rates, branches=10, size=80, seed=0):
    """Draw branches whose people are all of one group."""
    rng, names, rows = np.random.default_rng(seed), list(rates), []
    for task in range(branches):
        group = names[task % len(names)]
        for _ in range(size):
            rows.append((task, {"sex": group}, int(rng.random() < rates[group]), None))
    return Truth({"sex": names}, rows)


def two_columns(rates, region_gap=0.1, tasks=12, size=120, seed=0):
    """Draw people with a second column whose groups differ as well."""
    rng, names, rows = np.random.default_rng(seed), list(rates), []
    for task in range(tasks):
        for _ in range(size):
            group, region = names[rng.integers(len(names))], ("north", "south")[rng.integers(2)]
            rate = rates[group] + region_gap * (region == "south")
            label = int(rng.random() < 0.5)
            rows.append((task, {"sex": group, "region": region}, int(rng.random() < rate), label))
    return Truth({"sex": names, "region": ["north", "south"]}, rows)


SCENARIOS = {
    "all labels": lambda: people({"F": 0.4, "M": 0.5}),
    "approved only": lambda: people({"F": 0.4, "M": 0.7}, label=approved_only),
    "selected before": lambda: people({"F": 0.4, "M": 0.42}, label=selected_before),
    "half of the labels": lambda: people({"F": 0.4, "M": 0.42}, label=sometimes),
    "no labels": lambda: people({"F": 0.3, "M": 0.5}, label=never),
    "late labels": lambda: late(people({"F": 0.45, "M": 0.5}), 3),
    "all, then approved only": lambda: _joined(
        people({"F": 0.5, "M": 0.8}, 5), people({"F": 0.5, "M": 0.8}, 11, label=approved_only)
    ),
    "tasks of one person": lambda: one_person_tasks({"F": 0.238, "M": 0.93}),
    "branches of one sex": lambda: one_sex_branches({"F": 0.13, "M": 0.87}),
    "three groups": lambda: people({"A": 0.3, "B": 0.35, "C": 0.5}, 20, 150),
    "a group of nine": lambda: _with_a_few(people({"A": 0.4, "B": 0.41}, 20, 300), "C", 9),
    "two columns": lambda: two_columns({"F": 0.4, "M": 0.45}),
    "nobody positive": lambda: people({"F": 0.0, "M": 0.0}),
    "everybody positive": lambda: people({"F": 1.0, "M": 1.0}),
    "one group": lambda: people({"F": 0.5}),
    "even": lambda: people({"F": 0.4, "M": 0.4}, 40, 600),
}


def _joined(first, second):
    start = 1 + max(task for task, *_ in first.rows)
    later = [(t + start, g, d, y) for t, g, d, y in second.rows]
    return Truth(first.columns, first.rows + later)


def _with_a_few(truth, group, count):
    (column,) = truth.columns
    few = [(i % 20, {column: group}, i % 2, 1) for i in range(count)]
    return Truth({column: [*truth.columns[column], group]}, truth.rows + few)
