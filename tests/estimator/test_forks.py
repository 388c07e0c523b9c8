"""Where JAX would hang, in a process forked after it had started, learning is refused."""

import os
import subprocess
import sys

import pytest

pytest.importorskip("sklearn")
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")

SEARCH = """
import warnings
warnings.simplefilter("ignore")
import joblib
import numpy as np
from sklearn.model_selection import GridSearchCV
from ffml.estimator import FairMetaClassifier

rng = np.random.default_rng(0)
X = rng.normal(size=(80, 2))
y = X[:, 0] > 0
settings = {"num_outer_steps": 1, "inner.num_steps": 1}
model = FairMetaClassifier("ffml", max_gap=None, settings=settings)
model.fit(X, y)

def attempt(call):
    try:
        return call(X, y)
    except ValueError as error:
        return str(error)

with joblib.parallel_backend("multiprocessing"):
    in_children = joblib.Parallel(n_jobs=2)
    for same in in_children(joblib.delayed(model.predict)(X) for _ in range(2)):
        assert (same == model.predict(X)).all()
    for call in (model.adapt, model.partial_fit):
        print(*set(in_children(joblib.delayed(attempt)(call) for _ in range(2))), sep="; ")
    # An error that is raised in a child makes joblib end its processes, which at times waits
    # forever by itself: a search that notes errors instead does not.
    search = GridSearchCV(model, {"shots": [5, 10]}, cv=2, n_jobs=2)
    said = [line for line in attempt(search.fit).splitlines() if "forked" in line]
    print(said[0].split(": ")[1])
"""
BUILD = """
import multiprocessing, warnings
warnings.simplefilter("ignore")
import jax
from ffml.base import FFMLError
from ffml.experiment.build import build
from ffml.experiment.config import RunConfig

def attempt():
    try:
        build(RunConfig("synthetic"))
        print("built", flush=True)
    except FFMLError as error:
        print(error, flush=True)

def forked():
    child = multiprocessing.get_context("fork").Process(target=attempt)
    child.start()
    child.join()

forked()
jax.numpy.zeros(1)
forked()
"""
REMEDY = "this process was forked after JAX had started, and would wait forever; use joblib's"


@pytest.mark.parametrize(("code", "lines"), [(SEARCH, [REMEDY] * 3), (BUILD, ["built", REMEDY])])
def test_learning_after_a_fork_is_refused_soon(code, lines):
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=180, check=False
    )
    assert done.returncode == 0, done.stderr
    found = done.stdout.splitlines()
    assert len(found) == len(lines)
    assert all(line.startswith(start) for line, start in zip(found, lines, strict=True))
