"""The code that README and documentation show is run, and the commands they name exist."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_blocks_run_in_order(page, tmp_path):
    code = "\n".join(blocks(page, "python"))
    if not code:
        pytest.skip("no Python on this page")
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_and_their_options_exist(page):
    """Every `ffml …` line in a shell block parses: the command and all its options are known."""
    for line in "\n".join(blocks(page, "(?:sh|console|bash)")).splitlines():
        words = line.removeprefix("$ ").split("#")[0].split()
        if not words or not words[0].endswith("ffml"):
            continue
        text = subprocess.run(
            [sys.executable, "-m", "ffml", words[1], "--help"], capture_output=True, text=True
        )
        assert text.returncode == 0, line
        for word in words[2:]:
            if word.startswith("--"):
                assert word.split("=")[0] in text.stdout, f"{word} in: {line}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_to_files_of_the_repository_lead_somewhere(page):
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
        if not target.startswith(("http:", "https:", "mailto:")):
            assert (page.parent / target).exists(), target


def test_make_targets_that_the_readme_names_exist():
    named = set(re.findall(r"make ([a-z]+)", (ROOT / "README.md").read_text()))
    defined = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert {"demo", "test"} <= named <= defined
