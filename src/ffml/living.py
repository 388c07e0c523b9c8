"""Runs that live on, from Python: ``ffml update`` and ``ffml label``, for data frames too."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ffml.base import FFMLError

if TYPE_CHECKING:
    from ffml.online.loop import Round
    from ffml.runs.living import LabelsAdded, LivingRun
    from ffml.tables import Source


def update(
    run: str | Path, data: Any = None, *, query: str | None = None, id: str | None = None
) -> "list[Round]":
    """Go on with a run where it stands: decide about new tasks, judge, learn, report.

    Args:
        run: folder of a run on a table.
        data: the new rows: a path, a database's address or a data frame, with the columns of the
            run's table. It may hold tasks that were played before, unchanged; a changed past is
            refused. None reads the run's own table again.
        query: for a database; None is the run's own.
        id: the column that names every row, if the run has none yet; rows with ids may lack their
            labels, which `label` brings later.

    Returns:
        The new rounds; none if all tasks were played before.
    """
    from ffml.report import write_pages

    directory, _ = open_update(Path(run), data, query, id)
    before = len(directory.rounds)
    if not directory.is_finished():
        for task in directory.tasks():
            directory.add(directory.experiment.loop.step(task))
        directory.finish("complete", write_pages)
    return directory.rounds[before:]


def label(run: str | Path, data: Any, *, id: str | None = None) -> "LabelsAdded":
    """Bring labels of people decided about before, in any order; judge, learn, report.

    A task is learned from once all its labels are there, or half of them and twice ``shots``.

    Args:
        run: folder of a run whose rows have ids.
        data: a table with ids and labels, and the run's column of tasks if ids come again in other
            tasks: a path or a data frame.
        id: its column of ids; None is the run's own.
    """
    from ffml.report import write_pages

    directory, added = open_label(Path(run), data, id)
    if not directory.is_whole():
        directory.finish(directory.status, write_pages)
    return added


def open_label(run: Path, data: Any, id: str | None) -> "tuple[LivingRun, LabelsAdded]":
    """Add labels to a run; its summary and pages are still to be written."""
    from ffml.runs.config import saved_config
    from ffml.runs.living import living_run, run_roles
    from ffml.tables import open_further, read_late_labels

    saved = saved_config(run)
    roles = run_roles(saved, run)
    name = id or roles.get("id")
    if not name:
        raise FFMLError(f"the rows of {run} have no ids; say which column has them (--id)")
    given = read_late_labels(
        open_further(data, ""),
        id=name,
        label=roles["label"],
        known=saved["data"].get("labels", {}),
        task=roles["task"],
        by=roles.get("by"),
        date_format=roles.get("date_format"),
    )
    directory = living_run(run)
    directory.go_back()
    return directory, directory.add_labels(given)


def open_update(
    run: Path, data: Any, query: str | None, id: str | None = None
) -> "tuple[LivingRun, list[str]]":
    """Open a run for new rows; return it, and what a person should know about it."""
    from ffml.runs.config import saved_config
    from ffml.runs.living import living_run

    directory = living_run(run, _open_data(run, saved_config(run), data, query), id)
    return directory, directory.open()


def _open_data(run: Path, saved: dict[str, Any], data: Any, query: str | None) -> "Source":
    """Open the new rows: those given, or those of the run's own table or query."""
    from ffml.recipe.sources import SQL, SQL_URL, is_url, open_source
    from ffml.runs.living import run_roles
    from ffml.tables import open_further

    roles, own = run_roles(saved, run), saved["run"]
    if data is None:
        data = SQL if query else own["data"]
    if isinstance(data, str) and (data == SQL or is_url(data)):
        url = os.environ.get(SQL_URL) if data == SQL else data
        return open_source(SQL, {"query": query or own["data_options"].get("query")}, url)
    if query:
        raise FFMLError(f"--query asks a database, and '{data}' is none; leave it out")
    return open_further(data, roles["task"])
