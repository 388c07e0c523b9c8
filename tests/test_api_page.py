"""The API page that `make docs` writes has every public name, and its links lead somewhere."""

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


@pytest.fixture(scope="module")
def script():
    return runpy.run_path(str(ROOT / "scripts" / "build_api.py"))


@pytest.fixture(scope="module")
def page(script):
    return script["build_page"]()


def test_public_names_and_registries_are_there(page):
    for name in ffml.__all__:
        assert name.startswith("__") or f"[`ffml.{name}`](#" in page
    for registry in (METHODS, *PARTS.values(), WRAPPERS, CONSTRAINTS, MODELS):
        for name, factory in registry.items():
            assert f"- [`{name}`](#" in page and f".{factory.__name__}\n\n```py" in page


def test_links_within_the_page(page):
    headings = re.findall(r"^#+ (.*)$", page, re.MULTILINE)
    slugs = [re.sub(r"[^\w-]", "", heading.lower().replace(" ", "-")) for heading in headings]
    top = [slug for slug, heading in zip(slugs, headings, strict=True) if heading[:5] == "ffml."]
    assert len(top) == len(set(top))
    assert set(re.findall(r"\]\(#([^)]*)\)", page)) <= set(slugs)


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
