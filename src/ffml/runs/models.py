"""The model of a run, wherever it is: a file, a folder or a database."""

from collections.abc import Callable
from pathlib import Path

from ffml.base import FFMLError
from ffml.runs._run import open_run
from ffml.scoring.model import MODEL, SavedModel, load_model


def model_at(address: str | Path, set_up: Callable[[], None] | None = None) -> SavedModel:
    """Read a model: its file as it is, or a run's as the ledger knows it now.

    Of a run it is the version that decides. The file beside the ledger is read if it is of that
    version, which needs no JAX; otherwise ``set_up`` is called first.
    """
    path = Path(str(address))
    if "://" not in str(address) and not path.is_dir():
        return load_model(path)
    run = open_run(address, write=False)
    try:
        decides = run.store.deciding
        if not decides:
            raise FFMLError(f"{run.store.name} has learned nothing yet; let it do a round first")
        if run.folder is not None and (saved := _file(run.folder)) and saved.version == decides:
            return saved
        if set_up is not None:
            set_up()
        return run.session().at(decides).model()
    finally:
        run.close()


def _file(folder: Path) -> SavedModel | None:
    try:
        return load_model(folder / MODEL)
    except FFMLError:
        return None
