"""Every face says what plain SQL over the people says: answer, gate, audit, report and card."""

import json

import pytest
from truth import SCENARIOS, Truth

from ffml.audit import Limits, audit_decisions, audit_document
from ffml.audit.counts import Tables
from ffml.audit.gate import EXIT_CODES, findings_of, verdict
from ffml.audit.record import RunRecord
from ffml.base import Ratio, SensitiveColumn
from ffml.metrics import words
from ffml.metrics.answer import answer
from ffml.metrics.verdict import KEPT, NOT_KEPT, UNMEASURABLE
from ffml.report.answer import details, sentences
from ffml.store import Round
from ffml.tables import DecisionRoles, open_table, read_decisions

DP = "demographic-parity"
SELECTIVE = ("approved only", "all, then approved only", "selected before")
REFUSED = ("nobody positive", "everybody positive", "one group")  # as a table of an audit
FLAGRANT = (
    "approved only",
    "all, then approved only",
    "tasks of one person",
    "branches of one sex",
)


@pytest.fixture(scope="module", params=SCENARIOS)
def scene(request):
    return request.param, SCENARIOS[request.param]()


def columns_of(truth: Truth):
    return [SensitiveColumn(name, tuple(groups)) for name, groups in truth.columns.items()]


def answer_of(truth, asked=((DP, 0.05),)):
    return answer(truth.tables(), columns_of(truth), asked, favourable="approved")


def judged(truth):
    tables = truth.tables()
    count = len(next(iter(tables.values())))
    kept = [Round(t + 1, str(t), "learned", {}) for t in range(count)]
    config = {"data": {"label": "approved", "roles": {"positive": "yes"}}}
    return RunRecord(config, tuple(columns_of(truth)), kept, Tables(tables, {}), "", [])


def audited(truth, tmp_path, limits):
    table = open_table(truth.write(tmp_path / "people.csv"))
    labels = truth.people()[1] > 0
    roles = DecisionRoles(
        decision="approved",
        positive="yes",
        sensitive=tuple(truth.columns),
        task="task",
        label="repaid" if labels else None,
    )
    return audit_decisions(read_decisions(table, roles), limits)


def test_facts_are_those_of_everybody(scene):
    name, truth = scene
    found = answer_of(truth)
    assert (found["people"], found["labelled"]) == truth.people()
    for column in found["notions"][0]["columns"]:
        (fact,) = column["facts"]
        told = {g["group"]: (pytest.approx(g["rate"]), g["people"]) for g in fact["groups"]}
        assert truth.rates(column["column"]) == told
        for key, expected in (("gap", truth.gap), ("ratio", truth.ratio)):
            value = expected(column["column"])
            assert (
                fact[key] == pytest.approx(value) if value is not None else fact[key] != fact[key]
            )
    if name not in SELECTIVE and found["labelled"]:
        assert found["accuracy"] == pytest.approx(truth.accuracy())


def test_now_is_the_newest_task(scene):
    _, truth = scene
    now = answer_of(truth)["now"]
    newest = max(task for task, *_ in truth.rows)
    for fact in now["notions"][0]["facts"]:
        told = {g["group"]: (pytest.approx(g["rate"]), g["people"]) for g in fact["groups"]}
        assert truth.rates(fact["column"], task=newest) == told
    first, *past = words.now_lines(answer_of(truth))
    assert first.startswith(f"{newest + 1}: ") and len(past) <= 3


def test_the_headline_contradicts_neither_fact_nor_alarm(scene):
    name, truth = scene
    for bound in (0.02, 0.05, 0.15, Ratio(0.8)):
        (notion,) = answer_of(truth, [(DP, bound)])["notions"]
        alarm = notion["alarm"] is not None and notion["alarm"]["round"] is not None
        fact = notion["fact"]
        within = fact["gap"] <= bound if isinstance(bound, float) else fact["ratio"] >= bound.least
        assert notion["verdict"] != KEPT or (within and not alarm)
        assert notion["verdict"] == NOT_KEPT or not alarm
        if name in FLAGRANT:
            assert notion["verdict"] == NOT_KEPT
    if name == "even":
        assert notion["verdict"] == KEPT


def test_every_face_gives_the_same_verdict(scene, tmp_path):
    name, truth = scene
    for limits, bound in ((Limits(max_gap=0.05), 0.05), (Limits(min_ratio=0.8), Ratio(0.8))):
        found = answer_of(truth, [(DP, bound)])
        (notion,) = found["notions"]
        gate = findings_of(judged(truth), [(DP, bound)])
        expected = {KEPT: 0, NOT_KEPT: 1}.get(notion["verdict"], 3)
        assert EXIT_CODES[verdict(gate)] == expected
        said = sentences({"answer": found})
        assert words.fact_sentence(found, notion) == said[0]
        assert words.rule_sentence(found, notion) == said[1]
        if name in REFUSED:
            continue
        audit = audited(truth, tmp_path, limits)
        assert EXIT_CODES[verdict(audit.findings)] == expected
        assert [finding.words for finding in audit.findings[:2]] == said[:2]
        json.dumps(audit_document(audit), allow_nan=False)


def test_what_needs_labels_cannot_be_measured_where_they_depend_on_the_decision(scene, tmp_path):
    name, truth = scene
    found = answer_of(truth, [("equal-opportunity", 0.05)])
    (notion,) = found["notions"]
    assert (notion["verdict"] == UNMEASURABLE) == (name in SELECTIVE)
    if name not in SELECTIVE:
        return
    assert notion["fact"] is None and notion["alarm"] is None
    said = " ".join(sentences({"answer": found}))
    assert "cannot be measured" in said and "1.000" not in said
    shares = [found[k] for k in ("accuracy", "balanced_accuracy", "label_share")]
    assert all(share != share for share in shares)  # NaN
    gate = findings_of(judged(truth), [("equal-opportunity", 0.05)])
    audit = audited(truth, tmp_path, Limits(max_gap=0.05, notion="equal-opportunity"))
    assert verdict(gate) == verdict(audit.findings) == UNMEASURABLE
    assert EXIT_CODES[UNMEASURABLE] == 3
    (column,) = audit.columns
    rates = ("true_positive_rate", "false_positive_rate", "accuracy")
    assert all(row[rate] != row[rate] for row in column.groups for rate in rates)  # NaN


def test_who_could_be_compared_is_said():
    alone = answer_of(SCENARIOS["tasks of one person"]())
    assert alone["notions"][0]["columns"][0]["compared_share"] == 0
    said = " ".join(words.sentences(alone))
    assert "Not known: gaps within tasks for 100 % of the people" in said
    assert "0 % of the people could be compared" in " ".join(details({"answer": alone}))
    small = answer_of(SCENARIOS["a group of nine"]())
    assert small["notions"][0]["columns"][0]["small"] == ["C"]
    assert "Not known: rates of groups too small to tell (C)." in words.sentences(small)
    assert "Too small to tell, and not compared (sex): C." in details({"answer": small})
