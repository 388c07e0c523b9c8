"""Python of pages and examples, run in this process: nothing may warn, and nothing is left behind.

A start-up of Python with JAX costs two seconds of processor time, and there are many pages.
"""

import contextlib
import io
import sys
from pathlib import Path

import pytest

from ffml.datasets import DATASETS
from ffml.methods import METHODS, PARTS
from ffml.problem.models import MODELS
from ffml.problem.notions import CONSTRAINTS
from ffml.wrappers import WRAPPERS

REGISTRIES = (DATASETS, METHODS, *PARTS.values(), MODELS, CONSTRAINTS, WRAPPERS)


def printed_by(code, folder, name="page.py", arguments=()):
    """Run Python as a script would be; return what it prints."""
    before = [dict(registry) for registry in REGISTRIES]
    printed = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(printed):
        patch.chdir(folder)
        patch.setattr(sys, "argv", [name, *arguments])
        patch.setattr(sys, "path", [str(Path(name).parent), *sys.path])
        try:
            exec(compile(code, name, "exec"), {"__name__": "__main__", "__file__": name})
        finally:
            for registry, entries in zip(REGISTRIES, before, strict=True):
                registry.clear()
                registry.update(entries)
    return printed.getvalue()
