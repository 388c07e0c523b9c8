"""The demo: starts from nothing, lives through the service's own doors, leaves nothing."""

import signal
import socket
import sqlite3
import tempfile
import threading
import time
import urllib.request
import webbrowser
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import numpy as np
import pandas as pd
import pytest
from loaned import learning_here

from ffml.base import FFMLError
from ffml.service import demo
from ffml.service.app import create_app
from ffml.service.demo import KNOWN_MONTHS, month_table
from ffml.service.server import Server


def test_the_office_approves_men_more_often_and_more_so_than_papers_tell():
    people = pd.concat([month_table(number, seed=100) for number in range(1, 41)])
    rates = people.groupby("sex")["approved"].agg(lambda label: (label == "yes").mean())
    assert 0.2 < rates["men"] - rates["women"] < 0.3
    middling = people[people["income"].between(2500, 3000) & people["years_employed"].between(5, 9)]
    alike = middling.groupby("sex")["approved"].agg(lambda label: (label == "yes").mean())
    assert 0.03 < alike["men"] - alike["women"] < 0.2
    assert people["applicant"].is_unique and people["month"].nunique() == 40
    assert month_table(3).equals(month_table(3)) and not np.isnan(people["debt"]).any()


def test_it_starts_from_nothing_moves_and_leaves_nothing(tmp_path, monkeypatch):
    servers, pages, ready = [], [], threading.Event()

    def server(*given):
        servers.append(Server(*given))
        return servers[0]

    def told(page):
        pages.append(page)
        ready.set()

    monkeypatch.setattr(demo, "Server", server)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with learning_here(), ThreadPoolExecutor(1) as thread:
        played = thread.submit(demo.play, "127.0.0.1", 0, told, 0.02)
        try:
            assert ready.wait(120)
            with urllib.request.urlopen(pages[0]) as reply:
                assert reply.status == 200
            [ledger] = tmp_path.glob("ffml-demo-*/made-up-lender/run.db")
            assert by_later_versions(ledger)
        finally:
            servers[0].handle_exit(signal.SIGINT, None)
        played.result(60)
    assert not [*tmp_path.glob("ffml-demo-*")]


def test_the_command_says_where_its_page_is(run_main, monkeypatch):
    at = "http://127.0.0.1:1/page"
    monkeypatch.setattr(demo, "play", lambda host, port, ready: ready(at))
    monkeypatch.setattr(webbrowser, "open", lambda page: None)
    monkeypatch.setattr(signal, "signal", lambda *_: None)  # this process keeps its own
    code, said, _ = run_main("serve", "--demo")
    assert code in (0, None) and at in said and "nothing of it stays" in said


def by_later_versions(ledger):
    """Count the people whom a version decided about that learned from labels that came later."""
    question = f"select count(*) from decisions where version > {KNOWN_MONTHS}"
    with closing(sqlite3.connect(ledger)) as raw:
        for _ in range(600):
            [(people,)] = raw.execute(question).fetchall()
            if people:
                return people
            time.sleep(0.1)


def test_what_to_serve_is_said_once(refuses):
    refuses("or --demo", "serve")
    refuses("or --demo", "serve", "--demo", "runs/loans")
    refuses("127.0.0.1 only", "serve", "--demo", "--host", "0.0.0.0")


def test_a_port_that_is_taken_is_named():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(FFMLError, match=f"port {port} .*choose another --port"):
            Server(create_app({}), "127.0.0.1", port, print)
