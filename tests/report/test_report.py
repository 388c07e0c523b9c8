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
    make_tables,
    page_of,
)

from ffml.metrics import round_gaps, typical_weights
from ffml.report import report_text


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
    assert len(labels) == 12 and len(set(labels)) == 12
    assert labels[0].startswith("Rates by sex, by task. Female: from ")
    assert len(page.table("Task", "Female", "Male")) == 42  # every chart has its table
    for attributes in page.having("svg"):
        assert attributes.get("role") == "img" or attributes.get("aria-hidden") == "true"


def test_headers_have_a_scope(page):
    assert all(a.get("scope") in ("col", "row", "colgroup") for a in page.having("th"))


def test_summary_in_words(page, run):
    summary = run.summary
    last = summary["all"]
    for metric in ("dp", "eo"):
        assert f"averaged {last[metric]['mean']:.3f}" in page.words
    spread = np.nanstd(run.rounds.numbers("dp"), ddof=1)
    assert f"(standard deviation {spread:.3f}; 1 means equal rates)" in page.words
    found = summary["by_column"]["sex"]
    share = found["dp"]["mean"] / found["dp"]["ceiling"]
    assert found["dp"]["of_ceiling"] == share
    assert f"{100 * share:.0f} % of the noise ceiling" in page.words
    [gap] = found["gaps"]["demographic-parity"]
    assert f"a typical gap of {100 * gap['typical']:.1f} points (95 %" in page.words
    assert f"a long-run gap of {100 * gap['long_run']:.1f} points (95 %" in page.words
    assert "pooled it is 0.871 (interval 0.840 to 0.902)" in page.words
    assert "a gap of 6.4 percentage points (5.0 to 7.8)" in page.words
    why = "no positive decisions: 3, only positive decisions: 1"
    assert f"demographic parity in 4 of 41 ({why})" in page.words
    assert "In 4 rounds everybody received the same decision" in page.words
    assert "interrupted" not in page.words
    assert "is fair" not in page.words and "fair model" not in page.words


def test_no_gap_beyond_chance_is_not_shown_as_no_gap(run):
    summary = deepcopy(run.summary)
    [column] = summary["answer"]["notions"][0]["columns"]
    column["typical"] |= {"value": 0.0, "low": 0.0, "high": 0.123}
    words = page_of(replace(run, summary=summary)).words
    assert "≤ 12.3 points" in words and "0.0 points" not in words
    assert "leaves room for 12.3 points" in words


def test_rounds_within_bounds(page, run):
    g = run.rounds.text("constraint:demographic-parity[sex=Male]")
    measured = [float(value) for value in g if value]
    within = sum(value <= 0 for value in measured)
    assert f"{within} of {len(measured)} rounds had all measured gaps within" in page.words
    [total] = page.table("Constraint", "Last\xa0λ")[1:]
    assert total[1] == f"{within} of {len(measured)}" and len(measured) == 38
    assert total[2] == f"{max(measured):.3f}"
    assert float(total[5]) == pytest.approx(sum(g for g in measured if g > 0), abs=6e-4)
    assert float(total[4].replace("−", "-")) == pytest.approx(sum(measured), abs=6e-4)


def test_the_page_begins_with_the_answer(page, run):
    """Ratios of small tasks, ceilings and λ come after."""
    answer = run.summary["answer"]
    low, high = sorted(f"{100 * g['rate']:.1f} of 100" for g in rates_of(answer))
    order = [
        "Asked for: demographic parity within 2 points",
        answer["notions"][0]["verdict"],
        f"Of {answer['people']:,} people decided so far, {high} Male and {low} Female were decided",
        "Within tasks by sex, Male above Female: a long-run gap of",
        f"balanced accuracy {answer['balanced_accuracy']:.3f}",
        f"{100 * answer['label_share']:.1f} of 100 labels",
        "noise ceiling",
        "Multipliers λ",
    ]
    places = [page.words.index(words) for words in order]
    assert places == sorted(places)


def rates_of(part):
    return part["notions"][0]["columns"][0]["facts"][0]["groups"]


def test_without_fairness_is_shown_where_the_run_knows_it(run):
    without = {"balanced_accuracy": 0.81, "accuracy": 0.8, "positive_share": 0.25}
    without |= {"gap": 0.154, "ratio": 0.7, "typical": 0.16}
    summary = run.summary | {"without_fairness": without}
    words = page_of(replace(run, summary=summary)).words
    assert "The same learner without fairness: 15.4 points apart, the lowest rate 70.0 %" in words
    assert "Balanced accuracy 0.810, accuracy 0.800, 25.0 of 100 decisions positive." in words
    assert "without fairness" not in page_of(run).words


def test_task_names_stand_on_the_axes(html):
    shown = re.findall(r">(tract \d+)</text>", chart_html(html, "dp"))
    assert len(shown) == 6 and shown[0] == "tract 1" and shown[-1] == "tract 41"
    assert "probability" in chart_html(html, "reliability")


def test_rates_are_drawn_as_counted(run, html):
    """The tip of a task has the rates of its rows."""
    here = [i for i, r in enumerate(run.groups.text("round")) if r == "2"]
    rates = run.groups.numbers("selection_rate")[here]
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
    header, _, row = page.table("Group", "Selection rate")
    row = dict(zip(header, row, strict=True))
    assert (row["Group"], row["Rows"]) == ("Male", f"{n:,}")
    assert row["Selection rate"] == f"{selected / n:.3f}"
    assert row["True positive rate"] == f"{true_positives / positives:.3f}"


def test_worst_tasks_add_most_to_the_typical_gap(page, run):
    header, *rows = page.table("Gap, points")
    assert header[:4] == ["Round", "Task", "Group", "Gap, points"] and len(rows) == 8
    numbers = {name: run.groups.numbers(name) for name in run.groups.columns if name[0] in "rn"}
    groups = [
        {"column": column, "group": group} | {n: int(v[i]) for n, v in numbers.items()}
        for i, (column, group) in enumerate(
            zip(run.groups.text("column"), run.groups.text("group"), strict=True)
        )
    ]
    gaps = round_gaps(make_tables(groups, (SEX,), 41)["sex"])
    added = np.nan_to_num(typical_weights(gaps.rows) * gaps.square)[:, 0]
    assert [int(row[0]) for row in rows] == [1 + i for i in np.argsort(-added)[:8]]
    shown = [float(row[3].replace("−", "-")) for row in rows]
    assert shown == pytest.approx([100 * gaps.gap[int(row[0]) - 1, 0] for row in rows], abs=0.06)
    assert {row[2] for row in rows} == {"sex: Male against Female"}


def test_every_column_is_reported_and_the_most_uneven_one_heads_the_page():
    noise = {"name": "noise", "groups": ["common", "rare"]}
    page = page_of(make_run(columns=(SEX, noise), num_rounds=60))
    _, *gaps = page.table("Typical gap")
    compared = ["sex: Male against Female", "noise: rare against common"]
    assert [row[1] for row in gaps[:2]] == compared and len(gaps) == 6
    _, *ratios = page.table("Ratio", "Mean ceiling")
    assert [row[0] for row in ratios] == ["DP, sex", "EO, sex", "DP, noise", "EO, noise"]
    assert "Typical gap by sex" in page.words and "Typical gap by noise" not in page.words
    assert "Within tasks by noise, " in page.words


def test_every_round_is_listed(page):
    _, *rows = page.table("Validation", "Undefined because")
    assert [row[0] for row in rows] == [str(t) for t in range(1, 42)]
    assert rows[2][5] == "—" and "no positive decisions" in rows[2][-1]
    assert "very long official name" in rows[4][1]
    assert len(page.having("details")) == 3 + 12
    assert len(page.table("Round", "demographic-parity[sex=Male]")) == 43


def test_of_very_many_rounds_the_last_are_listed_and_neighbours_drawn_together():
    html = report_text(make_run(num_rounds=900, undefined=(3,), collapsed=()))
    _, *rows = Page(html).table("Validation", "Undefined because")
    assert [row[0] for row in rows] == [str(t) for t in range(501, 901)]
    assert "The last 400 rounds; rounds.csv has all." in html
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
    assert "people decided in rounds 1 to 1" in page.words
    assert "with more people of these tasks, the gap is within" in page.words
    assert "(1 means equal rates)" in page.words  # one round has no standard deviation
    assert 'class="dot c1"' in chart_html(html, "dp")  # a line of one point would not show


def test_metric_undefined_in_every_round():
    html = report_text(make_run(num_rounds=6, undefined=range(1, 7)))
    page = Page(html)
    assert "DP: nothing measured." in chart_html(html, "dp")
    assert "The ratio of the groups’ selection rates is undefined in every round" in page.words
    assert "cannot be told yet: no positive decisions" in page.words
    assert "No round shows a gap in selection rates beyond" in page.words
    assert "nan" not in page.words.lower()


def test_two_columns_five_groups_three_constraints():
    names = [f"demographic-parity[{c}]" for c in ("sex=Male", "race=A", "race=B")]
    page = Page(report_text(make_run(columns=(SEX, RACE), names=names)))
    tables = [rows for rows in page.tables if "Selection rate" in rows[0]]
    assert [[row[0] for row in rows[1:]] for rows in tables] == [SEX["groups"], RACE["groups"]]
    header = page.table("Round", *names)
    assert len(header[2]) == 2 + 4 * 3
    [label] = [
        a["aria-label"] for a in page.having("svg", role="img") if "Multip" in a["aria-label"]
    ]
    assert all(name in label for name in names)


def test_no_constraint():
    page = page_of(make_run(num_rounds=4, names=()))
    assert [a["id"] for a in page.having("figure")] == [
        f"chart-{key}"
        for key in [*CHARTS[:2], "reliability", *RESEARCH]  # nothing asked for: no evidence
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
    _, *rows = page_of(run).table("Validation", "Undefined because")
    assert [row[1] for row in rows] == ["NA", "nan\nnull", "None"]
