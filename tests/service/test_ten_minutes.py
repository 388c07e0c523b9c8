"""The page "from a CSV to a service in ten minutes", from top to end, as a reader does it."""

import json
import re
import shutil
import subprocess
from contextlib import ExitStack
from pathlib import Path

import pytest
from inside import run_inside
from loaned import learning_here, serving

from ffml.service.app import create_app

PAGE = Path(__file__).parents[2] / "docs" / "first_service.md"
BLOCK = re.compile(
    r"^```(python|sh)\n(.*?)^```\n(?:\n```json\n(.*?)^```$)?", re.MULTILINE | re.DOTALL
)
SERVE = re.compile(r"ffml serve (\S+) --port (\d+) &")


@pytest.mark.skipif(not shutil.which("curl"), reason="needs curl")
def test_the_page_works(tmp_path, monkeypatch):
    """Commands of ffml run in this process; how one serves is tested with the operations."""
    monkeypatch.chdir(tmp_path)
    done = []
    with ExitStack() as service:
        service.enter_context(learning_here())
        for language, block, shown in BLOCK.findall(PAGE.read_text(encoding="utf-8")):
            if language == "python":
                exec(compile(block, str(PAGE), "exec"), {})
                continue
            for line in block.splitlines():
                if serve := SERVE.fullmatch(line):
                    app = create_app({Path(serve[1]).name: serve[1]}, promote="auto")
                    service.enter_context(serving(app, int(serve[2])))
                elif line.startswith("ffml "):
                    done.append(run_inside(tmp_path, *line.split()[1:]))
                elif line.startswith("curl "):
                    done.append(curl(line))
                    assert not shown or json.loads(done[-1]) == about(json.loads(shown))
                else:
                    assert line.startswith("pip ")
    check, metrics, *tokens = done[3:]
    assert json.loads(check)["verdict"] and "ffml_gap" in metrics
    assert all(token.startswith("ffml_") for token in tokens) and len(tokens) == 2


def about(shown):
    """Compare what the page shows to its last digit, and all else exactly."""
    return {k: pytest.approx(v, abs=6e-4) if isinstance(v, float) else v for k, v in shown.items()}


def curl(line):
    """Run a line as a shell does."""
    return subprocess.run(line, shell=True, check=True, capture_output=True, text=True).stdout
