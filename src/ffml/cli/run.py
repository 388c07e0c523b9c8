"""What ``ffml run`` does and shows while it does it."""

import os
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console

from ffml.base import FFMLError
from ffml.cli.live import Live
from ffml.cli.noticed import noticed, show_noticed
from ffml.cli.summary_table import show_summary
from ffml.cli.together import follow, is_distributed, joined, own_folder

if TYPE_CHECKING:
    from ffml.recipe.sources import Found
    from ffml.runs.directory import RunDirectory


_IN_PLACE_OF = {"max_gap": "min_ratio", "min_ratio": "max_gap"}  # one is asked for, not both


def run_stream(
    found: "Found",
    written: Mapping[str, Any],
    given: Mapping[str, Any],
    *,
    wrappers: Sequence[str],
    preset: str | None,
    out: Path | None,
    overwrite: bool,
    quiet: bool,
    as_json: bool,
    command: str,
) -> None:
    """Run a stream into a folder. Nothing is written before everything has been checked.

    Args:
        found: the data.
        written: settings of a file; ``given`` wins over them.
        given: settings of the command line.
        wrappers: to be added to those of the file or the preset.
        preset: where all other settings come from.
        out: the folder.
        overwrite: whether a run there is replaced.
        quiet: whether nothing is printed.
        as_json: whether the summary is printed as JSON.
        command: as typed, for config.json.
    """
    distributed = is_distributed()
    first = joined() if distributed else True
    console = Console(stderr=as_json, quiet=quiet or not first)
    console.print(f"[bold]ffml[/bold] · starting JAX and loading [bold]{found.data}[/bold] …")
    from ffml.recipe.build import build
    from ffml.recipe.config import configure_run
    from ffml.recipe.sources import table_preprocessing
    from ffml.runs.directory import RunDirectory
    from ffml.runs.ownership import check_out
    from ffml.runtime import configure

    settings = merged_settings(written, given, wrappers, preset, found.data)
    config = configure_run(found.data, settings | {"data_options": found.options}, preset)
    folder = out or Path("runs") / f"{Path(found.data).stem}-{config.recipe.method}-{config.seed}"
    if first:
        check_out(folder, overwrite)
    if not distributed:
        configure()
    experiment = build(config, sql_url=found.sql_url, source=found.source)
    if not first:
        follow(experiment.loop, experiment.state, islice(experiment.stream.tasks(), config.rounds))
        return
    directory = RunDirectory(folder, experiment, command, table_preprocessing(experiment.stream))
    directory.config |= noticed(found, experiment.stream)
    show_noticed(console, directory.config)
    directory.start()
    play(console, directory, as_json)


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
    gone |= {other for one, other in _IN_PLACE_OF.items() if one in given and other not in given}
    kept = {name: v for name, v in written.items() if not {name, name.partition(".")[0]} & gone}
    return kept | dict(given) | ({"wrappers": now} if now or before else {})


def resume_stream(folder: Path, *, data: str | None, quiet: bool, as_json: bool) -> None:
    """Go on with the run in a folder, from its last good round."""
    distributed = is_distributed()
    first = joined() if distributed else True
    console = Console(stderr=as_json, quiet=quiet or not first)
    console.print(f"[bold]ffml[/bold] · starting JAX and resuming [bold]{folder}[/bold] …")
    from ffml.recipe.sources import SQL, SQL_URL, is_url, table_preprocessing
    from ffml.runs.config import rebuilt_experiment, saved_config, saved_preprocessing
    from ffml.runs.directory import RunDirectory
    from ffml.runtime import configure

    saved = saved_config(folder)
    if saved["data"].get("updates"):
        raise FFMLError(f"{folder} has been updated; go on with: ffml update {folder} TABLE")
    learned = saved["run"]["data"]
    is_query = learned == SQL
    if data not in (None, learned) and not (is_query and is_url(str(data))):
        raise FFMLError(f"{folder} is a run on '{learned}', not on '{data}'; leave out '{data}'")
    sql_url = (data if data != SQL else None) or os.environ.get(SQL_URL) if is_query else None
    if not distributed:
        configure(saved.get("devices"))  # a sum over another number of devices rounds otherwise
    experiment = rebuilt_experiment(
        saved, sql_url=sql_url, preprocessing=saved_preprocessing(folder)
    )
    preprocessing = table_preprocessing(experiment.stream)  # unless a round has left its own
    with own_folder(folder, first) if distributed else nullcontext(folder) as own:
        directory = RunDirectory(own, experiment, preprocessing=preprocessing)
        notes = directory.resume()
        if not first:
            follow(experiment.loop, directory.state, directory.tasks())
            return
    for note in notes:
        console.print(f"note: {note}", highlight=False, markup=False, soft_wrap=True)
    if directory.is_finished():
        show(console, directory, "complete", as_json)
        console.print(f"{folder} is already complete: {len(directory.rounds)} rounds")
        return
    play(console, directory, as_json)


def play(
    console: Console, directory: "RunDirectory", as_json: bool, go_on: str = "ffml run --resume"
) -> None:
    """Play the rounds that are left, then write what a person reads.

    Args:
        console: where rounds are shown.
        directory: of the run, started or resumed.
        as_json: whether the summary is printed as JSON.
        go_on: the command that goes on after an interruption.
    """
    from ffml.report import write_pages
    from ffml.runtime import refuse_differences

    status = "complete"
    before, was_whole = len(directory.rounds), directory.is_whole()
    with Live(console, directory.experiment, directory.planned) as live:
        live.progress.update(live.bar, completed=len(directory.rounds))
        try:
            for task in directory.tasks():
                live.working_on(task)
                record = directory.play(task)
                refuse_differences(directory.state.learner)
                directory.add(record)
                live.show(record)
        except KeyboardInterrupt:
            status = "interrupted"
        except FFMLError:
            if not directory.rounds:
                directory.discard()
            elif len(directory.rounds) > before or not was_whole:
                directory.finish("interrupted", write_pages)  # what was done can be gone on with
            raise
    if not directory.rounds:
        console.print("interrupted before the first round was done; nothing to report")
        raise typer.Exit(130)
    report = directory.finish(status, write_pages)
    show(console, directory, status, as_json)
    console.print(
        f"Report: [bold]{report}[/bold]   (all files: {directory.folder})", soft_wrap=True
    )
    if status == "interrupted":
        console.print(
            f"interrupted after {len(directory.rounds)} rounds; their files are complete. Go on "
            f"with: {go_on} {directory.folder}",
            soft_wrap=True,
        )
        raise typer.Exit(130)


def show(console: Console, directory: "RunDirectory", status: str, as_json: bool) -> None:
    """Print the summary of a run."""
    from ffml.runs.files import to_json
    from ffml.runs.lateness import label_notes

    summary = directory.summary(status)
    if as_json:
        typer.echo(to_json(summary), nl=False)
    show_summary(console, summary)
    for note in label_notes(summary):
        console.print(f"note: {note}", highlight=False, markup=False, soft_wrap=True)
