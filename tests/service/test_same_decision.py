"""The same people get the same decisions, to the last bit: one by one, in batches, by file."""

import json

import numpy as np
import pandas as pd
from lives import ROLES, SETTINGS, ask, month, unlabelled
from loaned import persons
from starlette.testclient import TestClient

import ffml
from ffml.service.app import create_app
from ffml.store.copying import copy_ledger

PEOPLE, SINGLES = 10_000, 150


def exact(said):
    """Return decisions so that == compares every bit."""
    rows = ((r["id"], np.float32(r["probability"]).tobytes(), r["decision"]) for r in said)
    return [(id, p, int(d in (1, "yes"))) for id, p, d in rows]


def test_ten_thousand_people_in_batches_and_by_file_and_some_alone(first, folder, tmp_path, client):
    people = persons(PEOPLE)
    table = tmp_path / "people.csv"
    pd.DataFrame(people).to_csv(table, index=False)
    copy_ledger(first, tmp_path / "other")
    other = ffml.open(tmp_path / "other")
    by_file = exact(other.decide(str(table), task="counter").to_dict("records"))
    predicted = other.decide(unlabelled(9, PEOPLE), record=False)
    assert exact(predicted.to_dict("records")) == by_file
    other.close()
    said = []
    for one in people[:SINGLES]:
        body = {"person": one, "task": "counter"}
        said.append(client.post("/runs/loans/decide", json=body).json())
    for start in range(SINGLES, PEOPLE, 1000):
        body = {"people": people[start : start + 1000], "task": "counter"}
        said += client.post("/runs/loans/decide", json=body).json()["decisions"]
    assert exact(said) == by_file
    tensors = [
        {"name": name, "shape": [2000], "datatype": kind, "data": [p[name] for p in people[:2000]]}
        for name, kind in (("person", "BYTES"), ("income", "FP64"), ("sex", "BYTES"))
    ]
    reply = client.post("/v2/models/loans/infer", json={"inputs": tensors}).json()
    values = {one["name"]: one["data"] for one in reply["outputs"]}
    columns = (values[name] for name in ("id", "probability", "decision"))
    rows = [
        dict(zip(("id", "probability", "decision"), row, strict=True))
        for row in zip(*columns, strict=True)
    ]
    assert exact(rows) == by_file[:2000]
    run = ffml.open(folder, write=False)
    assert run.verify().sound and len(run.decisions) == 24 + PEOPLE + 2000


def test_a_yes_or_no_of_a_file_is_that_of_json(tmp_path):
    """Pandas writes True, JSON and a frame have true: features and groups are the same."""
    past, people = (pd.concat([month(n) for n in some]) for some in ((1, 2), (3,)))
    for table in (past, people):
        table["member"], table["veteran"] = table.income > 45, table.sex == "M"
    past.to_csv(tmp_path / "past.csv", index=False)
    people.drop(columns="paid").to_csv(tmp_path / "people.csv", index=False)
    roles = ROLES | {"sensitive": "veteran", "drop": "sex"}
    ffml.run(str(tmp_path / "past.csv"), out=tmp_path / "loans", **roles, **SETTINGS).close()
    copy_ledger(tmp_path / "loans", tmp_path / "other")
    with ffml.open(tmp_path / "other") as run:
        by_file = exact(run.decide(str(tmp_path / "people.csv")).to_dict("records"))
        rates = ask(tmp_path / "other", BY_GROUP)
        frame = people.drop(columns=["paid", "sex"])
        assert exact(run.decide(frame, task="frame").to_dict("records")) == by_file
    assert {True, False} == {*frame.member}
    with TestClient(create_app({"loans": str(tmp_path / "loans")}), "http://localhost") as client:
        body = {"people": frame.to_dict("records")}
        said = client.post("/runs/loans/decide", json=body).json()["decisions"]
        assert exact(said) == by_file and ask(tmp_path / "loans", BY_GROUP) == rates
        rate = {json.loads(groups)["veteran"]: share for groups, share, _ in rates}
        assert {*rate} == {"True", "False"}
        last = client.get("/runs/loans/fairness").json()["periods"][-1]
        assert {one["group"]: one["rate"] for one in last["groups"]} == rate


BY_GROUP = """
select groups, avg(decision), count(*) from people where task = '2024-03' group by 1 order by 1
"""
