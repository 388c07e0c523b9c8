"""The committed API page is what its script writes today, and its links lead somewhere."""

import re
import runpy
from pathlib import Path

import pytest

import ffml
from ffml.methods import METHODS, PARTS
from ffml.problem.models import MODELS
from ffml.problem.notions import CONSTRAINTS
from ffml.wrappers import WRAPPERS

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def script():
    return runpy.run_path(str(ROOT / "scripts" / "build_api.py"))


def test_page_is_up_to_date(script):
    current = script["build_page"]() == PAGE
    assert current, "docstrings have changed: run 'python scripts/build_api.py'"


def test_public_names_and_registries_are_there():
    for name in ffml.__all__:
        assert name.startswith("__") or f"[`ffml.{name}`](#" in PAGE
    for registry in (METHODS, *PARTS.values(), WRAPPERS, CONSTRAINTS, MODELS):
        for name, factory in registry.items():
            assert f"- [`{name}`](#" in PAGE and f".{factory.__name__}\n\n```py" in PAGE


def test_links_within_the_page():
    headings = re.findall(r"^#+ (.*)$", PAGE, re.MULTILINE)
    slugs = [re.sub(r"[^\w-]", "", heading.lower().replace(" ", "-")) for heading in headings]
    top = [slug for slug, heading in zip(slugs, headings, strict=True) if heading[:5] == "ffml."]
    assert len(top) == len(set(top))
    assert set(re.findall(r"\]\(#([^)]*)\)", PAGE)) <= set(slugs)


def test_docstrings_become_markdown(script):
    docstring = """Do *this* with ``x_1`` and a_b::

        y = a * b

    Args:
        x_1: first
            and more.
        **options: others.

    >>> 1 + 1
    2"""
    assert script["as_markdown"](script["inspect"].cleandoc(docstring)) == (
        "Do *this* with `x_1` and a\\_b:\n\n```text\ny = a * b\n```\n\n**Args**\n\n"
        "- `x_1`: first and more.\n- `**options`: others.\n\n```pycon\n>>> 1 + 1\n2\n```"
    )
