import gc
import os
import tempfile

os.environ.setdefault("JAX_PLATFORMS", "cpu")
# Most of the tests' time goes into compiling: let XLA try less hard, here and in subprocesses.
os.environ.setdefault(
    "XLA_FLAGS",
    "--xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false "
    "--xla_llvm_disable_expensive_passes=true --xla_cpu_parallel_codegen_split_count=1",
)
# Many tests build the same programs: each is compiled once, for all workers and subprocesses of
# this run, and forgotten when it ends (unless FFML_JAX_CACHE says where to keep them).
if "FFML_JAX_CACHE" not in os.environ:
    _compiled = tempfile.TemporaryDirectory(prefix="ffml-tests-", ignore_cleanup_errors=True)
    os.environ["FFML_JAX_CACHE"] = _compiled.name
os.environ["JAX_COMPILATION_CACHE_DIR"] = os.environ["FFML_JAX_CACHE"]
os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
os.environ["JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES"] = "-1"

import jax
import numpy as np
import pytest
from inside import call_main
from ledgers import address, store  # noqa: F401
from loaned import client, first, folder  # noqa: F401
from postgres import server  # noqa: F401

jax.config.update("jax_num_cpu_devices", 2)
# Tracing makes many objects that live on: look for garbage among them less often.
gc.set_threshold(50_000, 20, 100)

from ffml.base import Schema, SensitiveColumn, Stream, Task  # noqa: E402


@pytest.fixture
def float64():
    with jax.enable_x64(True):
        yield


@pytest.fixture
def schema():
    return Schema(("a", "b", "c"), (SensitiveColumn("sex", ("M", "F")),))


def random_task(seed, rows, schema, name=None, bias=1.0):
    """Features that know the group, labels that know the features."""
    rng = np.random.default_rng(seed)
    groups = np.stack([rng.integers(len(c.groups), size=rows) for c in schema.sensitive], axis=1)
    x = rng.normal(size=(rows, len(schema.features))).astype(np.float32)
    x[:, 0] += bias * (groups[:, 0] == 1)
    y = (x[:, 0] + 0.5 * x[:, 1] + 0.5 * rng.normal(size=rows) > 0.3).astype(np.int32)
    return Task(name or f"task {seed}", x, y, groups.astype(np.int32))


@pytest.fixture
def make_stream(schema):
    def make(sizes=(60, 1, 200, 7, 500), schema=schema):
        tasks = [random_task(i, n, schema) for i, n in enumerate(sizes)]
        return Stream("toy", schema, lambda: iter(tasks), len(tasks))

    return make


@pytest.fixture
def run_main(tmp_path, monkeypatch, capsys):
    """Call the entry point in this process: as a person would, but without a second of start-up."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        code = call_main(monkeypatch, arguments)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


@pytest.fixture
def refuses(tmp_path, run_main):
    """Give a command that must be refused: one line, code 2, and nothing is left behind."""
    (tmp_path / "file").write_text("not a folder")
    (tmp_path / "corrupt").mkdir()
    (tmp_path / "corrupt" / "bank-additional-full.csv").write_text("damaged")
    before = sorted(tmp_path.rglob("*"))

    def check(message, *arguments):
        code, _, err = run_main(*arguments)
        assert code == 2
        assert err.startswith("error: ") and message in err and err.count("\n") == 1
        assert sorted(tmp_path.rglob("*")) == before

    return check
