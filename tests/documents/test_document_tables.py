"""Documents from counts, against tables worked by hand."""

import csv
import io
import json
import math

import pandas as pd
import pytest
from typer.testing import CliRunner

from ffml.base import FFMLError
from ffml.cli import app
from ffml.documents import KINDS, People, make_document, people_of_scores, people_of_table
from ffml.documents._people import Cell
from ffml.documents._ugesp import mid_p
from ffml.tables import open_data

# 100 women of whom 30 are selected, 100 men of whom 50, 2 others both selected, 5 unknown.
HAND = People(
    "hiring",
    "hired",
    ("sex", "race"),
    {
        ("F", "A"): (60, 20),
        ("F", "B"): (40, 10),
        ("M", "A"): (50, 30),
        ("M", "B"): (50, 20),
        ("X", "A"): (2, 2),
        (None, "A"): (3, 1),
        ("F", None): (0, 0),
        (None, None): (2, 0),
    },
)


def rows_of(document, title):
    [found] = [one for one in document.sections if one.title == title]
    return list(found.rows)


def by(rows, *names):
    return {tuple(row[name] for name in names): row for row in rows}


def test_ll144_by_hand():
    made = make_document("ll144", HAND, fields={"justification": "two people say nothing"})
    rows = by(rows_of(made, "By sex"), "sex")
    assert list(rows) == [("F",), ("M",), ("X",), ("Missing/Unknown",)]
    shown = ("number_of_applications", "n_selected_or_n_above_median", "result", "impact_ratio")
    assert [rows["F",][name] for name in shown] == [100, 30, 0.3, 0.6]
    assert [rows["M",][name] for name in shown] == [100, 50, 0.5, 1.0]
    assert [rows["X",][name] for name in shown] == [2, 2, 1.0, None]  # count and rate stay
    assert [rows["Missing/Unknown",][name] for name in shown] == [5, None, None, None]
    race = by(rows_of(made, "By race/ethnicity"), "race_ethnicity")
    assert race["A",]["number_of_applications"] == 115 and race["A",]["impact_ratio"] == 1
    assert race["B",]["impact_ratio"] == pytest.approx((30 / 90) / (53 / 115))
    both = by(rows_of(made, "By both"), "sex", "race_ethnicity")
    assert both["F", "B"]["impact_ratio"] == pytest.approx(0.25 / 0.6)
    assert both["Missing/Unknown", "Missing/Unknown"]["number_of_applications"] == 5


def test_ll144_leaves_nobody_out_without_a_justification():
    rows = by(rows_of(make_document("ll144", HAND), "By sex"), "sex")
    assert [rows[sex,]["impact_ratio"] for sex in "FMX"] == [0.3, 0.5, 1.0]


def test_ll144_calls_nothing_failed_and_names_no_four_fifths():
    page = make_document("ll144", HAND).to_html().lower()
    for word in ("fail", "0.8", "four fifths", "four-fifths", "violat"):
        assert word not in page.partition("</style>")[2]
    assert "not the audit" in page and "independent auditor" in page


def test_ll144_needs_to_know_which_column_is_which():
    other = HAND._replace(columns=("geschlecht", "group"))
    with pytest.raises(FFMLError, match="--set sex=COLUMN"):
        make_document("ll144", other)
    made = make_document("ll144", other, fields={"sex": "geschlecht"})
    assert by(rows_of(made, "By sex"), "sex")["F",]["impact_ratio"] == 0.3
    assert "race/ethnicity" in made.sections[0].texts[1]
    with pytest.raises(FFMLError, match="no protected column 'nobody'"):
        make_document("ll144", other, fields={"race": "nobody"})
    with pytest.raises(FFMLError, match="historical or test"):
        make_document("ll144", HAND, fields={"data_type": "old"})


@pytest.mark.parametrize("name", ["Race / Ethnicity", "Race/Ethnicity", "RACE", "race_ethnicity"])
def test_ll144_finds_race_however_it_is_written(name):
    made = make_document("ll144", HAND._replace(columns=("Sex", name)))
    assert len(by(rows_of(made, "By both"), "sex", "race_ethnicity")) == 6
    assert len(made.sections[0].texts) == 1


def test_ll144_does_not_say_that_data_lack_a_column_which_nobody_named():
    made = make_document("ll144", HAND._replace(columns=("sex", "herkunft")))
    assert made.sections[0].texts[1].endswith("(sex, herkunft) was given as race/ethnicity.")


def test_ll144_asks_why_small_categories_are_left_out_only_if_there_are_some():
    def asks(people):
        named = dict(make_document("ll144", people).sections[0].fields)
        return "Why categories under 2 % are left out of the ratio" in named

    assert asks(HAND)
    assert not asks(HAND._replace(counts={k: n for k, n in HAND.counts.items() if k[0] != "X"}))


@pytest.mark.parametrize("kind", ["ll144", "ugesp"])
def test_people_who_were_adapted_to_are_named(kind):
    said = make_document(kind, HAND._replace(adapted=1894)).sections[0].texts[0]
    assert "207 people were decided about" in said and said.endswith("are in no table.")
    assert "1,894 more are in the data: decisions were adapted to their labels" in said
    assert "adapted" not in make_document(kind, HAND).sections[0].texts[0]


def test_ugesp_by_hand():
    rows = by(rows_of(make_document("ugesp", HAND), "By sex"), "group")
    women, men, others = rows["F",], rows["M",], rows["X",]
    assert (women["rate"], women["ratio_to_highest"]) == (0.3, 0.6)
    assert women["below_four_fifths"] and not men["below_four_fifths"]
    assert (women["short_of_four_fifths"], women["short_of_parity"]) == (10, 20)
    # 80 of 200 selected: p = .4, se = √(.24 · .02) = .069282
    assert women["z"] == pytest.approx(-0.2 / math.sqrt(0.24 * 0.02))
    assert women["two_more_undo_it"] is False and men["two_more_undo_it"] is None
    assert men["z"] is None and men["mid_p"] is None  # nobody is compared with itself
    assert others["small_numbers"] and others["ratio_to_highest"] == 2  # and is no reference


def test_mid_p_by_hand():
    """1 of 4 against 3 of 4: tables of 0 to 4 have 1, 16, 36, 16, 1 of 70."""
    assert mid_p(Cell(("F",), 4, 1), Cell(("M",), 4, 3)) == pytest.approx((34 - 8) / 70)


@pytest.mark.parametrize("selected, undone", [(38, True), (37, False), (40, None), (39, True)])
def test_two_more_selections(selected, undone):
    people = People("", "", ("sex",), {("F",): (100, selected), ("M",): (100, 50)})
    row = rows_of(make_document("ugesp", people), "By sex")[0]
    assert row["two_more_undo_it"] is undone
    assert row["short_of_four_fifths"] == 40 - selected


def test_nobody_selected_has_no_ratio():
    people = People("", "", ("sex",), {("F",): (40, 0), ("M",): (40, 0)})
    row = rows_of(make_document("ugesp", people), "By sex")[0]
    assert row["ratio_to_highest"] is None and row["z"] is None and not row["below_four_fifths"]
    assert rows_of(make_document("ll144", people), "By sex")[0]["impact_ratio"] is None


@pytest.mark.parametrize("kind", ["ll144", "ugesp"])
def test_what_every_document_says(kind):
    made = make_document(kind, HAND, fields={"owner": "Ann <b>Lee</b>"})
    page, read = made.to_html(), json.loads(made.to_json())
    assert "no legal advice" in page and read["no_legal_advice"] and made.rule in page
    assert "Ann &lt;b&gt;Lee" in page and "Signed by" in page and "to be filled in by" in page
    assert "http" not in page and "size: A4" in page
    lines = list(csv.DictReader(io.StringIO(made.to_csv())))
    assert len(lines) == sum(len(one.rows) for one in made.sections)


def test_refusals(tmp_path):
    with pytest.raises(FFMLError, match="its fields are"):
        make_document("ugesp", HAND, fields={"boss": "me"})
    for kind in KINDS[2:]:
        with pytest.raises(FFMLError, match="tells of a run"):
            make_document(kind, HAND)
    with pytest.raises(FFMLError, match="name it"):
        make_document("ugesp", HAND).write(tmp_path / "a.pdf")
    assert not list(tmp_path.iterdir())


def table(tmp_path):
    frame = pd.DataFrame({"sex": ["F", "M", None, "F"], "hired": ["no", "yes", "yes", "yes"]})
    frame.to_csv(tmp_path / "hired.csv", index=False)
    return tmp_path / "hired.csv"


def test_a_table_is_counted_with_unknown_groups(tmp_path):
    people = people_of_table(open_data(table(tmp_path)), "hired", ["sex"])
    assert people.counts == {("F",): (2, 1), ("M",): (1, 1), (None,): (1, 1)}
    with pytest.raises(FFMLError, match="no decision column 'hire'"):
        people_of_table(open_data(table(tmp_path)), "hire", ["sex"])


# The median of the eleven scores is 6: five are above it, two of F, three of M.
SCORED = {
    "sex": ["F", "F", "F", "F", "F", "M", "M", "M", "M", None, None],
    "race": ["A", "A", "B", "B", "B", "A", "A", "B", "B", "A", "B"],
    "score": [1.0, 2.0, 7.0, 6.0, 9.0, 6.0, 8.0, 10.0, 11.0, 3.0, 4.0],
}


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_scoring_rates_by_hand(tmp_path, ending):
    """The share of a category above everybody's median; a score at the median is not above it."""
    path, frame = tmp_path / f"scored.{ending}", pd.DataFrame(SCORED)
    frame.to_csv(path, index=False) if ending == "csv" else frame.to_parquet(path)
    people = people_of_scores(open_data(path), "score", ["sex", "race"])
    assert people.median == 6 and people.total == 11
    made = make_document("ll144", people)
    rows = by(rows_of(made, "By sex"), "sex")
    shown = ("number_of_applications", "n_selected_or_n_above_median", "result", "impact_ratio")
    assert [rows["F",][name] for name in shown] == [5, 2, 0.4, pytest.approx(0.4 / 0.75)]
    assert [rows["M",][name] for name in shown] == [4, 3, 0.75, 1.0]
    assert [rows["Missing/Unknown",][name] for name in shown] == [2, None, None, None]
    race = by(rows_of(made, "By race/ethnicity"), "race_ethnicity")
    assert [race["A",][name] for name in shown] == [5, 1, 0.2, pytest.approx(0.2 / (4 / 6))]
    assert [race["B",][name] for name in shown] == [6, 4, pytest.approx(4 / 6), 1.0]
    both = by(rows_of(made, "By both"), "sex", "race_ethnicity")
    assert [both["F", "B"][name] for name in shown] == [3, 2, pytest.approx(2 / 3), 2 / 3]
    page = made.to_html()
    assert "The median of all scores is 6; 5 are above it." in page and "scoring rate" in page
    with pytest.raises(FFMLError, match="ugesp is about decisions, not about scores"):
        make_document("ugesp", people)


def test_scores_that_are_missing_or_no_numbers_are_refused(tmp_path):
    path = tmp_path / "scored.csv"
    pd.DataFrame(SCORED | {"score": [None, *SCORED["score"][1:]]}).to_csv(path, index=False)
    with pytest.raises(FFMLError, match="1 rows have no 'score'"):
        people_of_scores(open_data(path), "score", ["sex"])
    with pytest.raises(FFMLError, match="column 'race' has a score that is no number"):
        people_of_scores(open_data(path), "race", ["sex"])
    with pytest.raises(FFMLError, match="no score column 'mark'"):
        people_of_scores(open_data(path), "mark", ["sex"])


def test_command(tmp_path):
    path = str(table(tmp_path))
    words = ["document", path, "--as", "ll144", "--decision", "hired", "--sensitive", "sex"]
    out = tmp_path / "ll144.csv"
    assert CliRunner().invoke(app, [*words, "--out", str(out)]).exit_code == 0
    first, *_ = csv.DictReader(io.StringIO(out.read_text()))
    assert first["sex"] == "F" and float(first["impact_ratio"]) == 0.5
    assert json.loads(CliRunner().invoke(app, words).stdout)["document"] == "ll144"
    for more, said in (
        (["document", path, "--as", "ll144"], "is a table"),
        ([*words, "--set", "owner"], "NAME=VALUE"),
        ([*words[:4], "--decision", "hired"], "give --sensitive"),
        ([*words[:4], "--sensitive", "sex"], "give --decision or --score"),
        ([*words, "--score", "hired"], "--score stands instead"),
    ):
        done = CliRunner().invoke(app, more)
        assert isinstance(done.exception, FFMLError) and said in str(done.exception)
