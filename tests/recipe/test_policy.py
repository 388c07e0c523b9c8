"""Who is decided favourably: one policy, asked for and said the same at every door."""

import html
import json
import sqlite3
from contextlib import closing

import numpy as np
import pandas as pd
import pytest

import ffml
from ffml.base import FFMLError
from ffml.estimator import FairMetaClassifier
from ffml.methods import METHODS
from ffml.metrics.phrases import policy_words
from ffml.recipe.config import configure_run
from ffml.recipe.configfile import read_config
from ffml.recipe.policy import options_of, policy_of, with_policy
from ffml.recipe.presets import preset
from ffml.recipe.recipes import Recipe, takes_policy
from ffml.recipe.saved import run_config
from ffml.report.answer import policy_sentence
from ffml.scoring import prepare

POLICIES = ("labels", "balanced", "accuracy", "approve=0.8", "cost=5", "0.3")
ROLES = {"label": "repaid", "sensitive": "sex", "task": "month", "wrappers": ("evened",)}


@pytest.mark.parametrize("policy", POLICIES)
def test_options_and_policies_say_the_same(policy):
    assert policy_of(options_of(policy)) == policy
    assert policy_words(policy, "approved")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"approve": 0.8, "cost": 5}, "approve and cost are ways to say the same.*give one"),
        ({"approve": 80}, "approve takes a share between 0 and 1, such as 0.8.*; got 80"),
        ({"approve": 1.0}, "approve takes a share between 0 and 1"),
        ({"cost": 0}, "cost takes a number above 0"),
        ({"threshold": "high"}, "threshold takes labels, accuracy, balanced, or a probability"),
        ({"threshold": float("nan")}, "threshold takes labels"),
    ],
)
def test_what_is_no_policy_is_refused_with_the_remedy(given, message):
    with pytest.raises(FFMLError, match=message):
        policy_of(given)


@pytest.mark.parametrize("method", METHODS)
def test_a_method_without_thresholds_refuses_a_policy_and_takes_it_with_evened(method):
    own = "evened" in preset("default", "adult", method).get("wrappers", ())
    plain = configure_run("adult", {"method": method})
    assert plain.policy == ("labels" if own else None)
    given = {"method": method, "policy": "cost=5"}
    if not own:
        with pytest.raises(FFMLError, match=f"'{method}' decides by the sign.*--with evened"):
            configure_run("adult", given)
    assert configure_run("adult", given | {"wrappers": ("evened",)}).policy == "cost=5"


def test_where_the_paper_is_mirrored_errors_at_both_labels_count_the_same():
    assert configure_run("adult", {}, "paper").policy is None  # the sign of a score learned evenly
    assert configure_run("adult", {"wrappers": ("evened",)}, "paper").policy == "balanced"
    assert not takes_policy(Recipe("ffml", ("corrected",)))


def test_runs_of_before_have_the_policy_that_they_had(tmp_path):
    """It was a setting of evened, and balanced unless said otherwise."""
    for settings, policy in (({}, "balanced"), ({"evened.threshold": "rate=0.2"}, "approve=0.2")):
        recipe = {"method": "leader", "wrappers": ["evened"], "settings": settings}
        saved = {"data": "adult", "recipe": recipe}
        assert run_config(saved).policy == policy and not run_config(saved).recipe.settings
        (tmp_path / "config.json").write_text(json.dumps({"run": saved}))
        assert read_config(tmp_path / "config.json").settings["policy"] == policy
    plain = {"data": "adult", "recipe": {"method": "ffml", "wrappers": [], "settings": {}}}
    assert run_config(plain).policy is None
    assert with_policy({"policy": "labels", "recipe": {}})["policy"] == "labels"


def people(seed, rows=1500):
    """86 of 100 repay, women less often."""
    rng = np.random.default_rng(seed)
    sex = rng.integers(2, size=rows)
    x = rng.normal(size=(rows, 2)) + 0.5 * sex[:, None]
    repaid = rng.random(rows) < 1 / (1 + np.exp(-1.8 - x @ [1.0, 0.6]))
    return pd.DataFrame(x, columns=["income", "wealth"]).assign(
        repaid=repaid.astype(int),
        sex=np.where(sex, "man", "woman"),
        month=np.sort(rng.integers(5, size=rows)),
    )


def shares(folder):
    """Return the shares of positive decisions and of favourable labels, by plain SQL."""
    query = "select avg(decision), avg(label) from people where decision is not null"
    with closing(sqlite3.connect(folder / "run.db")) as ledger:
        return ledger.execute(query).fetchone()


@pytest.mark.parametrize("max_gap", [None, 0.05])
def test_unless_asked_otherwise_as_many_are_approved_as_labels_are_favourable(tmp_path, max_gap):
    run = ffml.run(people(0), **ROLES, max_gap=max_gap, out=tmp_path / "run")
    decided, labels = shares(tmp_path / "run")
    assert decided == pytest.approx(labels, abs=0.03) and labels > 0.8
    answer = run.answer
    assert answer["policy"] == "labels"
    assert answer["positive_share"] == pytest.approx(decided)
    assert answer["label_share"] == pytest.approx(labels)
    said = f"{100 * decided:.1f} of 100 were decided 'repaid' ({100 * labels:.1f} by the labels)"
    assert said in str(answer)
    policy = "Policy: as many are decided 'repaid' as labels are expected to be so."
    assert policy_sentence(answer) == policy


def test_every_door_takes_a_share_and_keeps_it(tmp_path, run_main):
    frame = people(1)
    frame.to_csv(tmp_path / "loans.csv", index=False)
    roles = ("--label", "repaid", "--sensitive", "sex", "--task", "month")
    how = ("--with", "none", "--with", "evened", "--approve", "0.6", "--out", tmp_path / "cli")
    assert run_main("run", tmp_path / "loans.csv", *roles, *how)[0] == 0
    run = ffml.run(tmp_path / "loans.csv", **ROLES, approve=0.6, out=tmp_path / "py")
    assert shares(tmp_path / "cli") == shares(tmp_path / "py")
    assert shares(tmp_path / "py")[0] == pytest.approx(0.6, abs=0.02)
    assert run.config["run"]["policy"] == "approve=0.6"
    for view in ("report.html", "model_card.md"):
        said = html.unescape((tmp_path / "cli" / view).read_text())
        assert "Policy: 60 of 100 are decided 'repaid'." in said
    new = people(2, 600).drop(columns=["repaid", "sex"])
    assert run.decide(new, record=False).decision.mean() == pytest.approx(0.6, abs=0.06)

    model = FairMetaClassifier.from_run(tmp_path / "py")
    assert model.get_params()["approve"] == 0.6
    own = FairMetaClassifier(wrappers=("evened",), approve=0.6)
    own.fit(frame[["income", "wealth"]], frame.repaid, sensitive_features=frame.sex)
    for one in (model, own):
        assert one.predict(new[["income", "wealth"]]).mean() == pytest.approx(0.6, abs=0.06)


def test_predict_shows_what_another_policy_would_do(tmp_path, run_main):
    run = ffml.run(people(1), **ROLES, out=tmp_path / "run")
    new = people(2, 600).drop(columns=["repaid", "sex"])
    new.to_csv(tmp_path / "new.csv", index=False)
    out = tmp_path / "decided.csv"
    words = ("predict", run.folder, tmp_path / "new.csv", "--out", out)
    assert run_main(*words, "--approve", "0.2")[0] == 0
    assert pd.read_csv(out).decision.mean() == pytest.approx(0.2, abs=0.05)
    assert run_main(*words, "--threshold", "labels")[0] == 0
    assert (pd.read_csv(out).decision.to_numpy() == run.decide(new, record=False).decision).all()
    code, _, error = run_main(*words, "--approve", "0.2", "--cost", "3")
    assert code == 2 and "give one of them" in error
    scorer = prepare(run.model(), policy="0.9")
    assert scorer.policy == "0.9"
