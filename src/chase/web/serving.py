"""Serving the viewer on loopback until somebody stops it."""

from __future__ import annotations

import errno
import socket
from collections.abc import Callable
from dataclasses import dataclass

import uvicorn

from chase.core.errors import SetupError, UserError
from chase.store.workspace import Workspace
from chase.web.app import make_app
from chase.web.guard import HOST, Guard, Secret
from chase.web.viewer import Viewer


@dataclass(frozen=True, kw_only=True)
class Listening:
    """A viewer that listens."""

    link: str
    """With the secret of this start: whoever has it on this machine may read."""
    port: int
    stop: Callable[[], None]
    """Ends it, from any thread."""


def serve(workspace: Workspace, *, port: int = 0, ready: Callable[[Listening], None]) -> None:
    """Serve a workspace until SIGINT or SIGTERM. `ready` is called once the port is taken. Port 0: any free one."""
    viewer = Viewer.open(workspace)
    try:
        with _listen(port) as listener:
            taken = int(listener.getsockname()[1])
            secret = Secret(taken)
            address = f"http://{HOST}:{taken}"
            guarded = Guard(make_app(viewer, address=address, secret=secret), secret=secret, port=taken)
            config = uvicorn.Config(
                guarded,
                log_level="critical",
                access_log=False,
                lifespan="off",
                ws="none",
                server_header=False,
                proxy_headers=False,
                timeout_graceful_shutdown=2,
            )
            config.load()  # what it imports; so that the first page does not wait for it
            server = uvicorn.Server(config)
            viewer.stopping = lambda: server.should_exit
            link = f"{address}/?token={secret.token}"
            ready(Listening(link=link, port=taken, stop=lambda: setattr(server, "should_exit", True)))
            try:
                server.run(sockets=[listener])
            except KeyboardInterrupt:
                return
    finally:
        viewer.close()


def _listen(port: int) -> socket.socket:
    if not 0 <= port <= 65_535:
        raise UserError(f"--port={port} is no port: write one from 1 to 65535, or leave it out for a free one.")
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    # After a viewer has ended its connections keep the port for a while; another one that listens still refuses it.
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port))
        listener.listen(128)
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            why = "is in use by another program"
        else:
            why = f"cannot be taken ({error.strerror})"
        raise SetupError(f"--port={port} {why}. Name another one, or leave --port out for a free one.") from None
    return listener
