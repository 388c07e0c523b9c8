"""``ffml serve`` and ``ffml token``: a run over HTTP, and who may ask it."""

import logging
import os
import signal
import sys
import webbrowser
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from ffml.base import FFMLError

_LOOPBACK = ("127.0.0.1", "localhost", "::1")


def serve(
    runs: Annotated[
        list[str] | None,
        typer.Argument(help="Runs: folders or addresses.", metavar="RUN...", show_default=False),
    ] = None,
    demo: Annotated[
        bool, typer.Option("--demo", help="Serve a made-up lender, in fast motion; nothing stays.")
    ] = False,
    host: Annotated[str, typer.Option(help="Where to listen.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Its port; 0 takes a free one.")] = 8000,
    rate: Annotated[
        float | None,
        typer.Option(help="Requests a second by one token. (default: any)", show_default=False),
    ] = None,
) -> None:
    """Decide, label and look over HTTP, each request by its own transaction in the ledger.

    Without a token (see `ffml token`) only this machine may ask.
    """
    if demo == bool(runs):
        raise FFMLError("say which runs to serve, or --demo to look at a made-up one")
    if demo:
        return _demo(host, port)
    try:
        from ffml.service.app import Limits, create_app
        from ffml.service.server import Server
    except ImportError:
        raise FFMLError("serving needs more packages; install them with ffml[serve]") from None
    from ffml.runtime import configure
    from ffml.service.tokens import tokens_of

    configure(devices=1)
    app = create_app(_named(runs or []), Limits(rate=rate))
    bare = [n for n, one in app.state.runs.items() if not tokens_of(one.run.store)]
    if bare and host not in _LOOPBACK:
        raise FFMLError(
            f"{bare[0]} has no token, so it is served on 127.0.0.1 only; make one with: ffml token"
        )
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(message)s")
    names = ", ".join(app.state.runs)
    with suppress(KeyboardInterrupt):
        Server(
            app, host, port, lambda at: typer.echo(f"serving {names} on {at} (stop with Ctrl-C)")
        ).run()


def _demo(host: str, port: int) -> None:
    """Serve a made-up lender, and open its page where there is a screen."""
    if host not in _LOOPBACK:
        raise FFMLError("the demo has no token, so it is served on 127.0.0.1 only")
    try:
        from ffml.service.demo import play
    except ImportError:
        raise FFMLError("serving needs more packages; install them with ffml[serve]") from None
    from ffml.runtime import configure

    def ready(page: str) -> None:
        typer.echo(f"A made-up lender in fast motion, two years in two minutes: {page}")
        typer.echo("Stop with Ctrl-C; nothing of it stays.")
        if sys.platform in ("darwin", "win32") or {"DISPLAY", "WAYLAND_DISPLAY"} & {*os.environ}:
            webbrowser.open(page)

    configure(devices=1)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # clean up then too
    with suppress(KeyboardInterrupt):
        play(host, port, ready)


def token(
    run: Annotated[str, typer.Argument(help="A run: its folder or address.", show_default=False)],
    name: Annotated[str, typer.Argument(help="Whose token it is.", show_default=False)],
    scope: Annotated[
        list[str] | None,
        typer.Option(help="What it allows: decide, label, read or admin; again for several."),
    ] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Make it worthless.")] = False,
) -> None:
    """Make a token for the service and print it, once; the ledger keeps only its hash."""
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
