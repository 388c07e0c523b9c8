"""Write docs/api.md from the docstrings of the public names: ``python scripts/build_api.py``.

Signatures and fields are taken from the source as it is written, comments included, so that the
page does not depend on the version of Python.
"""

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

PAGE = Path(__file__).parents[1] / "docs" / "api.md"
REGISTRIES = {
    "METHODS": "ffml.methods",
    "INNER": "ffml.methods._inner",
    "OUTER": "ffml.methods.outer",
    "STOP": "ffml.methods._stopping",
    "WRAPPERS": "ffml.wrappers",
    "CONSTRAINTS": "ffml.problem.notions",
    "MODELS": "ffml.problem.models",
    "DATASETS": "ffml.datasets",
}
# In the order of the page. Names that the top level offers are documented where they live.
MODULES = (
    "ffml.runs",
    "ffml.estimator",
    "ffml.tables",
    "ffml.audit.gate",
    "ffml.audit",
    "ffml.scoring.model",
    "ffml.scoring.table",
    "ffml.scoring.rules",
    "ffml.scoring",
    "ffml.report",
    "ffml.base",
    "ffml.datasets",
    "ffml.problem.models",
    "ffml.problem.notions",
    "ffml.problem.gaps",
    "ffml.problem.classification",
    "ffml.methods",
    "ffml.methods._inner",
    "ffml.methods.outer",
    "ffml.methods._stopping",
    "ffml.wrappers",
    "ffml.features",
    "ffml.checks",
    "ffml.online.loop",
    "ffml.metrics",
    "ffml.research.analysis",
    "ffml.recipe.config",
    "ffml.recipe.recipes",
    "ffml.recipe.presets",
    "ffml.recipe.plugins",
    "ffml.recipe.build",
    "ffml.datasets.augmentation",
    "ffml.studies.cells",
    "ffml.studies.compare",
    "ffml.studies.tuning",
    "ffml.research.reproduce",
    "ffml.studies.efficiency",
    "ffml.store",
    "ffml.runtime",
)
HEADINGS = {"ffml.runs.run": "ffml.runs.run, the function"}  # addresses do not tell Run from run
INTRODUCTION = """# API reference

Written by [`scripts/build_api.py`](../scripts/build_api.py) from the docstrings; do not edit it.
For a start see the [quick start](quickstart.md) and [`examples/`](../examples)."""


def build_page() -> str:
    """Return the text of the page."""
    import ffml

    homes: dict[str, str] = {}  # name -> module
    sections = []
    for module_name in MODULES:
        module = import_module(module_name)
        names = [name for name in public_names(module) if name not in homes]
        homes |= dict.fromkeys(names, module_name)
        sections.append(module_section(module, names))
    parts = [
        INTRODUCTION,
        top_level(ffml, homes),
        *(registry(name, home) for name, home in REGISTRIES.items()),
        *sections,
    ]
    return "\n\n".join(parts) + "\n"


def public_names(module: ModuleType) -> list[str]:
    """List what a module offers and a person can call or hold."""
    names = getattr(module, "__all__", None)
    if names is None:
        names = [
            name
            for name, value in vars(module).items()
            if getattr(value, "__module__", None) == module.__name__ and not name.startswith("_")
        ]
    return [name for name in names if callable(getattr(module, name))]


def top_level(package: ModuleType, homes: dict[str, str]) -> str:
    """List the names of ``ffml.__all__``, with links."""
    lines = ["## ffml", as_markdown(inspect.getdoc(package) or "")]
    for name in package.__all__:
        if name.startswith("__"):
            continue
        value = getattr(package, name)
        own = value.__name__  # `ffml.open` is `open_run` at home
        home = own if isinstance(value, ModuleType) else f"{homes[own]}.{own}"
        address = anchor(HEADINGS.get(home, home))
        lines.append(f"- [`ffml.{name}`](#{address}): {first_line(value)}")
    return "\n\n".join(lines[:2]) + "\n\n" + "\n".join(lines[2:])


def registry(name: str, home: str) -> str:
    """List what can be chosen by name on the command line."""
    entries = getattr(import_module(home), name)
    lines = []
    for key, value in entries.items():
        text = first_line(value) if inspect.isroutine(value) else getattr(value, "summary", "")
        link = f"{home}.{getattr(value, '__name__', '')}"
        shown = f"[`{key}`](#{anchor(link)})" if inspect.isroutine(value) else f"`{key}`"
        lines.append(f"- {shown}: {text}")
    return f"## {home}.{name}\n\n" + "\n".join(lines)


def module_section(module: ModuleType, names: list[str]) -> str:
    """Document a module and its names."""
    parts = [f"## {module.__name__}", as_markdown(inspect.getdoc(module) or "")]
    for name in names:
        parts += entry(f"{module.__name__}.{name}", getattr(module, name))
    return "\n\n".join(parts)


def entry(name: str, value: Any) -> Iterator[str]:
    """Document a class or a function: heading, source of the signature, docstring, methods."""
    yield f"### {HEADINGS.get(name, name)}"
    tree = ast.parse(source(value)).body[0]
    if isinstance(tree, ast.ClassDef):
        yield block(class_source(value, tree))
    else:
        yield block(signature(source(value), tree))
    yield as_markdown(own_docstring(value))
    if inspect.isclass(value):
        for method_name, method in vars(value).items():
            yield from method_entry(name, method_name, method)


def method_entry(owner: str, name: str, method: Any) -> Iterator[str]:
    """Document a public method or property that has a docstring."""
    function = getattr(method, "__func__", getattr(method, "fget", method))
    if name.startswith("_") or not inspect.isfunction(function) or not function.__doc__:
        return
    yield f"#### {owner.split('.')[-1]}.{name}"
    text = source(function)
    yield block(signature(text, ast.parse(text).body[0]))
    yield as_markdown(inspect.cleandoc(function.__doc__))


def source(value: Any) -> str:
    """Return the source without the indentation of its surroundings."""
    return textwrap.dedent(inspect.getsource(value))


def signature(text: str, tree: Any) -> str:
    """Return the lines of a definition up to its body, decorators included."""
    return "\n".join(text.splitlines()[: tree.body[0].lineno - 1])


def class_source(value: type, tree: ast.ClassDef) -> str:
    """Return the head of a class with its public fields, or with the arguments of ``__init__``."""
    lines = source(value).splitlines()
    kept = lines[: tree.body[0].lineno - 1]
    for node in tree.body:
        if isinstance(node, ast.AnnAssign) and not ast.unparse(node.target).startswith("_"):
            kept += lines[node.lineno - 1 : node.end_lineno]
            kept += [comment for comment in lines[node.end_lineno :][:1] if "# ^" in comment]
        elif isinstance(node, ast.FunctionDef) and node.name == "__init__":
            kept += lines[node.lineno - 1 : node.body[0].lineno - 1]
    return "\n".join(kept)


def own_docstring(value: Any) -> str:
    """Return a docstring that was written, not one that a dataclass or tuple was given."""
    return inspect.cleandoc(value.__doc__ or "")


def first_line(value: Any) -> str:
    """Return the first line of a docstring."""
    return as_markdown((inspect.getdoc(value) or "").split("\n")[0])


def as_markdown(docstring: str) -> str:
    """Turn the house's docstrings into Markdown: sections, examples and literal blocks."""
    parts, literal = [], False
    for paragraph in re.split(r"\n\s*\n", docstring):
        if paragraph.startswith(">>>"):
            parts.append(block(paragraph, "pycon"))
        elif literal and paragraph.startswith(" "):
            parts.append(block(textwrap.dedent(paragraph), "text"))
            continue
        elif match := re.match(r"(Args|Returns|Raises|Attributes|Modes):\n", paragraph):
            body = textwrap.dedent(paragraph[match.end() :])
            parts.append(f"**{match[1]}**\n\n{definitions(body)}")
        else:
            parts.append(re.sub(r"::$", ":", inline(paragraph)))
        literal = paragraph.endswith("::")
    return "\n\n".join(part for part in parts if part)


def definitions(body: str) -> str:
    """Turn ``name: text`` lines, with text that goes on indented, into a list."""
    items = []
    for item in re.split(r"\n(?=\S)", body):
        name, colon, text = item.partition(": ")
        named = colon and re.fullmatch(r"[\w*, ]+", name) and "\n" not in name
        words = inline(" ".join((text if named else item).split()))
        items.append(f"- `{name}`: {words}" if named else f"- {words}")
    whole = all(item.startswith("- `") for item in items)
    return "\n".join(items) if whole else inline(" ".join(body.split()))


def inline(text: str) -> str:
    """Write literals with single backticks, and keep what looks like HTML or emphasis as it is."""
    pieces = re.split(r"(``.+?``|`[^`]+`)", text, flags=re.DOTALL)
    return "".join(
        f"`{' '.join(piece.strip('`').split())}`"
        if piece.startswith("`")
        else re.sub(r"(\*[^*\s][^*]*\*)|([*<_\[\]|])", escaped, piece)
        for piece in pieces
    )


def escaped(match: re.Match[str]) -> str:
    """Keep emphasis that is meant."""
    return match[1] or f"\\{match[2]}"


def block(text: str, language: str = "py") -> str:
    """Write a block of code (``py``, not ``python``: it shows a signature and is not run)."""
    return f"```{language}\n{text}\n```"


def anchor(heading: str) -> str:
    """Return the address that GitHub gives to a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


if __name__ == "__main__":
    PAGE.write_text(build_page(), encoding="utf-8", newline="\n")
    print(f"wrote {PAGE.name}")
