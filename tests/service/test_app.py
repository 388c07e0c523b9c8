"""The service is a face of `Run`: the same decisions, and a refusal leaves nothing behind."""

import json
import logging
import sqlite3

import numpy as np
import pytest
import sqlalchemy as sa
from lives import ask, labels
from loaned import GOOD, persons, written
from starlette.testclient import TestClient

import ffml
from ffml.service import _fairness
from ffml.service.app import Limits, create_app
from ffml.service.tokens import make_token
from ffml.store import Away
from ffml.store.copying import copy_ledger


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
    both = {"labels": [rows[0] | {"id": "9-1", "label": "no"}]}  # of another person
    refused = client.post("/runs/loans/labels", json=both)
    assert refused.status_code == 400 and "give one" in refused.json()["error"]


def test_a_label_finds_a_person_whatever_json_made_of_the_id(client):
    for given, id in ((7, "7"), (7.0, "7"), (2.5, "2.5"), (True, "true"), (10**17, "1" + 17 * "0")):
        person = {"person": GOOD | {"person": given}, "task": f"of {given!r}"}
        assert client.post("/runs/loans/decide", json=person).json()["id"] == id
        row = {"id": given, "label": "yes", "task": f"of {given!r}"}
        assert client.post("/runs/loans/labels", json={"labels": [row]}).json()["new"] == 1


def test_white_space_around_the_name_of_a_task_does_not_count(client):
    client.post("/runs/loans/decide", json={"person": GOOD, "task": " counter "})
    said = client.post("/runs/loans/decide", json={"person": GOOD, "task": "counter"}).json()
    assert said["task"] == "counter"
    rows = [{"id": GOOD["person"], "label": "yes", "task": "counter\t"}]
    assert client.post("/runs/loans/labels", json={"labels": rows}).json()["new"] == 1
    blank = client.post("/runs/loans/decide", json={"person": GOOD, "task": " "})
    assert blank.status_code == 400 and "task is a text" in blank.json()["error"]


def test_the_newest_of_many_periods_are_shown(folder, client, monkeypatch):
    monkeypatch.setattr(_fairness, "MOST_PERIODS", 2)
    run = ffml.open(folder, write=False)
    for number in range(3):
        client.post("/runs/loans/decide", json={"person": GOOD, "task": f"site {number}"})
    tasks = run.store.tasks()
    whole = client.get("/runs/loans/fairness").json()
    assert [one["period"] for one in whole["periods"]] == tasks[-2:]
    assert all("evidence" in one for one in whole["periods"])
    for period, task in zip(whole["periods"], tasks[-2:], strict=True):
        [(n,)] = ask(folder, f"select count(*) from people where task = '{task}'")
        assert period["people"] == n
    until = client.get("/runs/loans/fairness", params={"end": "site 1"}).json()
    assert [one["period"] for one in until["periods"]] == tasks[-3:-1]
    said = client.get("/runs/loans/fairness", params={"start": tasks[0]})
    assert said.status_code == 400 and "start and end" in said.json()["error"]


def test_a_refusal_is_short_and_ends_with_the_remedy(client):
    client.post("/runs/loans/decide", json={"person": GOOD, "task": "counter"})
    for body in (
        {"id": 90_000 * "x", "label": "yes"},
        {"id": GOOD["person"], "label": "yes", "task": 90_000 * "x"},
        {"id": GOOD["person"], "label": 90_000 * "x"},
    ):
        said = client.post("/runs/loans/labels", json={"labels": [body]})
        assert said.status_code == 400 and len(said.content) < 1000
    assert said.json()["error"].endswith("write it so, or leave that row out")


def test_somebody_is_forgotten_in_several_tasks_at_once_or_in_none(folder, client):
    for task in ("a", "b", "c"):
        client.post("/runs/loans/decide", json={"person": GOOD, "task": task})
    client.post("/runs/loans/versions/newest/promote")
    for wrong in ([], [7], 7, {"a": 1}, [["a"]]):
        said = client.post("/runs/loans/forget", json={"id": GOOD["person"], "task": wrong})
        assert said.status_code == 400 and "task is a text or a list" in said.json()["error"]
    said = client.post("/runs/loans/forget", json={"id": GOOD["person"], "task": ["a", "c"]})
    assert said.json() == {"forgotten": 2}
    assert ask(folder, "select task from people where id = 'x1'") == [("b",)]


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
        for strange in ("by=shoe", "by=day&start=yesterday", "start=2024-02&end=2024-01"):
            assert client.get(f"/runs/loans/fairness?{strange}").status_code == 400


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


LABELLED = [GOOD | {"person": f"s{i}", "income": 30.0 + i, "paid": "no"} for i in range(6)]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("runs/loans/decide", {"person": GOOD, "task": "\ud800"}),
        ("runs/loans/adapt", {"people": [GOOD], "support": LABELLED, "task": "\udfff"}),
        ("runs/loans/forget", {"id": "\ud800"}),
        ("runs/loans/labels", {"labels": [{"id": "\ud800", "label": "yes"}]}),
        ("v2/models/loans/infer", {"id": "\ud800", "inputs": []}),
    ],
)
def test_half_of_a_character_is_refused(path, body, folder, client):
    before = written(folder)
    said = client.post(path, content=json.dumps(body), headers={"Content-Type": "application/json"})
    assert said.status_code == 400 and "half of a character" in said.json()["error"]
    assert written(folder) == before
    whole = {"person": GOOD | {"person": "\U0001f600"}}  # JSON writes it as two halves
    assert client.post("runs/loans/decide", json=whole).json()["id"] == "\U0001f600"


def test_nobody_is_named_by_white_space(client):
    for blank in (" ", "\t", "\u00a0"):
        said = client.post("/runs/loans/decide", json={"person": GOOD | {"person": blank}})
        assert said.status_code == 400 and "without an id" in said.json()["error"]


def test_a_label_says_what_it_is_and_nothing_else(client):
    client.post("/runs/loans/decide", json={"people": persons(2), "task": "counter"})
    one, two = ({"id": p["person"], "label": "yes", "task": "counter"} for p in persons(2))
    for rows, why in (
        ([one, two | {"label": "maybe"}], "is 'maybe', and the run knows no and yes"),
        ([one, {"id": two["id"], "label": "yes"}], "the task of every label, or of none"),
        ([one, {"id": two["id"], "label": "yes", "taks": "counter"}], "no field 'taks'"),
    ):
        said = client.post("/runs/loans/labels", json={"labels": rows})
        assert said.status_code == 400 and why in said.json()["error"]
    assert client.post("/runs/loans/labels", json={"labels": [one, two]}).json()["new"] == 2


def test_labelled_rows_to_adapt_to_may_have_one_label(client):
    asked = {"people": persons(2), "support": LABELLED, "task": "town"}
    assert len(client.post("/runs/loans/adapt", json=asked).json()["decisions"]) == 2
    asked["support"] = [row | {"paid": "perhaps"} for row in LABELLED]
    said = client.post("/runs/loans/adapt", json=asked)
    assert said.status_code == 400 and "is 'perhaps'" in said.json()["error"]


def test_a_time_that_starts_after_its_end_is_refused(client):
    client.post("/runs/loans/decide", json={"people": persons(2)})
    path = "/runs/loans/fairness?by=day&start=2026-03&end=2026-02"
    assert "start comes after end" in client.get(path).json()["error"]


def test_what_every_refusal_of_an_address_says(client):
    for method, path in (("GET", "/nowhere"), ("GET", "/runs/loans/decide")):
        assert "see /openapi.json" in client.request(method, path).json()["error"]
    kind = {"Content-Type": "Application/JSON; charset=utf-8"}
    said = client.post("/runs/loans/decide", content=json.dumps({"person": GOOD}), headers=kind)
    assert said.status_code == 200


def test_a_full_disk_is_no_fault_of_who_asks(folder, client, caplog):
    store = client.app.state.runs["loans"].run.store
    caplog.set_level(logging.WARNING)

    def full(*_, **__):
        raise store._base.explain(
            sa.exc.OperationalError("", {}, sqlite3.OperationalError("database or disk is full"))
        )

    client.app.state.runs["loans"].run.decide_together = full
    said = client.post("/runs/loans/decide", json={"person": GOOD})
    assert said.status_code == 503 and said.headers["retry-after"]
    assert any("no room to write" in record.getMessage() for record in caplog.records)


def test_names_are_of_a_length_that_a_page_can_show(client):
    for body in (
        {"person": GOOD, "task": 256 * "x"},
        {"person": GOOD | {"person": 256 * "x"}},
        {"person": GOOD | {"month": 256 * "x"}},
    ):
        said = client.post("/runs/loans/decide", json=body)
        assert said.status_code == 400 and "more than 255 letters" in said.json()["error"]
    assert client.post("/runs/loans/forget", json={"id": 256 * "x"}).status_code == 400


def test_tokens_of_one_name_in_two_runs_have_a_rate_each(folder, tmp_path):
    copy_ledger(folder, tmp_path / "cards")
    tokens = {}
    for place in (folder, tmp_path / "cards"):
        run = ffml.open(place)
        tokens[place.name] = {"Authorization": f"Bearer {make_token(run.store, 'shop', ['read'])}"}
        run.close()
    app = create_app({"loans": str(folder), "cards": str(tmp_path / "cards")}, Limits(rate=1))
    with TestClient(app, "http://localhost") as client:
        for name, expected in (("loans", 200), ("loans", 429), ("cards", 200)):
            said = client.get(f"/runs/{name}/columns", headers=tokens[name])
            assert said.status_code == expected


def test_a_run_whose_database_is_away_takes_no_other_with_it(folder, tmp_path):
    copy_ledger(folder, tmp_path / "cards")
    app = create_app({"loans": str(folder), "cards": str(tmp_path / "cards")})

    async def away():
        raise Away("no server answers there")

    with TestClient(app, "http://localhost") as client:
        assert client.get("/v2/health/ready").json() == {"ready": True}
    app = create_app({"loans": str(folder), "cards": str(tmp_path / "cards")})
    app.state.runs["cards"].tokens = away
    with TestClient(app, "http://localhost") as client:
        said = client.get("/v2/health/ready")  # the protocol's word for: all models can be asked
        assert said.status_code == 503 and said.headers["retry-after"]
        assert client.get("/v2/health/live").status_code == 200
        text = client.get("/metrics").text
        assert 'run="loans"' in text and 'run="cards"' not in text
        assert "loans" in client.get("/page/runs").text
        assert client.get("/").status_code == client.get("/runs/cards/page").status_code == 200
        for path in ("/runs/cards/check", "/runs/cards/page/parts"):
            assert client.get(path).status_code == 503
        app.state.runs["loans"].tokens = away
        assert client.get("/metrics").status_code == 503
