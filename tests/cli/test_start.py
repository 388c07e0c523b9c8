"""The dialogue of ``ffml start``, and the file that it writes."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from ffml.base import FFMLError
from ffml.cli import app
from ffml.cli._settings_file import Answers, settings_text
from ffml.recipe.configfile import read_config
from ffml.recipe.sources import find_data, open_stream

ROWS = 200


@pytest.fixture
def loans(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.permutation(ROWS), "D")
    frame = pd.DataFrame(
        {
            "when": days.strftime("%d.%m.%Y"),
            "branch": rng.choice(["north", "south"], ROWS),
            "income": rng.normal(size=ROWS),
            "sex": rng.choice(["F", "M"], ROWS),
            "target": rng.choice(["yes", "no"], ROWS),
        }
    )
    frame.to_csv("loans.csv", index=False)
    return frame


def answer(*answers, arguments=("loans.csv",)):
    return CliRunner().invoke(app, ["start", *arguments], input="\n".join(answers) + "\n\n")


def test_columns_that_fit_are_named_where_several_do(loans):
    loans.assign(race=loans.branch, repaid=loans.sex).drop(columns="target").to_csv("loans.csv")
    said = answer("repaid", "F", "sex, race", "when").output
    assert said.index("Columns that fit: branch, repaid") < said.index("1. Which")
    assert said.index("Columns that fit: sex, race") < said.index("3. Which")


def test_enter_takes_what_the_table_suggests(loans):
    done = answer("", "yes", "", "", "", "", "", "", "")
    assert done.exit_code == 0, done.output
    for question in (
        "[target]",
        "(no or yes)",
        "[sex]",
        "[when]",
        "[month]",
        "[1]",
        "[everybody]",
        "[0.05]",
    ):
        assert question in done.output
    asked = [line for line in done.output.splitlines() if line[:1].isdigit() or "   " in line[:3]]
    assert len(asked) >= 8 and all(len(line) <= 76 for line in asked)  # an answer fits beside it
    assert "ffml run --config loans.toml" in done.output
    written = read_config_of("loans.toml")
    assert written.data == "loans.csv" and written.settings["max_gap"] == (0.05,)
    assert written.settings["label_delay"] == 1
    assert written.data_options == {
        "label": "target",
        "positive": "yes",
        "sensitive": ("sex",),
        "time": "when",
        "by": "month",
        "drop": (),
    }
    found = find_data(written.data, dict(written.data_options))  # a run can begin
    stream, _ = open_stream(found.data, found.options, seed=0, source=found.source)
    assert stream.task_names[0] == "2024-01" and stream.num_tasks == 7


def read_config_of(name):
    return read_config(Path(name))


def test_enter_says_why_it_is_no_answer_where_nothing_is_suggested(loans):
    """A name that sounds bad has no suggested value; nor have two columns that fit alike."""
    bad = {"target": "default", "branch": "Race / Ethnicity"}
    loans.replace({"target": {"yes": 1, "no": 0}}).rename(columns=bad).to_csv("loans.csv")
    done = answer("default", "", "0", "", "sex, Race / Ethnicity", "when", "", "", "", "", "", "")
    assert done.exit_code == 0, done.output
    assert done.output.count("nothing is suggested here: type an answer, please") == 2
    assert "Which value of default do people wish for (0 or 1)?" in done.output
    assert "Columns that fit: Race / Ethnicity, sex" in done.output
    assert "How many months later are outcomes known" in done.output
    assert read_config_of("loans.toml").data_options["sensitive"] == ("sex", "Race / Ethnicity")


def test_other_answers_and_second_tries(loans):
    done = answer(
        *("targt", "target", "maybe", "no", "sex, branch", "when", "moon", "week"),
        *("soon", "2", "some", "favourable", "who", "income", "5", "0.1"),
    )
    assert done.exit_code == 0, done.output
    for said in (
        "did you mean 'target'?",
        "one of no, yes, please",
        "one of day, week, month, quarter, year, please",
        "a whole number from 0 to 1000, please",
        "one of everybody, favourable, please",
        "no such column 'who'",
        "a number from 0 to 1, please",
    ):
        assert said in done.output
    options = read_config_of("loans.toml").data_options
    assert read_config_of("loans.toml").settings["label_delay"] == 2
    assert options["id"] == "income"
    assert options["sensitive"] == ("sex", "branch") and options["by"] == "week"
    assert options["positive"] == "no"


def test_a_column_that_names_people_is_offered_as_the_id(loans):
    """With Enter at every question, the file that is written can be run."""
    loans.insert(0, "application", [f"A{i:04}" for i in range(ROWS)])
    loans.drop(columns="when").to_csv("loans.csv", index=False)
    done = answer("", "yes", "", "branch", "0", "", "", "", "")
    assert done.exit_code == 0 and "[application]" in done.output, done.output
    written = read_config_of("loans.toml")
    assert written.data_options["id"] == "application"
    found = find_data(written.data, dict(written.data_options))
    stream, _ = open_stream(found.data, found.options, seed=0, source=found.source)
    assert "application" not in str(stream.schema.features)


def test_a_population_instead_of_time(loans):
    assert answer("", "yes", "", "branch", "", "0").exit_code == 0
    options = read_config_of("loans.toml").data_options
    assert read_config_of("loans.toml").settings["label_delay"] == 0 and "id" not in options
    assert options["task"] == "branch" and "time" not in options and "by" not in options


def test_dates_that_do_not_tell_whether_the_day_comes_first(loans):
    loans["when"] = [f"0{i % 9 + 1}/0{i % 5 + 1}/2024" for i in range(ROWS)]
    loans.to_csv("loans.csv", index=False)
    done = answer("", "yes", "", "", "", "dd/mm", "DD/MM/YYYY", "0", "")
    assert done.exit_code == 0 and "one of DD/MM/YYYY, MM/DD/YYYY, please" in done.output
    assert read_config_of("loans.toml").data_options["date_format"] == "DD/MM/YYYY"


def test_a_folder_and_a_label_of_zeros_and_ones(loans, tmp_path):
    (tmp_path / "parts").mkdir()
    for name, rows in loans.replace({"target": {"yes": 1, "no": 0}}).groupby("branch"):
        rows.to_csv(tmp_path / "parts" / f"{name}.csv", index=False)
    done = answer("", "", "", "", "", "", arguments=("parts",))
    assert done.exit_code == 0 and "(0 or 1)? [1]" in done.output
    options = read_config_of("parts.toml").data_options
    assert set(options) == {"label", "positive", "sensitive", "drop"} and options["positive"] == "1"


def test_nothing_is_written_half_or_over(loans, tmp_path):
    stopped = answer("target")
    assert isinstance(stopped.exception, FFMLError)
    assert str(stopped.exception) == "stopped before the last answer; nothing was written"
    assert not (tmp_path / "loans.toml").exists()
    (tmp_path / "loans.toml").write_text("mine")
    assert "is there already; choose another --out" in str(answer("").exception)
    assert (tmp_path / "loans.toml").read_text() == "mine"
    with_json = answer("", arguments=("loans.csv", "--out", "a.json"))
    assert "--out must end in .toml, got a.json" in str(with_json.exception)
    assert "no such file or folder" in str(answer("", arguments=("none.csv",)).exception)
    nowhere = answer("", "yes", "", "", "", "0", "", arguments=("loans.csv", "--out", "no/a.toml"))
    assert "cannot write no/a.toml (No such file or directory)" in str(nowhere.exception)


def test_outcomes_of_the_favoured_only_are_said_to_be_one_sided(loans):
    done = answer("", "yes", "", "", "", "1", "favourable", "none", "")
    assert done.exit_code == 0, done.output
    written = Path("loans.toml").read_text()
    assert "accuracy, equal opportunity\n# and equalized odds cannot be measured" in written
    assert read_config_of("loans.toml").settings["label_delay"] == 1


def test_late_outcomes_are_played_late(loans):
    """The file says so, and no row of a month is adapted to before the month is decided."""
    import ffml

    answer("", "yes", "", "", "", "1", "everybody", "none", "")
    written = read_config_of("loans.toml")
    small = {"method": "ffml-exact", "wrappers": (), "shots": 5}
    run = ffml.run(written.data, **written.data_options, **dict(written.settings) | small)
    assert len(run.decisions) == ROWS and (run.rounds.n_support == 0).all()
    run.close()


@pytest.mark.parametrize("odd", ['say "x" \\', "tab\tnew\nline", "é\x7f\x1b", "# [a]", "'"])
def test_odd_names_survive_the_file(odd, tmp_path):
    answers = Answers(odd, odd, (odd, "b"), odd, None, None, 0.05)
    (tmp_path / "c.toml").write_text(settings_text(odd, answers, [odd, "other\n"]))
    written = read_config(tmp_path / "c.toml")
    assert written.data == odd
    assert written.data_options["label"] == written.data_options["task"] == odd
    assert written.data_options["sensitive"] == (odd, "b")
