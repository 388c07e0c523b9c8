"""Plug-ins: Python files that add methods, wrappers, notions, models or data sets of one's own."""

import hashlib
import sys
import traceback
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple, TypeVar, cast

from ffml.base import FFMLError
from ffml.border import one_of
from ffml.datasets import DATASETS
from ffml.features import FEATURES
from ffml.kinds import refuse_other_kinds
from ffml.methods import METHODS, PARTS
from ffml.methods.classifiers import CLASSIFIERS
from ffml.problem.models import MODELS
from ffml.problem.notions import CONSTRAINTS
from ffml.wrappers import WRAPPERS

T = TypeVar("T")
Registry = dict[str, Any]

REGISTRIES: dict[str, Registry] = {
    "method": METHODS,
    "wrapper": WRAPPERS,
    "features": FEATURES,
    "notion": CONSTRAINTS,
    "model": MODELS,
    "dataset": DATASETS,
    "classifier": CLASSIFIERS,
    **cast(dict[str, Registry], PARTS),
}


class _Loaded(NamedTuple):
    sha256: str
    names: tuple[tuple[str, str], ...]  # kind and name of all that it registered


_LOADED: dict[Path, _Loaded] = {}


def register(kind: str, name: str) -> Callable[[T], T]:
    """Give something of one's own a name that recipes and the command line know.

    Args:
        kind: a key of `REGISTRIES`: method, wrapper, notion, model, dataset, features, classifier,
            inner, outer or stop.
        name: one that is not taken.

    >>> @register("model", "constant")
    ... def constant(): ...
    >>> MODELS.pop("constant") is constant
    True
    """
    registry = one_of("kind of plug-in", kind, REGISTRIES)
    if name in registry:
        raise FFMLError(f"there is a {kind} '{name}' already; choose another name")

    def keep(thing: T) -> T:
        registry[name] = thing
        return thing

    return keep


def load_plugins(files: Iterable[str | Path]) -> dict[str, str]:
    """Run Python files that register something; return their paths with their SHA-256.

    A file that was loaded before and is the same is not run again.
    """
    return {str(path): _load(path) for path in (Path(file).resolve() for file in files)}


def restore_plugins(plugins: Mapping[str, str]) -> None:
    """Load the plug-ins of a run, in a worker or when the run goes on; refuse changed ones."""
    refuse_other_kinds({"plugins": plugins}, {"plugins": dict[str, str]})
    for file, before in plugins.items():
        if hashlib.sha256(_read(Path(file))).hexdigest() != before:
            raise FFMLError(
                f"the plug-in {file} has changed since the run began; put it back, or start "
                "another run"
            )
        _load(Path(file))


def _load(path: Path) -> str:
    source = _read(path)
    sha256 = hashlib.sha256(source).hexdigest()
    loaded = _LOADED.get(path, _Loaded("", ()))
    if loaded.sha256 == sha256:
        return sha256
    for kind, name in loaded.names:  # of the file as it was
        REGISTRIES[kind].pop(name, None)
    before = {kind: dict(registry) for kind, registry in REGISTRIES.items()}
    module = ModuleType(f"ffml_plugin_{path.stem}_{sha256[:8]}")
    sys.modules[module.__name__] = module  # where dataclasses look for their module
    try:
        _run(path, source, module)
        _LOADED[path] = _Loaded(sha256, _new_names(path, before))
    except FFMLError:
        del sys.modules[module.__name__]
        for kind, registry in REGISTRIES.items():
            registry.clear()
            registry.update(before[kind])
        raise
    from ffml.recipe.configfile import setting_kinds

    setting_kinds.cache_clear()
    return sha256


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise FFMLError(
            f"the plug-in {path} cannot be read ({error.strerror}); give --plugin a Python file, "
            "and keep it where it is while runs need it"
        ) from None


def _run(path: Path, source: bytes, module: ModuleType) -> None:
    """Run a file as a module of its own; whatever is wrong with it is one line."""
    module.__file__ = str(path)
    try:
        exec(compile(source, str(path), "exec"), vars(module))
    except (Exception, SystemExit) as error:
        raise FFMLError(f"the plug-in {path}{_place(error, path)}: {_reason(error)}") from error


def _place(error: BaseException, path: Path) -> str:
    """Name the line of the file that the error is about."""
    if isinstance(error, SyntaxError):
        return f", line {error.lineno}" if error.lineno else ""
    steps = traceback.extract_tb(error.__traceback__)
    lines = [step.lineno for step in steps if step.filename == str(path)]
    return f", line {lines[-1]}" if lines else ""


def _reason(error: BaseException) -> str:
    text = " ".join(str(error.msg if isinstance(error, SyntaxError) else error).split())
    return text if isinstance(error, FFMLError) else f"{type(error).__name__}: {text}"


def _new_names(path: Path, before: Mapping[str, Registry]) -> tuple[tuple[str, str], ...]:
    """Name what a file registered; refuse one that replaced something, or registered nothing."""
    new: list[tuple[str, str]] = []
    for kind, registry in REGISTRIES.items():
        for name, thing in registry.items():
            if name not in before[kind]:
                new.append((kind, name))
            elif thing is not before[kind][name]:
                raise FFMLError(f"the plug-in {path}: there is a {kind} '{name}' already; rename")
    if not new:
        raise FFMLError(
            f"the plug-in {path} registers nothing; see ffml.register, or give another file"
        )
    return tuple(new)
