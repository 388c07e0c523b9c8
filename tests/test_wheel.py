"""What `make dist` builds is whole: installed into an empty environment, it learns and reports."""

import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]


def call(*words, **more):
    done = subprocess.run([*map(str, words)], capture_output=True, encoding="utf-8", **more)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Return the folder with wheel and source distribution."""
    folder = tmp_path_factory.mktemp("dist")
    call(sys.executable, "-m", "hatchling", "build", "-d", folder, cwd=ROOT)
    return folder


def test_the_wheel_runs_the_demo_in_an_empty_environment(built, tmp_path):
    """Offline: what it depends on is that of the tests, which does not know this ffml."""
    [wheel] = built.glob("*.whl")
    env, empty = tmp_path / "env", tmp_path / "empty"
    empty.mkdir()
    call(sys.executable, "-m", "venv", "--without-pip", env)
    python = env / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", python]
    call(*pip, "install", "--quiet", "--no-deps", "--no-index", wheel)
    [site] = env.glob("lib/python*/site-packages")
    (site / "outer.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")
    alone = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    where = "import ffml; print(ffml.__file__)"
    assert Path(call(python, "-c", where, env=alone, cwd=empty).strip()).is_relative_to(site)
    ffml = env / "bin" / "ffml"
    assert call(ffml, "--version", env=alone, cwd=empty) == f"ffml {VERSION}\n"
    demo = call(ffml, "run", "adult", "--set", "rounds=2", "--out", "demo", env=alone, cwd=empty)
    assert "Report: demo/report.html" in demo
    assert (empty / "demo" / "report.html").stat().st_size > 10_000
    assert (site / "ffml" / "py.typed").exists()


def test_the_wheel_has_every_file_of_the_package(built):
    [wheel] = built.glob("*.whl")
    kept = {name for name in zipfile.ZipFile(wheel).namelist() if name.startswith("ffml/")}
    source = ROOT / "src"
    there = {path.relative_to(source).as_posix() for path in source.rglob("*") if path.is_file()}
    assert kept == {name for name in there if "__pycache__" not in name}


def test_the_source_distribution_can_be_tested(built):
    [archive] = built.glob("*.tar.gz")
    with tarfile.open(archive) as files:
        names = {name.partition("/")[2] for name in files.getnames()}
    assert {"Makefile", "constraints.txt", "CONTRIBUTING.md", "tests/test_wheel.py"} <= names


def test_one_version_everywhere():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(r"^version: (.*)$", citation, re.MULTILINE)[1] == VERSION
    assert re.search(r"^## (\S+)", changes, re.MULTILINE)[1] == VERSION


def test_the_package_lists_its_names():
    import ffml

    assert {*ffml.__all__} <= {*dir(ffml)}
    assert all(getattr(ffml, name) is not None for name in ffml.__all__)
