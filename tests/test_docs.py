"""The code that README and documentation show is run, and the commands they name exist."""

import json
import re
import runpy
import shlex
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest
from inside import run_inside
from pages import printed_by
from typer.testing import CliRunner

import ffml
from ffml.cli import app
from ffml.methods import METHODS
from ffml.runs.ownership import LEDGER, VIEWS
from ffml.store._schema import metadata

ROOT = Path(__file__).parents[1]
WITH_COMMANDS = ["monthly.md"]  # pages whose Python needs what their commands leave
WRITTEN = {"commands.md", "settings.md"}  # by the build, from the program itself
SITE = sorted(page for page in (ROOT / "docs").glob("*.md") if page.name not in WRITTEN)
NOTEBOOKS = sorted((ROOT / "docs").glob("*.ipynb"))
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *SITE]


END = "--- end of block ---"


def blocks(page, language):
    return re.findall(
        rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )


def python_blocks(page):
    """Return each Python block with the text block right after it, if there is one."""
    pattern = r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```$)?"
    return re.findall(pattern, page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_blocks_run_and_print_what_the_page_says(page, tmp_path):
    found = python_blocks(page)
    if not found or page.name in WITH_COMMANDS:
        pytest.skip("no Python on this page, or it is run with the commands in between")
    code = f"\nprint({END!r})\n".join(code for code, _ in found)
    printed = printed_by(code, tmp_path).split(f"{END}\n")
    assert len(printed) == len(found)
    for shown, (_, expected) in zip(printed, found, strict=True):
        assert not expected or shown == expected


@pytest.mark.parametrize("name", WITH_COMMANDS)
def test_a_page_runs_from_its_top_to_its_end(name, tmp_path):
    """Python and commands in their order; each command ends well."""
    pattern = r"^```(python|sh)\n(.*?)^```\n(?:\n```text\n(.*?)^```$)?"
    text = (ROOT / "docs" / name).read_text(encoding="utf-8")
    before = ""
    for language, block, expected in re.findall(pattern, text, re.MULTILINE | re.DOTALL):
        if language == "sh":
            shown = "".join(run_inside(tmp_path, *words) for words in commands(block))
        else:
            shown = printed_by(f"{before}\n{block}", tmp_path)
            before += f"{block}\n"
        assert not expected or shown == expected


def commands(block):
    """Return the words of each command after ``ffml``."""
    return [shlex.split(line)[1:] for line in block.splitlines()]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_run_and_print_what_they_say(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    notebook = json.loads(path.read_text(encoding="utf-8"))
    done = runpy.run_path(str(ROOT / "scripts" / "run_notebooks.py"))["run"](notebook)
    assert len(done["cells"]) == len(notebook["cells"])
    for shown, cell in zip(notebook["cells"], done["cells"], strict=True):
        for before, now in zip(shown.get("outputs", ()), cell.get("outputs", ()), strict=True):
            assert before.get("text") == now.get("text")  # pictures differ by fonts
    METHODS.pop("squares", None)


@cache
def help_of(command):
    """Return what a command's --help prints, nothing if there is no such command."""
    shown = CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "200"})
    return "" if shown.exit_code else shown.stdout


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_and_their_options_exist(page):
    """Every `ffml …` line in a shell block parses: the command and all its options are known."""
    for line in "\n".join(blocks(page, "(?:sh|console|bash)")).splitlines():
        words = line.removeprefix("$ ").split("#")[0].split()
        if not words or not words[0].endswith("ffml"):
            continue
        described = help_of(words[1])
        assert described, line
        for word in words[2:]:
            if word.startswith("--"):
                assert word.split("=")[0] in described, f"{word} in: {line}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_to_files_of_the_repository_lead_somewhere(page):
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"`[^`\n]*`", "", text)  # formulas
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
        if not target.startswith(("http:", "https:", "mailto:")):
            assert (page.parent / target).exists(), target


def test_every_page_is_reached_from_the_first_one():
    listed = {
        name
        for page in SITE
        for block in blocks(page, r"\{toctree\}")
        for name in block.splitlines()
        if name and not name.startswith(":")
    }
    written = {Path(name).stem for name in WRITTEN}
    notebooks = {path.stem for path in NOTEBOOKS}
    pages = {page.stem for page in SITE} | written | notebooks
    assert pages == listed - {"api/*"} | {"index"}


def test_pages_that_are_written_from_the_program(tmp_path):
    written = runpy.run_path(str(ROOT / "docs" / "written.py"))
    written["write_pages"](tmp_path)
    commands = (tmp_path / "commands.md").read_text(encoding="utf-8")
    assert "## ffml run\n" in commands and "--max-gap" in commands
    settings = (tmp_path / "settings.md").read_text(encoding="utf-8")
    assert all(f"`{name}`" in settings for name in METHODS)
    api = "".join(page.read_text(encoding="utf-8") for page in (tmp_path / "api").iterdir())
    for name in set(ffml.__all__) - {"__version__"}:
        value = getattr(ffml, name)
        assert isinstance(value, ModuleType) or f"{value.__module__}.{value.__qualname__}" in api


def test_make_targets_that_the_readme_names_exist():
    pages = "".join((ROOT / name).read_text() for name in ("README.md", "CONTRIBUTING.md"))
    named = set(re.findall(r"(?:^|`)make ([a-z]+)", pages, re.MULTILINE))
    defined = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert {"demo", "test"} <= named <= defined


def test_every_table_column_and_file_of_a_run_is_on_the_page_of_what_is_stored():
    page = (ROOT / "docs" / "stored.md").read_text(encoding="utf-8")
    names = {column.name for table in metadata.tables.values() for column in table.columns}
    stored = {*names, *metadata.tables, *LEDGER, *VIEWS}
    assert not [name for name in sorted(stored) if f"`{name}`" not in page]
