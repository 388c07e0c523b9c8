"""Versions over HTTP: which decides, which can be asked, and who may say so."""

from lives import labels, unlabelled
from loaned import persons
from starlette.testclient import TestClient

import ffml
from ffml.service.app import create_app
from ffml.service.tokens import make_token


def tensors(people):
    return {
        "inputs": [
            {"name": n, "shape": [len(people)], "datatype": kind, "data": [p[n] for p in people]}
            for n, kind in (("person", "BYTES"), ("income", "FP64"), ("sex", "BYTES"))
        ]
    }


def bring(client, number, task):
    """Decide about a month's people, then bring their labels."""
    people = persons(24, number)
    client.post("/runs/loans/decide", json={"people": people, "task": task})
    rows = [
        {"id": one["person"], "label": one["paid"], "task": task}
        for one in labels(number).to_dict("records")
    ]
    return client.post("/runs/loans/labels", json={"labels": rows}).json()


def test_promoted_and_rolled_back_between_two_requests(folder, client):
    newest = client.get("/runs/loans/versions").json()["newest"]
    body = {"people": persons(5)}
    first = client.post("/runs/loans/decide", json=body | {"task": "a"}).json()["decisions"]
    assert client.post("/runs/loans/versions/roll_back").json() == {"deciding": newest - 1}
    assert client.get("/runs/loans/versions").json()["promotion"] == "manual"
    back = client.post("/runs/loans/decide", json=body | {"task": "b"}).json()["decisions"]
    assert {one["version"] for one in back} == {newest - 1} != {one["version"] for one in first}
    said = client.post(f"/v2/models/loans/versions/{newest}/infer", json=tensors(persons(5)))
    assert said.json()["model_version"] == str(newest)
    assert said.json()["parameters"] == {"recorded": False}
    probabilities = next(o for o in said.json()["outputs"] if o["name"] == "probability")["data"]
    assert probabilities == [one["probability"] for one in first]
    own = client.post(f"/v2/models/loans/versions/{newest - 1}/infer", json=tensors(persons(2, 8)))
    assert own.json()["parameters"] == {"recorded": True}
    assert client.post("/runs/loans/versions/newest/promote").json() == {"deciding": newest}
    assert client.get("/runs/loans/versions").json()["promotion"] == "newest"
    assert client.post("/runs/loans/versions/99/promote").status_code == 400
    for bad in ("99", "x", "1e3", "-1", "9" * 30, "\u0662"):  # an Arabic two
        assert client.get(f"/v2/models/loans/versions/{bad}").status_code == 404
        reply = client.post(f"/v2/models/loans/versions/{bad}/infer", json=tensors(persons(1)))
        assert reply.status_code == 404
    assert ffml.open(folder, write=False).verify().sound


def test_who_may_only_decide_asks_no_other_version_and_promotes_none(folder):
    run = ffml.open(folder)
    tokens = {name: make_token(run.store, name, [name]) for name in ("decide", "label", "read")}
    newest = run.store.version_number
    run.close()
    with TestClient(create_app({"loans": str(folder)}), "http://localhost") as client:

        def code(who, path, body=None):
            headers = {"authorization": f"Bearer {tokens[who]}"}
            return client.request("POST", path, json=body or {}, headers=headers).status_code

        other = f"/v2/models/loans/versions/{newest - 1}/infer"
        assert code("decide", other, tensors(persons(1))) == 403
        assert code("read", other, tensors(persons(1))) == 403
        for who in tokens:
            assert code(who, "/runs/loans/versions/1/promote") == 403
            assert code(who, "/runs/loans/versions/roll_back") == 403
            assert code(who, "/runs/loans/forget", {"id": "9-1"}) == 403
        assert code("label", "/runs/loans/decide", {"people": persons(1)}) == 403
        assert code("read", "/runs/loans/decide", {"people": persons(1)}) == 403
        assert code("decide", "/runs/loans/decide", {"people": persons(1)}) == 200


def test_by_hand_nothing_is_promoted_by_itself(folder):
    app = create_app({"loans": str(folder)}, promote="manual")
    with TestClient(app, "http://localhost") as client:
        before = client.get("/runs/loans/versions").json()["deciding"]
        assert bring(client, 9, "counter")["learned"] == ["counter"]
        said = client.get("/runs/loans/versions").json()
        assert (said["deciding"], said["newest"]) == (before, before + 1)
        assert client.post("/runs/loans/versions/newest/promote").json()["deciding"] == before + 1


def test_the_newest_always_is_a_rule_that_is_said(folder):
    app = create_app({"loans": str(folder)}, promote="auto")
    with TestClient(app, "http://localhost") as client:
        assert client.get("/runs/loans/versions").json()["promotion"] == "auto"
        client.post("/runs/loans/versions/newest/promote")
        bring(client, 9, "one")
        said = client.get("/runs/loans/versions").json()
        assert said["promotion"] == "newest" and said["deciding"] == said["newest"]
    app = create_app({"loans": str(folder)}, promote="auto")
    with TestClient(app, "http://localhost") as again:
        assert again.get("/runs/loans/versions").json()["promotion"] == "auto"


def test_by_trial_the_one_before_goes_on_until_labels_say_enough(folder):
    app = create_app({"loans": str(folder)}, promote="auto")
    with TestClient(app, "http://localhost") as client:
        before = client.get("/runs/loans/versions").json()["deciding"]
        bring(client, 9, "one")  # the newest decides: nothing to try
        assert "no trial yet" in client.get("/runs/loans/versions").json()["waits"]
        bring(client, 8, "two")
        said = client.get("/runs/loans/versions").json()
        assert said["deciding"] == before and "labels of 24 people are too few" in said["waits"]
        bring(client, 7, "three")
        bring(client, 6, "four")
    run = ffml.open(folder)
    trials = run.store.document("trials")
    assert {row["version"] for row in trials["tasks"]} <= {before + 1, before + 2, before + 3}
    events = [one.what for one in run.store.events()]
    assert any(f"version {before} goes on deciding: labels of 24" in what for what in events)
    assert (run.store.deciding > before) == (not trials["refused"]) and run.verify().sound
    last = trials["tasks"][-1]
    assert last["task"] == "four" and last["version"] == before + 3
    said = run.decide(unlabelled(6), record=False, version=last["version"])
    wrong = said.decision.to_numpy() != (labels(6).paid == "yes").to_numpy()
    assert last["errors"][0] == wrong.sum()
    run.close()
