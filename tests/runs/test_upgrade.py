"""Folders of ffml 0.2: refused with the advice, then converted, or left as they are."""

import shutil
from pathlib import Path

import pytest
from faces import agree

import ffml
from ffml.base import FFMLError
from ffml.runs import upgrading

GOLDEN = Path(__file__).parents[1] / "golden"


@pytest.fixture
def old(tmp_path):
    """A run of 0.2 on a data set of the package."""
    return Path(shutil.copytree(GOLDEN / "checkpoint-2" / "run", tmp_path / "old"))


def contents(folder):
    return {p.relative_to(folder): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.mark.parametrize("words", [["check"], ["report"], ["update"], ["verify"], ["replay"]])
def test_every_command_gives_the_advice(words, old, run_main):
    before = contents(old)
    code, _, err = run_main(*words, old)
    assert code == 2 and f"convert it once with: ffml upgrade {old}" in err
    assert err.count("\n") == 1 and contents(old) == before


def test_a_run_is_converted(old, run_main):
    before = contents(old)
    code, out, err = run_main("upgrade", old)
    assert code == 0 and "has a ledger now (3 tasks)" in out, err
    assert contents(old / upgrading.OLD) == before
    with ffml.open(old).store as store:
        assert [row.status for row in store.rounds()] == ["learned"] * 3
    agree(old, run_main)
    code, out, err = run_main("replay", old)
    assert code == 0 and "the same bytes" in out, err
    code, _, err = run_main("upgrade", old)
    assert code == 2 and "has a ledger already; there is nothing to upgrade" in err


def test_a_stop_while_files_are_moved_loses_nothing(old, monkeypatch):
    before, rename, moves = contents(old), Path.rename, []

    def stops(path, target):
        moves.append(path.name)
        if len(moves) in (3, 7):
            raise KeyboardInterrupt
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", stops)
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            upgrading.upgrade_run(old)
    run = upgrading.upgrade_run(old)
    assert run.verify().sound and len(run.store.rounds()) == 3
    kept = contents(old / upgrading.OLD)
    assert all(kept[name] == data for name, data in before.items())


def test_one_that_cannot_be_converted_stays_as_it_is(tmp_path, run_main):
    old = Path(shutil.copytree(GOLDEN / "checkpoint-1" / "run", tmp_path / "old"))
    before = contents(old)
    for damage in (None, "{"):
        if damage:
            (old / "config.json").write_text(damage)
            before = contents(old)
        code, _, err = run_main("upgrade", old)
        assert code == 2 and "start a new run in another folder" in err and err.count("\n") == 1
        assert contents(old) == before


def test_tasks_of_later_tables_are_named(old):
    rows = (old / "rounds.csv").read_text().splitlines()
    at = rows[0].split(",").index("task")
    cells = rows[-1].split(",")
    cells[at] = "a later month"
    (old / "rounds.csv").write_text("\n".join([*rows, ",".join(cells)]) + "\n")
    run = upgrading.upgrade_run(old)
    assert upgrading.later_tasks(old, run) == ["a later month"]


def test_a_folder_that_is_no_run(tmp_path):
    with pytest.raises(FFMLError, match=r"holds no run of ffml 0\.2 that can be converted"):
        upgrading.upgrade_run(tmp_path)
