"""The command line inside this process: as a person would call it, but without a start-up."""

import contextlib
import io
import sys

import pytest


def call_main(patch, arguments):
    """Call the entry point; return its exit code."""
    from ffml import runtime
    from ffml.cli import main

    patch.setattr(runtime, "configure", lambda *args, **kwargs: None)  # JAX has started already
    patch.setattr(sys, "argv", ["ffml", *map(str, arguments)])
    with pytest.raises(SystemExit) as ended:
        main()
    return ended.value.code


def run_inside(folder, *arguments):
    """Run a command that must succeed, for a fixture that many tests share; return its output."""
    said = io.StringIO()
    with (
        pytest.MonkeyPatch.context() as patch,
        contextlib.redirect_stdout(said),
        contextlib.redirect_stderr(said),
    ):
        patch.chdir(folder)
        assert call_main(patch, arguments) in (0, None), said.getvalue()
    return said.getvalue()
