"""People who come to be decided about: read from a table, put by task, named."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ffml.base import FFMLError, Schema, Task
from ffml.runs._people import fingerprints, names_of
from ffml.store import Store, request_hash
from ffml.tables import Source, located, person_columns


class Arrivals(NamedTuple):
    """People to be decided about, as a table has them."""

    x: np.ndarray  # (n, features) encoded
    groups: np.ndarray  # (n, columns) codes, −1 where not known
    ids: np.ndarray | None
    tasks: list[str | None]

    def at(self, places: np.ndarray) -> "Arrivals":
        """Return some of them."""
        ids = None if self.ids is None else self.ids[places]
        tasks = [self.tasks[i] for i in places.tolist()]
        return Arrivals(self.x[places], self.groups[places], ids, tasks)

    @property
    def asked(self) -> str:
        """Hash of everybody's task, id and features, not of the moment."""
        ids = None if self.ids is None else [str(one) for one in self.ids]
        return request_hash(self.tasks, ids, self.x, self.groups)


class Batch(NamedTuple):
    """Those of one task, with their names and hashes."""

    task: Task
    rows: np.ndarray  # their places in the table
    names: list[str]
    contents: np.ndarray


def read_people(
    source: Source, data: Mapping[str, Any], schema: Schema, preprocessor: Any, task: str | None
) -> Arrivals:
    """Encode a table of people; groups, ids and tasks are read as far as it has them."""
    if missing := [name for name in preprocessor.names if name not in source.columns]:
        raise FFMLError(
            f"{source.name} has no column {preprocessor.needed(missing[0], 'the model needs')}"
        )
    columns = person_columns(source, data.get("roles") or {}, schema)
    name = str(task).strip() if task is not None else ""  # as a table's texts are read
    xs, groups, ids = [], [], []
    tasks: list[str | None] = []
    for batch in source.batches(list(dict.fromkeys([*preprocessor.names, *columns.names]))):
        with located(source):
            xs.append(preprocessor.transform(batch.select(list(preprocessor.names))))
        persons = columns.read(batch)
        if persons.ids is not None and None in persons.ids:
            raise FFMLError(f"{source.name} has a person without an id; give each their own")
        groups.append(persons.groups)
        ids += [] if persons.ids is None else [persons.ids]
        tasks += [name] * len(batch) if name else persons.tasks
    if not tasks:
        raise FFMLError(f"{source.name} has no rows to decide about")
    x, codes = np.concatenate(xs), np.concatenate(groups)
    return Arrivals(x, codes, np.concatenate(ids) if ids else None, tasks)


def refuse_adapted_to(
    arrivals: Arrivals, support: Source, data: Mapping[str, Any], schema: Schema
) -> None:
    """Refuse people whose own labels would be adapted to: the decision could not be judged."""
    columns = person_columns(support, data.get("roles") or {}, schema)
    columns = columns._replace(sensitive=(), task=None)
    if columns.id is None or arrivals.ids is None:
        return
    batches = (columns.read(batch).ids for batch in support.batches([*columns.names]))
    labelled = {id for ids in batches if ids is not None for id in ids}
    if both := [id for id in arrivals.ids if id in labelled]:
        raise FFMLError(
            f"{len(both):,} of those to be decided about are among the labelled rows, such as id "
            f"{both[0]!r}; leave them out of one of the two: a decision that its own label led to "
            "cannot be judged"
        )


def batches_of(arrivals: Arrivals, schema: Schema, store: Store) -> list[Batch]:
    """Put people by task; those without one come after the tasks that were learned from."""
    tasks = arrivals.tasks
    if None in tasks:
        after = f"after round {store.tasks_done()}"
        tasks = [name or after for name in tasks]
    places: dict[str, list[int]] = {}
    for place, name in enumerate(tasks):
        places.setdefault(str(name), []).append(place)
    batches = []
    for name, some in places.items():
        rows = np.array(some)
        part = arrivals.at(rows)
        task = Task(name, part.x, np.full(len(rows), -1), part.groups, ids=part.ids)
        contents = fingerprints(task, schema).rows
        batches.append(Batch(task, rows, names_of(task, contents), contents))
    return batches
