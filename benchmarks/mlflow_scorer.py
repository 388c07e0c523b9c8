"""A run's model behind MLflow's own server: the same decisions, and what each way costs.

    python benchmarks/mlflow_scorer.py --singles 1000 --batches 20

Writes the model by `ffml export --mlflow`, serves it by the real `mlflow models serve` of a virtual
environment that is made for it, and compares its answers with those of `ffml predict` about the
same people. Then the same load for three: MLflow's server, a bare function of Starlette, and the
service with its ledger.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

import numpy as np
import pandas as pd
from http_load import load, request, served, shown
from service import NAME, people

from ffml.service.demo import begin

ROOT = Path(__file__).parents[1]
BARE = Path(__file__).with_name("service.py")


def made_environment(folder):
    """Return a Python that has MLflow and this checkout of ffml."""
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
        words = ("-m", "pip", "install", "--quiet", "mlflow", f"{ROOT}[serve]")
        subprocess.run([python, *words], check=True)
    return python


def ffml(*words):
    """Call a command of ffml."""
    subprocess.run([sys.executable, "-m", "ffml", *map(str, words)], check=True, text=True)


def to_mlflow(rows):
    """Return a request as MLflow's server takes it."""
    return request("/invocations", {"dataframe_records": rows})


def to_service(rows):
    """Return a request as the service takes it."""
    return request(f"/runs/{NAME}/decide", {"people": rows, "task": "t"})


def compare(at, rows, place):
    """Compare what MLflow's server says with what `ffml predict` writes."""
    table, out = place / "people.csv", place / "decided.csv"
    pd.DataFrame(rows).to_csv(table, index=False)
    ffml("predict", place / NAME, table, "--out", out)
    bodies = []
    load(at, [to_mlflow(rows)], 1, bodies.append)
    said, own = pd.DataFrame(json.loads(bodies[0])["predictions"]), pd.read_csv(out)
    same = said.decision.to_numpy() == own.decision.to_numpy()
    chances = [np.float32(one.probability.to_numpy()) for one in (said, own)]
    alike = chances[0] == chances[1]
    print(f"{len(rows):,} people: {same.sum():,} decisions and {alike.sum():,} probabilities equal")
    assert len(said) == len(own) == len(rows) and same.all() and alike.all()


def measure(at, options, kind, ask):
    """Print latencies of singles and of batches."""
    load(at, [ask([one]) for one in people(101, 20)], 2)
    for clients in (8, 64):
        sent = [ask([one]) for one in people(102 + clients, options.singles)]
        shown(f"{kind}, one person, {clients} clients", *load(at, sent, clients))
    made = people(201, options.batches * options.rows)
    sent = [ask(made[at : at + options.rows]) for at in range(0, len(made), options.rows)]
    shown(f"{kind}, batches of {options.rows:,}", *load(at, sent, 2), options.rows)


def behind_mlflow(folder, python, options):
    """Export a run's model, compare MLflow's answers with ours, and measure them."""
    model = folder.with_name("model")
    ffml("export", folder, "--mlflow", model)
    words = ("-m", "mlflow", "models", "serve", "-m", str(model), "--env-manager", "local")
    with served(*words, python=str(python)) as at:
        compare(at, people(100, options.rows), folder.parent)
        measure(at, options, "MLflow's server", to_mlflow)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--env", type=Path, help="the environment's folder, which stays")
    parser.add_argument("--python", type=Path, help="a Python that has MLflow and ffml already")
    parser.add_argument("--singles", type=int, default=1000)
    parser.add_argument("--batches", type=int, default=20)
    parser.add_argument("--rows", type=int, default=1000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ffml-mlflow-") as name:
        place = Path(name)
        python = options.python or made_environment(options.env or place / "env")
        begin(place / NAME)
        print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} before it began", flush=True)
        behind_mlflow(place / NAME, python, options)
        with served(str(BARE), "--bare", str(place / NAME)) as at:
            measure(at, options, "bare function", to_service)
        with served("-m", "ffml", "serve", str(place / NAME), "--promote", "newest") as at:
            measure(at, options, "service with ledger", to_service)


if __name__ == "__main__":
    main()
