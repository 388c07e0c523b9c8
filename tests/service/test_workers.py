"""Several processes on one PostgreSQL: one ledger, no decision twice, labels in turn."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
import uuid

import pandas as pd
import pytest
from lives import ROLES, SETTINGS, labels, month, unlabelled
from loaned import persons
from typer.testing import CliRunner

import ffml
from ffml.base import FFMLError
from ffml.cli import app
from ffml.service.server import SERVED, serve_by_workers

WORKERS = 4


@pytest.fixture
def address(server):
    out = f"{server}?run=s{uuid.uuid4().hex}"
    ffml.run(pd.concat([month(1), month(2)]), out=out, **ROLES, **SETTINGS).close()
    return out


@pytest.fixture
def serving(address):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "ffml", "serve", address, "--workers", str(WORKERS)]
    command += ["--port", str(port), "--promote", "newest"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=dict(os.environ)
    )
    name = re.search(r"serving (\w+) on", process.stdout.readline()).group(1)
    at = f"http://127.0.0.1:{port}/runs/{name}"
    for _ in range(600):
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/v2/health/ready", timeout=5).close()
            break
        except OSError:
            time.sleep(0.1)
    yield at
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    assert "Traceback" not in errors, errors


def test_workers_share_a_ledger(address, serving):
    people = persons(30)
    said: dict[int, list] = {}

    def ask(number):
        run = ffml.open(serving)
        some = pd.DataFrame(people[number % 3 * 10 : number % 3 * 10 + 10])
        said[number] = run.decide(some, task="counter", key=f"k{number % 3}").to_dict("records")

    threads = [threading.Thread(target=ask, args=(i,)) for i in range(18)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(said[i] == said[i % 3] for i in range(18))
    here = ffml.open(address)
    assert len(here.store.decisions(ids=[one["person"] for one in people])["id"]) == 30
    own = here.decide(pd.DataFrame(people), record=False)
    told = {row["id"]: row["probability"] for i in range(3) for row in said[i]}
    assert [told[id] for id in own.id] == own.probability.tolist()
    run = ffml.open(serving)
    run.decide(unlabelled(9), task="nine")
    run.decide(unlabelled(8), task="eight")
    added = []

    def bring(number, task):  # at the same time, to any worker: each in its turn
        added.append(ffml.open(serving).label(labels(number).assign(month=task)))

    brings = [threading.Thread(target=bring, args=one) for one in ((9, "nine"), (8, "eight"))]
    for thread in brings:
        thread.start()
    for thread in brings:
        thread.join()
    assert sorted(one.learned for one in added) == [("eight",), ("nine",)]
    versions = {
        json.loads(urllib.request.urlopen(f"{serving}/versions").read())["deciding"]
        for _ in range(6)
    }
    assert versions == {here.store.version_number} and here.verify().sound
    here.close()


def test_a_folder_has_one_process(folder):
    shown = CliRunner().invoke(app, ["serve", str(folder), "--workers", "2"])
    assert isinstance(shown.exception, FFMLError) and "keep the run in PostgreSQL" in str(
        shown.exception
    )


@pytest.mark.parametrize("rate", ["0", "nan"])
def test_a_rate_by_which_nobody_could_be_served_is_refused(folder, rate):
    said = CliRunner().invoke(app, ["serve", str(folder), "--rate", rate]).exception
    assert isinstance(said, FFMLError) and "--rate must be above 0" in str(said)


@pytest.mark.parametrize("port", [99999, -1])
def test_a_port_that_there_is_not_is_refused(port, monkeypatch):
    monkeypatch.setenv(SERVED, "")
    with pytest.raises(FFMLError, match=r"numbers from 0 to 65535\); choose another --port"):
        serve_by_workers({}, "127.0.0.1", port, 2, print)
