"""What ``ffml run`` does and shows while it does it."""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from itertools import islice
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console

from ffml.base import FFMLError
from ffml.cli._live import Live
from ffml.cli._shared import shown
from ffml.cli._summary_table import show_now, show_summary
from ffml.cli._together import follow, is_distributed, joined, own_copy

if TYPE_CHECKING:
    from ffml.base import Stream
    from ffml.recipe.sources import Found
    from ffml.runs import Run


_IN_PLACE_OF = {"max_gap": "min_ratio", "min_ratio": "max_gap"}  # one is asked for, not both


def run_stream(
    found: "Found",
    written: Mapping[str, Any],
    given: Mapping[str, Any],
    *,
    wrappers: Sequence[str],
    preset: str | None,
    out: str | None,
    overwrite: bool,
    keep_features: bool,
    quiet: bool,
    as_json: bool,
    command: str,
) -> None:
    """Run a stream into a ledger. Nothing is written before everything has been checked.

    Settings of a file (``written``) yield to those of the command line (``given``).
    """
    leads = joined() if is_distributed() else True
    console = Console(stderr=as_json, quiet=quiet or not leads)
    console.print(f"[bold]ffml[/bold] · starting JAX and loading [bold]{found.data}[/bold] …")
    from ffml.recipe.build import build
    from ffml.recipe.config import configure_run
    from ffml.runs.starting import discard, start
    from ffml.runtime import configure

    settings = merged_settings(written, given, wrappers, preset, found.data)
    config = configure_run(found.data, settings | {"data_options": found.options}, preset)
    if not is_distributed():
        configure()
    if not leads:
        experiment = build(config, sql_url=found.sql_url, source=found.source)
        tasks = islice(experiment.stream.tasks(), config.rounds)
        follow(experiment.loop, experiment.state, tasks)
        return
    started = start(
        found, config, out, overwrite=overwrite, keep_features=keep_features, command=command
    )
    run = started.run
    show_noticed(console, run.config)
    try:
        play(console, run, started.stream, as_json, most=config.rounds)
    except FFMLError:
        if not run.session().state.round:
            discard(run)
        raise


def merged_settings(
    written: Mapping[str, Any],
    given: Mapping[str, Any],
    wrappers: Sequence[str],
    preset_name: str | None,
    data: str,
) -> dict[str, Any]:
    """Put a file's settings and those given together, and add wrappers.

    What a file says of parts and wrappers that are exchanged for others is left out.

    >>> file = {"inner": "primal-dual", "inner.lr": 0.1, "seed": 3}
    >>> merged_settings(file, {"inner": "gradient"}, ["evened"], None, "adult")
    {'seed': 3, 'inner': 'gradient', 'wrappers': ('evened',)}
    """
    from ffml.cli.values import chosen_wrappers
    from ffml.recipe.presets import default_method, preset

    method = given.get("method", written.get("method", default_method(preset_name)))
    chosen = preset(preset_name, data, method) if preset_name else {}
    before = written.get("wrappers", chosen.get("wrappers", ()))
    now = chosen_wrappers(before, wrappers)
    gone = {part for part in written if given.get(part, written[part]) != written[part]}
    gone |= set(before) - set(now)
    gone |= {"policy"} & set(written) if "evened" in gone else set()
    gone |= {other for one, other in _IN_PLACE_OF.items() if one in given and other not in given}
    kept = {name: v for name, v in written.items() if not {name, name.partition(".")[0]} & gone}
    return kept | dict(given) | ({"wrappers": now} if now or before else {})


def resume_stream(folder: str, *, data: str | None, quiet: bool, as_json: bool) -> None:
    """Go on with a run whose first table was not played to its end."""
    distributed = is_distributed()
    leads = joined() if distributed else True
    console = Console(stderr=as_json, quiet=quiet or not leads)
    console.print(f"[bold]ffml[/bold] · starting JAX and resuming [bold]{shown(folder)}[/bold] …")
    from ffml.runs import open_run
    from ffml.runs.starting import further_tasks
    from ffml.runtime import configure

    with own_copy(folder, leads) if distributed else nullcontext(folder) as own:
        run = open_run(own, write=leads)
        if not distributed:
            configure(run.config.get("devices"))  # another number rounds sums in another order
        stream, session = further_tasks(run, data), run.session()
        if leads:
            play(console, run, stream, as_json, most=session.config.rounds, resumed=True)
            return
        known = {row.task for row in run.store.rounds()}
        tasks = islice(stream.tasks(), session.config.rounds)
        follow(session.loop, session.state, (t for t in tasks if t.name not in known))


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
    with run.learning() as session, Live(console, session, stream, planned, short=now) as live:
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
        show_lines(console, [f"warning: {one}" for one in empty_warning(tasks, before)])
    if not played and (resumed or now):
        console.print(f"nothing new: all tasks of {stream.name} were played before", soft_wrap=True)
    show(console, run, as_json, now=now or not played)
    where = f"Report: [bold]{report}[/bold]" if report else f"Ledger: {run.store.name}"
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


def show_noticed(console: Console, config: Mapping[str, Any]) -> None:
    """Print what was noticed about a table before the first round, a line each."""
    if guessed := config["guessed"]:
        columns = ", ".join(f"--{part} {column}" for part, column in guessed.items())
        show_lines(console, [f"note: taken by the columns' names: {columns}"])
    show_lines(console, [f"warning: {warning}" for warning in config["warnings"]])


def show_lines(console: Console, lines: Sequence[str]) -> None:
    """Print lines as they are."""
    for line in lines:
        console.print(line, highlight=False, markup=False, soft_wrap=True)
