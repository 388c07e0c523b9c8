"""What operations look at: metrics, log lines, alarms that are told once, an end in good order."""

import asyncio
import json
import logging
import os
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, HTTPServer

import numpy as np
import pandas as pd
import pytest
from lives import ROLES, SETTINGS, ask, labels, month
from loaned import persons
from starlette.testclient import TestClient

import ffml
from ffml.base import FFMLError
from ffml.service import _alarms
from ffml.service.app import create_app
from ffml.service.tokens import make_token

LINE = re.compile(
    r'(# (HELP|TYPE) ffml_\w+ .+|ffml_\w+(\{\w+="([^"\\]|\\.)*"(,\w+="([^"\\]|\\.)*")*\})? \S+)'
)


def samples(text):
    """Read the text format: (name, labels) -> value."""
    found = {}
    for line in text.splitlines():
        assert LINE.fullmatch(line), line
        if not line.startswith("#"):
            name, value = line.rsplit(" ", 1)
            found[name] = float(value)
    return found


def test_metrics_are_what_the_ledger_and_the_requests_say(folder, client):
    client.post("/runs/loans/decide", json={"people": persons(24), "task": "counter"})
    some = labels(9, 0, 6).to_dict("records")
    rows = [{"id": one["person"], "label": one["paid"], "task": "counter"} for one in some]
    client.post("/runs/loans/labels", json={"labels": rows})
    reply = client.get("/metrics")
    assert reply.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    found = samples(reply.text)
    run = ffml.open(folder, write=False)
    frame = run.decisions
    assert found['ffml_decisions_total{run="loans"}'] == len(frame)
    assert found['ffml_labels_outstanding{run="loans"}'] == frame.label.isna().sum() == 18
    assert found['ffml_version{run="loans"}'] == run.store.deciding
    assert found['ffml_label_lag_seconds{run="loans"}'] > 0
    rates = frame.groupby("sex").decision.mean()
    for group, rate in rates.items():
        assert np.isclose(found[f'ffml_rate{{run="loans",column="sex",group="{group}"}}'], rate)
    gap = found['ffml_gap{run="loans",notion="demographic-parity"}']
    assert np.isclose(gap, rates.max() - rates.min())
    path = 'path="/runs/{run}/decide"'
    assert found[f'ffml_requests_total{{{path},status="200"}}'] == 1
    assert found[f'ffml_request_seconds_bucket{{{path},le="+Inf"}}'] == 1
    run.close()


def test_metrics_are_for_who_may_read(folder):
    run = ffml.open(folder)
    token = make_token(run.store, "watcher", ["read"])
    run.close()
    with TestClient(create_app({"loans": str(folder)}), "http://localhost") as client:
        assert client.get("/metrics").status_code == 401
        assert client.get("/v2/health/ready").status_code == 200
        headers = {"authorization": f"Bearer {token}"}
        assert "ffml_version" in client.get("/metrics", headers=headers).text


READERS = [
    "runs/loans/fairness",
    "runs/loans/check",
    "runs/loans/page/parts",
    "metrics",
    "page/runs",
]


@pytest.mark.parametrize("path", READERS)
def test_who_looks_first_at_a_raised_alarm_sees_it_and_it_is_kept(path, tmp_path):
    """A page is read at one moment, in which nothing can be written: it is kept right after."""
    past = pd.concat([month(1), month(2)])
    ffml.run(past, out=tmp_path / "loans", max_gap=0.05, **ROLES, **SETTINGS).close()
    people = [
        {"person": f"p{n}", "sex": "FM"[n % 2], "income": (10.0, 90.0)[n % 2]} for n in range(400)
    ]
    with TestClient(create_app({"loans": str(tmp_path / "loans")}), "http://localhost") as client:
        client.post("/runs/loans/decide", json={"people": people, "task": "counter"})
        said = client.get(path)
        assert said.status_code == 200, said.text
        [(kept,)] = ask(tmp_path / "loans", "select value from run where key = 'alarms'")
        [alarm] = json.loads(kept)
        assert alarm["task"] == "counter" and alarm["evidence"] > alarm["needed"]
        assert client.get(path).status_code == 200
    assert ffml.open(tmp_path / "loans", write=False).verify().sound


class Hears(BaseHTTPRequestHandler):
    """A webhook that fails twice."""

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.heard.append((json.loads(body), self.headers["idempotency-key"]))
        self.send_response(204 if len(self.server.heard) > 2 else 500)
        self.end_headers()

    def log_message(self, *_):
        pass


@pytest.fixture
def webhook():
    server = HTTPServer(("127.0.0.1", 0), Hears)
    server.heard = []
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    server.address = f"http://127.0.0.1:{server.server_port}/alarm"
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def test_an_alarm_is_told_until_it_is_heard_and_then_never_again(
    folder, webhook, monkeypatch, caplog
):
    alarm = {"notion": "demographic-parity", "column": "sex", "comparison": "M against F"}
    alarm |= {"round": 2, "task": "2024-02", "higher": True, "evidence": 99.0, "needed": 20.0}
    run = ffml.open(folder)
    with run.store.transaction("test", "an alarm") as ledger:
        ledger.put_document("alarms", [alarm])
    run.close()
    monkeypatch.setattr(_alarms, "PAUSES", (0.0,) * 5)
    monkeypatch.setattr(_alarms, "keep_alarms", lambda store: None)  # this one was made up
    caplog.set_level(logging.INFO, "ffml.service")
    for _ in range(2):  # the second is a service that was started again
        app = create_app({"loans": str(folder)}, webhook=webhook.address)
        watching = _alarms.Alarms(app.state.runs, webhook.address)
        for _ in range(2):
            asyncio.run(watching.look(app.state.runs["loans"]))
        app.state.runs["loans"].close()
    assert len(webhook.heard) == 3 and len({key for _, key in webhook.heard}) == 1
    said = webhook.heard[0][0]
    assert (said["run"], said["alarm"]) == ("loans", alarm) and "Alarm in round 2" in said["words"]
    told = [json.loads(r.getMessage()) for r in caplog.records if "words" in r.getMessage()]
    assert len(told) == 1 and told[0]["id"] == webhook.heard[0][1]
    run = ffml.open(folder, write=False)
    assert run.verify().sound
    run.close()


def test_an_alarm_that_is_not_heard_is_tried_again_by_the_next_service(folder, monkeypatch):
    monkeypatch.setattr(_alarms, "CLAIM", -1.0)
    app = create_app({"loans": str(folder)})
    served = app.state.runs["loans"]
    assert _alarms._write(served, "a", False) and _alarms._write(served, "a", False)
    assert _alarms._write(served, "a", True) and not _alarms._write(served, "a", False)
    served.close()
    with pytest.raises(FFMLError, match="begins with https"):
        create_app({}, webhook="ftp://x")


def test_a_service_that_is_told_to_stop_ends_what_it_has_begun(folder):
    """SIGTERM: the request that runs is answered, the process ends with 0, the ledger is sound."""
    command = [sys.executable, "-m", "ffml", "serve", str(folder), "--port", "0"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=dict(os.environ)
    )
    at = re.search(r"http://[\w.:]+", process.stdout.readline()).group()
    body = json.dumps({"people": persons(2000), "task": "counter"}).encode()
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(f"{at}/runs/loans/decide", body, headers)
    said = []

    def ask():
        with urllib.request.urlopen(request, timeout=60) as reply:
            said.append(json.loads(reply.read()))

    asks = threading.Thread(target=ask)
    asks.start()
    time.sleep(0.1)
    process.send_signal(signal.SIGTERM)
    asks.join()
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 0 and len(said[0]["decisions"]) == 2000, errors
    lines = [json.loads(line) for line in errors.splitlines()]
    assert [line["path"] for line in lines] == ["/runs/{run}/decide"]
    run = ffml.open(folder, write=False)
    assert run.verify().sound and (run.decisions.task == "counter").sum() == 2000
    run.close()
