"""Requests that wait share a transaction, and one that is refused harms no other."""

import asyncio

import pyarrow as pa
from lives import begun

from ffml.base import FFMLError
from ffml.service._decider import Decider


def person(id, income):
    return pa.table({"person": [id], "sex": ["F"], "income": [income]})


async def together(decider, people):
    asked = (decider.decide(one, "counter", True) for one in people)
    return await asyncio.gather(*asked, return_exceptions=True)


def test_who_waits_shares_a_transaction_and_a_refusal_is_of_one(tmp_path):
    run = begun(tmp_path / "loans")
    decider = Decider(run)
    events = len(run.store.events())
    said = asyncio.run(together(decider, [person(f"a{i}", 40.0 + i) for i in range(20)]))
    assert [one["id"][0] for one in said] == [f"a{i}" for i in range(20)]
    assert len(run.store.events()) == events + 1
    mixed = [person("b1", 50.0), person("a0", 99.0), person("b2", 51.0), person("b1", 50.0)]
    first, refused, other, again = asyncio.run(together(decider, mixed))
    assert isinstance(refused, FFMLError) and "other features" in str(refused)
    assert first["number"] == again["number"] and other["id"] == ["b2"]
    assert len(run.store.decisions(ids=["b1", "b2", "a0"])["id"]) == 3
    assert run.verify().sound
    decider.close()
    run.close()
