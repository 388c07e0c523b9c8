"""Kills, several writers, damaged and full disks, folders that are moved, closed or not ours."""

import os
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from ledgers import blob, decided, plain_sql
from postgres import PASSWORD

from ffml.base import FFMLError
from ffml.store import Store, public_address, verify

WRITER = """
import sys
from ledgers import blob, decided
from ffml.store import Store
with Store.open(sys.argv[1], write=True) as store:
    for number in range(int(sys.argv[3])):
        with store.transaction("writer", "round") as t:
            ids = [f"{sys.argv[2]}.{number}.{i}" for i in range(20)]
            this = t.put_round(f"{sys.argv[2]}.{number}", "decided", {})
            t.add_decisions(this, decided(ids))
            t.put_version({}, bytes(20_000), **blob(b"x"), round=this)
        print(number, flush=True)
"""


def writer(address, name, rounds=10_000):
    paths = [str(Path(__file__).parents[1] / "helpers"), *sys.path]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}
    command = [sys.executable, "-c", WRITER, str(address), name, str(rounds)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)


def fill(store, task, ids=("a", "b")):
    with store.transaction("test", "round") as t:
        number = t.put_round(task, "decided", {})
        t.add_decisions(number, decided(list(ids)))
        t.put_version({}, b"state" * 1000, **blob(b"trees" * 1000), round=number)


def test_a_killed_writer_leaves_whole_transactions(store, address):
    rng = np.random.default_rng(0)
    for attempt in range(3):
        process = writer(address, f"w{attempt}")
        process.stdout.readline()
        time.sleep(rng.uniform(0, 0.1))
        process.send_signal(signal.SIGKILL)
        told = process.stdout.read().split()
        process.wait()
        process.stdout.close()
        tasks = {row.task for row in store.rounds()}
        assert {f"w{attempt}.{number}" for number in ["0", *told]} <= tasks
        rows = plain_sql(address, "select task, count(*) from people group by task")
        assert {n for _, n in rows} == {20} and {task for task, _ in rows} == tasks
        assert verify(store).findings == []


def test_writers_in_threads_and_processes_take_turns_and_readers_see_whole_rounds(store, address):
    process, errors, stop = writer(address, "other", 15), [], threading.Event()

    def write(name):
        for number in range(15):
            fill(store, f"{name}.{number}", [f"{name}{i}" for i in range(20)])

    def read():
        while not stop.is_set():
            with store.snapshot():
                people = store.decisions(columns=("id",))["id"].size
                if people != 20 * len(store.rounds()) or store.totals().n.sum() != people:
                    errors.append(people)

    threads = [threading.Thread(target=write, args=(name,)) for name in "ab"]
    readers = [threading.Thread(target=read) for _ in range(2)]
    for thread in threads + readers:
        thread.start()
    for thread in threads:
        thread.join()
    process.communicate()
    stop.set()
    for thread in readers:
        thread.join()
    assert (process.returncode, errors, len(store.rounds())) == (0, [], 45)
    assert verify(store).findings == []


def test_one_learner_at_a_time_in_threads_too(store, address):
    messages = []

    def second():
        try:
            with Store.open(address, write=True) as other, other.learning():
                messages.append("learned")
        except FFMLError as error:
            messages.append(str(error))

    with store.learning():
        thread = threading.Thread(target=second)
        thread.start()
        thread.join()
        with pytest.raises(FFMLError, match="somebody else is learning"), store.learning():
            pass
        fill(store, "may")  # short transactions go on
    second()
    assert messages == [
        f"somebody else is learning in {store.name}; wait until they are done",
        "learned",
    ]


def test_a_reader_cannot_write(store, address):
    with Store.open(address) as reader:
        with pytest.raises(FFMLError, match="opened to read"), reader.transaction("a", "b"):
            pass
        fill(store, "may")
        assert [row.task for row in reader.rounds()] == ["may"]


def test_places_without_a_run_and_with_one(store, address, tmp_path):
    with pytest.raises(FFMLError, match="holds a run already"):
        Store.create(address, {})
    with pytest.raises(FFMLError, match="holds no run"):
        Store.open(tmp_path)
    with pytest.raises(FFMLError, match="holds no run"):
        Store.open(address + "_not" if isinstance(address, str) else tmp_path / "not")
    plain_sql(address, "update run set value = '99' where key = 'format'")
    with pytest.raises(FFMLError, match="has format 99, this ffml reads 2; update ffml"):
        Store.open(address)


@pytest.fixture
def folder(tmp_path):
    with Store.create(tmp_path / "run", {}) as store:
        for task in range(30):
            fill(store, str(task), [f"{task}.{i}" for i in range(30)])
    return tmp_path / "run"


def test_files_are_the_owners_alone_and_links_are_not_followed(folder, tmp_path):
    with Store.open(folder, write=True) as store, store.learning():
        fill(store, "may")
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
    assert modes == dict.fromkeys(("run.db", "run.db-wal", "run.db-shm", "run.lock"), 0o600)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    shutil.move(folder / "run.db", tmp_path / "elsewhere.db")
    (folder / "run.db").symlink_to(tmp_path / "elsewhere.db")
    with pytest.raises(FFMLError, match="is a link"):
        Store.open(folder)
    with pytest.raises(FFMLError, match="is a link"):
        Store.create(folder, {})


def test_a_folder_moves_and_is_copied(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "copy")
    folder.rename(tmp_path / "moved")
    for place in ("copy", "moved"):
        with Store.open(tmp_path / place, write=True) as store:
            fill(store, "more")
            assert verify(store).findings == []


@pytest.mark.parametrize("share", [0, 0.1, 0.5, 0.9])
def test_a_truncated_file_is_named_with_what_can_be_done(folder, share):
    size = (folder / "run.db").stat().st_size
    os.truncate(folder / "run.db", int(size * share))
    with pytest.raises(FFMLError, match=r"run.* (is damaged .*save what|holds no run)") as caught:
        Store.open(folder)
    assert "\n" not in str(caught.value)


def test_overwritten_pages_are_noticed(folder):
    data = bytearray((folder / "run.db").read_bytes())
    (folder / "run.db").write_bytes(b"not a database at all" * 500)
    with pytest.raises(FFMLError, match=r"is damaged .file is not a database"):
        Store.open(folder)
    rng = np.random.default_rng(0)
    for _ in range(10):
        start = int(rng.integers(4096 * 30, len(data) - 4096))
        bad = data[:start] + rng.bytes(4096) + data[start + 4096 :]
        (folder / "run.db").write_bytes(bad)
        with Store.open(folder) as store:
            try:
                assert verify(store).findings
            except FFMLError as error:
                assert "is damaged" in str(error)


@pytest.mark.parametrize("pages", [1, 3, 10, 40])
def test_a_full_disk_leaves_the_run_as_it_was(folder, pages):
    with Store.open(folder, write=True) as store:
        before = store.head
        with store._base.engine.connect() as connection:
            raw = connection.connection.driver_connection
            size = raw.execute("pragma page_count").fetchone()[0]
            raw.execute(f"pragma max_page_count = {size + pages}")
        with pytest.raises(FFMLError, match=r"no room .*make room"):  # noqa: SIM117
            with store.transaction("test", "learn") as t:
                t.put_version({}, bytes(1_000_000))
        assert store.head == before
        assert verify(store).sound


def test_a_closed_folder_is_read_and_not_written(folder):
    if os.geteuid() == 0:
        os.chown(folder, 65534, 65534)
        os.chown(folder / "run.db", 65534, 65534)
    folder.chmod(0o500)
    (folder / "run.db").chmod(0o400)
    code = (
        "import os, sys; from ffml.base import FFMLError; from ffml.store import *\n"
        "if os.geteuid() == 0: os.setgid(65534); os.setuid(65534)\n"
        "print(verify(Store.open(sys.argv[1])).findings)\n"
        "try:\n  with Store.open(sys.argv[1], write=True).transaction('a', 'b') as t:\n"
        "    t.put_document('a', 1)\n"
        "except FFMLError as error: print(error)"
    )
    for parent in folder.parents:
        if parent == Path(tempfile.gettempdir()):
            break
        parent.chmod(parent.stat().st_mode | 0o011)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    result = subprocess.run(
        [sys.executable, "-c", code, str(folder)], capture_output=True, text=True, env=environment
    )
    first, second = result.stdout.splitlines() or [result.stderr, ""]
    assert first == "[]" and "cannot be written" in second


def test_an_interrupted_start_can_be_started_again(tmp_path):
    (tmp_path / "run").mkdir()
    sqlite3.connect(tmp_path / "run" / "run.db").close()
    (tmp_path / "run" / "run.db").touch()
    with pytest.raises(FFMLError, match="holds no run"):
        Store.open(tmp_path / "run")
    with Store.create(tmp_path / "run", {"name": "again"}) as store:
        assert store.document("name") == "again"


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://ann:{PASSWORD}@127.0.0.1:1/db?run=loans",
        f"postgresql://ann:{PASSWORD}@127.0.0.1:1/db?run=Not+A+Name",
        f"postgresql://ann@127.0.0.1:1/db?password={PASSWORD}&run=loans",
        f"postgresql://ann:x/{PASSWORD}@127.0.0.1:1/db",
        f"postgresql://[{PASSWORD}/db",
        f"mysql://ann:{PASSWORD}@127.0.0.1:1/db",
    ],
)
def test_no_message_shows_a_password(url):
    with pytest.raises(FFMLError) as caught:
        Store.open(url)
    assert PASSWORD not in str(caught.value) and "\n" not in str(caught.value)
    assert caught.value.__cause__ is None or PASSWORD not in repr(caught.value.__cause__)
    assert PASSWORD not in public_address(url)
