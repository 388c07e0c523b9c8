"""A run over HTTP under load: one by one, in batches, beside learning, and without a ledger.

    python benchmarks/service.py

Server and clients share the machine and talk over loopback. The bare service is the same model in a
function of Starlette that keeps nothing: what the ledger costs is the difference. All of it takes
some three minutes on a quiet machine, and ends with what was asked for beside what was measured.
"""

import argparse
import os
import tempfile
import threading
import time
from pathlib import Path

import pandas as pd
from http_load import load, request, served, shown

import ffml
from ffml.service.demo import begin, month_table

NAME = "lender"
COLUMNS = ("applicant", "sex", "income", "years_employed", "debt")


def people(number, rows):
    """Return people who have not come before, as JSON has them."""
    return month_table(number, people=rows)[[*COLUMNS]].to_dict("records")


def singles(number, count):
    """Return requests about one person each."""
    path = f"/runs/{NAME}/decide"
    return [request(path, {"person": one, "task": f"t{number}"}) for one in people(number, count)]


def batches(number, count, rows, tensors):
    """Return requests about many people each, as objects or as tensors."""
    made = people(number, count * rows)
    parts = [made[at : at + rows] for at in range(0, len(made), rows)]
    if not tensors:
        path = f"/runs/{NAME}/decide"
        return [request(path, {"people": part, "task": f"t{number}"}) for part in parts]
    return [request(f"/v2/models/{NAME}/infer", _tensors(part)) for part in parts]


def _tensors(part):
    kinds = {"applicant": "BYTES", "sex": "BYTES"}
    return {
        "inputs": [
            {"name": name, "shape": [len(part)], "datatype": kinds.get(name, "FP64")}
            | {"data": [one[name] for one in part]}
            for name in COLUMNS
        ]
    }


def in_process(folder, count):
    """Decide about one after another by `Run.decide`."""
    run, seconds, first = ffml.open(folder), [], 5
    for at, one in enumerate(people(101, count + first)):
        if at == first:
            used = time.process_time()
        frame = pd.DataFrame([one])
        began = time.perf_counter()
        run.decide(frame, task="in process")
        seconds.append(time.perf_counter() - began)
    used = time.process_time() - used
    run.close()
    return shown("Run.decide, one person, in process", seconds[first:], sum(seconds[first:]), used)


def over_http(at, options, kind, many):
    """Measure singles by 8 clients and, many, by 64, and batches; return what was measured."""
    load(at, singles(102, 20), 2)
    said = {}
    for clients, number in ((8, options.singles), (64, many)):
        sent = singles(102 + clients, number)
        name = f"{kind}, one person, {clients} clients"
        said[clients] = shown(name, *load(at, sent, clients))
    for tensors in (False, True):
        sent = batches(201 + tensors, options.batches, options.rows, tensors)
        name = "tensors" if tensors else "objects"
        took = load(at, sent, 2)
        said[name] = shown(f"{kind}, batches of {options.rows:,} as {name}", *took, options.rows)
    return said


def beside_learning(at, options):
    """Measure singles without learning and while labels are learned from, again and again."""
    late = []
    for learning in (False, True):
        stop, learned = threading.Event(), []

        def teach(stop=stop, learned=learned):
            run, number = ffml.open(f"{at}/runs/{NAME}"), 300
            while not stop.is_set():
                number += 1
                table = month_table(number, people=options.taught)
                run.decide(table[[*COLUMNS]], task=f"taught {number}")
                came = table[["applicant", "approved"]].assign(month=f"taught {number}")
                learned.extend(run.label(came).learned)

        teacher = threading.Thread(target=teach)
        if learning:
            teacher.start()
            while not learned:  # the learning process has to start first
                time.sleep(0.1)
        sent = singles(501 + learning, options.singles)
        words = "beside learning" if learning else "without it"
        before = len(learned)
        late.append(shown(f"ledger, one person, 4 clients, {words}", *load(at, sent, 4))[1])
        if learning:
            print(f"    {len(learned) - before} tasks learned meanwhile")
            stop.set()
            teacher.join()
    return late[1] - late[0]


def compare(alone, said, delay):
    """Print what was asked for beside what was measured."""
    rows = [
        ("one person in process, p50", "ms", alone[0], 3, False),
        ("one person over HTTP, 8 clients, p50", "ms", said[8][0], 10, False),
        ("decisions a second by single requests, 64 clients", "", said[64][2], 1000, True),
        (
            "rows a second in batches",
            "",
            max(said[k][2] for k in ("objects", "tensors")),
            150e3,
            True,
        ),
        ("p99 of one person later beside learning", "ms", delay, 50, False),
    ]
    for name, unit, value, asked, least in rows:
        met = value >= asked if least else value <= asked
        words = f"{'at least' if least else 'at most'} {asked:,.0f} {unit}".strip()
        print(f"{name}: {value:,.1f} {unit}".strip() + f" ({words}: {'met' if met else 'not met'})")


def bare(folder, port):
    """Serve the same model by a function that keeps nothing, in a thread-free loop."""
    import pyarrow as pa
    import uvicorn
    from starlette.applications import Starlette
    from starlette.responses import JSONResponse
    from starlette.routing import Route

    from ffml.scoring import score

    scorer = ffml.open(folder, write=False).scorer()

    async def decide(request):
        body = await request.json()
        if "inputs" in body:
            columns = {one["name"]: one["data"] for one in body["inputs"]}
        else:
            rows = body.get("people") or [body["person"]]
            columns = {name: [row[name] for row in rows] for name in COLUMNS}
        (said,) = score(scorer, [pa.table(columns)])
        return JSONResponse(said.to_pydict())

    paths = (f"/runs/{NAME}/decide", f"/v2/models/{NAME}/infer")
    routes = [Route(path, decide, methods=["POST"]) for path in paths]
    uvicorn.run(Starlette(routes=routes), port=port, log_level="warning", access_log=False)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--singles", type=int, default=4000)
    parser.add_argument("--many", type=int, default=100_000, help="singles by 64 clients")
    parser.add_argument("--batches", type=int, default=40)
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--taught", type=int, default=300, help="people of a task learned from")
    parser.add_argument("--postgres", help="also measure on this database")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--mlflow", help="a Python that has MLflow and ffml: its server too")
    parser.add_argument("--bare", help=argparse.SUPPRESS)
    parser.add_argument("--port", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.bare:
        return bare(options.bare, options.port)
    load_now = os.getloadavg()[0]
    print(f"{os.cpu_count()} cores, load {load_now:.1f} before it began")
    with tempfile.TemporaryDirectory(prefix="ffml-service-") as place:
        folder = Path(place) / NAME
        begin(folder)
        alone = in_process(folder, min(options.singles, 500))
        with served(__file__, "--bare", str(folder)) as at:
            over_http(at, options, "no ledger", options.singles)
        if options.mlflow:
            from mlflow_scorer import behind_mlflow  # which imports this file

            behind_mlflow(folder, options.mlflow, options)
        with served("-m", "ffml", "serve", str(folder), "--promote", "newest") as at:
            said = over_http(at, options, "ledger", options.many)
            delay = beside_learning(at, options)
        compare(alone, said, delay)
        run = ffml.open(folder, write=False)
        print(f"{len(run.decisions):,} decisions in the ledger; sound: {run.verify().sound}")
        run.close()
    if options.postgres:
        on_postgres(options)
    return None


def on_postgres(options):
    """Measure several workers on one database."""
    at = f"{options.postgres}?run={NAME}"
    past = pd.concat([month_table(number) for number in range(1, 5)])
    roles = {"label": "approved", "positive": "yes", "sensitive": "sex", "task": "month"}
    ffml.run(past, out=at, id="applicant", max_gap=0.05, **roles).close()
    words = ("--workers", str(options.workers), "--promote", "newest")
    with served("-m", "ffml", "serve", at, *words) as address:
        over_http(address, options, f"PostgreSQL, {options.workers} workers", options.singles)
    run = ffml.open(at, write=False)
    print(f"{len(run.decisions):,} decisions in PostgreSQL; sound: {run.verify().sound}")
    run.close()


if __name__ == "__main__":
    main()
