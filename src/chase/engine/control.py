"""What a harness's `control.py` is held to, and the check that it passes when the harness is loaded."""

from __future__ import annotations

import datetime
import difflib
import hashlib
import re
from dataclasses import dataclass

from pydantic_monty import (
    CollectString,
    Monty,
    MontyCrashedError,
    MontyError,
    MontyRuntimeError,
    MontySession,
    MontySyntaxError,
    MontyTypingError,
    OSPolicy,
    ResourceLimits,
)

from chase.core.errors import SetupError, UserError
from chase.engine.fed_code import SOURCE_FEED, initial, loading, opening, with_ending
from chase.engine.hooks import HOOKS, Hook, stubs
from chase.engine.metering import OVER, metered
from chase.engine.workers import worker_program

FILE = "control.py"
SOURCE_BYTES = 64 << 10
CHECK_SECONDS = 60.0
"""How long one step of the check may take, the type checker above all; no limit of the hooks binds it."""
CLOCK = datetime.datetime(2000, 1, 1, tzinfo=datetime.UTC)
"""The one moment that a hook ever sees: no result can depend on when it was computed."""

_DIAGNOSTIC = re.compile(rf"^{re.escape(FILE)}:(\d+):\d+: \w+\[([\w-]+)\] (.*)$", re.MULTILINE)


@dataclass(frozen=True, kw_only=True, slots=True)
class SandboxLimits:
    """What a hook may use: work, never time. Exceeding one ends the call as a recorded failure, never the rollout."""

    call_steps: int = 1_000_000
    """Passes through loops and calls of functions (`engine/metering.py`) in one hook call."""
    session_steps: int = 10_000_000
    """The same for all hook calls of one rollout together."""
    cpu_seconds: float = 30.0
    """What the worker may compute for one rollout. Far above what the steps take: it is for what they do not count,
    a built-in that goes on and on."""
    wall_seconds: float = 300.0
    """How long a call may take by the clock. A worker that did not get to compute in this time is no fault of the
    hook: the rollout then fails as infrastructure."""
    memory_bytes: int = 64 << 20
    recursion_depth: int = 100
    output_bytes: int = 256 << 10
    """What one call may return, as JSON text, and what it may print."""
    suspensions: int = 100
    """Undefined names and refused system calls in one rollout: each is answered by the host."""

    def resources(self) -> ResourceLimits:
        """The limits that the worker enforces on itself."""
        return {
            "max_memory": self.memory_bytes,
            "max_recursion_depth": self.recursion_depth + 1,  # one more for the function that counts steps
            "max_suspensions": self.suspensions,
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class ControlInfo:
    """A `control.py` that passed the check."""

    hooks: tuple[str, ...]
    """The hooks it defines, in the order of `HOOKS`."""
    digest: str
    """SHA-256 of the source."""


def os_policy(seed: int) -> OSPolicy:
    """A world without time or chance: one fixed moment, sleeps that return at once, seeded `random`."""
    return {"datetime": CLOCK, "sleep": "zero", "process_time": "zero", "random_start": {"seed": seed}}


def check_control(source: str, *, limits: SandboxLimits | None = None) -> ControlInfo:
    """Return the hooks that `source` defines, or raise `UserError` with the line and what is wrong.

    Called once when a harness is loaded. The source is run once under the hooks' limits, then parsed and
    type-checked against the hooks' stubs, all in a worker process of its own: the host does not even parse it.
    """
    limits = limits or SandboxLimits()
    digest = _measure(source)
    try:
        with (
            worker_program() as program,
            Monty(binary_path=program, min_processes=1, max_processes=1, request_timeout=CHECK_SECONDS) as pool,
        ):
            _run_within_limits(pool, source, limits)
            hooks = _typed_hooks(pool, source, limits)
    except FileNotFoundError as error:
        raise missing_sandbox(error) from error
    if not hooks:
        raise _user_error(None, "it defines no hook" + _nearest(source))
    return ControlInfo(hooks=hooks, digest=digest)


def _run_within_limits(pool: Monty, source: str, limits: SandboxLimits) -> None:
    """Refuse a file that is over a limit when it is run. What else is wrong with it, the type checker says better."""
    with pool.checkout(script_name=FILE, limits=limits.resources(), os_policy=os_policy(0)) as worker:
        try:
            worker.feed_run(opening(limits), inputs=initial(limits))
            worker.feed_run(loading(source, "None"), print_callback=CollectString(limits.output_bytes))
        except MontyCrashedError as error:
            raise _refusal(error) from None
        except MontyRuntimeError as error:
            if OVER in error.display("msg"):
                what = f"running it takes more than {limits.call_steps:,} steps (loops and calls)"
                raise _user_error(metered(source).line(source_line(error, SOURCE_FEED) or 1), what) from None
        except MontyError:
            pass


def _typed_hooks(pool: Monty, source: str, limits: SandboxLimits) -> tuple[str, ...]:
    with pool.checkout(
        script_name=FILE,
        limits=limits.resources(),
        type_check=True,
        type_check_stubs=stubs(),
        type_check_format="concise",
        os_policy=os_policy(0),
    ) as worker:
        try:
            worker.feed_run(with_ending(source, "None"), print_callback=CollectString(limits.output_bytes))
        except MontyError as error:
            raise _refusal(error, lines=metered(source).lines) from None
        return tuple(hook.name for hook in HOOKS.values() if _defines(worker, hook, source))


def missing_sandbox(error: OSError) -> SetupError:
    """The error for a worker that cannot be started."""
    return SetupError(f"the sandbox for {FILE} cannot start ({error}); run `pip install pydantic-monty`.")


def source_line(error: MontyRuntimeError | MontySyntaxError, feed: int = 0) -> int | None:
    """The innermost line of the harness's source in the error's traceback; `feed` is its place among what was fed."""
    lines = [frame.line for frame in error.traceback() if frame.filename in (FILE, f"<python-input-{feed}>")]
    return lines[-1] if lines else None


def one_line(text: str, most: int) -> str:
    """`text` from a worker, fit for a message: printable, on one line and cut."""
    clean = " ".join(text[: 4 * most].split())
    clean = "".join(char if char.isprintable() else "?" for char in clean)
    return clean if len(clean) <= most else clean[: most - 1] + "…"


def _measure(source: str) -> str:
    try:
        content = source.encode()
    except UnicodeEncodeError as error:
        line = source.count("\n", 0, error.start) + 1
        raise _user_error(line, "the text is not valid Unicode") from None
    if len(content) > SOURCE_BYTES:
        raise _user_error(None, f"size={len(content)} bytes is over the limit of {SOURCE_BYTES}")
    return hashlib.sha256(content).hexdigest()


def _defines(worker: MontySession, hook: Hook, source: str) -> bool:
    """Whether `hook` is defined. A definition that cannot be called as the engine does is refused."""
    try:
        worker.feed_run(f"_: {hook.type_name} = {hook.name}")
    except MontyTypingError as error:
        found = _DIAGNOSTIC.search(error.display())
        if found and found[2] == "unresolved-reference":
            return False
        actual = re.search(r"Object of type `(.*?)` is not", found[3]) if found else None
        given = f", not `{one_line(actual[1], 120)}`" if actual else ""
        raise _user_error(
            _definition_line(source, hook.name), f"{hook.name} must be `def {hook.signature}`{given}"
        ) from None
    except MontyRuntimeError:
        return False  # a name that the checker sees and the run never bound
    except MontyError as error:
        raise _refusal(error) from None
    return True


def _definition_line(source: str, name: str) -> int | None:
    found = list(re.finditer(rf"^[ \t]*(?:(?:async[ \t]+)?def|class)?[ \t]*{name}\b", source, re.MULTILINE))
    return source.count("\n", 0, found[-1].start()) + 1 if found else None


def _refusal(error: MontyError, *, lines: int = SOURCE_BYTES) -> UserError:
    """The error in our words. What is missing at the end of a file is missed after it: that is its last line."""
    if isinstance(error, MontyTypingError):
        found = _DIAGNOSTIC.findall(error.display())
        if not found:
            return _user_error(None, one_line(error.display(), 300))
        more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
        return _user_error(min(int(found[0][0]), lines), one_line(found[0][2], 300) + more)
    if isinstance(error, MontyRuntimeError | MontySyntaxError):
        return _user_error(source_line(error), one_line(error.display("type-msg"), 300))
    if isinstance(error, MontyCrashedError) and error.timed_out:
        return _user_error(None, f"checking it took over {CHECK_SECONDS:g} s")
    return _user_error(None, f"running it ended its worker ({one_line(str(error), 200)})")


def _user_error(line: int | None, what: str) -> UserError:
    where = FILE if line is None else f"{FILE}, line {line}"
    valid = ", ".join(f"{hook.name}({', '.join(hook.parameters)})" for hook in HOOKS.values())
    end = "" if what.endswith("?") else "."
    return UserError(f"{where}: {what.rstrip('.')}{end} Valid hooks: {valid}.")


def _nearest(source: str) -> str:
    """The closest misspelling among the functions that the source defines, as a hint."""
    for name in re.findall(r"^def[ \t]+(\w{1,60})", source, re.MULTILINE):
        if near := difflib.get_close_matches(name, HOOKS, n=1, cutoff=0.6):
            return f"; did you mean '{near[0]}' by '{name}'?"
    return ""
