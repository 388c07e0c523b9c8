"""The report is read back as a browser would: tags, texts, tables, charts."""

import re
import subprocess
import sys
from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest
from made_up import (
    CHARTS,
    CONSTRAINTS,
    NASTY,
    RACE,
    RESEARCH,
    SEX,
    Page,
    chart_html,
    make_round,
    make_run,
    page_of,
)

from ffml.base import SensitiveColumn
from ffml.metrics import words
from ffml.metrics.answer import answer
from ffml.recipe.plain import plain
from ffml.report._groups import group_table
from ffml.report.page import report_text


@pytest.fixture(scope="module")
def run():
    return make_run()


@pytest.fixture(scope="module")
def html(run):
    return report_text(run)


@pytest.fixture(scope="module")
def page(html):
    return Page(html)


# -- the usual run ---------------------------------------------------------------------------


def test_asks_for_nothing_from_elsewhere(html, page):
    for tag, attributes in page.tags:
        assert tag not in ("link", "iframe", "img", "object", "base")
        for name in ("src", "href", "srcset", "action", "data", "xlink:href"):
            assert (attributes.get(name) or "#").startswith("#")
    assert "url(http" not in html and "@import" not in html and "://" not in html


def test_ids_are_unique_and_links_lead_somewhere(page):
    ids = [a["id"] for _, a in page.tags if "id" in a]
    assert len(ids) == len(set(ids))
    assert {a["href"][1:] for _, a in page.tags if "href" in a} <= set(ids)


def test_all_charts_are_there_and_described(page):
    assert [a["id"] for a in page.having("figure")] == [
        f"chart-{key}" for key in CHARTS + RESEARCH + CONSTRAINTS
    ]
    labels = [a["aria-label"] for a in page.having("svg", role="img")]
    assert len(labels) == 11 and len(set(labels)) == 11
    assert labels[0].startswith("Rates by sex, by task. Female: from ")
    assert len(page.table("Task", "Female", "Male")) == 42  # every chart has its table
    for attributes in page.having("svg"):
        assert attributes.get("role") == "img" or attributes.get("aria-hidden") == "true"


def test_headers_have_a_scope(page):
    assert all(a.get("scope") in ("col", "row", "colgroup") for a in page.having("th"))


def test_what_is_behind_is_said_to_researchers(page):
    why = "(no favourable decisions: 3 rounds; only favourable decisions: 1 round)"
    said = f"The ratio of demographic parity could not be measured in 4 of 41 rounds {why}."
    assert said in page.words
    assert "In 4 rounds everybody received the same decision" in page.words
    assert "interrupted" not in page.words
    assert "is fair" not in page.words and "fair model" not in page.words


def test_no_gap_beyond_chance_is_not_said_to_be_no_gap(run):
    summary = deepcopy(run.summary)
    [column] = summary["answer"]["notions"][0]["columns"]
    column["typical"] |= {"value": 0.0, "low": 0.0, "high": 0.123}
    assert "leaves room for 12.3 points" in page_of(replace(run, summary=summary)).words


def test_rounds_within_bounds(page, run):
    g = run.rounds.numbers("constraint:demographic-parity[sex=Male]")
    measured = g[np.isfinite(g)].tolist()
    within = sum(value <= 0 for value in measured)
    assert f"{within} of {len(measured)} rounds had all measured gaps within" in page.words
    [total] = page.table("Constraint", "Last\xa0λ")[1:]
    assert total[1] == f"{within} of {len(measured)}" and len(measured) == 38
    assert total[2] == f"{max(measured):.3f}"
    assert float(total[5]) == pytest.approx(sum(g for g in measured if g > 0), abs=6e-4)
    assert float(total[4].replace("−", "-")) == pytest.approx(sum(measured), abs=6e-4)


def test_the_page_begins_with_the_answer(page, run):
    """Ceilings and λ come last."""
    answer = run.summary["answer"]
    notion = answer["notions"][0]
    low, high = sorted(f"{100 * g['rate']:.1f} of 100" for g in rates_of(answer))
    rates = f"{high} Male and {low} Female were decided favourably (by sex)"
    order = [
        "adult: decisions, by sex",
        notion["verdict"],
        "Asked for: demographic parity within 2 points",
        f"In 41 tasks with {answer['people']:,} people, {rates}.",
        f"You allowed 2 points; the gap was {100 * notion['fact']['gap']:.1f} points",
        words.rule_sentence(answer, notion),
        words.alarm_sentence(notion["alarm"], "2 points"),
        f"{answer['balanced_accuracy']:.3f}",
        "Rates by sex",
        "Gap by task, sex: Male against Female",
        "Evidence against demographic parity within 2 points",
        "Impact ratio",
        "Multipliers λ",
    ]
    places = [page.words.index(some) for some in order]
    assert places == sorted(places)


@pytest.mark.parametrize("raised", [None, 7])
def test_the_verdict_cannot_contradict_the_alarm(raised):
    """A run whose pooled gap is small, with and without an alarm raised before."""
    one = {"notion": "demographic-parity", "column": "sex", "comparison": "Male against Female"}
    one |= {"round": raised, "task": "tract 7", "higher": True, "evidence": 99.0, "needed": 20.0}
    columns = (SensitiveColumn("sex", ("Female", "Male")),)
    even = np.tile([[[30, 20], [20, 30], [0, 0]]], (2, 1, 1))
    asked, earlier = [("demographic-parity", 0.3)], [one] if raised else []
    found = answer({"sex": np.stack([even] * 41)}, columns, asked, raised=earlier)
    run = make_run()
    words_ = page_of(replace(run, summary=run.summary | {"answer": plain(found)})).words
    start = words_[: words_.index("Asked for")]
    assert start.endswith("not kept " if raised else "kept ") and ("Alarm in" in words_) == bool(
        raised
    )


def rates_of(part):
    return part["notions"][0]["columns"][0]["facts"][0]["groups"]


def test_without_fairness_and_the_data_stand_beside_the_answer(run):
    free = np.stack([np.array([[[70, 10], [10, 10], [0, 0]], [[20, 30], [10, 40], [0, 0]]])] * 41)
    without = {"balanced_accuracy": 0.81, "accuracy": 0.8, "positive_share": 0.45}
    without |= {"gap": 0.5, "ratio": 2 / 7, "typical": 0.5}
    view = replace(run, summary=run.summary | {"without_fairness": without}, without={"sex": free})
    page = page_of(view)
    header, *rows = page.table("These decisions")
    assert header == [
        "",
        "These decisions",
        "Without fairness",
        "The data (labels)",
    ]
    cells = {row[0]: row[1:] for row in rows}
    assert cells["… of 100 Female"][1] == "20.0" and cells["… of 100 Male"][1] == "70.0"
    assert cells["Gap by sex, points"][1] == "50.0" and cells["Accuracy"][1] == "0.800"
    constant = run.summary["answer"]["constant_accuracy"]
    assert f"would be right more often: accuracy {constant:.3f}" in page.words
    assert cells["Accuracy"][2] == "–"
    counts = run.counts["sex"]
    labels = counts[:, :, 1].sum((0, 2)) / counts[:, :, :2].sum((0, 2, 3))
    shown = [cells[f"… of 100 {group}"][2] for group in SEX["groups"]]
    assert shown == [f"{100 * rate:.1f}" for rate in labels]
    fact = run.summary["answer"]["notions"][0]["fact"]
    assert cells["Gap by sex, points"][0] == f"{100 * fact['gap']:.1f}"
    assert "The same learner without fairness: 50.0 points apart" in page.words
    assert 'id="chart-beside-0"' in report_text(view)
    points = chart_html(report_text(view), "price")
    assert "without fairness: gap in points 50, accuracy 0.800" in points
    assert "Without fairness" not in page_of(run).table("These decisions")[0]


def test_runs_beside_this_one_are_drawn_and_listed(run):
    other = replace(make_run(names=()), config=run.config | {"method": "twp"})
    html = report_text(replace(run, beside=(other,)))
    assert Page(html).table("These decisions")[0][2] == "twp"
    assert "The same people in the same order: this run and the method twp." in Page(html).words
    charts = re.findall(r'id="chart-([a-z]+-\d)', html)
    assert charts[:3] == ["rates-0", "beside-0", "gaps-0"]
    paper = replace(other, config=run.config | {"method": "ffml"})
    page = page_of(replace(run, beside=(paper,)))
    assert page.table("These decisions")[0][2] == "The paper’s FFML"
    assert "in the same order: this run and the paper’s FFML." in page.words


def test_the_first_picture_is_of_the_column_that_the_answer_names():
    """Race differs by 40 points and sex by none, though sex was named first."""
    run = make_run(12, (SEX, RACE), names=(), undefined=(), collapsed=())
    sex = np.stack([np.array([[[50, 50], [50, 50], [0, 0]]] * 2)] * 12)
    rates = np.array([30, 40, 50, 60, 70])
    race = np.zeros((12, 5, 3, 2), int)
    race[:, :, 0], race[:, :, 1] = [np.stack([100 - rates, rates], 1)] * 2
    columns = tuple(SensitiveColumn(c["name"], tuple(c["groups"])) for c in (SEX, RACE))
    tables = {"sex": sex, "race": race}
    found = plain(answer(tables, columns, [("demographic-parity", 0.05)]))
    view = replace(run, counts=tables, summary=run.summary | {"answer": found})
    titles = re.findall(r"<h3>([^<]+)</h3>", report_text(view))
    assert titles[:3] == ["Rates by race", "Gap by task, race: E against A", "Rates by sex"]


def test_tasks_before_anything_was_learned_are_said_to_be_so(run):
    """In the first three tasks everybody got the favourable decision, without a label."""
    rounds = deepcopy(run.rounds)
    rounds.columns["n_support"][:3] = [0, 0, 0]
    counts = run.counts["sex"].copy()
    counts[:3] = counts[:3].sum(-1, keepdims=True) * [0, 1]
    said = "From tract 1 to tract 3 everybody got the same decision: no label was known yet"
    assert said in page_of(replace(run, rounds=rounds, counts={"sex": counts})).words
    assert "no label was known yet" not in page_of(replace(run, counts={"sex": counts})).words
    counts[0, 0, 0] += 1
    assert "known yet" not in page_of(replace(run, rounds=rounds, counts={"sex": counts})).words


def test_prose_has_no_marks_of_markdown(page):
    assert "`" not in page.words and "--threshold accuracy asks for" in page.words


def test_task_names_stand_on_the_axes(html):
    shown = re.findall(r">(tract \d+)</text>", chart_html(html, "dp"))
    assert shown == [f"tract {t}" for t in (1, 9, 17, 25, 33, 41)]


def test_rates_are_drawn_as_counted(run, html):
    """The tip of a task has the rates of its rows."""
    second = run.counts["sex"][1]
    rates = second[..., 1].sum(1) / second.sum((1, 2))
    (tip,) = re.findall(r'data-tip="(tract 2: Female[^"]*)"', chart_html(html, "rates-0"))
    shown = re.findall(r"(?:Female|Male) ([\d.]+) \(", tip)
    assert shown == [f"{100 * rate:.1f}" for rate in rates]


def test_groups_are_pooled_by_count(page):
    """Drawn again from the same seed: rates of the rows themselves, not of the rounds."""
    rng = np.random.default_rng(0)
    n = selected = positives = true_positives = 0
    for t in range(1, 42):
        _, _, _, groups = make_round(rng, (SEX,), t in (3, 17, 30), t == 9)
        rng.random(), rng.normal(), rng.normal(size=1)  # loss, dbc, g
        male = groups[1]
        n, positives, selected = n + male[2], positives + male[3], selected + male[4]
        true_positives += male[7]
    header, _, row = page.table("Group", "Impact ratio")
    row = dict(zip(header, row, strict=True))
    assert (row["Group"], row["People"]) == ("Malehighest rate", f"{n:,}")
    assert row["Rate"] == f"{selected / n:.3f}" and row["Impact ratio"] == "1.000"
    assert row["True positive rate"] == f"{true_positives / positives:.3f}"
    assert row["False negative rate"] == f"{1 - true_positives / positives:.3f}"


def test_every_column_is_reported():
    noise = {"name": "noise", "groups": ["common", "rare"]}
    page = page_of(make_run(columns=(SEX, noise), num_rounds=60))
    _, *gaps = page.table("Typical gap")
    compared = ["sex: Male against Female", "noise: rare against common"]
    assert [row[0] for row in gaps[:2]] == compared and len(gaps) == 6
    assert "Within tasks by noise, " in page.words and "Within tasks by sex, " in page.words


def test_a_small_group_is_marked_last_and_serves_as_no_reference(run):
    sizes = {"A": 400, "B": 300, "tiny": 20}
    column = SensitiveColumn("race", tuple(sizes))
    counts = np.array([[[[n // 2, 0], [0, n - n // 2], [0, 0]] for n in sizes.values()]])
    counts[0, 2] = [[1, 0], [0, 19], [0, 0]]  # nearly all of them
    counts[0, 1, 0] += [30, 0]
    table = group_table(column, counts, {})
    assert [name["group"] for name in table["names"]] == ["B", "A", "tiny"]
    assert table["names"][2]["note"] == "fewer than 30 people: not compared"
    assert table["names"][1]["note"] == "highest rate"
    ratios = [row[3]["value"] for row in table["rows"]]
    assert ratios == [f"{(150 / 330) / 0.5:.3f}", "1.000", f"{0.95 / 0.5:.3f}"]


def test_of_very_many_rounds_the_last_are_listed_and_neighbours_drawn_together():
    html = report_text(make_run(num_rounds=900, undefined=(3,), collapsed=()))
    _, *rows = Page(html).table("Task", "Female", "Male")
    assert [row[0] for row in rows] == [f"tract {t}" for t in range(501, 901)]
    assert "The last 400 of 900." in html
    assert html.count("Neighbours are drawn as their mean.") == 10
    assert len(html) < 2e6


def test_settings_and_versions(page):
    for text in ("inner.num_steps", "1e+06", "doi:10.24432/C5XW20", "CC BY 4.0", "0.7.0", "51.2"):
        assert text in page.words


def test_the_same_run_gives_the_same_bytes(run, html):
    assert report_text(replace(run)) == html


def test_import_is_cheap():
    code = (
        "import sys, ffml.report; print([m for m in ('matplotlib', 'jinja2') if m in sys.modules])"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "[]"


# -- unusual runs ----------------------------------------------------------------------------


def test_interrupted_run_says_so_at_the_top():
    words = page_of(make_run(num_rounds=7, status="interrupted", undefined=())).words
    notice = words.index("This run was interrupted. The page covers the 7 rounds")
    assert notice < words.index("learned to predict")
    assert "of 41." in words
    assert "Both ratios could be measured in every round." in words


def test_one_round():
    html = report_text(make_run(num_rounds=1, undefined=(), collapsed=()))
    page = Page(html)
    assert "in 1 round, one task each" in page.words
    assert "In 1 task with " in page.words
    assert 'class="dot c1"' in chart_html(html, "dp")  # a line of one point would not show


def test_metric_undefined_in_every_round():
    html = report_text(make_run(num_rounds=6, undefined=range(1, 7)))
    page = Page(html)
    assert "DP: nothing measured." in chart_html(html, "dp")
    assert "cannot be told yet: no favourable decisions" in page.words
    assert "nan" not in page.words.lower()


def test_two_columns_five_groups_three_constraints():
    names = [f"demographic-parity[{c}]" for c in ("sex=Male", "race=A", "race=B")]
    page = Page(report_text(make_run(columns=(SEX, RACE), names=names)))
    tables = [rows for rows in page.tables if "Impact ratio" in rows[0]]
    shown = [sorted(row[0].removesuffix("highest rate") for row in rows[1:]) for rows in tables]
    assert shown == [SEX["groups"], RACE["groups"]]
    assert [row[0] for row in page.table("Constraint", "Last\xa0λ")[1:]] == names
    [label] = [
        a["aria-label"] for a in page.having("svg", role="img") if "Multip" in a["aria-label"]
    ]
    assert all(name in label for name in names)


def test_no_constraint():
    page = page_of(make_run(num_rounds=4, names=()))
    assert [a["id"] for a in page.having("figure")] == [
        f"chart-{key}"
        for key in [*CHARTS[:2], *RESEARCH]  # nothing asked for: no evidence
    ]
    assert "given no fairness constraint" in page.words


def test_everything_is_escaped():
    column = {"name": NASTY, "groups": [NASTY + "0", NASTY + "1"]}
    run = make_run(5, (column,), names=(f"dp[{NASTY}]",), task=NASTY, undefined=(2,))
    config = run.config | {"method": NASTY, "method_summary": NASTY, "settings": {NASTY: NASTY}}
    config["data"] |= {"name": NASTY, "citation": NASTY}
    page = Page(report_text(replace(run, config=config)))
    assert len(page.having("script")) == 1  # our own
    assert page.words.count(" ".join(NASTY.split())) > 30
    [label] = [
        a["aria-label"] for a in page.having("svg", role="img") if "Multip" in a["aria-label"]
    ]
    assert NASTY in label


def test_task_names_that_look_like_missing_values():
    run = make_run(3, undefined=())
    run.rounds.columns["task"][:] = ["NA", "nan\nnull", "None"]
    _, *rows = page_of(run).table("Task", "Female", "Male")
    assert [row[0] for row in rows] == ["NA", "nan\nnull", "None"]


@pytest.mark.parametrize("groups", [2, 5])
def test_no_interval_that_is_drawn_reaches_beyond_the_axis(groups):
    from ffml.metrics.rates import wilson
    from ffml.report.pictures import rate_ends

    counts = np.zeros((3, groups, 3, 2), int)
    counts[:, :, 2] = [6, 4]
    low, high = rate_ends(counts)
    least, most = (float(one[0]) for one in wilson(np.array([4]), np.array([10])))
    assert (low <= least and most <= high) == (groups == 2)  # those of many are not drawn
