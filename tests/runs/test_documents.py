"""Documents and reasons about a run, against its ledger in plain SQL and its own predictions."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
import yaml
from inside import run_inside
from ledgers import plain_sql
from months import MONTHS, ROLES, SMALL, loans, of, unlabelled

import ffml
from ffml.base import FFMLError
from ffml.runs._explain import _note

FRAME = loans(4, 60, apart=8)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Three months that came whole with features kept, and people of a fourth."""
    out = tmp_path_factory.mktemp("documents") / "run"
    asked = {**ROLES, **SMALL, "id": "applicant", "max_gap": 0.02}
    run = ffml.run(of(FRAME, *MONTHS[:3]), out=out, keep_features=True, **asked)
    run.decide(unlabelled(of(FRAME, MONTHS[3])))
    run.close()
    return out


@pytest.fixture
def run(folder):
    with ffml.open(folder, write=False).store as store:
        yield ffml.Run(store)


def test_ll144_counts_everybody_of_the_view_people(run, folder):
    [section] = [one for one in run.document("ll144").sections if one.title == "By sex"]
    rows = {row["sex"]: row for row in section.rows}
    query = (
        "select groups, count(*), sum(decision) from people where decision is not null group by 1"
    )
    for groups, people, selected in plain_sql(folder, query):
        row = rows[json.loads(groups)["sex"]]
        assert row["number_of_applications"] == people
        assert row["n_selected_or_n_above_median"] == selected
    assert rows["Missing/Unknown"]["number_of_applications"] == 0
    [(everybody,)] = plain_sql(folder, "select count(*) from people where decision is not null")
    assert f"{everybody:,} people were decided about" in run.document("ll144").sections[0].texts[0]


def test_ai_act_tells_what_the_ledger_knows(run):
    made = run.document("ai-act", owner="Ann Lee")
    page = made.to_html()
    titles = [one.title for one in made.sections]
    for point in ("2(f)", "2(g)", "3.", "4.", "6.", "9."):
        assert any(title.startswith(point) for title in titles)
    assert "to be filled in by the provider" in page and "2024/1689" in page and "Ann Lee" in page
    assert run.store.head in page
    [groups] = [one for one in made.sections if one.title.startswith("3.")]
    assert sum(row["people"] for row in groups.rows) == len(run.decisions)
    json.loads(made.to_json())


def test_model_card_for_others(run, folder):
    made = run.document("model-card", license="mit")
    _, head, text = made.markdown.split("---\n", 2)
    read = yaml.safe_load(head)
    [result] = read["model-index"][0]["results"]
    metrics = {one["name"]: one["value"] for one in result["metrics"]}
    query = "select avg(decision) from people where decision is not null"
    [(share,)] = plain_sql(folder, query)
    assert metrics["selection rate"] == pytest.approx(share)
    assert read["license"] == "mit" and text.startswith("\n# Model card")
    card = json.loads(made.to_json())
    slices = {
        (one["type"], one.get("slice")): one["value"]
        for one in card["quantitative_analysis"]["performance_metrics"]
    }
    decided = run.decisions
    rate = decided[decided.sex == "F"].decision.mean()
    assert slices["selection_rate", "sex=F"] == pytest.approx(rate)
    assert all(isinstance(value, float) for value in slices.values())


def explained(run, task):
    return run.decisions[run.decisions.task == task].id.tolist()


@pytest.mark.parametrize("month", [MONTHS[2], MONTHS[3]])
def test_reasons_add_up_and_are_of_the_rule_that_decided(run, month):
    for id in explained(run, month)[:4]:
        found = run.explain(id)
        assert found.note == ""  # the same probability as in the ledger
        total = sum(one.effect for one in found.reasons)
        assert total == pytest.approx(found.score - found.typical_score, abs=1e-4)
        row = FRAME[FRAME.applicant == int(id)].iloc[0]
        written = {one.column: one.value for one in found.reasons}
        assert float(written.get("income", row.income)) == pytest.approx(row.income, rel=1e-5)
        assert written.get("job", row.job) == row.job
        if found.threshold is not None:
            assert (found.probability > found.threshold) == (found.score > 0)
        assert (found.score + found.fairness > 0) == bool(found.decision)
        assert found.changed_by_fairness == ((found.score > 0) != bool(found.decision))


def test_a_person_given_by_hand(run, folder, tmp_path):
    id = explained(run, MONTHS[3])[0]
    row = unlabelled(FRAME[FRAME.applicant == int(id)])
    assert run.explain(id, person=row).reasons == run.explain(id).reasons
    row.to_csv(tmp_path / "row.csv", index=False)
    words = ["explain", str(folder), id, "--person", str(tmp_path / "row.csv"), "--most", "1"]
    said = run_inside(tmp_path, *words)
    assert "Fairness" in said and said.count("typical:") == 1 and "no more" in said
    assert said.splitlines()[0] == run.explain(id).lines()[0]


def test_refusals(run):
    with pytest.raises(
        FFMLError, match=r"nobody with id 'x'.*; ids are those of column 'applicant'"
    ):
        run.explain("x")
    with pytest.raises(FFMLError, match="has 0 rows of"):
        run.explain(explained(run, MONTHS[3])[0], person=unlabelled(FRAME[:1]))
    adapted = set(map(str, of(FRAME, MONTHS[2]).applicant)) - set(explained(run, MONTHS[2]))
    with pytest.raises(FFMLError, match="adapted to"):
        run.explain(adapted.pop())


def test_an_old_version_is_said_to_be_gone(run):
    """The first round was decided before there was a version."""
    found = run.explain(explained(run, MONTHS[0])[0])
    assert "is not kept any more; the reasons are of version" in found.note
    # The threshold of another rule is not that of this decision.
    assert found.threshold is None and " on without fairness" not in found.lines()[0]


def test_features_that_were_not_kept(tmp_path):
    asked = {**ROLES, **SMALL, "id": "applicant", "wrappers": ()}
    run = ffml.run(of(FRAME, *MONTHS[:2]), out=tmp_path / "run", **asked)
    id = explained(run, MONTHS[1])[0]
    with pytest.raises(FFMLError, match="--person FILE"):
        run.explain(id)
    found = run.explain(id, person=unlabelled(FRAME))
    total = sum(one.effect for one in found.reasons)
    assert total == pytest.approx(found.score - found.typical_score, abs=1e-4)
    # A weighted sum: each effect is weight × standardised difference, whatever the order.
    model = run.scorer(found.version).model
    names = model.schema.features
    weights, place = np.asarray(model.params["w"], float), names.index("income")
    row = FRAME[FRAME.applicant == int(id)].iloc[0]
    [income] = [one for one in found.reasons if one.column == "income"]
    two = np.zeros((2, len(names)), np.float32)
    two[:, place] = row.income, float(income.typical)
    one, other = model.standardised(two)[:, place]
    assert income.effect == pytest.approx(weights[place] * (one - other), abs=1e-4)
    run.close()


@pytest.mark.parametrize(
    ("decided", "said"),
    [
        (3, "decided together with the people of its task, by version 3; the reasons are of the"),
        (2, "Version 2, which decided, is not kept any more; the reasons are of version 3, at 0.4"),
    ],
)
def test_reasons_of_another_rule_are_said_to_be_so(decided, said):
    scorer = SimpleNamespace(model=SimpleNamespace(version=3))
    assert said in _note({"version": decided, "probability": 0.5}, scorer, 0.4)
    assert _note({"version": decided, "probability": 0.5}, scorer, 0.5) == ""
