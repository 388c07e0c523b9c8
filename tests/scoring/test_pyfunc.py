"""A run's model for MLflow: the folder that it documents, and the decisions of `ffml predict`."""

import json

import pandas as pd
import pytest
from inside import run_inside
from lives import begun, unlabelled

import ffml
from ffml.base import FFMLError
from ffml.scoring.pyfunc import _load_pyfunc, write_pyfunc


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mlflow")
    run = begun(folder / "loans")
    assert "mlflow models serve -m m" in run_inside(folder, "export", "loans", "--mlflow", "m")
    return run, folder / "m"


def test_mlflow_s_file_names_what_it_loads_and_decisions_are_the_run_s(exported):
    run, folder = exported
    flavor = json.loads((folder / "MLmodel").read_text())["flavors"]["python_function"]
    assert flavor["loader_module"] == "ffml.scoring.pyfunc"
    model = _load_pyfunc(str(folder / flavor["data"]))
    said, own = model.predict(unlabelled(9)), run.decide(unlabelled(9), record=False)
    assert said.probability.tolist() == own.probability.tolist()
    assert said.decision.tolist() == own.decision.tolist()
    assert f"ffml=={ffml.__version__}" in (folder / "requirements.txt").read_text()


def test_a_folder_that_is_there_is_left_alone(exported):
    run, folder = exported
    with pytest.raises(FFMLError, match="choose a new folder"):
        write_pyfunc(run.model(), folder)


def test_mlflow_s_own_loader_takes_it(exported):
    pyfunc = pytest.importorskip("mlflow.pyfunc", reason="MLflow is not installed")
    run, folder = exported
    said = pyfunc.load_model(str(folder)).predict(pd.DataFrame(unlabelled(9)))
    own = run.decide(unlabelled(9), record=False)
    assert said.probability.tolist() == own.probability.tolist()
