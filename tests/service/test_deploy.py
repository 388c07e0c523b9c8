"""Files for containers and systemd call commands that are there, with options that are there."""

import configparser
import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ffml.cli import app

DEPLOY = Path(__file__).parents[2] / "deploy"


def commands():
    container = (DEPLOY / "Containerfile").read_text(encoding="utf-8")
    yield json.loads(re.search(r"^CMD (\[.*\])$", container, re.MULTILINE).group(1))
    compose = (DEPLOY / "compose.yaml").read_text(encoding="utf-8")
    yield json.loads(re.search(r"command: (\[.*\])$", compose, re.MULTILINE).group(1))
    unit = configparser.ConfigParser(strict=True, interpolation=None)
    unit.optionxform = str
    unit.read(DEPLOY / "ffml.service")
    yield unit["Service"]["ExecStart"].split()


@pytest.mark.parametrize("words", [*commands()], ids=["container", "compose", "systemd"])
def test_what_is_called_exists(words):
    assert words[0].rpartition("/")[2] == "ffml"
    shown = CliRunner().invoke(app, [words[1], "--help"], env={"COLUMNS": "200"}).stdout
    for word in words[2:]:
        assert not word.startswith("--") or word in shown


def test_compose_is_yaml_without_a_password():
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    found = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
    for one in found["services"].values():
        secret = [v for k, v in one["environment"].items() if "PASSWORD" in k]
        assert secret == ["${FFML_PASSWORD:?set it to a password of your own}"]
    assert found["services"]["service"]["ports"] == ["127.0.0.1:8000:8000"]
