"""Whenever a run ends, by a kill or a power cut, going on ends where the undisturbed one ends."""

import os
import random
import shutil
import signal
import threading
import time
from multiprocessing import get_context

import lives
import pytest
import sqlalchemy as sa

import ffml
from ffml.base import FFMLError
from ffml.store import Store, holds_run

# JAX is imported by the server, and started by each child.
PRELOAD = ["lives", "ffml.runs.starting", "ffml.runs._decide", "ffml.runs._labels"]
PRELOAD += ["ffml.runs._further", "ffml.runs._views", "ffml.features.boosted", "sklearn.tree"]


class Images:
    """Copies a run's folder before some statements and commits: what a kill there would leave."""

    def __init__(self, folder, into, every):
        self.folder, self.into, self.every, self.seen = folder, into, every, 0
        self.made = []

    def __enter__(self):
        sa.event.listen(sa.Engine, "before_cursor_execute", self._look)
        sa.event.listen(sa.Engine, "commit", self._look)
        return self

    def __exit__(self, *_):
        sa.event.remove(sa.Engine, "before_cursor_execute", self._look)
        sa.event.remove(sa.Engine, "commit", self._look)

    def _look(self, *_):
        self.seen += 1
        if self.seen % self.every == 0 and self.folder.exists():
            image = self.into / f"{self.seen:05d}"
            shutil.copytree(self.folder, image)
            shutil.copy(self.folder.with_suffix(".csv"), image.with_suffix(".csv"))
            self.made.append(image)


@pytest.fixture(scope="module")
def lived(tmp_path_factory):
    """What an undisturbed life comes to, and what kills along the way would have left."""
    base = tmp_path_factory.mktemp("lived")
    (base / "images").mkdir()
    with Images(base / "run", base / "images", every=11) as images:
        lives.live(base / "run").close()
    return lives.outcome(base / "run"), images.made


def test_every_kind_of_step_was_caught_in_the_act(lived, tmp_path):
    images = lived[1]
    found = set()
    for image in images:
        copy = shutil.copytree(image, tmp_path / image.name)  # a look at it empties its log
        if holds_run(copy):
            found.update(lives.ask(copy, "select who from events order by seq desc limit 1"))
    assert {("ffml",), ("run",), ("update",), ("decide",), ("label",)} == found
    assert len(images) > 20


def test_a_kill_between_any_two_statements_changes_nothing(lived):
    expected, images = lived
    for image in images[::2]:  # all of them, and more: benchmarks/kill_points.py
        lives.live(image).close()
        assert lives.outcome(image) == expected


def test_a_power_cut_within_the_log_changes_nothing(lived, tmp_path):
    expected, images = lived
    rng = random.Random(0)
    for number, image in enumerate(rng.sample(images, 3)):
        folder = shutil.copytree(image, tmp_path / f"{number}")
        log = folder / "run.db-wal"
        if log.exists():
            os.truncate(log, rng.randint(0, log.stat().st_size))
        (folder / "run.db-shm").unlink(missing_ok=True)
        lives.live(folder).close()
        assert lives.outcome(folder) == expected


@pytest.mark.skipif(not hasattr(os, "fork"), reason="children are forked")
def test_sigkill_at_random_instants(lived, tmp_path):
    expected, rng = lived[0], random.Random(1)
    context = get_context("forkserver")
    context.set_forkserver_preload(PRELOAD)
    kills, whole = 0, 2.0
    for attempt in range(10):
        child = context.Process(target=lives.live, args=(tmp_path / "run",))
        began = time.monotonic()
        child.start()
        child.join(rng.uniform(0.1, 1) * whole)
        if child.is_alive():
            os.kill(child.pid, signal.SIGKILL)
            kills += 1
        child.join()
        if child.exitcode == 0:
            whole = min(whole, time.monotonic() - began)
            assert lives.outcome(tmp_path / "run") == expected
            shutil.rmtree(tmp_path / "run")
        else:
            assert child.exitcode == -signal.SIGKILL, attempt
    lives.live(tmp_path / "run").close()
    assert lives.outcome(tmp_path / "run") == expected
    assert kills >= 3


# -- two at once -------------------------------------------------------------------------------


def patiently(folder, step, said):
    """Try again as long as somebody else is at work; one line says so."""
    while True:
        run = ffml.open(folder)
        try:
            return step(run)
        except FFMLError as error:
            assert "somebody else is" in str(error) and "\n" not in str(error)
            said.append(str(error))
            time.sleep(0.01)
        finally:
            run.close()


def test_an_update_and_labels_in_two_threads_lose_nothing(tmp_path):
    lives.begun(tmp_path / "run").update(lives.unlabelled(3))
    said, errors = [], []

    def work(*steps):
        try:
            for step in steps:
                patiently(tmp_path / "run", step, said)
        except BaseException as error:
            errors.append(error)

    updates = [lambda run, n=n: run.update(lives.month(n)) for n in range(4, 9)]
    labels = [lambda run, i=i: run.label(lives.labels(3, i, i + 4)) for i in range(0, 24, 4)]
    threads = [threading.Thread(target=work, args=steps) for steps in (updates, labels)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    rows = lives.ask(tmp_path / "run", "select task, count(*), count(label) from people group by 1")
    assert rows == [(f"2024-{n:02d}", 24, 24) for n in range(1, 9)]
    with Store.open(tmp_path / "run") as store:
        assert {row.status for row in store.rounds()} == {"learned"}
        assert store.version().document == {"round": 8}
    run = ffml.open(tmp_path / "run")
    assert run.verify().sound and run.session().state.memory.seen == 8


@pytest.mark.skipif(not hasattr(os, "fork"), reason="children are forked")
def test_a_second_process_is_refused_and_readers_are_not(tmp_path):
    run = lives.begun(tmp_path / "run")
    context = get_context("forkserver")
    context.set_forkserver_preload(PRELOAD)
    answers = context.Queue()
    with run.learning():
        for target in (try_update, try_overwrite, read):
            child = context.Process(target=target, args=(tmp_path / "run", answers))
            child.start()
            child.join()
    busy = f"somebody else is learning in {tmp_path / 'run'}; wait until they are done"
    assert [answers.get(timeout=9) for _ in range(3)] == [busy, busy, 48]
    assert len(run.update(lives.month(3))) == 1


def try_update(folder, answers):
    try:
        answers.put(ffml.open(folder).update(lives.month(3)))
    except FFMLError as error:
        answers.put(str(error))


def try_overwrite(folder, answers):
    table = str(folder.with_suffix(".csv"))
    try:
        ffml.run(table, out=folder, overwrite=True, **lives.ROLES, **lives.SETTINGS)
    except FFMLError as error:
        answers.put(str(error))


def read(folder, answers):
    run = ffml.open(folder, write=False)
    answers.put(int(run.rounds["n_rows"].sum()))


def test_a_session_that_was_overtaken_writes_nothing(tmp_path):
    first = lives.begun(tmp_path / "run")
    second = ffml.open(tmp_path / "run")
    stale = second.session()
    first.update(lives.month(3))
    task = next(iter(lives_tasks(second, lives.month(4))))
    with pytest.raises(FFMLError, match=r"somebody else has learned in .*; do it again"):
        stale.play(task, "update")
    assert [r.task for r in second.update(lives.month(4))] == ["2024-04"]
    assert second.verify().sound and len(second.store.tasks()) == 4


def lives_tasks(run, table):
    from ffml.runs.starting import further_tasks

    return further_tasks(run, table).tasks()


def test_two_who_decide_about_one_person_say_the_same(tmp_path):
    lives.begun(tmp_path / "run").close()
    people, said = lives.unlabelled(9, 6), []

    def decide():
        run = ffml.open(tmp_path / "run")
        for i in range(6):
            said.append(run.decide(people[i : i + 1], task="counter").iloc[0].tolist())
        run.close()

    threads = [threading.Thread(target=decide) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(said) == 18 and len({tuple(one) for one in said}) == 6
    query = "select count(*), count(distinct id) from people where task = 'counter'"
    assert lives.ask(tmp_path / "run", query) == [(6, 6)]


def test_readers_during_writes_see_whole_rounds(tmp_path):
    run, stop, wrong, reads = lives.begun(tmp_path / "run"), threading.Event(), [], []

    def look():
        reader = ffml.open(tmp_path / "run", write=False)
        while not stop.is_set():
            record = reader.record
            reads.append(len(record.kept))
            tables = record.tables["sex"].sum((1, 2, 3))
            wrong.extend([tables] if not tables.all() or len(tables) != len(record.kept) else [])
        reader.close()

    threads = [threading.Thread(target=look) for _ in range(4)]
    for thread in threads:
        thread.start()
    for number in range(3, 9):
        run.update(lives.month(number))
    stop.set()
    for thread in threads:
        thread.join()
    assert not wrong and len(reads) > 20 and max(reads) >= 7
