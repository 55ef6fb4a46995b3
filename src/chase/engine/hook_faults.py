"""What a hook call that had no effect is called: the hook's own failures, and those of the machine it ran on.

A failure of the hook is scored, so that it may depend on nothing but what the hook does: not on load, not on the
machine. What depends on these is a `RolloutError`, and the rollout is run again.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from pydantic_monty import MontyCrashedError, MontyRuntimeError, MontySyntaxError

from chase.core.errors import RolloutError
from chase.engine.control import SandboxLimits, one_line, source_line
from chase.engine.fed_code import DUMP_LINE, SOURCE_FEED
from chase.engine.metering import OVER

_FROM_OUTSIDE = re.compile(r"SIGKILL|SIGTERM")
"""How a worker ends that somebody else has ended: the system when memory is short, or a person."""


@dataclass(frozen=True, kw_only=True, slots=True)
class HookFailure:
    """A hook call that had no effect, and why."""

    hook: str
    """The hook's name, or 'control.py' where the file itself failed when it was run."""
    reason: str
    """'work-limit', 'memory-limit', 'output-limit', 'suspension-limit', 'crashed', 'wrong-shape: …' or
    'error: <exception>'."""
    detail: str = ""
    """The exception's own message and line, on one line: written by the hook, not by us."""


class Fault(Exception):
    """A call failed. `lost` says that its interpreter must not be used again."""

    def __init__(self, reason: str, *, detail: str = "", lost: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.detail = detail
        self.lost = lost


def over_limit(limits: SandboxLimits) -> Fault:
    """Too much work; the same words whichever of the limits was met first."""
    most = f"over {limits.call_steps:,} steps in a call, {limits.session_steps:,} in the rollout"
    return Fault("work-limit", detail=f"{most} or {limits.cpu_seconds:g} s of computing", lost=True)


def crash(error: MontyCrashedError, limits: SandboxLimits) -> Fault | RolloutError:
    """What a dead worker means. How it died is told by its status alone, which is the same each time."""
    if error.timed_out:
        return RolloutError(
            f"a hook's worker did not get to compute what it had to within {limits.wall_seconds:g} s; "
            "is the machine overloaded?"
        )
    said = one_line(str(error), 200)
    if _FROM_OUTSIDE.search(said):
        return RolloutError(f"a hook's worker was killed from outside ({said}).")
    return Fault("crashed", detail=said.rpartition("(")[2].rstrip(")"), lost=True)


def named(error: MontyRuntimeError | MontySyntaxError, limits: SandboxLimits, original: Callable[[int], int]) -> Fault:
    """Name what stopped a call. A hook can imitate a limit's message: it then switches itself off."""
    kind, _, message = error.display("type-msg").partition(": ")
    if kind == "KeyboardInterrupt" and message == OVER:
        return over_limit(limits)
    if kind == "MemoryError" and message.endswith(f"> {limits.output_bytes} bytes"):
        return Fault("output-limit", detail="printed too much", lost=True)
    if kind == "MemoryError" and "memory limit" in message:
        return Fault("memory-limit", lost=True)
    if kind == "RuntimeError" and message.startswith("suspension limit"):
        return Fault("suspension-limit")
    line = source_line(error, SOURCE_FEED)
    frames = error.traceback()
    if [(f.function_name, f.line) for f in frames] == [("<module>", DUMP_LINE)] and line is None:
        return Fault("wrong-shape: not plain JSON data", detail=one_line(message, 200))
    detail = one_line(message, 200) if line is None else f"line {original(line)}: {one_line(message, 200)}"
    return Fault(f"error: {one_line(kind, 60)}", detail=detail)
