"""The walks of `docs/architecture.md`, as they happen: `python docs/make_walks.py`.

Runs one rollout, and one evolution of one round, through the command line on a small Syn-Ledger with the simulated
reader, and lists the modules of the package in the order in which a function of each is first called. Each is run once
before, so that what is done at import is not listed.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from chase.cli.main import main as chase

COMMON = ("--benchmark", "syn-ledger@101", "--model", "sim:reader", "--json")
ROUND = ("evolve", "--rounds", "1", "--seed", "3", "--split-sizes", "evo=4,disc=4,conf=4,cert=4", "--no-certify")


def walk(work: Callable[[], object]) -> list[str]:
    """The modules whose functions are called, in the order of their first call."""
    found: dict[str, None] = {}

    def note(frame: FrameType, event: str, _: Any) -> None:
        name = frame.f_globals.get("__name__", "")
        if event == "call" and name.startswith("chase.") and frame.f_code.co_flags & inspect.CO_OPTIMIZED:
            found.setdefault(name.removeprefix("chase.").replace(".", "/"))

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return list(found)


def run(*arguments: str) -> None:
    """A command in this process, its output left alone."""
    sys.argv = ["chase", *arguments]
    with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):
        chase()


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        harness = str(Path(folder) / "h0")
        run("harness", "init", harness, "--benchmark", "syn-ledger@101")
        commands = {"one rollout": ("rollout", "--harness", harness, "--rollouts", "1"), "one round": ROUND}
        for name, command in commands.items():
            run(*command, *COMMON, "--workspace", f"{folder}/before")
            modules = walk(lambda: run(*command, *COMMON, "--workspace", f"{folder}/walk"))  # noqa: B023
            sys.stdout.write(f"{name}: {len(modules)} modules\n{', '.join(modules)}\n\n")


if __name__ == "__main__":
    main()
