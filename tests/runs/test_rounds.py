"""Rounds long past have files of their own: checkpoints do not grow, and nothing is lost."""

import pytest
from workshop import ROUNDS, Workshop, hurry, outcome, play

from ffml.base import FFMLError
from ffml.runs import rounds as module
from ffml.store.container import read
from ffml.runs.generations import generations, newest_generation
from ffml.runs.history import history_arrays, history_document
from ffml.runs.judged import judged_rounds
from ffml.runs.rounds import Rounds


@pytest.fixture(scope="module")
def workshop():
    return Workshop()


@pytest.fixture(autouse=True)
def in_a_hurry(monkeypatch):
    hurry(monkeypatch)


@pytest.fixture(scope="module")
def whole(workshop, tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    with pytest.MonkeyPatch.context() as patch:
        hurry(patch)
        directory = workshop.run(folder / "run")
    return directory


def same(one, other):
    return history_document(one) == history_document(other) and all(
        a.tobytes() == b.tobytes()
        for a, b in zip(history_arrays(one).values(), history_arrays(other).values(), strict=True)
    )


@pytest.mark.parametrize("size", [2, 3])
def test_a_long_run_is_the_same_however_its_past_is_kept(
    size, whole, workshop, tmp_path, monkeypatch
):
    monkeypatch.setattr(module, "ROUNDS_IN_PART", size)
    workshop.run(tmp_path / "run", rounds=size + 1)
    newest = generations(tmp_path / "run")[0]
    assert len(read(newest).document["history"]["round"]) == 1
    assert len(list(newest.parent.glob("rounds-*"))) == 1
    resumed = workshop.resumed(tmp_path / "run")
    assert len(resumed.rounds) == size + 1
    play(resumed, ROUNDS)
    timeless = [
        [record.__class__(**vars(record) | {"seconds": 0.0}) for record in directory.rounds]
        for directory in (whole, resumed)
    ]
    assert same(*timeless)
    document = newest_generation(tmp_path / "run").contents.document
    kept = newest_generation(whole.folder).contents.document
    assert document["stream"] == kept["stream"]
    assert judged_rounds(tmp_path / "run").done == ROUNDS
    left, expected = outcome(tmp_path / "run"), outcome(whole.folder)
    further = set(left.pop("files")) - set(expected.pop("files"))
    assert [name.split("-")[0] for name in further] == ["checkpoint/rounds"]
    assert left == expected


def test_a_damaged_past_is_refused(workshop, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "ROUNDS_IN_PART", 2)
    workshop.run(tmp_path / "run")
    (part,) = (tmp_path / "run" / "checkpoint").glob("rounds-*")
    part.write_bytes(part.read_bytes()[:-1])
    with pytest.raises(FFMLError, match=r"^no checkpoint of [^\n]*rounds-[^\n]*is damaged[^\n]*$"):
        workshop.resumed(tmp_path / "run")


def test_rounds_are_a_sequence(whole, monkeypatch):
    monkeypatch.setattr(module, "ROUNDS_IN_PART", 2)
    records = list(whole.rounds)
    rounds = Rounds.of(records)
    assert (len(rounds), len(rounds.parts), len(rounds.latest)) == (4, 1, 2)
    assert same(list(rounds), records) and same(rounds[1:3], records[1:3])
    assert rounds[-1].round == 4 and Rounds.of(rounds) is rounds
    assert not Rounds() and list(Rounds()) == []
