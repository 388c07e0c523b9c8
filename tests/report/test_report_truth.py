"""Report and card say of a run what plain SQL over its people says."""

import html
import re

import numpy as np
import pytest
from truth import SCENARIOS

from ffml import metrics
from ffml.base import Schema, SensitiveColumn
from ffml.metrics import words
from ffml.metrics.answer import answer
from ffml.online.state import Round
from ffml.recipe.plain import plain
from ffml.report import RunView, Table
from ffml.report.card import model_card_text
from ffml.report.files import round_row
from ffml.report.page import report_text
from ffml.report.summary import run_summary

NOTION = "demographic-parity"
NAMES = ["all labels", "approved only", "all, then approved only", "late labels", "three groups"]
NAMES += ["tasks of one person", "branches of one sex", "two columns", "even"]


def rounds_of(truth, schema):
    """Return the rounds that a run over these people would keep."""
    tables, none = truth.tables(), np.zeros(0)
    found = []
    for t in range(len(next(iter(tables.values())))):
        counts = {name: table[t] for name, table in tables.items()}
        judged = metrics.worst([metrics.judge(counts[c.name], c.groups) for c in schema.sensitive])
        people, known = (
            int(some.sum()) for some in (counts["sex"], metrics.labelled(counts["sex"]))
        )
        found.append(
            Round(
                round=t + 1,
                task=f"t{t}",
                n_rows=int(people),
                n_support=0,
                n_validation=int(known),
                n_unlabelled=int(people - known),
                metrics=judged.values | {"loss": np.nan, "dbc": np.nan},
                undefined=judged.undefined,
                tables=counts,
                reliability=np.zeros((10, 3)),
                constraint=none,
                multipliers=none,
                violation=none,
                clipped_violation=none,
                unpriced=counts,
                ceilings={
                    c.name: np.array(
                        [metrics.noise_ceilings(counts[c.name])[k] for k in ("dp", "eo")]
                    )
                    for c in schema.sensitive
                },
                iterations=0,
                seconds=0.0,
            )
        )
    return found


@pytest.fixture(scope="module", params=NAMES)
def pages(request):
    """Return the name, the truth, the answer, and the words of report and card."""
    truth = SCENARIOS[request.param]()
    columns = tuple(SensitiveColumn(name, tuple(g)) for name, g in truth.columns.items())
    schema = Schema(("x",), columns, "approved")
    rounds = rounds_of(truth, schema)
    tasks = [record.task for record in rounds]
    said = answer(truth.tables(), columns, [(NOTION, 0.05)], tasks, favourable="approved")
    summary = run_summary(rounds, columns, (), "complete", said)
    config = {"method": "none", "notions": [NOTION], "max_gap": [0.05], "data": {"name": "people"}}
    config["data"]["sensitive"] = [{"name": c.name, "groups": c.groups} for c in columns]
    table = Table.of([round_row(one, (), float) for one in rounds])
    view = RunView(plain(config), plain(summary), table, columns, truth.tables())
    page = html.unescape(re.sub("<[^>]+>", " ", report_text(view)))
    card = model_card_text(view).replace("\\", "")
    return request.param, truth, summary["answer"], (" ".join(page.split()), card)


def test_facts_and_verdict_are_said(pages):
    _, truth, answer, texts = pages
    (notion,) = answer["notions"]
    gap = max(truth.gap(column) for column in truth.columns)
    people, _ = truth.people()
    page, card = texts
    assert f"with {people:,} people, " in page
    assert f"You allowed 5 points; the gap was {100 * gap:.1f} points" in page
    rule = notion["rule"]["so_far"]  # with the upper end that the sentence below it says
    ends = " to ".join(f"{100 * rule[end]:.1f}" for end in ("pooled_low", "high"))
    assert f"(of more people like these: {ends})" in page
    assert rule["pooled_low"] <= gap <= rule["high"]
    assert f"Of {people:,} people decided so far" in card
    assert f"{100 * gap:.1f} points apart, you allowed 5." in card
    for text in texts:
        assert words.rule_sentence(answer, notion) in text
        for column in truth.columns:
            for rate, count in truth.rates(column).values():
                assert f"{rate:.3f}" in text and f"{count:,}" in text


def test_the_headline_shows_the_interval_that_the_verdict_goes_by(pages):
    page = pages[3][0]
    ends = re.search(r"of more people like these: [\d.]+ to ([\d.]+)\)", page)
    said = re.search(r"with more people of these tasks, the gap is within ([\d.]+) points", page)
    assert said is None or ends[1] == said[1]


def test_nothing_that_needs_labels_is_a_number_where_they_are_selective(pages):
    name, truth, answer, texts = pages
    page, card = texts
    if "approved only" in name:
        assert "ccuracy cannot be measured: labels depend on the decision." in card
        for text in texts:
            assert "of the others nobody knows who was wronged" in text
            assert "100.0 of 100" not in text and "rue positive rate |" not in text
        assert "The data (labels)" not in page and "False negative rate" not in page
    elif answer["labelled"]:
        assert f"Accuracy {truth.accuracy():.3f}" in page  # of these decisions
        assert f"Accuracy {truth.accuracy():.3f}" in card
