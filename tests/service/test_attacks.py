"""Attacks that were tried, each with what must not happen."""

import gzip
import hmac
import json
import logging
import re
import socket
import sqlite3
import threading
import time
from contextlib import closing
from urllib.parse import urlsplit

from hostile import hostile_run
from loaned import GOOD, persons, serving, written
from starlette.testclient import TestClient
from typer.testing import CliRunner

import ffml
from ffml.base import FFMLError
from ffml.cli import app as cli
from ffml.service import _protocol, tokens
from ffml.service.app import Limits, create_app
from ffml.service.tokens import make_token
from ffml.store.copying import copy_ledger

EVIL = [
    'x\n{"request": "forged"}',
    "\r\nSet-Cookie: a=b",
    "\x1b[2J\x1b]0;owned\x07",
    "<script>alert(1)</script>",
    "'; drop table decisions; --",
    "${jndi:ldap://evil.example/a}",
    "{{7*7}}",
    "../../../etc/passwd",
    "%s%s%n",
    "\u202egnp.exe",
    "\ufeff",
]


def lines(caplog):
    return [r.getMessage() for r in caplog.records if r.name == "ffml.service"]


def test_injected_words_reach_no_log_and_no_header_and_are_kept_as_they_are(folder, client, caplog):
    caplog.set_level(logging.DEBUG)
    for evil in EVIL:
        person = GOOD | {"person": evil}
        said = client.post("/runs/loans/decide", json={"person": person, "task": evil})
        assert said.status_code == 200 and said.json()["id"] == evil.strip()
        client.post("/runs/loans/decide", json={"person": GOOD | {evil: 1}})
        client.post("/runs/loans/decide", json={"person": GOOD | {"sex": evil, "person": "s"}})
        client.post("/runs/loans/labels", json={"labels": [{"id": evil, "label": evil}]})
        client.get("/runs/loans/fairness", params={"by": evil, evil: "1"})
        client.get(f"/runs/{evil.encode().hex()}/rounds")
        client.get("/runs/loans/rounds", headers={"x-evil": evil.encode("unicode_escape")})
        for line in lines(caplog):
            assert evil not in line and len(line.splitlines()) == 1
            assert {"request", "method", "path", "run", "status", "ms"} == {*json.loads(line)}
        caplog.clear()
    run = ffml.open(folder, write=False)
    assert {evil.strip() for evil in EVIL} <= {*run.store.decisions(columns=("id",))["id"]}
    assert run.verify().sound


def test_a_failure_of_ours_says_nothing_of_what_was_sent(folder, client, caplog, monkeypatch):
    def broken(*_, **__):
        raise RuntimeError("secret person 4711")

    monkeypatch.setattr(client.app.state.runs["loans"].run, "decide_together", broken)
    reply = client.post("/runs/loans/decide", json={"person": GOOD})
    assert reply.status_code == 500 and "4711" not in reply.text and "4711" not in caplog.text
    assert reply.headers["x-request-id"] in reply.json()["error"]
    assert json.loads(lines(caplog)[-1])["error"] == "RuntimeError"


PATHS = ["../../etc/passwd", "..%2f..%2fetc%2fpasswd", "/etc/passwd", "loans%00", "file:"]


def test_no_path_of_a_request_reaches_the_disk(folder, client, monkeypatch):
    opened = []
    monkeypatch.setattr("builtins.open", lambda *given, **_: opened.append(given))
    for path in PATHS:
        for at in (f"/runs/{path}/rounds", f"/page/{path}", f"/v2/models/{path}", f"/{path}"):
            assert client.get(at).status_code in (404, 405)
        person = GOOD | {"person": path}
        assert client.post("/runs/loans/decide", json={"person": person}).status_code == 200
        bad = client.post("/runs/loans/decide", json={"people": path})
        assert bad.status_code == 400 and str(folder) not in bad.text
    assert not opened


def test_other_sites_get_no_word(folder, client):
    """CORS is off, and a page that reaches this machine by another name is refused."""
    for method in ("OPTIONS", "GET"):
        reply = client.request(method, "/runs/loans/rounds", headers={"origin": "https://evil"})
        assert not [name for name in reply.headers if name.startswith("access-control")]
    for host in ("evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80", ""):
        assert client.get("/runs/loans/rounds", headers={"host": host}).status_code == 403
    form = {"content-type": "text/plain"}  # what a form of another site can send
    body = json.dumps({"person": GOOD})
    assert client.post("/runs/loans/decide", content=body, headers=form).status_code == 415


def test_tokens_are_compared_in_constant_time_and_whole(folder, monkeypatch):
    run = ffml.open(folder)
    good = make_token(run.store, "one", ["read"])
    make_token(run.store, "two", ["decide"])
    kept = json.dumps(run.store.document("tokens"))
    run.close()
    compared = []
    monkeypatch.setattr(
        tokens.hmac, "compare_digest", lambda a, b: compared.append((a, b)) or hmac_digest(a, b)
    )
    with TestClient(create_app({"loans": str(folder)}), "http://localhost") as client:
        bad = [
            "",
            good[:-1],
            good + "x",
            good.upper(),
            "x",
            "Bearer",
            json.loads(kept)[0]["sha256"],
        ]
        for token in bad:
            headers = {"authorization": f"Bearer {token}"}
            reply = client.get("/runs/loans/rounds", headers=headers)
            assert reply.status_code == 401 and reply.headers["www-authenticate"] == "Bearer"
        assert len(compared) == 2 * len(bad)  # every row, whoever it is
        assert all(len(a) == len(b) == 64 for a, b in compared)  # hashes, never tokens
        for kind in ("Basic", "bearer ", "Token"):
            headers = {"authorization": f"{kind} {good}"}
            assert client.get("/runs/loans/rounds", headers=headers).status_code == 401
        headers = {"authorization": f"bearer {good}"}
        assert client.get("/runs/loans/rounds", headers=headers).status_code == 200
        assert client.get(f"/runs/loans/rounds?token={good}").status_code == 401
    assert good not in kept


hmac_digest = hmac.compare_digest


def test_a_token_that_was_removed_is_worthless_within_a_second(folder, monkeypatch):
    run = ffml.open(folder)
    headers = {"authorization": f"Bearer {make_token(run.store, 'one', ['read'])}"}
    make_token(run.store, "other", ["admin"])
    with TestClient(create_app({"loans": str(folder)}), "http://localhost") as client:
        assert client.get("/runs/loans/rounds", headers=headers).status_code == 200
        tokens.remove_token(run.store, "one")
        time.sleep(1.05)
        assert client.get("/runs/loans/rounds", headers=headers).status_code == 401
    run.close()


def test_a_service_that_others_reach_is_closed_once_its_last_token_is_removed(folder, monkeypatch):
    """Anybody can call himself localhost."""
    run = ffml.open(folder)
    make_token(run.store, "one", ["admin"])
    asked = {}

    def made(**given):
        asked.update(given)
        raise FFMLError("that is all")

    monkeypatch.setattr("ffml.service.app.create_app", made)
    monkeypatch.setattr("ffml.service.server.set_up", lambda: None)  # logs of this process
    monkeypatch.setattr("signal.signal", lambda *_: None)
    for host, local in (("0.0.0.0", False), ("127.0.0.1", True)):
        CliRunner().invoke(cli, ["serve", str(folder), "--host", host])
        assert asked["local"] is local
    tokens.remove_token(run.store, "one")
    run.close()
    with TestClient(create_app({"loans": str(folder)}, local=False), "http://localhost") as client:
        for path in ("rounds", "columns", "page/parts"):
            said = client.get(f"/runs/loans/{path}")
            assert said.status_code == 401 and "no token" in said.json()["error"]
        assert client.post("/runs/loans/forget", json={"id": "1-1"}).status_code == 401
        for path in ("/metrics", "/openapi.json", "/page/runs"):
            assert client.get(path).status_code == 401


def test_replayed_requests_change_nothing(folder, client):
    body, key = {"people": persons(3), "task": "counter"}, {"Idempotency-Key": "k"}
    first = client.post("/runs/loans/decide", json=body, headers=key)
    before = written(folder)
    for headers in (key, {}, {"Idempotency-Key": "k2"}) * 3:
        assert client.post("/runs/loans/decide", json=body, headers=headers).json() == first.json()
    assert written(folder) == before


def test_the_key_of_another_token_is_another_key(folder):
    run = ffml.open(folder)
    both = [make_token(run.store, name, ["decide"]) for name in ("a", "b")]
    run.close()
    with TestClient(create_app({"loans": str(folder)}), "http://localhost") as client:

        def ask(token, people):
            headers = {"authorization": f"Bearer {token}", "Idempotency-Key": "1"}
            return client.post("/runs/loans/decide", json={"people": people}, headers=headers)

        assert ask(both[0], persons(3)[:2]).status_code == 200
        assert ask(both[1], persons(3)).status_code == 200  # not "another request was made"
        assert ask(both[0], persons(3)).status_code == 400


BOMBS = [
    b"[" * 100_000,
    b'{"person":' * 50_000,
    b'{"person": 1' + b"0" * 100_000 + b"}",
    b'{"people": [' + b"{}," * 30_000 + b"{}]}",
    b'{"person": {"person": "' + b"x" * 3_000_000 + b'", "sex": "F", "income": 1}}',
    b"\xff\xfe" * 1000,
    b'{"person": {"income": 1e999, "sex": "F", "person": "i"}}',
    b'{"person": {"income": "\\ud800", "sex": "F", "person": "i"}}',
    b'{"a":1,' * 1000,
]


def test_body_bombs_are_refused_fast_and_leave_nothing(folder):
    before = written(folder)
    app = create_app({"loans": str(folder)}, Limits(body=2_000_000))
    with TestClient(app, "http://localhost") as client:
        for bomb in BOMBS:
            began = time.process_time()
            headers = {"content-type": "application/json"}
            reply = client.post("/runs/loans/decide", content=bomb, headers=headers)
            assert reply.status_code in (400, 413) and len(reply.content) < 1000, reply.text
            assert time.process_time() - began < 5
    assert written(folder) == before


def raw(at, *parts, pause=0.0):
    """Send bytes; return what comes back until the connection ends."""
    where = urlsplit(at)
    with closing(socket.create_connection((where.hostname, where.port), 10)) as connection:
        for part in parts:
            try:
                connection.sendall(part)
            except OSError:
                break
            time.sleep(pause)
        connection.settimeout(10)
        said = b""
        try:
            while more := connection.recv(65536):
                said += more
        except OSError:
            pass
        return said


def test_headers_without_end_bodies_without_end_and_broken_http(folder, monkeypatch):
    monkeypatch.setattr(_protocol, "HEAD_SECONDS", 0.5)
    app = create_app({"loans": str(folder)}, Limits(body=10_000, seconds=0.5))
    with serving(app) as at:
        line = b"GET /v2 HTTP/1.1\r\nhost: localhost\r\n"
        many = b"".join(b"x-%d: %s\r\n" % (i, b"y" * 100) for i in range(3000))
        assert raw(at, line + many, many, many).startswith(b"HTTP/1.1 400")
        assert raw(at, line + b"a: " + b"y" * 400_000).startswith(b"HTTP/1.1 400")
        assert raw(at, line, pause=0.1) == b""  # never complete: the connection is ended
        post = b"POST /runs/loans/decide HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n"
        post += b"content-type: application/json\r\n"
        assert b" 408 " in raw(at, post + b"content-length: 100\r\n\r\n{")
        assert b" 413 " in raw(at, post + b"content-length: 99999999\r\n\r\n{")
        chunk = b"%x\r\n" % 8000 + b" " * 8000 + b"\r\n"
        assert b" 413 " in raw(at, post + b"transfer-encoding: chunked\r\n\r\n", chunk, chunk)
        both = b"content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\nGET /evil"
        assert b" 400 " in raw(at, post + both)
        assert raw(at, b"\x16\x03\x01\x02\x00\x01\x00" * 100).startswith(b"HTTP/1.1 400")
        good = raw(at, line + b"connection: close\r\n\r\n")
        assert good.startswith(b"HTTP/1.1 200") and b"server:" not in good.lower()


def test_many_at_once_get_their_own_decisions(folder):
    """Threads that ask for the same and for different people: nobody gets another's answer."""
    people, said = persons(40), {}
    with serving(create_app({"loans": str(folder)})) as at:
        run = ffml.open(f"{at}/runs/loans")

        def ask(number):
            own = [people[number % 20], people[20 + number % 20]]
            said[number] = run._ask("decide", {"people": own, "task": "c"}, f"k{number % 20}")

        threads = [threading.Thread(target=ask, args=(i,)) for i in range(60)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    for number, reply in said.items():
        own = [people[number % 20], people[20 + number % 20]]
        assert [row["id"] for row in reply["decisions"]] == [one["person"] for one in own]
    here = ffml.open(folder, write=False)
    assert len(here.store.decisions(ids=[one["person"] for one in people])["id"]) == 40
    assert here.verify().sound


def test_who_asks_for_another_protocol_is_answered_by_this_one(folder, caplog, monkeypatch):
    with serving(create_app({"loans": str(folder)})) as at:
        monkeypatch.setattr(logging.getLogger("uvicorn"), "propagate", True)
        for protocol in (b"websocket", b"h2c"):
            line = b"GET /v2 HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade, close\r\n"
            assert b" 200 " in raw(at, line + b"upgrade: " + protocol + b"\r\n\r\n")[:20]
    assert not [one for one in caplog.records if one.name.startswith("uvicorn")]


def test_a_slash_too_many_leads_nowhere(client):
    """A redirect would name the host that who asks has made up."""
    for path in ("/runs/loans/rounds/", "/runs/loans//rounds", "/page/"):
        reply = client.get(path, headers={"host": "evil.example"}, follow_redirects=False)
        assert reply.status_code == 404 and "location" not in reply.headers


def test_other_methods_do_nothing(folder, client):
    before = written(folder)
    override = {"x-http-method-override": "POST"}
    for method in ("PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "GET"):
        reply = client.request(method, "/runs/loans/decide", headers=override)
        assert reply.status_code == 405
    assert client.post("/runs/loans/rounds", json={}).status_code == 405
    assert written(folder) == before


def test_a_body_that_grows_when_it_is_unpacked_is_not_unpacked(folder, client):
    packed = gzip.compress(b" " * 50_000_000)
    headers = {"content-type": "application/json", "content-encoding": "gzip"}
    assert client.post("/runs/loans/decide", content=packed, headers=headers).status_code == 400


def test_a_token_of_one_run_is_none_of_another(first, folder, tmp_path):
    copy_ledger(first, tmp_path / "cards")
    tokens = {}
    for name in ("loans", "cards"):
        run = ffml.open(tmp_path / name)
        tokens[name] = make_token(run.store, "same name", ["admin"])
        run.close()
    runs = {name: str(tmp_path / name) for name in tokens}
    with TestClient(create_app(runs), "http://localhost") as client:
        for name, token in tokens.items():
            headers, other = {"authorization": f"Bearer {token}"}, {"loans": "cards"}.get(name)
            other = other or "loans"
            body = {"person": GOOD}
            assert client.post(f"/runs/{name}/decide", json=body, headers=headers).is_success
            for path in ("decide", "forget", "versions/roll_back"):
                reply = client.post(f"/runs/{other}/{path}", json=body, headers=headers)
                assert reply.status_code == 401
            described = client.get("/openapi.json", headers=headers).json()["paths"]
            assert f"/runs/{name}/decide" in described and f"/runs/{other}/decide" not in described
            shown = client.get("/metrics", headers=headers).text
            assert f'run="{name}"' in shown and f'run="{other}"' not in shown
        for path in ("/openapi.json", "/metrics", "/page/runs"):
            assert client.get(path).status_code == 401


def test_who_asks_too_often_slows_nobody_else(folder):
    run = ffml.open(folder)
    flood, calm = ({"authorization": f"Bearer {make_token(run.store, n, ['read'])}"} for n in "ab")
    run.close()
    app = create_app({"loans": str(folder)}, Limits(rate=2))
    with TestClient(app, "http://localhost") as client:
        codes = [client.get("/runs/loans/columns", headers=flood).status_code for _ in range(9)]
        assert codes.count(429) >= 5
        assert client.get("/runs/loans/columns", headers=calm).status_code == 200


def test_hostile_names_forge_no_metric(tmp_path):
    hostile_run(tmp_path / "run").close()
    name = 'x"} 1\nffml_gap{run="y'
    with TestClient(create_app({name: str(tmp_path / "run")}), "http://localhost") as client:
        lines = client.get("/metrics").text.splitlines()
    label = r'\w+="([^"\\]|\\.)*"'
    assert all(
        re.fullmatch(rf"(# .*|ffml_\w+(\{{{label}(,{label})*\}})? \S+)", one) for one in lines
    )
    assert not [one for one in lines if one.startswith('ffml_gap{run="y')]


def test_features_are_kept_until_they_were_learned_from_and_forgotten_people_are_gone(
    folder, client
):
    person = {"person": "secret-4711", "sex": "F", "income": 12345.678}
    people = [person, *persons(23)]
    client.post("/runs/loans/decide", json={"people": people, "task": "counter"})
    rows = [{"id": one["person"], "label": "yes", "task": "counter"} for one in people[:20]]
    assert client.post("/runs/loans/labels", json={"labels": rows}).json()["learned"]
    with closing(sqlite3.connect(folder / "run.db")) as raw:
        [(kept,)] = raw.execute("select count(*) from decisions where x is not null")
    assert kept == 0
    assert client.post("/runs/loans/forget", json={"id": "secret-4711"}).json() == {"forgotten": 1}
    for path in ("/runs/loans/page/parts", "/runs/loans/events", "/runs/loans/rounds", "/metrics"):
        assert "4711" not in client.get(path).text
    assert client.post("/runs/loans/forget", json={"id": "secret-4711"}).status_code == 400
    with closing(sqlite3.connect(folder / "run.db")) as raw:
        assert not any("4711" in line for line in raw.iterdump())
