import pytest

from ffml.base import FFMLError
from ffml.tables import fitting, guess_roles, look, open_table

ROWS = 40


def table(folder, **changes):
    """Write a CSV file; a column is given by how many different values it has."""
    sizes = {"age": 40, "smoker": 2, "sex": 2, "target": 2, "site": 4} | changes
    names = [name for name, size in sizes.items() if size]
    lines = [",".join(str(i % sizes[name]) for name in names) for i in range(ROWS)]
    (folder / "t.csv").write_text("\n".join([",".join(names), *lines, ""]))
    return open_table(folder / "t.csv")


def test_usual_names_with_fitting_values_are_guessed(tmp_path):
    guess = guess_roles(table(tmp_path))
    assert (guess.label, guess.sensitive, guess.task) == ("target", ("sex",), "site")
    assert guess.guessed == {"label": "target", "sensitive": "sex", "task": "site"}


def test_what_is_given_is_not_guessed(tmp_path):
    guess = guess_roles(table(tmp_path), label="smoker", sensitive=["age"], task="sex")
    assert guess == ("smoker", ("age",), "sex", {})
    # With the label given, "target" is free and nobody asks about it.
    assert guess_roles(table(tmp_path), label="smoker").guessed == {
        "sensitive": "sex",
        "task": "site",
    }


def test_spelling_of_usual_names(tmp_path):
    source = table(tmp_path, sex=0, target=0, site=0, **{"Age-Group": 3, "Y": 2, "task_ID": 5})
    assert guess_roles(source)[:3] == ("Y", ("Age-Group",), "task_ID")


def test_the_files_of_a_folder_are_its_tasks(tmp_path):
    table(tmp_path)
    assert guess_roles(open_table(tmp_path)).task == "(file)"


QUESTIONS = {
    "no usual label": (
        {"target": 0, "left": 2},
        {},
        "which column is the label? Candidates: smoker, left; give --label",
    ),
    "two usual labels": (
        {"outcome": 2},
        {},
        "which column is the label? Candidates: target, outcome; give --label",
    ),
    "label with three values": (
        {"target": 3},
        {},
        "which column is the label? Candidates: smoker; give --label",
    ),
    "two sensitive columns": (
        {"race": 3},
        {},
        "which column is sensitive (whose groups are compared)? Candidates: sex, race; give "
        "--sensitive",
    ),
    "no usual sensitive column": (
        {"sex": 0, "age": 60},
        {},
        "which column is sensitive (whose groups are compared)? Candidates: age, smoker, target, "
        "site; give --sensitive",
    ),
    "no usual task": (
        {"site": 0, "firm": 5},
        {},
        "which column is the task (which rows belong together)? Candidates: smoker, firm; give "
        "--task",
    ),
    "dropped": (
        {},
        {"drop": ["site"]},
        "which column is the task (which rows belong together)? Candidates: smoker; give --task",
    ),
    "groups, which are no label": (
        {"target": 0, "smoker": 0, "hired": 2},
        {"sensitive": ["age"]},
        "which column is the label? Candidates: hired; give --label",
    ),
    "many candidates": (
        {"target": 0} | {f"flag {i}": 2 for i in range(20)},
        {},
        "which column is the label? Candidates: smoker, flag 0, flag 1, flag 2, flag 3, flag 4, "
        "flag 5, flag 6, flag 7, flag 8, flag 9, flag 10, ...; give --label",
    ),
}


@pytest.mark.parametrize("case", QUESTIONS)
def test_anything_else_is_asked_for(tmp_path, case):
    changes, given, message = QUESTIONS[case]
    with pytest.raises(FFMLError) as caught:
        guess_roles(table(tmp_path, **changes), **given)
    assert str(caught.value) == message


def test_an_id_is_a_text_or_a_whole_number_of_its_own_in_every_row(tmp_path):
    columns = {
        "number": range(ROWS),
        "name": [f"person {i}" for i in range(ROWS)],
        "income": [i + 0.5 for i in range(ROWS)],
        "day": [f"2024-01-{1 + i % 28:02}" for i in range(ROWS)],
        "start": [f"{1980 + i}-01-01" for i in range(ROWS)],
        "age": [i // 2 for i in range(ROWS)],
    }
    rows = zip(*columns.values(), strict=True)
    lines = [",".join(columns), *(",".join(map(str, row)) for row in rows), ""]
    (tmp_path / "t.csv").write_text("\n".join(lines))
    looks = look(open_table(tmp_path / "t.csv"))
    assert fitting("id", looks, list(looks)) == ["number", "name"]


def test_no_rows(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n")
    with pytest.raises(FFMLError, match=r"t.csv has no rows; at least one is needed"):
        guess_roles(open_table(tmp_path / "t.csv"))


def test_all_that_is_missing_is_asked_for_at_once(tmp_path):
    with pytest.raises(FFMLError) as caught:
        guess_roles(table(tmp_path, target=0, sex=0, site=0, age=60))
    assert str(caught.value) == (
        "the table leaves open what its columns are; give --sensitive --label --task. Candidates: "
        "--sensitive age, smoker; --label smoker; --task age"
    )


def test_the_favourable_value_is_asked_for_with_the_rest(tmp_path):
    lines = [f"{'paid' if i % 2 else 'late'},{i % 3},{i % 28 + 1}.1.2024" for i in range(ROWS)]
    (tmp_path / "t.csv").write_text("\n".join(["hired,race,day", *lines, ""]))
    with pytest.raises(FFMLError) as caught:
        guess_roles(open_table(tmp_path / "t.csv"), label="hired")
    assert str(caught.value) == (
        "the table leaves open what its columns are; give --positive --task. Candidates: "
        "--positive late, paid; --task day, or --time day --by month"
    )
    given = guess_roles(open_table(tmp_path / "t.csv"), label="hired", task="day")
    assert given.guessed == {"sensitive": "race"}  # what is favourable is asked for later


def test_tasks_are_no_groups_and_weeks_need_no_unit(tmp_path):
    lines = [f"{i % 2},{'FM'[i % 2]},{'AB'[i % 2]},2024-W{i % 9 + 10}" for i in range(ROWS)]
    (tmp_path / "t.csv").write_text("\n".join(["hired,sex,race,week", *lines, ""]))
    with pytest.raises(FFMLError) as caught:
        guess_roles(open_table(tmp_path / "t.csv"), label="hired")
    assert "--sensitive sex, race; --task week, or --time week" in str(caught.value)
    assert "--by" not in str(caught.value)
