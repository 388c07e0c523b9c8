"""What ``ffml run`` does and shows while it does it."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console

from ffml.base import FFMLError
from ffml.cli.live import Live, show_summary

if TYPE_CHECKING:
    from ffml.runs.directory import RunDirectory


def run_stream(
    data: str,
    given: dict[str, Any],
    *,
    preset: str,
    out: Path | None,
    overwrite: bool,
    data_home: Path | None,
    sql_url: str | None,
    quiet: bool,
    as_json: bool,
    command: str,
) -> None:
    """Run a stream into a folder. Nothing is written before everything has been checked."""
    console = Console(stderr=as_json, quiet=quiet)
    console.print(f"[bold]ffml[/bold] · starting JAX and loading [bold]{data}[/bold] …")
    from ffml.experiment import build, configure_run
    from ffml.runs.directory import RunDirectory, check_writable
    from ffml.runtime import configure
    from ffml.sources import table_preprocessing

    config = configure_run(data, given, preset)
    folder = out or Path("runs") / f"{Path(data).stem}-{config.method}-{config.seed}"
    check_writable(folder, overwrite)
    configure()
    experiment = build(config, str(data_home) if data_home else None, sql_url)
    directory = RunDirectory(folder, experiment, command, table_preprocessing(experiment.stream))
    directory.start()
    _play(console, directory, as_json)


def resume_stream(
    folder: Path,
    *,
    data: str | None,
    data_home: Path | None,
    sql_url: str | None,
    quiet: bool,
    as_json: bool,
) -> None:
    """Go on with the run in a folder, from its last good round."""
    console = Console(stderr=as_json, quiet=quiet)
    console.print(f"[bold]ffml[/bold] · starting JAX and resuming [bold]{folder}[/bold] …")
    from ffml.runs.config import rebuilt_experiment, saved_config
    from ffml.runs.directory import RunDirectory
    from ffml.runtime import configure

    saved = saved_config(folder)
    learned = saved["run"]["data"]
    if data not in (None, learned):
        raise FFMLError(f"{folder} is a run on '{learned}', not on '{data}'; leave out '{data}'")
    configure(saved.get("devices"))  # a sum over another number of devices rounds otherwise
    experiment = rebuilt_experiment(saved, str(data_home) if data_home else None, sql_url)
    directory = RunDirectory(folder, experiment)
    for note in directory.resume():
        console.print(f"note: {note}", highlight=False, markup=False, soft_wrap=True)
    if directory.is_finished():
        _show(console, directory, "complete", as_json)
        console.print(f"{folder} is already complete: {len(directory.rounds)} rounds")
        return
    _play(console, directory, as_json)


def _play(console: Console, directory: "RunDirectory", as_json: bool) -> None:
    """Play the rounds that are left, then write what a person reads."""
    from ffml.experiment import num_rounds

    experiment, status = directory.experiment, "complete"
    with Live(console, experiment, num_rounds(experiment.config, experiment.stream)) as live:
        live.progress.update(live.bar, completed=len(directory.rounds))
        try:
            for task in directory.tasks():
                live.working_on(task)
                record = experiment.loop.step(task)
                directory.add(record)
                live.show(record)
        except KeyboardInterrupt:
            status = "interrupted"
        except FFMLError:
            if directory.rounds:  # what was done stays, and can be gone on with
                directory.finish("interrupted")
            else:
                directory.discard()
            raise
    if not directory.rounds:
        console.print("interrupted before the first round was done; nothing to report")
        raise typer.Exit(130)
    report = directory.finish(status)
    _show(console, directory, status, as_json)
    console.print(
        f"Report: [bold]{report}[/bold]   (all files: {directory.folder})", soft_wrap=True
    )
    if status == "interrupted":
        console.print(
            f"interrupted after {len(directory.rounds)} rounds; their files are complete. Go on "
            f"with: ffml run --resume {directory.folder}",
            soft_wrap=True,
        )
        raise typer.Exit(130)


def _show(console: Console, directory: "RunDirectory", status: str, as_json: bool) -> None:
    from ffml.runs.files import to_json

    summary = directory.summary(status)
    if as_json:
        typer.echo(to_json(summary), nl=False)
    show_summary(console, summary)
