"""One person is taken out: neither id nor features stay, and the chain holds."""

import pytest
from faces import agree, truth_of
from months import MONTHS, begin, labels, loans, of, unlabelled

import ffml
from ffml.base import FFMLError

FRAME = loans(4, 40)


@pytest.fixture
def run(tmp_path):
    frame = FRAME.assign(applicant=[f"person-{i}-" for i in FRAME.applicant])
    first = of(frame, *MONTHS[:3])
    run = begin(first, tmp_path / "run", label_delay=1, keep_features=True)
    run.update(unlabelled(of(frame, MONTHS[3])))
    run.write_views()
    return run


def test_nothing_of_the_person_stays_but_the_counts(run, run_main):
    """Neither in tables nor in the bytes of the files; somebody who is waited for, too."""
    before, _ = truth_of(run.folder)
    for person in ("person-7-", "person-130-"):
        assert run.forget(person) == 1
        kept = run.store.decisions(columns=("id", "content", "x"))
        assert person not in kept["id"]
    run.close()
    for path in run.folder.iterdir():
        assert not any(name in path.read_bytes() for name in (b"person-7-", b"person-130-")), path
    after, _ = agree(run.folder, run_main)
    assert sorted(map(str, after.rows)) == sorted(map(str, before.rows))
    found = ffml.open(run.folder).verify()
    assert found.sound and found.forgotten == 2


def test_the_run_goes_on_without_them(run):
    run.forget("person-130-")
    april = of(FRAME, MONTHS[3])
    april = april.assign(applicant=[f"person-{i}-" for i in april.applicant])
    with pytest.raises(FFMLError, match="1 of 40 labels are for people the run has not decided"):
        run.label(labels(april))
    others = april[april.applicant != "person-130-"]
    assert run.label(labels(others)).new == 39
    run.update(unlabelled(april).assign(month="2024-05"))
    assert run.store.rounds()[3].status == "learned" and run.verify().sound


def test_a_table_that_still_has_them_is_passed_over(run):
    run.forget("person-7-")
    frame = FRAME.assign(applicant=[f"person-{i}-" for i in FRAME.applicant])
    head = run.store.head
    assert run.update(of(frame, *MONTHS[:2])) == [] and run.store.head == head


def test_the_command(run, run_main):
    code, out, err = run_main("forget", run.folder, "person-7-", "--task", MONTHS[0])
    assert code == 0 and "1 decision about one person, without id or features" in out, err
    code, _, err = run_main("forget", run.folder, "person-7-")
    assert code == 2 and "the run knows no id 'person-7-'; check how it is written" in err
    code, _, err = run_main("replay", run.folder)
    assert code == 2 and "people were forgotten" in err and err.count("\n") == 1
    code, out, _ = run_main("verify", run.folder)
    assert code == 0 and "1 people forgotten" in out


def test_files_are_for_their_owner_alone(run):
    for path in (run.folder, *run.folder.iterdir()):
        assert not path.stat().st_mode & 0o077, path
