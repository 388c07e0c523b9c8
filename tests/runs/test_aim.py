"""What is aimed at decides; what is to be kept is what is said, judged and kept with the run."""

import numpy as np
import pandas as pd
import pytest

import ffml
from ffml.estimator import FairMetaClassifier

ROLES = {"label": "paid", "sensitive": "sex", "task": "month", "id": "person"}
RECIPE = {"method": "ffml-exact", "wrappers": ("evened",), "shots": 10}


def people(month, rows=150):
    rng = np.random.default_rng(month)
    sex = rng.choice(["F", "M"], rows)
    income = rng.normal(50, 10, rows) + 12 * (sex == "M")
    paid = (income + rng.normal(0, 5, rows) > 55).astype(int)
    names = [f"{month}-{i}" for i in range(rows)]
    return pd.DataFrame(
        {"person": names, "month": month, "sex": sex, "income": income, "paid": paid}
    )


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder, past = tmp_path_factory.mktemp("aim"), pd.concat(map(people, (1, 2, 3)))
    made = {
        name: ffml.run(past, out=folder / name, **asked, **ROLES, **RECIPE)
        for name, asked in {
            "aimed": {"max_gap": 0.2, "aim": 0.02},
            "strict": {"max_gap": 0.02},
            "loose": {"max_gap": 0.2},
        }.items()
    }
    yield made
    for run in made.values():
        run.close()


def decisions(run):
    return run.decisions.set_index("id")["decision"].sort_index()


def test_people_are_decided_as_if_the_aim_were_the_bound(runs):
    assert decisions(runs["aimed"]).equals(decisions(runs["strict"]))
    assert not decisions(runs["aimed"]).equals(decisions(runs["loose"]))


def test_what_is_said_and_gated_is_the_bound(runs):
    run = runs["aimed"]
    assert run.answer["notions"][0]["max_gap"] == 0.2
    assert "you allowed 20" in str(run.answer)
    assert all("you allowed 2." not in finding.words for finding in run.check())
    folder = run.write_views().parent
    for page in ("model_card.md", "report.html"):
        said = (folder / page).read_text()
        assert "demographic parity within 20 points (aiming for 2 points)" in said


def test_the_aim_stays_with_the_run(runs):
    with ffml.open(runs["aimed"].folder) as run:
        later = people(4)
        run.update(later)
        runs["strict"].update(later)
        assert decisions(run).equals(decisions(runs["strict"]))
        assert run.config["aim"] == [0.02]
    assert FairMetaClassifier.from_run(runs["aimed"].folder).get_params()["aim"] == 0.02


def test_the_aim_of_a_notion_of_scores_is_said_in_its_unit(tmp_path):
    asked = {"notions": "dbc", "max_gap": 0.5, "aim": 0.25}
    with ffml.run(people(1), out=tmp_path / "dbc", **asked, **ROLES, method="ffml-exact") as run:
        said = (run.write_views().parent / "model_card.md").read_text()
    assert "dbc within 0.5 (aiming for 0.25)" in said
