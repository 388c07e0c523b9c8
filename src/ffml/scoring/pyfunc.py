"""A model as MLflow's ``python_function``: written without MLflow, loaded and served by it."""

import json
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ffml.base import FFMLError
from ffml.scoring._scorer import Scorer, prepare, score
from ffml.scoring.model import MODEL, SavedModel, model_bytes
from ffml.store.durable import write_atomically

if TYPE_CHECKING:
    import pandas as pd

FILE, REQUIREMENTS = "MLmodel", "requirements.txt"


class Decides:
    """What MLflow calls: rows as a frame, and a decision for each."""

    def __init__(self, scorer: Scorer) -> None:
        self._scorer = scorer

    def predict(self, model_input: "pd.DataFrame", params: Any = None) -> "pd.DataFrame":
        """Decide about people by the standing rule, as `ffml predict` does."""
        import pyarrow as pa

        table = pa.Table.from_pandas(model_input, preserve_index=False)
        (decided,) = score(self._scorer, [table])
        return decided.to_pandas()


def _load_pyfunc(path: str) -> Decides:
    """Load what `write_pyfunc` wrote; MLflow looks for this name."""
    return Decides(prepare(Path(path)))


def write_pyfunc(model: SavedModel, folder: Path) -> Path:
    """Write a folder that ``mlflow models serve`` takes.

    ``MLmodel`` is YAML, of which JSON is a part. It is written last: with it, all is there.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise FFMLError(f"{folder} is there already; choose a new folder")
    own = f"ffml=={version('ffml')}"
    flavor = {"loader_module": __name__, "data": MODEL, "env": {"virtualenv": "python_env.yaml"}}
    environment = {"build_dependencies": ["pip"], "dependencies": [f"-r {REQUIREMENTS}"]}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_atomically(folder / MODEL, model_bytes(model))
        write_atomically(folder / REQUIREMENTS, f"mlflow\n{own}\n")
        write_atomically(folder / "python_env.yaml", json.dumps(environment, indent=2))
        document = {"flavors": {"python_function": flavor}, "metadata": {"ffml": _said(model)}}
        write_atomically(folder / FILE, json.dumps(document, indent=2) + "\n")
    except OSError as error:
        raise FFMLError(f"cannot write to {folder} ({error.strerror}); choose another") from error
    return folder


def _said(model: SavedModel) -> dict[str, Any]:
    return {"version": model.version, "round": model.round}
