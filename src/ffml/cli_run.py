"""What ``ffml run`` does and shows while it does it."""

from itertools import islice
from pathlib import Path
from typing import Any

import typer
from rich.console import Console

from ffml.live import Live, show_summary


def run_stream(
    data: str,
    given: dict[str, Any],
    *,
    preset: str,
    out: Path | None,
    overwrite: bool,
    data_home: Path | None,
    quiet: bool,
    as_json: bool,
    command: str,
) -> None:
    """Run a stream into a folder. Nothing is written before everything has been checked."""
    console = Console(stderr=as_json, quiet=quiet)
    console.print(f"[bold]ffml[/bold] · starting JAX and loading [bold]{data}[/bold] …")
    from ffml.experiment import build, configure_run
    from ffml.rundir import RunDirectory, check_writable, to_json
    from ffml.runtime import configure

    config = configure_run(data, given, preset)
    folder = out or Path("runs") / f"{data}-{config.method}-{config.seed}"
    check_writable(folder, overwrite)
    configure()
    experiment = build(config, str(data_home) if data_home else None)
    directory = RunDirectory(folder, experiment, command)
    directory.start()
    status = "complete"
    total = min(filter(None, (config.rounds, experiment.stream.num_tasks)), default=None)
    with Live(console, experiment, total) as live:
        try:
            for task in islice(experiment.stream.tasks(), config.rounds):
                live.working_on(task)
                record = experiment.loop.step(task)
                directory.add(record)
                live.show(record)
        except KeyboardInterrupt:
            status = "interrupted"
    if not directory.rounds:
        console.print("interrupted before the first round was done; nothing to report")
        raise typer.Exit(130)
    report = directory.finish(status)
    if as_json:
        typer.echo(to_json(directory.summary(status)), nl=False)
    show_summary(console, directory.summary(status))
    console.print(f"Report: [bold]{report}[/bold]   (all files: {folder})", soft_wrap=True)
    if status == "interrupted":
        console.print(f"interrupted after {len(directory.rounds)} rounds; their files are complete")
        raise typer.Exit(130)
