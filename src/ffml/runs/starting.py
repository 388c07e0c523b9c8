"""Starting a run: from data and settings to a ledger with its first rounds."""

from pathlib import Path
from typing import Any

from ffml.base import FFMLError, Stream
from ffml.recipe.build import Experiment, build, last_unjudged_round
from ffml.recipe.config import RunConfig, configure_run
from ffml.recipe.policy import OPTIONS, policy_of
from ffml.recipe.saved import config_document
from ffml.recipe.schemas import schema_document
from ffml.recipe.sources import TABLE_KINDS, Found, find_data, table_preprocessing
from ffml.runs._further import further_tasks
from ffml.runs._run import Run, Watcher
from ffml.runs._session import Session
from ffml.runs.ownership import check_out, clear, give_up
from ffml.store import Store
from ffml.tables import TableStream, inspect

__all__ = ["discard", "further_tasks", "play", "run", "start"]


def run(
    data: Any,
    *,
    out: str | Path | None = None,
    overwrite: bool = False,
    preset: str | None = "default",
    keep_features: bool = False,
    watcher: Watcher | None = None,
    **options: Any,
) -> Run:
    """Learn from a stream of tasks, and keep every decision in a ledger.

    >>> run = ffml.run("loans.csv", label="approved", positive="yes", sensitive="sex",
    ...                time="date", by="month", max_gap=0.05, out="runs/loans")  # doctest: +SKIP
    >>> print(run.answer)                                                       # doctest: +SKIP

    Args:
        data: a data set of the package ("adult"), a table's path, a database's address with
            ``query``, or a data frame.
        out: folder of the run, or a PostgreSQL address; None: ``runs/NAME-METHOD-SEED``.
        overwrite: replace a run that is there.
        preset: where settings come from that are not given.
        keep_features: keep everybody's encoded features in the ledger.
        watcher: is told of rounds as they happen.
        **options: the parts of a table's columns (``label``, ``positive``, ``sensitive``,
            ``task``, ``time``, ``by``, ``id``, ``drop``, ``query``, …) , who is approved
            (one of ``approve=0.8``, ``cost=5`` and ``threshold=0.3``) and settings (``max_gap``,
            ``min_ratio``, ``aim``, ``notions``, ``method``, ``wrappers``, ``seed``, …; see
            `ffml methods`).
    """
    roles = {name: options.pop(name) for name in [*options] if name in TABLE_KINDS}
    for several in ("sensitive", "drop"):
        if isinstance(roles.get(several), str):
            roles[several] = (roles[several],)
    for name in ("max_gap", "min_ratio", "aim", "notions", "wrappers"):
        if isinstance(options.get(name), float | int | str):
            options[name] = (options[name],)
    if policy := policy_of({name: options.pop(name, None) for name in OPTIONS}):
        options["policy"] = policy
    found = find_data(data, roles)
    config = configure_run(found.data, options | {"data_options": found.options}, preset)
    started = start(found, config, out, overwrite=overwrite, keep_features=keep_features)
    play(started, watcher)
    return started.run


class Started:
    """A run before its first round, with the stream that it is to play."""

    def __init__(self, run: Run, session: Session, stream: Stream) -> None:
        self.run, self.session, self.stream = run, session, stream


def start(
    found: Found,
    config: RunConfig,
    out: str | Path | None = None,
    *,
    overwrite: bool = False,
    keep_features: bool = False,
    command: str = "",
    experiment: Experiment | None = None,
) -> Started:
    """Make the ledger of a new run. Nothing is written before everything has been checked."""
    address = out or default_folder(found.data, config)
    if "://" not in str(address):
        check_out(Path(address), overwrite)
    if experiment is None:
        experiment = build(config, sql_url=found.sql_url, source=found.source)
    stream = experiment.stream
    refuse_odd_names(stream)
    document = config_document(experiment, command) | noticed(found, stream, config.label_delay)
    documents = {
        "config": document,
        "schema": schema_document(stream.schema),
        "preprocessing": table_preprocessing(stream),
        "judge_after": last_unjudged_round(config, stream),
        "keep_features": keep_features,
    }
    if "://" not in str(address):
        give_up(Path(address))
    store = Store.create(address, documents)
    session = Session.begin(store, experiment)
    return Started(Run(store, session), session, stream)


def refuse_odd_names(stream: Stream) -> None:
    """Refuse names of tasks that no database keeps, before the first round."""
    for name in stream.task_names if isinstance(stream, TableStream) else ():
        if "\0" in name:
            raise FFMLError(f"task {name!r} holds a zero byte, which is no text; rename it")


def play(started: Started, watcher: Watcher | None = None) -> None:
    """Play all tasks; a run that cannot do its first round leaves nothing behind."""
    session = started.session
    with session.store.learning():
        try:
            for _ in session.update(started.stream, "run", watcher, session.config.rounds):
                pass
        except FFMLError:
            if not session.state.round:
                discard(started.run)
            raise


def discard(run: Run) -> None:
    """Leave nothing behind of a run that could not do its first round."""
    run.close()
    if run.folder is not None:
        clear(run.folder, whole=True)


def default_folder(data: str, config: RunConfig) -> Path:
    """Name the folder of a run that was given none."""
    return Path("runs") / f"{Path(data).stem}-{config.recipe.method}-{config.seed}"


def noticed(found: Found, stream: Stream, label_delay: int) -> dict[str, Any]:
    """Return what was noticed about a table: columns that were guessed, and likely mistakes."""
    some = isinstance(stream, TableStream)
    mistakes = inspect(stream, label_delay=label_delay).mistakes if some else ()
    return {"guessed": dict(found.guessed), "warnings": list(mistakes)}
