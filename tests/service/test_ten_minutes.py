"""The page "from a CSV to a service in ten minutes", from top to end, as a reader does it."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "first_service.md"
BLOCK = re.compile(
    r"^```(python|sh)\n(.*?)^```\n(?:\n```json\n(.*?)^```$)?", re.MULTILINE | re.DOTALL
)
READY = "http://127.0.0.1:8765/v2/health/ready"


@pytest.mark.skipif(not shutil.which("curl"), reason="needs curl")
def test_the_page_works(tmp_path):
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    given = {"cwd": tmp_path, "env": os.environ | {"PATH": path, "COLUMNS": "200"}, "text": True}
    service, done = None, []
    try:
        for language, block, shown in BLOCK.findall(PAGE.read_text(encoding="utf-8")):
            if language == "python":
                subprocess.run([sys.executable, "-c", block], check=True, **given)
                continue
            for line in block.splitlines():
                if line.startswith("pip "):
                    continue
                if line.endswith(" &"):
                    words, quiet = line[:-2].split(), subprocess.DEVNULL
                    service = subprocess.Popen(words, stderr=quiet, **given)
                    wait(service)
                    continue
                said = subprocess.run(line, shell=True, check=True, capture_output=True, **given)
                done.append(said.stdout)
                if shown:
                    assert {*json.loads(said.stdout)} == {*json.loads(shown)}
    finally:
        if service is not None:
            service.terminate()
            assert service.wait(60) == 0
    check, metrics, *tokens = done[3:]
    assert json.loads(check)["verdict"] and "ffml_gap" in metrics
    assert all(token.startswith("ffml_") for token in tokens) and len(tokens) == 2


def wait(service):
    """Wait until it answers."""
    for _ in range(600):
        assert service.poll() is None
        try:
            return urllib.request.urlopen(READY, timeout=5).close()
        except OSError:
            time.sleep(0.1)
    raise TimeoutError(READY)
