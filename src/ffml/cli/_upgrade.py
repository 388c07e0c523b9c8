"""``ffml upgrade``: a run of ffml 0.2 becomes a ledger."""

from pathlib import Path
from typing import Annotated

import typer


def upgrade(
    run: Annotated[Path, typer.Argument(help="Folder of a run of ffml 0.2.", show_default=False)],
) -> None:
    """Turn a run of ffml 0.2 into a ledger, by playing its data again with its settings.

    The old files go to the folder `old-0.2` inside. Decisions are made anew: those that were made
    by then are in the old files.
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
