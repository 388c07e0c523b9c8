"""Equal budgets: settings are chosen by searches of one size, on other seeds, then compared."""

import json

import pytest

from ffml.recipe.config import configure_run
from ffml.studies.compare import Variant, plan
from ffml.studies.tuning import plan_space

SMALL = [
    *("--data", "synthetic", "--method", "twp max_gap=0.1", "--method", "refit", "--seeds", "0"),
    *("--set", "num_steps=2", "--set", "shots=4", "--set", "rows_per_task=32", "--rounds", "6"),
]


def test_methods_are_compared_with_the_best_of_as_many_draws(run_main, tmp_path):
    arguments = ["compare", *SMALL, "--tune", "2", "--jobs", "1", "--json"]
    code, out, err = run_main(*arguments)
    assert code == 0, err
    assert err.count("2 settings of") == 2  # each method has as many
    folder = tmp_path / "compare" / "tuned" / "synthetic"
    chosen = {
        path.name: json.loads((path / "chosen.json").read_text()) for path in folder.iterdir()
    }
    assert set(chosen) == {"twp_max_gap=0.1", "refit"}
    assert all(found["how"]["settings_tried"] == 2 for found in chosen.values())
    assert all(min(found["how"]["seeds"]) >= 100 for found in chosen.values())
    assert "max_gap" not in chosen["twp_max_gap=0.1"]["settings"]  # what is given is not drawn
    document = json.loads(out)
    assert document["runs"] == 2 and "--tune 2" in document["command"]
    kept = (tmp_path / "compare" / "results.csv").read_bytes()
    code, again, err = run_main(*arguments)
    assert code == 0 and err.count("runs finished already; to compute: 0") == 2
    assert (tmp_path / "compare" / "results.csv").read_bytes() == kept
    assert json.loads(again)["computed"] == 0


def test_the_first_that_is_tried_is_what_the_settings_are_anyway():
    given = {"max_gap": (0.1,), "num_steps": 2}
    search = plan_space("synthetic", method="twp", given=given, grid={}, random=3, as_they_are=True)
    first, *others = search.settings
    own = configure_run("synthetic", {"method": "twp"}).settings
    assert first == {name: own[name] for name in search.names}
    assert len(others) == 2 and first not in others


def test_a_refit_with_boosting_has_no_logistic_regression_to_tune():
    given = {"classifier": "boosting", "wrappers": ("evened",)}
    search = plan_space("synthetic", method="refit", given=given, grid={}, random=2)
    assert "inverse_l2" not in search.names
    logistic = plan_space("synthetic", method="refit", given={}, grid={}, random=2)
    assert "inverse_l2" in logistic.names


def test_what_was_chosen_is_what_is_run():
    def choose(data, label, given, preset):
        assert (data, given["method"], preset) == ("synthetic", "twp", "default")
        return {"lr": 0.3 if label == "a" else 0.7, "max_gap": (0.2,)}

    variants = [Variant("a", "twp"), Variant("b", "twp", {"penalty": 2.0})]
    cells = plan(["synthetic"], variants, seeds=[0, 1], choose=choose)
    found = [(cell.label, cell.config.settings["lr"]) for cell in cells]
    assert found == [("a", 0.3)] * 2 + [("b", 0.7)] * 2
    assert cells[-1].config.settings["penalty"] == 2.0
    assert {cell.config.max_gap for cell in cells} == {(0.2,)}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--tune", "0"], "--tune must be >= 1, got 0"),
        (["--tune", "2", "--out", "mine"], "mine holds notes.txt, but no results of this command"),
    ],
)
def test_refused_before_anything_runs(arguments, message, run_main, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").touch()
    code, _, err = run_main("compare", *SMALL, *arguments)
    assert code == 2 and message in err and err.count("\n") == 1
    assert {path.name for path in tmp_path.iterdir()} == {"mine"}
