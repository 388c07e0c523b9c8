"""kill -9 of a service under load, again and again: what was acknowledged is there, once.

    python benchmarks/service_kills.py --kills 50
    python benchmarks/service_kills.py --kills 50 --postgres --restarts 10

Clients ask for decisions under keys and bring labels, and ask again whatever was not answered. With
PostgreSQL the server is one of our own, which is stopped at once and started again in between.
"""

import argparse
import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pandas as pd
from http_load import Client, free_port, request, start

import ffml
from ffml.service.demo import ROLES, month_table

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "helpers"))
from postgres import as_somebody, server_programs

NAME = "lender"
ASKED = 40  # people of a task, and labels of one request


class Asker:
    """Clients that go on until they are stopped; remembers what was acknowledged."""

    def __init__(self, at, clients):
        self.at, self.clients = at, clients
        self.decided, self.due, self.labelled, self.again = {}, [], {}, 0
        self.stop = False

    async def decide(self, number):
        """Ask about one person after another."""
        table = month_table(1000 + number, people=20_000)
        rows = table.drop(columns=["month", "approved"]).to_dict("records")
        client = Client(self.at)
        for place, (row, label) in enumerate(zip(rows, table.approved, strict=True)):
            body = {"person": row, "task": f"client {number}, {place // ASKED}"}
            path = f"/runs/{NAME}/decide"
            reply = await self.until(client, request(path, body, f"{number}-{place}"))
            if reply is None:
                return
            self.decided[row["applicant"]] = reply["decision_id"], reply["probability"]
            self.due.append({"decision_id": reply["decision_id"], "label": label})

    async def label(self):
        """Bring the labels of those who were decided about, a task's worth at a time."""
        client = Client(self.at)
        while not self.stop:
            some = self.due[:ASKED]
            sent = request(f"/runs/{NAME}/labels", {"labels": some})
            if len(some) < ASKED:
                await asyncio.sleep(0.05)
            elif await self.until(client, sent) is not None:
                self.labelled |= {one["decision_id"]: one["label"] for one in some}
                del self.due[:ASKED]

    async def until(self, client, sent):
        """Ask until there is an answer; None if all is to end before."""
        while not self.stop:
            try:
                status, body = await client.ask(sent)
                if status == 200:
                    return json.loads(body)
                assert status == 503, (status, body)  # the database is away, or another learns
            except (OSError, asyncio.IncompleteReadError):
                self.again += 1
            client.close()
            await asyncio.sleep(0.05)
        return None

    async def all(self, until):
        """Run all clients until a time."""
        asks = [asyncio.create_task(self.decide(number)) for number in range(self.clients)]
        asks.append(asyncio.create_task(self.label()))
        await until()
        self.stop = True
        await asyncio.gather(*asks)


class Postgres:
    """A server of our own."""

    def __init__(self, folder):
        self.become, self.folder, self.port = as_somebody(folder), folder, free_port()
        self.run("initdb", "-U", "ann", "-A", "trust", "-E", "UTF8")
        self.begin()
        self.address = f"postgresql://ann@127.0.0.1:{self.port}/postgres?run={NAME}"

    def run(self, program, *words):
        """Call one of its programs."""
        command = [*self.become, server_programs() / program, "-D", f"{self.folder}/data", *words]
        subprocess.run(command, check=True, capture_output=True, cwd=self.folder)

    def begin(self):
        """Start it."""
        settings = f"-p {self.port} -h 127.0.0.1 -k ''"
        self.run("pg_ctl", "-o", settings, "-l", f"{self.folder}/log", "-w", "start")

    def end(self):
        """Stop it at once, as if the power were cut."""
        self.run("pg_ctl", "-m", "immediate", "-w", "stop")


def kill(process):
    """End a server and what it has started, at once."""
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def killed(address, options, database):
    """Kill a service under load; return what its clients know."""
    words = ("-m", "ffml", "serve", str(address), "--promote", "auto")
    words += ("--workers", "2") if database else ()
    port = free_port()
    process, at = start(*words, port=port)
    asker, draw = Asker(at, options.clients), random.Random(0)

    async def until():
        nonlocal process
        for number in range(options.kills):
            await asyncio.sleep(draw.uniform(0.2, options.pause))
            if database and number < options.restarts:
                await asyncio.to_thread(database.end)
                await asyncio.to_thread(database.begin)
                await asyncio.sleep(draw.uniform(0.2, options.pause))
            await asyncio.to_thread(kill, process)
            process, _ = await asyncio.to_thread(lambda: start(*words, port=port))
        await asyncio.sleep(options.pause)

    try:
        asyncio.run(asker.all(until))
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(60)
    return asker


def judge(address, asker):
    """Compare the ledger with what was acknowledged."""
    run = ffml.open(address)
    kept = run.store.decisions(columns=("seq", "id", "probability", "label"))
    seqs, ids, chances, came = (kept[name].tolist() for name in kept)
    rows = dict(zip(ids, zip(seqs, chances, strict=True), strict=True))
    lost = [id for id, said in asker.decided.items() if rows.get(id) != said]
    counts = pd.Series(kept["id"]).value_counts()
    labels = dict(zip(seqs, came, strict=True))
    words = {"yes": 1, "no": 0}
    missing = [n for n, label in asker.labelled.items() if labels.get(n) != words[label]]
    print(
        f"{len(asker.decided):,} decisions acknowledged, {len(lost)} lost or changed, "
        f"{int((counts > 1).sum())} people twice"
    )
    print(
        f"{len(asker.labelled):,} labels acknowledged, {len(missing)} lost; "
        f"{asker.again:,} requests ended without an answer and were sent again"
    )
    sound, same = run.verify().sound, run.replay()
    print(
        f"verify: {'sound' if sound else 'NOT SOUND'}; replay: {'equal' if same else 'OTHER'}; "
        f"{run.store.version_number} versions",
        flush=True,
    )
    run.close()
    assert not lost and not missing and sound and same and (counts == 1).all()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--pause", type=float, default=4.0, help="seconds between kills, at most")
    parser.add_argument("--postgres", action="store_true", help="on a PostgreSQL of our own")
    parser.add_argument("--restarts", type=int, default=0, help="of PostgreSQL, in between")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ffml-kills-") as place:
        database = Postgres(place) if options.postgres else None
        address = database.address if database else Path(place) / NAME
        past = pd.concat([month_table(number) for number in (1, 2)])
        given = {"id": "applicant", "max_gap": 0.05, "keep_features": True}
        ffml.run(past, out=address, **given, **ROLES).close()
        began = time.perf_counter()
        try:
            asker = killed(address, options, database)
            where = "PostgreSQL, 2 workers" if database else "SQLite"
            restarts = f", {options.restarts} restarts of the database" if database else ""
            took = time.perf_counter() - began
            print(
                f"{where}: {options.kills} kills{restarts}, {options.clients} clients, {took:.0f} s"
            )
            judge(address, asker)
        finally:
            if database:
                database.end()


if __name__ == "__main__":
    main()
