"""Rollouts of an embedded model in worker processes, so that every core computes. The caller's process alone writes.

A worker opens the benchmark and the model for itself; harnesses and transformations come with the jobs. What a worker
cannot finish comes back as None: the caller runs it itself, with all that it does about failures.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import pickle
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass
from io import BytesIO
from typing import Any

from chase.core.errors import RolloutError
from chase.core.interfaces import Benchmark, Transformation
from chase.core.parents import end_with_parent
from chase.core.values import Request, Rollout
from chase.engine.judging import is_judged
from chase.engine.rollout import Contestant, Job, run_rollout
from chase.engine.sandbox import Sandbox
from chase.harness.spec import Harness
from chase.models.chat import ChatModel
from chase.models.config import ModelConfig
from chase.models.connect import connect

CHUNK = 16
"""Jobs that are sent at a time: a rollout takes milliseconds."""
Open = Callable[[], Benchmark[Any]]
"""Opens the benchmark. It is sent to the workers, so it is plain: a function of a module with its arguments."""


Made = tuple[Rollout, tuple[Request, ...]]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Chunk:
    """Jobs of one harness under one transformation, as they are sent."""

    harness: bytes
    transformation: bytes
    hashes: tuple[str, str]
    """Of both: what a worker has it does not read again."""
    run_seed: int
    tasks: tuple[tuple[str, int], ...]
    """Task and index."""


class Processes:
    """Worker processes for the rollouts of one benchmark with one embedded model. Made by `processes`."""

    def __init__(self, count: int, pool: ProcessPoolExecutor, benchmark: Benchmark[Any]) -> None:
        self.count = count
        self._pool = pool
        self._benchmark = benchmark
        self._packed: dict[str, bytes | None] = {}

    def takes(self, job: Job) -> bool:
        """Whether the workers have the job's benchmark, and the rest can be sent to them. A job that is more than a
        rollout of a harness (`Job`'s subclasses) is computed here, and so is one whose judge has to be connected.
        """
        plain = type(job) is Job and isinstance(job.harness, Harness) and not is_judged(job.benchmark)
        same = plain and job.benchmark.content_hash == self._benchmark.content_hash
        return same and all(self._bytes(part.hash, part) is not None for part in (job.harness, job.transformation))

    async def run(self, jobs: Sequence[Job]) -> list[Made | None]:
        """The rollouts of jobs that have harness, transformation and seed in common, in their order.

        None where it was not finished: infrastructure failed under it, or its worker died.
        """
        first = jobs[0]
        harness, transformation = (self._bytes(part.hash, part) for part in (first.harness, first.transformation))
        if harness is None or transformation is None:
            return [None] * len(jobs)
        chunk = _Chunk(
            harness=harness,
            transformation=transformation,
            hashes=(first.harness.hash, first.transformation.hash),
            run_seed=first.run_seed,
            tasks=tuple((job.task, job.index) for job in jobs),
        )
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, _roll, chunk)
        except BrokenProcessPool:
            return [None] * len(jobs)

    def _bytes(self, name: str, value: Contestant | Transformation[Any]) -> bytes | None:
        if name not in self._packed:
            self._packed[name] = _packed(value, self._benchmark)
        return self._packed[name]


@contextmanager
def processes(count: int, *, opens: Open, benchmark: Benchmark[Any], config: ModelConfig) -> Iterator[Processes]:
    """So many workers, while they are needed. They end with this process, however it ends."""
    # Spawned, not forked: a fork of a process with threads may wait for a lock that nobody holds.
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(count, mp_context=context, initializer=_begin, initargs=(opens, config))
    try:
        yield Processes(count, pool, benchmark)
    finally:
        pool.shutdown(cancel_futures=True)


class _Packer(pickle.Pickler):
    """Packs what holds parts of a benchmark's allowlist: those are sent by name, for they hold functions."""

    def __init__(self, file: BytesIO, benchmark: Benchmark[Any]) -> None:
        super().__init__(file)
        self._names = {id(kind): name for name, kind in benchmark.allowlist.items()}

    def persistent_id(self, obj: Any) -> str | None:
        return self._names.get(id(obj))


class _Unpacker(pickle.Unpickler):
    def __init__(self, file: BytesIO, benchmark: Benchmark[Any]) -> None:
        super().__init__(file)
        self._allowlist = benchmark.allowlist

    def persistent_load(self, name: Any) -> Any:
        return self._allowlist[name]


def _packed(value: object, benchmark: Benchmark[Any]) -> bytes | None:
    """A value as bytes; None where it cannot be sent."""
    file = BytesIO()
    try:
        _Packer(file, benchmark).dump(value)
    except (pickle.PicklingError, AttributeError, TypeError):
        return None
    return file.getvalue()


def chunks(jobs: Sequence[tuple[str, Job]]) -> Iterator[list[tuple[str, Job]]]:
    """Jobs in the portions in which they are sent: each of one harness, one transformation and one seed."""
    portion: list[tuple[str, Job]] = []
    for named in jobs:
        if portion and (len(portion) == CHUNK or _cell(named[1]) != _cell(portion[0][1])):
            yield portion
            portion = []
        portion.append(named)
    if portion:
        yield portion


def _cell(job: Job) -> tuple[str, str, int]:
    return job.harness.hash, job.transformation.hash, job.run_seed


# In a worker process


@dataclass(frozen=True, kw_only=True)
class _Worker:
    loop: asyncio.AbstractEventLoop
    benchmark: Benchmark[Any]
    model: ChatModel
    sandbox: Sandbox
    known: dict[str, Any]
    """Harnesses and transformations by hash."""

    def unpacked(self, name: str, packed: bytes) -> Any:
        if name not in self.known:
            self.known[name] = _Unpacker(BytesIO(packed), self.benchmark).load()  # the parent process packed it
        return self.known[name]


_worker: _Worker | None = None


def _begin(opens: Open, config: ModelConfig) -> None:
    global _worker
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interruption reaches the parent, which ends its workers
    end_with_parent()
    loop = asyncio.new_event_loop()

    async def open_all() -> tuple[ChatModel, Sandbox]:
        stack = AsyncExitStack()  # never closed: the process ends with it
        model = await stack.enter_async_context(connect(config))
        return model, await stack.enter_async_context(Sandbox(max_sessions=1))

    model, sandbox = loop.run_until_complete(open_all())
    _worker = _Worker(loop=loop, benchmark=opens(), model=model, sandbox=sandbox, known={})


def _roll(chunk: _Chunk) -> list[Made | None]:
    if _worker is None:
        raise RuntimeError("a worker that was not begun")
    return _worker.loop.run_until_complete(_rolled(_worker, chunk))


async def _rolled(worker: _Worker, chunk: _Chunk) -> list[Made | None]:
    harness = worker.unpacked(chunk.hashes[0], chunk.harness)
    transformation = worker.unpacked(chunk.hashes[1], chunk.transformation)
    made: list[Made | None] = []
    for task, index in chunk.tasks:
        job = Job(
            benchmark=worker.benchmark,
            transformation=transformation,
            harness=harness,
            task=task,
            index=index,
            run_seed=chunk.run_seed,
        )
        try:
            rollout, replies = await run_rollout(job, worker.model, worker.sandbox)
        except RolloutError:
            made.append(None)
            continue
        requests = tuple(Request(usage=reply.usage, served_model=reply.served_model) for reply in replies)
        made.append((rollout, requests))
    return made
