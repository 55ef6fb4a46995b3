"""Hooks of a harness's `control.py`, run in worker processes. Nothing of the host is reachable from them.

One rollout has one session: its own worker while it lasts, a clean interpreter, a fixed clock and a random
stream set by its seed. Only JSON text crosses, both ways: a hook gets copies, and what it returns is cut to
size in the worker and checked here before anyone sees it.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from types import TracebackType

from pydantic_monty import (
    AsyncMonty,
    AsyncMontySession,
    CollectString,
    MontyCrashedError,
    MontyRuntimeError,
    MontySyntaxError,
)

from chase.core.errors import RolloutError
from chase.core.values import Json
from chase.engine.control import (
    FILE,
    ControlInfo,
    SandboxLimits,
    check_control,
    missing_sandbox,
    one_line,
    os_policy,
)
from chase.engine.fed_code import DEFINED, calling, initial, loading, opening
from chase.engine.hook_faults import Fault, HookFailure, crash, named, over_limit
from chase.engine.hooks import HOOKS, Hook
from chase.engine.metering import metered
from chase.engine.workers import CpuLimit, worker_program

__all__ = [
    "ControlInfo",
    "HookFailure",
    "HookResult",
    "HookSession",
    "Sandbox",
    "SandboxLimits",
    "check_control",
]

SETTLE_SECONDS = 0.02
WORKER_SESSIONS = 200
"""A worker process is replaced after so many rollouts."""


@dataclass(frozen=True, kw_only=True, slots=True)
class HookResult:
    """What one call gave: a checked value, a failure's reason, or neither where there is no such hook."""

    value: Json = None
    failure: str | None = None
    seconds: float = 0.0


class HookSession:
    """The hooks of one rollout. Made by `Sandbox.session`; the engine calls it, one call at a time.

    Globals of `control.py` last from call to call and end with the session. A hook that raises or returns
    the wrong shape fails that call only. After a work, memory or print limit or a dead worker the
    interpreter cannot be trusted, and a fresh one would have forgotten its globals: this session's hooks are
    then off, and the rollout goes on as if there were none.

    All that decides how a call ends is what the hook does. Where a worker is killed, or does not get to compute, the
    call raises `RolloutError`: that is infrastructure, and the rollout is run again.
    """

    def __init__(
        self, *, worker: AsyncMontySession | None, limits: SandboxLimits, cores: asyncio.Semaphore | None = None
    ) -> None:
        self.hooks: frozenset[str] = frozenset()
        """The hooks that a call would run: those defined, until they are off."""
        self.failures: list[HookFailure] = []
        self.seconds = 0.0
        """Wall time of all calls so far."""
        self._worker = worker
        self._limits = limits
        self._cores = cores or asyncio.Semaphore(1)
        self._cpu = CpuLimit(worker.worker_pid if worker else None, limits.cpu_seconds)
        self._line: Callable[[int], int] = int
        self._turn = asyncio.Lock()

    @property
    def worker_pid(self) -> int | None:
        """The worker's process id, or None without a worker."""
        return self._worker.worker_pid if self._worker else None

    def defines(self, hook: str) -> bool:
        """Whether a call of `hook` would run one: `control.py` defines it and hooks are not off."""
        return hook in self.hooks

    async def call(self, hook: str, *arguments: Json) -> HookResult:
        """Run `hook` on copies of `arguments` (JSON-like). Never raises for anything that the hook does; a
        `RolloutError` is infrastructure.
        """
        spec = HOOKS[hook]
        if len(arguments) != len(spec.parameters):
            raise TypeError(f"{spec.signature} takes {len(spec.parameters)} arguments, got {len(arguments)}")
        if hook not in self.hooks:
            return HookResult()
        async with self._turn:
            if hook not in self.hooks:
                return HookResult()
            started = time.perf_counter()
            try:
                value, failure = await self._value(spec, arguments), None
            except Fault as fault:
                value, failure = None, fault.reason
                self._record(hook, fault)
            seconds = time.perf_counter() - started
            self.seconds += seconds
            return HookResult(value=value, failure=failure, seconds=seconds)

    async def _load(self, source: str) -> None:
        """Run `control.py` once. A failure is recorded and leaves the session without hooks."""
        self._line = metered(source).line
        try:
            await self._feed(opening(self._limits), initial(self._limits))
            defined = (await self._feed(loading(source, DEFINED), dict.fromkeys(HOOKS))).split()
        except Fault as fault:
            self._record(FILE, fault)
        else:
            self.hooks = frozenset(name for name, flag in zip(HOOKS, defined, strict=False) if flag == "True")

    async def _value(self, spec: Hook, arguments: tuple[Json, ...]) -> Json:
        most = self._limits.output_bytes
        given = json.dumps(arguments, allow_nan=False)
        text = await self._feed(calling(spec.name, self._limits), {"__chase_in": given})
        if len(text) > most:
            raise Fault("output-limit", detail=f"over {most} bytes of JSON")
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            raise Fault("wrong-shape: not JSON") from None
        if problem := spec.check(value, arguments):
            raise Fault(f"wrong-shape: {problem}")
        return value

    async def _feed(self, code: str, inputs: Mapping[str, Json]) -> str:
        """What `code` evaluates to, as a text. Every way in which it can fail is a `Fault`."""
        assert self._worker is not None
        printed = CollectString(self._limits.output_bytes)  # without it, prints go to the host's stdout
        try:
            async with self._cores, self._cpu.watching():
                return str(await self._worker.feed_run(code, inputs=dict(inputs), print_callback=printed))
        except asyncio.CancelledError:
            self.hooks = frozenset()  # the pool has killed the worker
            raise
        except TimeoutError:
            raise over_limit(self._limits) from None
        except (MontyRuntimeError, MontySyntaxError) as error:
            raise named(error, self._limits, self._line) from None
        except MontyCrashedError as error:
            self.hooks = frozenset()
            raise crash(error, self._limits) from None
        except OSError as error:
            self.hooks = frozenset()
            raise RolloutError(f"the worker of a hook cannot be reached ({error}).") from error
        except Exception as error:  # whatever else hostile code brings about is still a hook's failure
            raise Fault("crashed", detail=one_line(repr(error), 200), lost=True) from error

    def _record(self, hook: str, fault: Fault) -> None:
        self.failures.append(HookFailure(hook=hook, reason=fault.reason, detail=fault.detail))
        if fault.lost:
            self.hooks = frozenset()


class Sandbox:
    """The worker processes of one engine: `async with Sandbox() as sandbox`, then a session per rollout.

    At most `max_sessions` rollouts hold a worker at a time; further ones wait for a turn. Workers start when
    they are first needed and have ended when the block is left.
    """

    def __init__(self, *, limits: SandboxLimits | None = None, max_sessions: int = 64) -> None:
        self.limits = limits or SandboxLimits()
        self._max_sessions = max_sessions
        # Not the pool's `checkout_timeout`: a checkout that times out can abort the process at its exit.
        self._slots = asyncio.Semaphore(max_sessions)
        # Hooks compute and never wait: more of them at a time than there are cores would only slow each other down.
        self._cores = asyncio.Semaphore(os.cpu_count() or 1)
        self._program = ExitStack()
        self._pool: AsyncMonty | None = None

    async def __aenter__(self) -> Sandbox:
        try:
            pool = AsyncMonty(
                binary_path=self._program.enter_context(worker_program()),
                min_processes=0,
                max_processes=self._max_sessions,
                max_checkouts_per_worker=WORKER_SESSIONS,
                request_timeout=self.limits.wall_seconds,
            )
            self._pool = await pool.__aenter__()
        except FileNotFoundError as error:
            raise missing_sandbox(error) from error
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pool, self._pool = self._pool, None
        if pool is not None:
            await pool.__aexit__(kind, error, trace)
            # The pool's thread that reports "closed" still wants the interpreter lock once more. A process
            # that exits in that moment is aborted (4 in 10 exits, measured); a short wait lets it through.
            await asyncio.sleep(SETTLE_SECONDS)
        self._program.close()

    @asynccontextmanager
    async def session(self, source: str | None, *, seed: int) -> AsyncIterator[HookSession]:
        """The hooks of one rollout, from a clean interpreter. Without a source: no hooks, no worker, no wait."""
        if source is None:
            yield HookSession(worker=None, limits=self.limits)
            return
        if self._pool is None:
            raise RuntimeError("the sandbox is not open; use `async with Sandbox() as sandbox`")
        async with self._slots:
            checkout = self._pool.checkout(script_name=FILE, limits=self.limits.resources(), os_policy=os_policy(seed))
            try:
                worker = await checkout.__aenter__()
            except Exception as error:
                raise RolloutError(f"no sandbox worker could be started ({error}).") from error
            try:
                session = HookSession(worker=worker, limits=self.limits, cores=self._cores)
                await session._load(source)
                yield session
            finally:
                await checkout.__aexit__(None, None, None)
