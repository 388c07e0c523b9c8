"""``ffml export``: a run's model for others' servers."""

from pathlib import Path
from typing import Annotated

import typer

from ffml.base import FFMLError


def export(
    run: Annotated[str, typer.Argument(help="A run: its folder or address.", show_default=False)],
    mlflow: Annotated[
        Path | None,
        typer.Option(help="A new folder: a model for MLflow's servers.", show_default=False),
    ] = None,
) -> None:
    """Write the version that decides as a model of MLflow (pyfunc).

    What MLflow's server decides is not in the ledger: rates and alarms do not know of it.
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
