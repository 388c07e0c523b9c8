"""Data that come later: further tasks for a run, and labels of people decided about before."""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ffml.base import FFMLError, Stream
from ffml.recipe.saved import run_config
from ffml.recipe.schemas import schema_from
from ffml.recipe.sources import FRAME, SQL, SQL_URL, open_stream
from ffml.store import Labels
from ffml.tables import (
    Known,
    Preprocessor,
    Source,
    further_stream,
    open_data,
    open_further,
    read_late_labels,
    with_groups,
)

if TYPE_CHECKING:
    from ffml.runs._run import Run

NUMBER = "number"  # the column of decisions' numbers, as `Run.decide` returns them


def further_tasks(
    run: "Run", data: Any = None, query: str | None = None, id: str | None = None
) -> Stream:
    """Open new rows as a stream that is encoded as the run's first table was."""
    config = run.config
    if "roles" not in config["data"]:
        return _own_data_set(run, config, data)
    roles = dict(config["data"]["roles"]) | ({"id": id} if id else {})
    preprocessor = Preprocessor.from_json(run.store.document("preprocessing"))
    schema = schema_from(run.store.document("schema"))
    known = Known(preprocessor, schema.sensitive, config["data"].get("labels", {}))
    source = _source(config, data, query, roles["task"])
    drop = config["run"]["data_options"].get("drop_missing", False)
    stream = further_stream(source, roles, known, drop)
    return with_groups(stream) if schema.known_groups else stream


def late_labels(run: "Run", data: Any, query: str | None, id: str | None) -> Labels:
    """Read labels of people decided about before."""
    config = run.config
    if "roles" not in config["data"]:
        raise FFMLError(f"{run.store.name} learned a data set, whose labels are all known")
    roles = config["data"]["roles"]
    name = id or roles.get("id")
    if not name:
        raise FFMLError(
            f"the rows of {run.store.name} came without ids, by which labels find their people; "
            "start the run with a column of ids (--set data.id=COLUMN), or say which column of the "
            "labels has those that the ledger made (--id)"
        )
    given = read_late_labels(
        open_data(data, query),
        id=name,
        label=roles["label"],
        known=config["data"].get("labels", {}),
        roles=roles,
        tasks=run.store.tasks(),
    )
    values = np.asarray(given.labels, np.int64)
    if name == NUMBER:
        return _by_number(run, list(given.ids), values)
    named = [task for task in given.tasks if task is not None]
    tasks = named if len(named) == len(given.tasks) else None
    return Labels(given.ids, values, tasks)


def _by_number(run: "Run", texts: list[str], values: np.ndarray) -> Labels:
    """Find people by the numbers of their decisions."""
    if odd := next((text for text in texts if not text.isdecimal()), None):
        raise FFMLError(f"{odd!r} is not the number of a decision; give those that decide returned")
    numbers = [int(text) for text in texts]
    kept = run.store.decisions(numbers=numbers, columns=("seq", "id", "task"))
    people = {seq: (id, task) for seq, id, task in zip(*kept.values(), strict=True) if id}
    if lost := [number for number in numbers if number not in people]:
        raise FFMLError(
            f"{run.store.name} has no decision {lost[0]}, or its person was forgotten "
            f"({len(lost)} such); leave these rows out"
        )
    ids, tasks = zip(*(people[number] for number in numbers), strict=True)
    return Labels(list(ids), values, list(tasks))


def _own_data_set(run: "Run", config: Mapping[str, Any], data: Any) -> Stream:
    """Open the data set of a run again, to go on after an interruption."""
    if data not in (None, config["data"]["name"]):
        raise FFMLError(
            f"{run.store.name} learned the data set '{config['data']['name']}', which has no "
            "further tasks; update goes on with runs on tables"
        )
    wanted = run_config(config["run"])
    stream = open_stream(wanted.data, wanted.data_options, seed=wanted.seed)[0]
    return with_groups(stream) if wanted.decide_with_groups else stream


def _source(config: Mapping[str, Any], data: Any, query: str | None, task: str) -> Source:
    own = config["run"]
    if data is None:
        data = SQL if query else own["data"]
        if data == FRAME:
            raise FFMLError("the run's table was a data frame, which is not kept; give it again")
    if isinstance(data, str) and (data == SQL or "://" in data):
        url = os.environ.get(SQL_URL) if data == SQL else data
        if not url:
            raise FFMLError(
                f"give the database's address, such as sqlite:///loans.db, or set {SQL_URL}; files "
                "do not keep it"
            )
        return open_further(url, task, query or own["data_options"].get("query"))
    if query:
        raise FFMLError(f"--query asks a database, and '{data}' is none; leave it out")
    return open_further(data, task)
