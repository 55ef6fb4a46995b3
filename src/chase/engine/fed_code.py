"""The code that a worker is fed: before a harness's source, around it, and for each call of a hook."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chase.engine.hooks import HOOKS
from chase.engine.metering import PRELUDE, STEP, metered

if TYPE_CHECKING:
    from chase.engine.control import SandboxLimits

SOURCE_FEED = 1
"""The harness's source is the second thing that a worker is fed."""
# The hook names are bound to None before the source runs, so that asking for one never leaves the worker.
DEFINED = 'f"' + " ".join(f"{{{name} is not None}}" for name in HOOKS) + '"'

# An f-string is a str and a slice of it is short, whatever names `control.py` has shadowed.
_CALL = f"""\
import json as __chase_json
_chase_begin({{steps}})
__chase_out = {{hook}}(*__chase_json.loads(__chase_in))
{STEP}
f"{{{{__chase_json.dumps(__chase_out)}}}}"[:{{most}}]
"""
DUMP_LINE = 5
"""The line of a call that turns what the hook returned into JSON."""


def opening(limits: SandboxLimits) -> str:
    """What a worker is fed before a harness's source: how its steps are counted, and those for the source itself."""
    return f"{PRELUDE}\n_chase_begin({limits.call_steps})\n"


def initial(limits: SandboxLimits) -> dict[str, int]:
    """The names that `opening` starts from."""
    return {"_chase_left": 0, "_chase_rest": limits.session_steps}


def loading(source: str, expression: str) -> str:
    """`source` with its steps counted and then `expression`; it fails at the end if it ran out of steps in silence."""
    return with_ending(metered(source).code, f"{STEP}\n{expression}")


def calling(hook: str, limits: SandboxLimits) -> str:
    """A call of `hook` on the JSON text in `__chase_in`, cut a little above what it may return."""
    return _CALL.format(hook=hook, steps=limits.call_steps, most=limits.output_bytes + 1)


def with_ending(source: str, expression: str) -> str:
    """`source` and then `expression`, which alone decides what the run hands back to the host.

    A last expression of the source's own must not: a few nested lists that share their parts are small in
    the worker and fill the host's memory once they are copied out. The empty line ends a source that closes
    with a backslash.
    """
    return f"{source}\n\n{expression}\n"
