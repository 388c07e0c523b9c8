"""Advice in error messages can be followed: the options it names are there, or it says where."""

import ast
import re
import shlex
from pathlib import Path

import pandas as pd
import pytest

import ffml
from ffml.cli import options_of_commands
from ffml.cli._advice import OPTION, with_owners

SOURCE = Path(ffml.__file__).parent


def text_of(node):
    """Write a string of the source, with … for what is filled in."""
    if isinstance(node, ast.JoinedStr):
        return "".join(map(text_of, node.values))
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else "…"


def texts(path):
    """Return the strings of a file that are no docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    inner = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)
             for part in node.values}  # fmt: skip
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant | ast.JoinedStr) and id(node) not in inner:
            text = text_of(node)
            if "\n" not in text and not text.endswith("."):
                yield text


ADVICE = {
    (path.relative_to(SOURCE).parts[0], text)
    for path in SOURCE.rglob("*.py")
    for text in texts(path)
    if OPTION.search(text)
}
# Whose messages reach which commands: a room that is not here serves all of them.
COMMANDS = {"studies": ("compare", "tune", "reproduce"), "research": ("reproduce",)}


def test_every_option_that_a_message_names_exists():
    known = set().union(*options_of_commands().values())
    known |= {"--help", "--version", "--env-manager"}  # the last is of mlflow's command
    named = {word for _, text in ADVICE for word in OPTION.findall(text)}
    assert len(named) > 20 and not named - known


@pytest.mark.parametrize("command", [*options_of_commands()])
def test_who_lacks_an_option_is_told_whose_it_is(command):
    options = options_of_commands()
    for room, text in ADVICE:
        if room == "cli" or command not in COMMANDS.get(room, options):
            continue
        said = with_owners(text, command, options)
        for word in set(OPTION.findall(text)) - options[command]:
            owner = re.search(
                rf"ffml (\w+)\b[^;:]*{word}\b|{word} is an option of ffml (\w+)", said
            )
            here = f"{word} is --set data.{word.removeprefix('--')}=… here" in said
            assert here or word in options[owner[1] or owner[2]], said


def test_update_says_whose_an_option_is_and_names_none_in_vain(tmp_path, run_main):
    table = "town,sex,age,y\n" + "".join(f"{t},{s},{a},{a % 2}\n" for t in "ab" for s in "FM"
                                         for a in range(20, 40))  # fmt: skip
    (tmp_path / "a.csv").write_text(table)
    roles = ["--label", "y", "--sensitive", "sex", "--task", "town", "--method", "refit"]
    assert run_main("run", "a.csv", *roles, "--out", "r", "--quiet")[0] == 0
    (tmp_path / "b.csv").write_text("town,sex,age,y\nc,F,30,1\nc,M,31,\nc,,32,0\n")
    code, _, err = run_main("update", "r", "b.csv")
    assert code == 2 and err.count("\n") == 1
    assert "leave such rows out, or give such people to `ffml decide`" in err and "--set" not in err
    (tmp_path / "b.csv").write_text("town,sex,age,y\nc,F,30,2\nc,M,31,1\n")
    code, _, err = run_main("update", "r", "b.csv")
    assert code == 2 and "(--label); --label is an option of ffml run" in err
    code, _, err = run_main("tune", "synthetic", "--grid", "rounds=1,2")
    assert code == 2 and "use --set rounds=N" in err


def test_a_name_with_spaces_can_be_pasted_into_a_shell(tmp_path, run_main):
    """The remedy that is printed for a column 'App. Nr.', split as a shell does, works."""
    days = pd.date_range("2024-01-01", periods=200).strftime("%Y-%m-%d")
    table = {"App. Nr.": [f"A{i}" for i in range(200)], "Date of form": days}
    table |= {"sex": ["F", "M"] * 100, "income": range(200), "repaid": [0, 0, 1, 1] * 50}
    pd.DataFrame(table).to_csv("loans.csv", index=False)
    code, _, said = run_main("inspect", "loans.csv", "--label", "repaid")
    assert code == 2
    roles = shlex.split(re.search(r"or (--time .+)$", said.strip())[1])
    asked = ["inspect", "loans.csv", "--label", "repaid", *roles]
    code, _, said = run_main(*asked)
    assert code == 2 and "like an id" in said
    drop, named = re.search(r"\((--drop [^)]+)\).*\((--set [^)]+)\)", said).groups()
    for remedy in (drop, named):
        assert run_main(*asked, *shlex.split(remedy))[0] == 0
