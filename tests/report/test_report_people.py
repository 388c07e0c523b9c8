"""A run's report about its own people: what it says is what pandas says of the ledger."""

import re

import numpy as np
import pandas as pd
import pytest
from fairlearn.metrics import MetricFrame, selection_rate, true_positive_rate
from made_up import Page, chart_html

import ffml
from ffml.base import FFMLError
from ffml.datasets._lender import lender_table


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    frame = lender_table(seed=100, num_months=5, applicants=160)
    age = np.random.default_rng(0).integers(18, 70, len(frame))
    frame["age"] = np.where(age < 40, "young", "old")
    frame["approved"] = np.where(frame["approved"], "yes", "no")
    out = tmp_path_factory.mktemp("people") / "run"
    roles = {"label": "approved", "positive": "yes", "sensitive": ["sex", "age"], "task": "month"}
    return ffml.run(frame, max_gap=0.05, out=out, **roles)


@pytest.fixture(scope="module")
def page(run):
    return run.report().read_text(encoding="utf-8")


def test_groups_and_intersections_are_fairlearns(run, page):
    frame = run.decisions
    label, decision = frame["label"].astype(int), frame["decision"].astype(int)
    shown = [table for table in Page(page).tables if "Impact ratio" in table[0]]
    assert len(shown) == 3  # sex, age, and both
    for columns, (head, *rows) in zip((["sex"], ["age"], ["sex", "age"]), shown, strict=True):
        oracle = MetricFrame(
            metrics={"Rate": selection_rate, "True positive rate": true_positive_rate},
            y_true=label,
            y_pred=decision,
            sensitive_features=frame[columns],
        ).by_group
        assert len(rows) == len(oracle)
        for row in rows:
            cells = dict(zip(head, row, strict=True))
            group = re.sub("highest rate|fewer than.*", "", cells["Group"]).split(" × ")
            here = (frame[columns] == group).all(axis=1)
            for name in oracle:
                expected = oracle.loc[tuple(group) if len(group) > 1 else group[0], name]
                assert cells[name] == f"{expected:.3f}"
            assert cells["People"] == f"{here.sum():,}"
            assert cells["Label came"] == f"{label[here].mean():.3f}"
            assert cells["Probability said"] == f"{frame['probability'][here].mean():.3f}"


def test_calibration_is_counted_by_tenths(run, page):
    frame = run.decisions
    tenth = np.clip((frame["probability"] * 10).astype(int), 0, 9)
    chart = chart_html(page, "calibration-0")
    for k in range(10):
        (tip,) = re.findall(rf'data-tip="{k / 10:.1f}–{(k + 1) / 10:.1f}: ([^"]*)"', chart)
        for group in ("women", "men"):
            here = (frame["sex"] == group) & (tenth == k)
            came = f"{frame['label'][here].mean():.2f}" if here.sum() >= 10 else "–"
            assert re.search(rf"\b{group} {came}", tip), (k, tip)


def test_who_changed_and_the_extremes_are_those_of_the_ledger(run, page):
    frame = run.decisions
    moved = frame[frame["decision"] != frame["unpriced"]]
    words = Page(page).words
    assert f"Fairness changed {len(moved):,} of {len(frame):,} decisions (by sex)" in words
    for group in ("women", "men"):
        mine = frame[frame["sex"] == group]
        lowest = mine["probability"][mine["decision"] == 1].min()
        highest = mine["probability"][mine["decision"] == 0].max()
        assert f"{group} {lowest:.3f} and {highest:.3f}" in words
        towards = (moved["decision"][moved["sex"] == group] == 1).sum()
        said = f"{group} ({len(mine):,}): now approved {towards:,}, now not approved "
        assert said in chart_html(page, "moved-0")


def test_inputs_that_tell_the_group_are_named_by_their_columns(run, page):
    chart = chart_html(page, "inputs-0")
    rows = re.findall(r'data-tip="(\w+): tells sex (\d+) %, the model goes by it (\d+) %"', chart)
    tells = {name: int(share) for name, share, _ in rows}
    assert max(tells, key=tells.get) in ("occupation", "hours")
    assert 90 <= sum(tells.values()) <= 103 and set(tells) <= set(
        lender_table(num_months=1).columns
    )


def test_the_first_screen_is_the_answer_of_the_run(run, page):
    notion = run.answer["notions"][0]
    first = Page(page).words.split("Task by task")[0]
    assert ": approved, by sex and age" in first
    assert notion["verdict"] in first and "Over 5 months with " in first
    assert f"the gap was {100 * notion['fact']['gap']:.1f} points" in first


def test_another_run_about_the_same_people_is_shown_beside(run, tmp_path):
    path = run.report(tmp_path / "both.html", beside=[run])
    assert 'id="chart-beside-1"' in path.read_text(encoding="utf-8")
    frame = pd.DataFrame({"x": range(40), "sex": ["F", "M"] * 20, "y": [0, 0, 1, 1] * 10})
    frame["task"] = np.repeat(["a", "b"], 20)
    other = ffml.run(frame, label="y", sensitive="sex", task="task", out=tmp_path / "other")
    with pytest.raises(FFMLError, match="show runs about the same people beside each other"):
        run.report(tmp_path / "no.html", beside=[other])
    assert not (tmp_path / "no.html").exists()
