"""`ffml.open("http://…")` is a `Run`: the same words, over a real connection."""

import datetime
from decimal import Decimal

import pandas as pd
import pytest
from lives import labels, month, unlabelled
from loaned import serving, written
from typer.testing import CliRunner

import ffml
from ffml.base import FFMLError
from ffml.cli import app as cli
from ffml.service.app import create_app
from ffml.service.tokens import make_token
from ffml.store.copying import copy_ledger


def test_a_run_over_http_is_a_run(first, folder, tmp_path):
    copy_ledger(first, tmp_path / "other")
    here, people = ffml.open(tmp_path / "other"), unlabelled(9)
    token = make_token(here.store, "here", ["read"])
    with serving(create_app({"loans": str(folder)})) as at:
        run = ffml.open(f"{at}/runs/loans")
        assert isinstance(run, ffml.Run) and str(run.answer) == str(here.answer)
        said, own = (one.decide(people, task="counter") for one in (run, here))
        pd.testing.assert_frame_equal(said, own)
        assert run.decide(people, task="counter", key="k").number.tolist() == said.number.tolist()
        came = labels(9).assign(month="counter")
        assert run.label(came[:5]) == here.label(came[:5])
        numbered = pd.DataFrame({"number": said.number[:6], "paid": came.paid[:6]})
        added = run.label(numbered, id="number")
        assert (added.new, added.known) == (1, 5)
        assert [one.answer for one in run.check(max_gap=0.05)] == [
            one.answer for one in here.check(max_gap=0.05)
        ]
        assert [row.number for row in run.versions] == [row.number for row in here.versions]
        assert run.rounds.task.tolist() == here.rounds.task.tolist()
        assert run.roll_back() == here.roll_back() and run.promote() == here.promote()
        town = run.decide(unlabelled(7, 3), task="town", support=month(8))
        adapted = here.decide(unlabelled(7, 3), task="town", support=month(8))
        assert town.probability.tolist() == adapted.probability.tolist()
        assert run.forget("9-3") == 1
        assert run.fairness(by="task")["periods"][-1]["period"] == "town"
        for refused in (lambda: run.store, lambda: run.replay(), lambda: run.update(month(3))):
            with pytest.raises(FFMLError, match="over HTTP, which cannot do that"):
                refused()
        with pytest.raises(FFMLError, match="no column 'shoe'"):
            run.decide(people.drop(columns="month").assign(shoe=1))
        with pytest.raises(FFMLError, match="decide takes no"):
            run.decide(people, together=True)
        with pytest.raises(FFMLError, match="no such run"):
            ffml.open(f"{at}/runs/others").check()
    with pytest.raises(FFMLError, match="is 'ffml serve' running"):
        run.check()
    here.close()
    with serving(create_app({"loans": str(tmp_path / "other")})) as at:
        with pytest.raises(FFMLError, match="Bearer TOKEN"):
            ffml.open(f"{at}/runs/loans").check(max_gap=0.5)
        assert ffml.open(f"{at}/runs/loans", token=token).check(max_gap=0.5)


def test_tables_of_every_kind_are_read_as_a_run_reads_them(first, folder, tmp_path):
    copy_ledger(first, tmp_path / "other")
    here, people = ffml.open(tmp_path / "other"), unlabelled(9, 4)
    kinds = {
        "time": people.assign(month=pd.Timestamp("2024-05-01")),
        "zone": people.assign(month=pd.Timestamp("2024-06-01", tz="Europe/Berlin")),
        "date": people.assign(month=datetime.date(2024, 7, 1)),
        "numbers": people.assign(person=[7.0, 8.0, 2.5, 1e16], month=8.0),
        "exact": people.assign(person=["p", "q", "r", "s"], income=4 * [Decimal("46.5")]),
        "missing": people.assign(person=[*"abcd"], income=[None, 1, 2, 3], sex=None, month=pd.NaT),
        "category": people.assign(person=[*"efgh"], sex=people.sex.astype("category")),
    }
    with serving(create_app({"loans": str(folder)})) as at:
        run = ffml.open(f"{at}/runs/loans")
        for frame in kinds.values():
            said, own = (one.decide(frame) for one in (run, here))
            pd.testing.assert_frame_equal(said, own)
            some = pd.DataFrame({"number": said.number, "paid": ["yes", None, " ", "no"]})
            assert run.label(some, id="number") == here.label(some, id="number")
        odd = {"empty": people[:0], "infinite": people.assign(income=float("inf"))}
        odd["days"] = people.assign(income=pd.Timedelta(days=3))
        for frame in odd.values():
            for one in (run, here):
                with pytest.raises(FFMLError, match=r"no rows|nobody|infinite|durations|timedelta"):
                    one.decide(frame)
        for one in (run, here):
            assert one.label(labels(9)[:0].assign(month="x")) == (0, 0, (), ())
            with pytest.raises(FFMLError, match="there is no label column 'paid'"):
                one.label(people)
            with pytest.raises(FFMLError, match="version 0 has no state"):
                one.promote(0)
            assert one.check(max_gap=None)
            assert one.forget("2-1", "2024-02") == 1
            with pytest.raises(FFMLError, match="the run knows no id"):
                one.forget("2-2", ["2024-01", "nowhere"])
            assert one.forget("2-2", ["2024-02", "nowhere"]) == 1
    here.close()


def test_commands_that_need_the_ledger_do_nothing_over_http(folder, tmp_path):
    unlabelled(9, 3).to_csv(tmp_path / "people.csv", index=False)
    before = written(folder)
    with serving(create_app({"loans": str(folder)})) as at:
        address = f"{at}/runs/loans"
        for command in (["decide", address, f"{tmp_path}/people.csv"], ["promote", address]):
            said = CliRunner().invoke(cli, command).exception
            assert isinstance(said, FFMLError) and "over HTTP, which cannot do that" in str(said)
        assert written(folder) == before
        here, there = (CliRunner().invoke(cli, ["check", one]) for one in (str(folder), address))
        assert (there.exit_code, there.output) == (here.exit_code, here.output)
        assert 0.0 in [one.limit for one in ffml.open(address).check(max_gap=0)]


def test_a_run_whose_name_is_written_as_in_a_browser_s_address(folder):
    with serving(create_app({"ä & b": str(folder)})) as at:
        for name in ("ä & b", "%C3%A4%20%26%20b", "ä%20&%20b"):
            assert ffml.open(f"{at}/runs/{name}").rounds.task.tolist() == ["2024-01", "2024-02"]


@pytest.mark.parametrize("bad", ["http://h", "http://h/loans", "http://me@h/runs/loans", "http://"])
def test_an_address_that_is_no_run_s_is_refused(bad):
    with pytest.raises(FFMLError, match="is at http://host:port/runs/NAME"):
        ffml.open(bad)
