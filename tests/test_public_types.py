"""Names that are loaded late are not lost on type checkers: they see what users get."""

import ast
from importlib import import_module
from pathlib import Path
from pkgutil import resolve_name

import pytest

import ffml
from ffml import runs

LATE = {
    "ffml": {*ffml.__all__} - {"__version__"},
    "ffml.runs": {*runs.__all__, "open"},
}


def shown_to_type_checkers(module):
    """Return the values that ``if TYPE_CHECKING`` imports and assigns, by name."""
    (block,) = [
        node
        for node in ast.parse(Path(module.__file__).read_text(encoding="utf-8")).body
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    ]
    shown = {}
    for node in block.body:
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                shown[alias.asname or alias.name] = resolve_name(f"{node.module}.{alias.name}")
        elif isinstance(node, ast.Assign):
            shown[node.targets[0].id] = shown.pop(node.value.id)
    return shown


@pytest.mark.parametrize("name", LATE)
def test_type_checkers_see_what_is_loaded_late(name):
    module = import_module(name)
    shown = shown_to_type_checkers(module)
    assert {*shown} == LATE[name]
    assert all(getattr(module, each) is value for each, value in shown.items())
