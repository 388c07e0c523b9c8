"""Rounds are played, and what they came to is shown: ``run``, ``update`` and ``label``."""

from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from itertools import islice
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.markup import escape

from ffml.base import FFMLError
from ffml.cli._live import Live
from ffml.cli._options import Output
from ffml.cli._summary_table import show_now, show_summary
from ffml.cli._together import follow, is_distributed, joined, own_copy

if TYPE_CHECKING:
    from ffml.base import Stream
    from ffml.recipe.sources import Found
    from ffml.runs import Run


def begin(output: Output, what: str, address: str) -> tuple[Console, bool]:
    """Say what is begun; tell whether this process is the one that writes and prints."""
    leads = joined() if is_distributed() else True
    return output.console(what, address, leads), leads


def run_stream(
    console: Console,
    leads: bool,
    found: "Found",
    settings: Mapping[str, Any],
    preset: str | None,
    *,
    as_json: bool,
    **where: Any,
) -> None:
    """Run a stream into a ledger. Nothing is written before everything has been checked.

    ``where`` says what becomes of it, see `ffml.runs.starting.start`.
    """
    from ffml.recipe.build import build
    from ffml.recipe.config import configure_run
    from ffml.runs.starting import discard, start
    from ffml.runtime import configure

    config = configure_run(found.data, {**settings, "data_options": found.options}, preset)
    if not is_distributed():
        configure()
    if not leads:
        experiment = build(config, sql_url=found.sql_url, source=found.source)
        tasks = islice(experiment.stream.tasks(), config.rounds)
        follow(experiment.loop, experiment.state, tasks)
        return
    started = start(found, config, **where)
    run = started.run
    _show_noticed(console, run.config)
    try:
        play(console, run, started.stream, as_json, most=config.rounds)
    except FFMLError:
        if not run.session().state.round:
            discard(run)
        raise


def resume_stream(folder: str, data: str | None, output: Output) -> None:
    """Go on with a run whose first table was not played to its end."""
    console, leads = begin(output, "resuming", folder)
    from ffml.runs import open_run
    from ffml.runs.starting import further_tasks
    from ffml.runtime import configure

    distributed = is_distributed()
    with own_copy(folder, leads) if distributed else nullcontext(folder) as own:
        run = open_run(own, write=leads)
        if not distributed:
            configure(run.config.get("devices"))  # another number rounds sums in another order
        stream, session = further_tasks(run, data), run.session()
        most = session.config.rounds
        if leads:
            play(console, run, stream, output.json_output, most=most, resumed=True)
            return
        played = {row.task for row in run.store.rounds()}
        tasks = islice(stream.tasks(), most)
        follow(session.loop, session.state, (t for t in tasks if t.name not in played))


def play(
    console: Console,
    run: "Run",
    stream: "Stream",
    as_json: bool,
    *,
    most: int | None = None,
    resumed: bool = False,
    now: bool = False,
) -> None:
    """Play the tasks of a stream that are new, then show what a person reads.

    ``most`` tasks count. ``now`` shows what happened now, and the past in a few lines.
    """
    from ffml.audit.record import planned_rounds
    from ffml.tables import empty_warning

    status, played, who = "complete", 0, "update" if now else "run"
    before = run.store.tasks() if now else []
    planned = planned_rounds(run.config) if not now else stream.num_tasks
    with run.learning() as session, Live(console, run, stream, planned, short=now) as live:
        live.progress.update(live.bar, completed=0 if now else session.state.round)
        try:
            for _ in session.update(stream, who, live, most):
                played += 1
        except KeyboardInterrupt:
            status = "interrupted"
        except FFMLError:
            if session.state.round:
                run.write_views()  # what was done can be gone on with
            raise
    if not session.state.round:
        console.print("interrupted before the first round was done; nothing to report")
        raise typer.Exit(130)
    report = run.write_views()
    if now and played:
        tasks = run.store.tasks()[len(before) :]
        _show_lines(console, [f"warning: {one}" for one in empty_warning(tasks, before)])
    if not played and (resumed or now):
        console.print(f"nothing new: all tasks of {stream.name} were played before", soft_wrap=True)
    show(console, run, as_json, now=now or not played)
    where = f"Report: [bold]{escape(str(report))}[/bold]" if report else f"Ledger: {run.store.name}"
    console.print(where, soft_wrap=True)
    if status == "interrupted":
        again = "ffml update" if now else "ffml run --resume"
        console.print(
            f"interrupted after {session.state.round} rounds; what was done is safe. Go on with: "
            f"{again} {run.store.name}",
            soft_wrap=True,
        )
        raise typer.Exit(130)


def show(console: Console, run: "Run", as_json: bool, now: bool = False) -> None:
    """Print the answer of a run."""
    from ffml.recipe.plain import to_json

    summary = run.summary()
    if as_json:
        typer.echo(to_json(summary), nl=False)
    if now:
        show_now(console, summary)
    else:
        show_summary(console, summary)


def _show_noticed(console: Console, config: Mapping[str, Any]) -> None:
    """Print what was noticed about a table before the first round, a line each."""
    if guessed := config["guessed"]:
        columns = ", ".join(f"--{part} {column}" for part, column in guessed.items())
        _show_lines(console, [f"note: taken by the columns' names: {columns}"])
    _show_lines(console, [f"warning: {warning}" for warning in config["warnings"]])


def _show_lines(console: Console, lines: Iterable[str]) -> None:
    for line in lines:
        console.print(line, highlight=False, markup=False, soft_wrap=True)
