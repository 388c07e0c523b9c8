"""Labels that are named after a bad outcome: 1 is not taken for the favourable value in silence."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import ffml
from ffml.base import FFMLError
from ffml.cli import app
from ffml.estimator import FairMetaClassifier
from ffml.tables._labels import sounds_adverse


@pytest.mark.parametrize(
    ("name", "adverse"),
    [
        *(("default", True), ("loan_default", True), ("isFraud", True), ("CHURN", True)),
        *(("denied", True), ("rejected", True), ("Recid", True), ("bad.loan", True)),
        *(("no_default", False), ("not-denied", False), ("approved", False), ("repaid", False)),
        *(("defaults_model", False), ("badge", False), ("label", False), ("y", False)),
    ],
)
def test_names_of_bad_outcomes(name, adverse):
    assert sounds_adverse(name) == adverse


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "income": rng.normal(size=120),
            "sex": rng.choice(["F", "M"], 120),
            "month": np.repeat(["1", "2", "3"], 40),
            "default": rng.integers(2, size=120),
        }
    )
    frame.to_csv("loans.csv", index=False)
    return frame


ROLES = ("--label", "default", "--sensitive", "sex", "--task", "month")


@pytest.mark.parametrize("command", ["run", "inspect"])
def test_the_favourable_value_is_asked_for(table, run_main, command):
    code, _, error = run_main(command, "loans.csv", *ROLES)
    assert code == 2 and "say which of '0' and '1' is favourable (--positive 0)" in error
    assert "\n" not in error.strip()


def test_an_audit_asks_too(table, run_main):
    given = ("--decision", "default", "--sensitive", "sex")
    assert run_main("audit", "loans.csv", *given)[0] == 2
    assert run_main("audit", "loans.csv", *given, "--positive", "0")[0] == 0


def test_the_favourable_value_has_its_name_everywhere(table, run_main):
    how = ("--with", "none", "--with", "evened", "--out", "run", "--positive", "0")
    code, out, _ = run_main("run", "loans.csv", *ROLES, *how)
    assert code == 0 and "were decided 'default = 0'" in " ".join(out.split())
    assert "warning: 'default" not in out
    new = table.drop(columns="default")
    new.to_csv("new.csv", index=False)
    said = run_main("decide", "run", "new.csv", "--task", "4")[1]
    assert "of 100 decided 'default = 0' (decision 1)" in said
    assert "decision 1 is 'default = 0'" in run_main("predict", "run", "new.csv")[1]
    inspected = run_main("inspect", "loans.csv", *ROLES, "--positive", "0")[1]
    share = 100 * (table.default == 0).mean()
    assert f"Label 'default': {share:.1f}% favourable (default = 0)." in inspected


def test_who_asks_for_1_is_warned(table, run_main):
    code, out, _ = run_main("inspect", "loans.csv", *ROLES, "--positive", "1", "--json")
    [said] = [one for one in json.loads(out)["mistakes"] if "default" in one]
    assert code == 0 and said.startswith("'default = 1' counts as the favourable outcome")


def test_start_has_no_answer_of_its_own(table):
    done = CliRunner().invoke(
        app, ["start", "loans.csv"], input="default\n\n0\nsex\nmonth\n0\n\n\n"
    )
    question = "Which value of default do people wish for (0 or 1)?"
    assert done.output.count(question) == 2, done.output  # Enter is no answer
    assert 'positive = "0"' in Path("loans.toml").read_text()


def test_the_classifier_asks_too(table):
    x, y, groups = table[["income"]], table.default, table.sex
    model = FairMetaClassifier(wrappers=("evened",))
    with pytest.raises(FFMLError, match=r"say which of '0' and '1' is favourable \(positive=0\)"):
        model.fit(x, y, sensitive_features=groups)
    with pytest.raises(FFMLError, match="favourable"):
        model.partial_fit(x, y.rename("is_fraud"), sensitive_features=groups)
    with pytest.warns(UserWarning, match="'default = 1' counts as the favourable outcome"):
        model.set_params(positive=1).fit(x, y, sensitive_features=groups)
    model.set_params(positive=0).fit(x, y, sensitive_features=groups)
    assert model.positive_ == 0
    model.set_params(positive=None).fit(x, y.to_numpy(), sensitive_features=groups)  # no name
    with pytest.raises(FFMLError, match="favourable"):
        ffml.run(table, label="default", sensitive="sex", task="month", out="other")
