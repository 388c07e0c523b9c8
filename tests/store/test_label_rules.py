"""Which decision a label belongs to: ids that come again, repeats, corrections."""

import numpy as np
import pytest
from ledgers import decided

from ffml.base import FFMLError
from ffml.store import Correction, Labels, verify


@pytest.fixture
def months(store):
    """Customers a and b come every month, c and d once."""
    for task, ids in {"may": ["a", "b", "c"], "june": ["a", "b", "d"]}.items():
        with store.transaction("test", "round") as t:
            people = decided(ids)._replace(label=np.full(3, -1))
            t.add_decisions(t.put_round(task, "decided", {}), people)
    return store


def give(store, ids, values, tasks=None, correct=False):
    with store.transaction("test", "label") as t:
        return t.add_labels(Labels(ids, np.array(values), tasks), correct)


def labels(store, number):
    rows = store.decisions(number, columns=("id", "label"))
    return dict(zip(rows["id"].tolist(), rows["label"].tolist(), strict=True))


def test_an_id_of_one_task_needs_no_task(months):
    assert give(months, ["c", "d"], [1, 0]).tasks == ("may", "june")
    assert labels(months, 1) == {"a": -1, "b": -1, "c": 1}
    assert labels(months, 2) == {"a": -1, "b": -1, "d": 0}


def test_an_id_of_several_tasks_needs_its_task(months):
    before = months.head
    with pytest.raises(FFMLError, match="'a' occurs in 2 tasks; add the task's column"):
        give(months, ["c", "a"], [1, 1])
    assert months.head == before and labels(months, 1)["c"] == -1
    give(months, ["a", "a"], [1, 0], ["may", "june"])
    assert (labels(months, 1)["a"], labels(months, 2)["a"]) == (1, 0)


@pytest.mark.parametrize("tasks", [None, ["may", "may"]])
def test_a_file_given_twice_changes_nothing(months, tasks):
    ids = ["c", "c"] if tasks is None else ["a", "b"]
    assert give(months, ids, [1, 1], tasks).repeated == (1 if tasks is None else 0)
    before, events = months.head, len(months.events())
    again = give(months, ids, [1, 1], tasks)
    assert (again.repeated, again.decision, again.tasks) == (2, [], ())
    assert (months.head, len(months.events())) == (before, events)


def test_a_correction_is_refused_or_kept_next_to_the_first(months):
    give(months, ["c"], [1])
    with pytest.raises(FFMLError, match="'may' has the favourable label in the ledger and the unf"):
        give(months, ["c"], [0])
    placement = give(months, ["c"], [0], correct=True)
    assert placement.corrections == (Correction("may", "c", 1, 0),)
    assert [(row.task, row.label) for row in months.labels_between(1, 2)] == [
        ("may", 1),
        ("may", 0),
    ]
    assert labels(months, 1)["c"] == 0
    counts = months.totals()
    assert counts.n[counts.label == 0].sum() == 1 and counts.n[counts.label == 1].sum() == 0
    assert verify(months).findings == []


@pytest.mark.parametrize(
    ("ids", "values", "tasks", "message"),
    [
        (["x", "c"], [1, 1], None, "1 of 2 labels are for people .* such as id 'x'"),
        (["d"], [1], ["may"], "such as id 'd' of task 'may'"),
        (["a"], [1], ["july"], "no task 'july' .* it has may, june"),
        (["c", "c"], [1, 0], None, "'c' has two labels in one file"),
        (["c"], [-1], None, "labels are 0 or 1, got -1"),
        (["c"], [2], None, "labels are 0 or 1, got 2"),
    ],
)
def test_labels_without_a_place_are_refused(months, ids, values, tasks, message):
    before = months.head
    with pytest.raises(FFMLError, match=message):
        give(months, ids, values, tasks)
    with pytest.raises(FFMLError, match=message):
        months.place(Labels(ids, np.array(values), tasks))
    assert months.head == before
