"""``ffml serve`` and ``ffml token``: a run over HTTP, and who may ask it."""

import os
import signal
import sys
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import typer

from ffml.base import FFMLError
from ffml.cli._options import refuse_below_one

_LOOPBACK = ("127.0.0.1", "localhost", "::1")


def serve(
    runs: list[str] | None = None,
    demo: bool = False,
    host: str = "127.0.0.1",
    port: int = 8000,
    workers: int = 1,
    promote: str = "auto",
    webhook: str | None = None,
    rate: float | None = None,
) -> None:
    """Decide and learn over HTTP, with a page for a browser.

    Every decision is in the ledger before it is said. Without a token (see
    `ffml token`) only this machine may ask.

    Arguments:
        runs RUN...: Runs: folders or addresses.

    Options:
        --demo: Serve a made-up lender, in fast motion; nothing stays.
        --host NAME: Where to listen. (default: 127.0.0.1)
        --port N: Its port; 0 takes a free one. (default: 8000)
        --workers N: Processes that answer; several need PostgreSQL. (default: 1)
        --promote HOW: How a newer version comes to decide: auto (labels it did not learn from say
            that it is no worse), manual, or newest (at once). (default: auto)
        --webhook URL: Address that is told of alarms. (default: none)
        --rate NUMBER: Requests a second by one token. (default: any)
    """
    if demo == bool(runs):
        raise FFMLError("say which runs to serve, or --demo to look at a made-up one")
    try:
        from ffml.service.app import Limits, create_app
        from ffml.service.demo import play
        from ffml.service.server import Server, serve_by_workers, set_up
    except ImportError:
        raise FFMLError("serving needs more packages; install them with ffml[serve]") from None
    if demo:
        _demo(play, host, port)
        return
    refuse_below_one(workers=workers)
    if rate is not None and not rate > 0:
        raise FFMLError(f"--rate must be above 0, such as 100, got {rate:g}")
    named = _named(runs or [])
    _refuse_bare(named, host)
    _refuse_files(named, workers)
    limits = Limits(rate=None if rate is None else rate / workers)  # workers count apart
    given: dict[str, Any] = {
        "runs": named,
        "limits": limits,
        "promote": promote,
        "webhook": webhook,
        "local": host in _LOOPBACK,
    }

    def ready(at: str) -> None:
        typer.echo(f"serving {', '.join(named)} on {at}, also for a browser (stop with Ctrl-C)")

    set_up()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # once all is done, an end like any
    with suppress(KeyboardInterrupt):
        if workers == 1:
            Server(create_app(**given), host, port, ready).run()
        else:
            serve_by_workers(given, host, port, workers, ready)


def _refuse_bare(runs: dict[str, str], host: str) -> None:
    """Refuse to serve a run without tokens to others."""
    from ffml.runs import open_run
    from ffml.service.tokens import tokens_of

    for name, at in runs.items():
        run = open_run(at, write=False)
        if host not in _LOOPBACK and not tokens_of(run.store):
            raise FFMLError(
                f"{name} has no token, so it is served on 127.0.0.1 only; make one with: ffml token"
            )
        run.close()


def _refuse_files(runs: dict[str, str], workers: int) -> None:
    if workers > 1 and (files := [name for name, at in runs.items() if "://" not in at]):
        raise FFMLError(
            f"{files[0]} is in a folder, which one process serves; leave out --workers, or keep "
            "the run in PostgreSQL (ffml run --out 'postgresql://…')"
        )


def _demo(play: Callable[..., None], host: str, port: int) -> None:
    """Serve a made-up lender, and open its page where there is a screen."""
    if host not in _LOOPBACK:
        raise FFMLError("the demo has no token, so it is served on 127.0.0.1 only")
    from ffml.runtime import configure

    def ready(page: str) -> None:
        typer.echo(f"A made-up lender in fast motion, two years in about a minute: {page}")
        typer.echo("Stop with Ctrl-C; nothing of it stays.")
        if sys.platform in ("darwin", "win32") or {"DISPLAY", "WAYLAND_DISPLAY"} & {*os.environ}:
            webbrowser.open(page)

    configure(devices=1)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # clean up then too
    with suppress(KeyboardInterrupt):
        play(host, port, ready)


def token(run: str, name: str, scope: list[str] | None = None, remove: bool = False) -> None:
    """Make a token for the service, and print it once.

    The ledger keeps only its hash.

    Arguments:
        name: Whose token it is.

    Options:
        --scope SCOPE: What it allows: decide, label, read or admin; again for several.
        --remove: Make it worthless.
    """
    from ffml.runs import open_run
    from ffml.service.tokens import make_token, remove_token

    store = open_run(run).store
    if remove:
        remove_token(store, name)
        typer.echo(f"{name}: removed")
    else:
        typer.echo(make_token(store, name, scope or []))


def _named(runs: list[str]) -> dict[str, str]:
    """Name runs by their folders, or by ``run=`` of a database."""
    from urllib.parse import parse_qs, urlsplit

    names = [
        parse_qs(urlsplit(run).query).get("run", ["ffml"])[0]
        if "://" in run
        else Path(run).resolve().name
        for run in runs
    ]
    if len({*names}) < len(names):
        raise FFMLError("two runs have the same name; serve them apart, or rename a folder")
    return dict(zip(names, runs, strict=True))
