"""The service is a face of `Run`: the same decisions, and a refusal leaves nothing behind."""

import json
import logging

import numpy as np
import pytest
from lives import labels
from loaned import GOOD, persons, written
from starlette.testclient import TestClient

import ffml
from ffml.service.app import Limits, create_app
from ffml.service.tokens import make_token


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
    before = client.get("/runs/loans/versions").json()["newest"]
    added = client.post("/runs/loans/labels", json={"labels": rows}).json()
    assert (added["new"], added["learned"]) == (24, ["counter"])
    assert client.post("/runs/loans/labels", json={"labels": rows}).json()["known"] == 24
    assert client.get("/runs/loans/versions").json()["newest"] == before + 1
    assert ffml.open(folder, write=False).verify().sound


def test_labels_by_the_number_of_a_decision(client):
    said = client.post("/runs/loans/decide", json={"people": persons(3)}).json()["decisions"]
    rows = [{"decision_id": one["decision_id"], "label": "yes"} for one in said]
    assert client.post("/runs/loans/labels", json={"labels": rows}).json()["new"] == 3
    mixed = {"labels": [rows[0], {"id": "9-1", "label": "yes"}]}
    assert client.post("/runs/loans/labels", json=mixed).status_code == 400


def test_a_decision_says_what_it_follows_from(folder, client):
    said = client.post("/runs/loans/decide", json={"people": persons(40)}).json()["decisions"]
    scorer = ffml.open(folder, write=False).scorer()
    for one in said:
        assert one["threshold"] == scorer.cut
        above = one["probability"] > one["threshold"]
        assert one["without_fairness"] == ("yes" if above else "no")
        assert one["decision"] == ("yes" if one["favourable"] else "no")
    again = client.post("/runs/loans/decide", json={"people": persons(40)}).json()["decisions"]
    assert again == said


def test_a_request_under_a_key_is_one_decision_whatever_happens_in_between(folder, client):
    headers = {"Idempotency-Key": "order-1"}
    nobody = {"people": persons(2)}
    one = client.post("/runs/loans/decide", json=nobody, headers=headers).json()
    client.post("/runs/loans/versions/roll_back")
    assert client.post("/runs/loans/decide", json=nobody, headers=headers).json() == one
    other = client.post("/runs/loans/decide", json={"people": persons(1)}, headers=headers)
    assert other.status_code == 400 and "another request" in other.json()["error"]
    for bad in ("", "a b", "x" * 300, "\x7f"):
        headers = {"Idempotency-Key": bad}
        assert client.post("/runs/loans/decide", json=nobody, headers=headers).status_code == 400


def test_fairness_is_the_run_s_own_answer(folder, client):
    said = client.get("/runs/loans/fairness").json()
    run = ffml.open(folder, write=False)
    assert "\n".join(said["words"]) == str(run.answer)
    assert client.get("/runs/loans/rounds").json()["rounds"][0]["task"] == "2024-01"
    assert client.get("/runs/loans/events").json()["events"][0]["seq"] == 1
    assert client.get("/runs/loans/events?after=1").json()["events"][0]["seq"] == 2
    checked = client.get("/runs/loans/check?max_gap=0.05").json()
    assert checked["verdict"] == ffml.audit.gate.verdict(run.check(max_gap=0.05))
    assert client.get("/runs/loans/check?max_gap=much").status_code == 400


@pytest.mark.parametrize("by", ["task", "day", "year"])
def test_rates_by_group_and_period_are_those_of_the_decisions(folder, client, by):
    client.post("/runs/loans/decide", json={"people": persons(50)})
    said = client.get(f"/runs/loans/fairness?by={by}").json()
    frame = ffml.open(folder, write=False).decisions
    if by != "task":
        assert sum(one["people"] for one in said["periods"]) == len(frame)
        said["periods"] = said["periods"][: len(said["periods"]) == 1]  # or midnight was passed
    for period in said["periods"]:
        some = frame[frame.task == period["period"]] if by == "task" else frame
        own = some.groupby("sex").decision.agg(["size", "sum"])
        rates = []
        for one in period["groups"]:
            assert (one["people"], one["positives"]) == tuple(own.loc[one["group"]])
            assert one["low"] <= one["rate"] <= one["high"]
            n, p = one["people"], one["rate"]
            middle = (p + 1.96**2 / (2 * n)) / (1 + 1.96**2 / n)  # Wilson's
            assert np.isclose((one["low"] + one["high"]) / 2, middle)
            rates.append(p)
        assert np.isclose(period["notions"][0]["gap"], max(rates) - min(rates))
        assert period["people"] == len(some)


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


def test_bad_input_is_refused_in_one_line_and_leaves_nothing(folder, client):
    before = written(folder)
    headers = {"content-type": "application/json"}
    for body in BAD:
        reply = client.post("/runs/loans/decide", content=json.dumps(body), headers=headers)
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
        reply = client.post("/runs/loans/decide", json=many)
        assert reply.status_code == 413 and "at most 3 rows" in reply.json()["error"]
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
