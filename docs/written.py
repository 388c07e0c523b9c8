"""Pages that are written from the program itself: commands, settings, the API."""

from importlib import import_module
from pathlib import Path

from typer.testing import CliRunner

WIDE = {"COLUMNS": "100", "TERM": "dumb", "NO_COLOR": "1"}
# Public modules, in the order in which people need them; a name is shown where it is first offered.
MODULES = (
    *("ffml", "ffml.estimator", "ffml.runs", "ffml.audit", "ffml.metrics", "ffml.report"),
    *("ffml.scoring", "ffml.tables", "ffml.datasets", "ffml.base", "ffml.problem.notions"),
    *("ffml.problem.models", "ffml.methods", "ffml.wrappers", "ffml.features", "ffml.online.loop"),
    *("ffml.recipe.recipes", "ffml.recipe.plugins", "ffml.checks", "ffml.studies.compare"),
    *("ffml.studies.tuning", "ffml.research.reproduce", "ffml.research.analysis", "ffml.store"),
)


def write_pages(folder: Path) -> None:
    """Write ``commands.md``, ``settings.md`` and a page for each public module into a folder."""
    from ffml.cli import app

    names = [command.callback.__name__ for command in app.registered_commands]
    helps = [_page(f"ffml {name}", _said(app, name, "--help"), 2) for name in sorted(names)]
    _write(folder / "commands.md", "# Commands\n\n" + "\n".join(helps))
    parts = [_page(f"`{name}`", _said(app, "methods", name), 2) for name in _parts()]
    listing = _page("Methods, parts and their settings", _said(app, "methods"), 1)
    _write(folder / "settings.md", "\n".join([listing, *parts]))
    shown: set[int] = set()
    for name in MODULES:
        _write(folder / "api" / f"{name}.md", _module(name, shown))


def _module(name: str, shown: set[int]) -> str:
    module = import_module(name)
    offered = getattr(module, "__all__", None) or [n for n in vars(module) if n[0] != "_"]
    lines = [f"# {name}\n\n```{{eval-rst}}\n.. automodule:: {name}\n   :no-members:\n"]
    for each in offered:
        value = getattr(module, each)
        home = getattr(value, "__module__", "")
        if callable(value) and id(value) not in shown and home.startswith("ffml"):
            shown.add(id(value))
            kind = "class" if isinstance(value, type) else "function"
            lines.append(f".. auto{kind}:: {home}.{value.__qualname__}\n")
    return "\n".join(lines) + "```\n"


def _parts() -> list[str]:
    from ffml.methods import METHODS
    from ffml.recipe.recipes import additions

    return [*METHODS, *additions()]


def _page(title: str, text: str, level: int) -> str:
    return f"{'#' * level} {title}\n\n```text\n{text}\n```\n"


def _said(app, *words: str) -> str:
    result = CliRunner().invoke(app, list(words), env=WIDE)
    if result.exit_code:
        raise RuntimeError(f"ffml {' '.join(words)} failed: {result.output}")
    return "\n".join(line.rstrip() for line in result.output.strip("\n").splitlines())


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")
