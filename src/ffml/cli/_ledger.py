"""Commands on a run's ledger: ``decide``, ``report``, ``verify``, ``replay`` and others."""

import json
from collections import deque
from pathlib import Path

import typer

from ffml.base import FFMLError


def decide(
    run: str,
    people: str,
    task: str | None = None,
    query: str | None = None,
    support: str | None = None,
    out: Path | None = None,
    to: str | None = None,
    table: str = "decisions",
    json_output: bool = False,
) -> None:
    """Decide about people as they come, and keep every decision.

    Whoever was decided about in the same task before gets the same decision again.

    Arguments:
        people TABLE: People: a table or a database.

    Options:
        --task NAME: What period or population they are of. (default: by the run's column)
        --query SQL: SQL query for people.

    Output:
        --out FILE: Also write them: .csv or .parquet.
    """
    from ffml.audit.record import favourable_of
    from ffml.metrics.phrases import decided, hundred
    from ffml.report.numbers import counted
    from ffml.runs import open_run
    from ffml.runtime import configure
    from ffml.scoring.table import frame_batches, write_decisions, write_to_database

    configure(devices=1)
    opened = open_run(run)
    favourable = favourable_of(opened.config)  # a run over HTTP has none: nothing is decided then
    frame = opened.decide(people, task=task, query=query, support=support)
    if out is not None:
        write_decisions(frame_batches(frame), out)
    if to is not None:
        deque(write_to_database(frame_batches(frame), to, table), maxlen=0)
    tasks = ", ".join(dict.fromkeys(frame["task"]))
    one = " (decision 1)" if " = " in favourable else ""  # the table may call it 0
    whom = f"{decided(favourable)}{one}"
    share = hundred(frame["decision"].mean())
    said = f"{counted(len(frame), 'decision')} ({tasks}), {share} {whom}"
    if json_output:
        typer.echo(frame.to_json(orient="records"))
    else:
        typer.echo(f"{said}; ledger: {opened.store.name}")


def report(run: str, out: Path | None = None, beside: list[str] | None = None) -> None:
    """Write the report of a run.

    Its other files are written too if they are missing or stale.

    Options:
        --out FILE: Where to write the page. (default: the run's folder)
        --beside RUN: Another run about the same people, to be shown beside this one.
    """
    from ffml.runs import open_run

    others = [open_run(one, write=False) for one in beside or ()]
    typer.echo(f"Report: {open_run(run).report(out, beside=others)}")


def verify(run: str, head: str | None = None, json_output: bool = False) -> None:
    """Find out whether somebody changed a ledger; exit 1 if so.

    Whatever was changed, removed or added by others is listed.

    Options:
        --head HASH: Hash of the newest event that was noted elsewhere: is it still there?
    """
    from ffml.runs import open_run

    check = open_run(run, write=False).verify(head)
    if json_output:
        rows = [one._asdict() for one in check.findings]
        typer.echo(json.dumps({**check._asdict(), "findings": rows}, indent=2))
    else:
        for one in check.findings:
            typer.echo(f"{one.table}, {one.where}: {one.what}")
        word = "sound" if check.sound else f"{len(check.findings)} findings"
        forgotten = f", {check.forgotten:,} people forgotten" if check.forgotten else ""
        typer.echo(
            f"{word}: {check.events:,} events, {check.decisions:,} people, {check.labels:,} "
            f"labels that came later{forgotten}; head {check.head}"
        )
    raise typer.Exit(0 if check.sound else 1)


def replay(run: str, data: str | None = None) -> None:
    """Learn everything again from the ledger; exit 1 if it ends otherwise.

    It is the same if every byte is.

    Arguments:
        data: All tables of the run in one, if the ledger keeps no features and its own table does
            not hold them.
    """
    from ffml.runs import open_run
    from ffml.runtime import configure

    opened = open_run(run, write=False)
    configure(opened.config.get("devices"))
    same = opened.replay(data)
    typer.echo(f"{opened.store.name}: {'the same bytes' if same else 'other bytes'} after a replay")
    raise typer.Exit(0 if same else 1)


def forget(run: str, id: str, task: list[str] | None = None) -> None:
    """Take a person's id and features out of a ledger.

    Counts and the chain of events stay, and what was learned stays learned. Rows that the learner
    remembers, or met lately, have no id; they stay until newer ones take their place.

    Options:
        --task NAME: Only in this task; give it again for several.
    """
    from ffml.report.numbers import counted
    from ffml.runs import open_run
    from ffml.runtime import configure

    configure(devices=1)
    number = open_run(run).forget(id, task or None)
    typer.echo(f"forgotten: {counted(number, 'decision')} about one person, without id or features")


def promote(run: str, number: int | None = None, back: bool = False) -> None:
    """Say which version of the learner decides.

    A version that was promoted decides whatever is learned meanwhile. All that can are listed.

    Arguments:
        number VERSION: The version. (default: always the newest)

    Options:
        --back: The one before that decides now.
    """
    from ffml.runs import open_run
    from ffml.runtime import configure

    if back and number is not None:
        raise FFMLError("--back and a version's number say two things; leave one of them out")
    opened = open_run(run)
    configure(opened.config.get("devices"))
    if back:
        opened.roll_back()
    else:
        opened.promote(number)
    opened.write_views()  # the model file is that of the version that decides
    for row in opened.versions:
        if row.kept:
            word = "  decides" if row.deciding else ""
            typer.echo(f"version {row.number}, {row.at[:19]}, {row.task or 'labels'}{word}")
    opened.close()


def upgrade(run: Path) -> None:
    """Turn a run of ffml 0.2 into a ledger.

    Its data are played again with its settings. The old files go to the folder `old-0.2` inside.
    Decisions are made anew: those that were made by then are in the old files.

    Arguments:
        run DIR: Folder of a run of ffml 0.2.
    """
    from ffml.runs.upgrading import OLD, later_tasks, upgrade_run
    from ffml.runtime import configure

    configure()
    opened = upgrade_run(run)
    opened.write_views()
    typer.echo(
        f"{run} has a ledger now ({len(opened.store.rounds())} tasks); the old files are in "
        f"{run / OLD}"
    )
    if later := later_tasks(run, opened):
        typer.echo(
            f"{len(later)} tasks came with later tables ({', '.join(later[:3])}…); give these "
            "tables again with `ffml update`"
        )


def export(run: str, mlflow: Path | None = None) -> None:
    """Write the version that decides as a model for MLflow.

    What MLflow's server decides is not in the ledger: rates and alarms do not know of it.

    Options:
        --mlflow DIR: A new folder: a model for MLflow's servers.
    """
    from ffml.runs import open_run
    from ffml.runtime import configure
    from ffml.scoring.pyfunc import write_pyfunc

    if mlflow is None:
        raise FFMLError("say where to write it: --mlflow FOLDER")
    configure(devices=1)
    opened = open_run(run, write=False)
    model = opened.model()
    folder = write_pyfunc(model, mlflow)
    typer.echo(
        f"version {model.version} of {opened.store.name}: {folder} "
        f"(mlflow models serve -m {folder} --env-manager local)"
    )
