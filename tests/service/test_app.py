"""The service is a face of `Run`: the same decisions, and a refusal leaves nothing behind."""

import json
import logging

import pandas as pd
import pytest
from lives import begun, labels, unlabelled
from starlette.testclient import TestClient

import ffml
from ffml.service.app import Limits, create_app
from ffml.service.tokens import make_token
from ffml.store.copying import copy_ledger


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    folder = tmp_path_factory.mktemp("service") / "loans"
    begun(folder).close()
    return folder


@pytest.fixture
def folder(first, tmp_path):
    copy_ledger(first, tmp_path / "loans")
    return tmp_path / "loans"


@pytest.fixture
def client(folder):
    with TestClient(create_app({"loans": str(folder)}), "http://localhost") as client:
        yield client


def persons(rows, number=9):
    return unlabelled(number, rows).drop(columns="month").to_dict("records")


def written(folder):
    run = ffml.open(folder, write=False)
    rows = run.store.decisions(columns=("id", "probability", "decision", "label"))
    run.close()
    values = (rows[name].tolist() for name in rows)
    return [repr(row) for row in zip(*values, strict=True)]  # NaN is as NaN


def test_one_by_one_in_batches_and_by_file_are_the_same_bytes(first, folder, tmp_path, client):
    people = persons(60)
    table = tmp_path / "people.csv"
    pd.DataFrame(people).to_csv(table, index=False)
    copy_ledger(first, tmp_path / "other")
    other = ffml.open(tmp_path / "other")
    by_file = other.decide(str(table), task="counter")
    bodies = [{"person": one, "task": "counter"} for one in people[:30]]
    said = [client.post("/runs/loans/decide", json=body).json() for body in bodies]
    batch = {"people": people[30:], "task": "counter"}
    said += client.post("/runs/loans/decide", json=batch).json()["decisions"]
    assert [one["id"] for one in said] == by_file["id"].tolist()
    assert [one["favourable"] for one in said] == by_file["decision"].astype(bool).tolist()
    assert [one["probability"] for one in said] == [float(p) for p in by_file["probability"]]
    assert written(folder) == written(tmp_path / "other")
    again = client.post("/runs/loans/decide", json=bodies[0]).json()
    assert again == said[0] and len(written(folder)) == len(written(tmp_path / "other"))
    other.close()


def test_tensors_get_the_decisions_of_objects(client):
    people = persons(5)
    objects = client.post("/runs/loans/decide", json={"people": people}).json()["decisions"]
    inputs = [
        {"name": name, "shape": [5], "datatype": kind, "data": [row[name] for row in people]}
        for name, kind in (("person", "BYTES"), ("income", "FP64"), ("sex", "BYTES"))
    ]
    said = client.post("/v2/models/loans/infer", json={"inputs": inputs}).json()
    values = {one["name"]: one["data"] for one in said["outputs"]}
    assert values["probability"] == [one["probability"] for one in objects]
    assert values["decision"] == [int(one["favourable"]) for one in objects]
    version = said["model_version"]
    assert client.get(f"/v2/models/loans/versions/{version}/ready").status_code == 200
    assert client.get("/v2/models/loans/versions/77").status_code == 404


def test_labels_come_once_and_are_learned_from(folder, client):
    client.post("/runs/loans/decide", json={"people": persons(24), "task": "counter"})
    rows = [
        {"id": one["person"], "label": one["paid"], "task": "counter"}
        for one in labels(9).to_dict("records")
    ]
    before = client.get("/runs/loans/versions").json()["current"]
    added = client.post("/runs/loans/labels", json={"labels": rows}).json()
    assert (added["new"], added["learned"]) == (24, ["counter"])
    assert client.post("/runs/loans/labels", json={"labels": rows}).json()["known"] == 24
    assert client.get("/runs/loans/versions").json()["current"] == before + 1
    assert ffml.open(folder, write=False).verify().sound


def test_fairness_is_the_run_s_own_answer(folder, client):
    said = client.get("/runs/loans/fairness").json()
    run = ffml.open(folder, write=False)
    assert "\n".join(said["words"]) == str(run.answer)
    frame = run.decisions
    newest = said["periods"][-1]
    own = frame[frame.task == newest["task"]].groupby("sex").decision.agg(["size", "sum"])
    for one in newest["groups"]:
        assert (one["people"], one["positives"]) == tuple(own.loc[one["group"]])
    assert client.get("/runs/loans/rounds").json()["rounds"][0]["task"] == "2024-01"
    assert client.get("/runs/loans/events").json()["events"][0]["seq"] == 1


GOOD = {"person": "x1", "sex": "F", "income": 50.0}
BAD = [
    {},
    {"person": 3},
    {"people": []},
    {"people": GOOD},
    {"person": {"person": "x1", "sex": "F"}},
    {"person": {**GOOD, "incme": 1}},
    {"person": {**GOOD, "income": "much"}},
    {"person": {**GOOD, "income": [1]}},
    {"person": {**GOOD, "income": 10**400}},
    {"person": {**GOOD, "person": None}},
    {"person": {**GOOD, "person": "\ud800"}},
    {"people": [GOOD, {**GOOD, "income": 3.0}]},
    {"people": [GOOD, {**GOOD, "person": "x2", "income": "3"}]},
    {"person": GOOD, "task": 7},
    {"person": GOOD, "path": "/etc/passwd"},
]


@pytest.mark.parametrize("body", BAD, ids=range(len(BAD)))
def test_bad_input_is_refused_in_one_line_and_leaves_nothing(folder, client, body):
    before = written(folder)
    reply = client.post(
        "/runs/loans/decide", content=json.dumps(body), headers={"content-type": "application/json"}
    )
    assert reply.status_code == 400, reply.text
    assert len(reply.json()["error"].splitlines()) == 1
    assert str(folder) not in reply.text
    assert written(folder) == before


def test_bodies_that_are_no_json_or_too_large(folder):
    limits = Limits(body=2000, people=3, rate=None)
    with TestClient(create_app({"loans": str(folder)}, limits), "http://localhost") as client:

        def code(content, kind="application/json"):
            headers = {"content-type": kind}
            return client.post("/runs/loans/decide", content=content, headers=headers).status_code

        bad = ("{", "[" * 1900, '{"person": NaN}', "[]", "\xff")
        assert {code(content) for content in bad} == {400}
        assert (code(" " * 2001), code("{}", "text/plain")) == (413, 415)
        many = {"people": persons(4)}
        assert client.post("/runs/loans/decide", json=many).status_code == 413
        assert client.get("/runs/nobody/fairness").status_code == 404
        assert client.get("/runs/loans/fairness?by=shoe").status_code == 400


def test_tokens_allow_what_their_scopes_say(folder):
    run = ffml.open(folder)
    tokens = {scope: make_token(run.store, scope, [scope]) for scope in ("decide", "read", "admin")}
    assert not any(token in run.store.document("tokens").__repr__() for token in tokens.values())
    run.close()
    with TestClient(create_app({"loans": str(folder)}), "http://localhost") as client:
        for token, code in (("", 401), ("x", 401), *((tokens[s], c) for s, c in SEEN.items())):
            said = client.get("/runs/loans/rounds", headers={"authorization": f"Bearer {token}"})
            assert said.status_code == code


SEEN = {"decide": 403, "read": 200, "admin": 200}


def test_without_a_token_another_name_of_this_machine_is_refused(client):
    assert client.get("/runs/loans/rounds", headers={"host": "evil.example"}).status_code == 403


def test_one_token_asks_only_so_often(folder):
    with TestClient(
        create_app({"loans": str(folder)}, Limits(rate=2)), "http://localhost"
    ) as client:
        codes = [client.get("/runs/loans/events").status_code for _ in range(4)]
    assert codes[:2] == [200, 200] and 429 in codes


def test_logs_have_no_word_of_what_was_sent(client, caplog):
    caplog.set_level(logging.INFO, "ffml.service")
    reply = client.post("/runs/loans/decide", json={"person": {**GOOD, "person": "secret\nname"}})
    lines = [r.getMessage() for r in caplog.records if r.name == "ffml.service"]
    assert json.loads(lines[-1])["request"] == reply.headers["x-request-id"]
    assert "secret" not in caplog.text
