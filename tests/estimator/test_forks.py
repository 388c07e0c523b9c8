"""Where JAX would hang, in a process forked after it had started, learning is refused.

Should something hang all the same, the test says where, and ends all processes that it began.
"""

import contextlib
import os
import signal
import subprocess
import sys

import pytest

pytest.importorskip("sklearn")
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")

LIMIT = 600  # seconds; a quiet machine needs five
ENDING = f"""
import faulthandler, warnings
faulthandler.dump_traceback_later({LIMIT}, exit=True)
warnings.simplefilter("ignore")
"""
JOBLIB = """
import multiprocessing, os
import joblib
import numpy as np
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

children = joblib.Parallel(n_jobs=2, backend="multiprocessing").__enter__()
for same in children(joblib.delayed(model.predict)(X) for _ in range(2)):
    assert (same == model.predict(X)).all()
for call in (model.fit, model.adapt, model.partial_fit):
    print(*set(children(joblib.delayed(attempt)(call) for _ in range(2))), sep="; ", flush=True)
# joblib's own end of its processes waits forever at times: they are ended here.
for child in multiprocessing.active_children():
    child.kill()
os._exit(0)
"""
BUILD = """
import multiprocessing
import jax
from ffml.base import FFMLError
from ffml.recipe.build import build
from ffml.recipe.config import RunConfig

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


@pytest.mark.parametrize(("code", "lines"), [(JOBLIB, [REMEDY] * 3), (BUILD, ["built", REMEDY])])
def test_learning_after_a_fork_is_refused_soon(code, lines):
    child = subprocess.Popen(
        [sys.executable, "-c", ENDING + code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        out, err = child.communicate(timeout=LIMIT + 60)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)  # with all that it forked
    assert child.returncode == 0, err
    found = out.splitlines()
    assert len(found) == len(lines), out + err
    assert all(line.startswith(start) for line, start in zip(found, lines, strict=True))
