"""What a round says its people would have got one by one is what `decide` gives them."""

import numpy as np
import pytest
from test_doors import ROLES, people

import ffml

SMALL = {"shots": 10, "tasks_per_round": 3, "rows_per_task": 64}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    past = people(300, ["2024-01", "2024-02", "2024-03"], 0, ("F", "M"))
    settings = {"method": "leader", "wrappers": ("evened",), "max_gap": 0.02, **SMALL}
    with_ids = ROLES | {"id": "applicant"}
    run = ffml.run(past, out=tmp_path_factory.mktemp("alone") / "run", **with_ids, **settings)
    yield run
    run.close()


def test_a_round_counts_what_decide_gives_people_who_come_alone(run):
    new = people(400, ["2024-04"], 1, ("F", "M"))
    expected = run.decide(new.drop(columns="approved"), record=False)
    (record,) = run.update(new)
    rows = record.decided.rows
    positive = expected.decision.to_numpy()[rows]
    for code, group in enumerate(("F", "M")):
        for label, value in enumerate(("no", "yes")):
            here = (new.sex == group).to_numpy()[rows] & (new.approved == value).to_numpy()[rows]
            counts = [int((positive[here] == decision).sum()) for decision in (0, 1)]
            assert record.alone["sex"][code, label].tolist() == counts
    assert not np.array_equal(record.alone["sex"], record.tables["sex"])


def test_summary_and_report_say_what_people_get_one_by_one(run, tmp_path):
    months = list(dict.fromkeys(run.decisions.task))
    people_later = run.decisions[run.decisions.task != months[0]].shape[0]
    alone = run.summary()["alone"]
    assert alone["people"] == people_later  # before the first month nobody was met
    page = run.report(tmp_path / "report.html").read_text(encoding="utf-8")
    assert "One by one" in page
    assert f"had each of {people_later:,} people come alone" in page
