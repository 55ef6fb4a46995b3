"""`chase view`: look at a workspace in a browser on this machine."""

from __future__ import annotations

import sys
import threading
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from chase.cli.output import printable
from chase.core.errors import SetupError
from chase.runs.opening import locate
from chase.web.serving import Listening, serve


def view(
    workspace: Annotated[
        Path | None,
        typer.Argument(metavar="[WORKSPACE]", help="Holds .chase/; default: found upward.", show_default=False),
    ] = None,
    port: Annotated[
        int, typer.Option("--port", metavar="N", help="Of loopback; default: a free one.", show_default=False)
    ] = 0,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Print the link and open nothing.")] = False,
) -> None:
    """Look at a workspace in a browser: runs and comparisons, a run as it happens, and the traces behind every figure.

    It listens on 127.0.0.1 alone, reads and never writes, and a run may be at work in the workspace meanwhile. Whoever
    has the link that is printed can read the workspace from this machine until Ctrl-C. A browser is opened where this
    is typed at a terminal.
    """
    place = locate(workspace)
    if not place.root.is_dir():
        raise SetupError(f"workspace={place.root} is no folder. Name the one that holds .chase/.")

    def ready(listening: Listening) -> None:
        typer.echo(printable(f"workspace {place.root} is at {listening.link}"))
        typer.echo("Ctrl-C ends it.", err=True)
        sys.stdout.flush()
        if not no_browser and sys.stdout.isatty():
            # In a thread: some browsers are only through when they are closed.
            threading.Thread(target=webbrowser.open, args=(listening.link,), daemon=True).start()

    serve(place, port=port, ready=ready)
