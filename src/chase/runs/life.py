"""The one life of a run: find or begin it, count what was paid, carry it out, pause or finish it, write its result.

Nothing is paid for twice and no seal is opened by going on: what was done is in the store and in the run's folder.
"""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from chase.benchmarks.registry import open_benchmark
from chase.core.errors import BudgetExhausted, DiskError
from chase.core.interfaces import Benchmark, Judged
from chase.core.values import Json, Usage
from chase.engine.judging import JUDGE, is_judged, judge_of
from chase.engine.processes import Processes, processes
from chase.engine.runner import Pace, RunPaused
from chase.engine.sandbox import Sandbox
from chase.harness.spec import Harness
from chase.models.chat import ChatModel
from chase.runs.config import RawSettings, S
from chase.runs.finding import Which, free_id, run_id
from chase.runs.folder import RunFolder
from chase.runs.listening import Listener, RunBegun, RunEnded, RunInterrupted
from chase.runs.models import Models, at_the_cap, computes_here, count_paid
from chase.runs.parts import Parts
from chase.runs.recording import Recorder
from chase.runs.settings import Paid
from chase.store.records import Run
from chase.store.store import Store
from chase.store.workspace import Workspace


@dataclass(frozen=True, kw_only=True)
class OpenRun:
    """A run at work: what carries it out may use these and no other."""

    id: str
    store: Store
    model: ChatModel
    sandbox: Sandbox
    pace: Pace
    listener: Listener

    @property
    def folder(self) -> RunFolder:
        return RunFolder(self.store.workspace, self.id)


class Work(Protocol):
    """What a command's run is, everything checked. Nothing was written and nothing was asked for it yet."""

    @property
    def schema(self) -> str: ...
    @property
    def model(self) -> str:
        """The name of the model that rollouts ask."""
        ...

    @property
    def models(self) -> Models:
        """All that the run asks."""
        ...

    @property
    def benchmark(self) -> Benchmark[Any]: ...
    @property
    def concurrency(self) -> int: ...
    def processes(self) -> AbstractContextManager[Processes | None]:
        """Workers that compute rollouts while the run is at work; None: this process does."""
        ...

    def ids(self, run: str) -> Sequence[str]:
        """The ids under which the run pays: its own, and those of its members where it has any."""
        ...

    @property
    def label(self) -> str:
        """In a few words, for whoever watches."""
        ...

    def rollouts_between(self) -> tuple[int, int] | None:
        """How many rollouts it takes at least and at most in an empty store, where that is known."""
        ...

    def identity(self, fingerprint: str) -> dict[str, Json]:
        """Everything that decides the result; `fingerprint` is the connected model's."""
        ...

    def resolved(self) -> Mapping[str, Any]:
        """The settings as `config.toml` keeps them."""
        ...

    def harnesses(self) -> Mapping[str, Harness]:
        """Those that the run begins with, by their names in its folder."""
        ...

    async def carry_out(self, run: OpenRun) -> dict[str, Json]:
        """What came out, but for the run and the time. Called again after an interruption, it goes on."""
        ...


P = TypeVar("P", bound=Paid)


@dataclass(frozen=True, kw_only=True)
class Prepared(Generic[P]):
    """What the work of every command is made from."""

    settings: P
    models: Models
    benchmark: Benchmark[Any]
    """With as many tasks as were asked for."""

    @property
    def model(self) -> str:
        return str(self.settings.model)

    @property
    def concurrency(self) -> int:
        return self.settings.concurrency

    def ids(self, run: str) -> Sequence[str]:
        return (run,)

    def rollouts_between(self) -> tuple[int, int] | None:
        return None

    @property
    def workers(self) -> int:
        """Processes that compute, where nothing is said of it."""
        return 1

    def processes(self) -> AbstractContextManager[Processes | None]:
        model, count = self.models.get(self.model), self.settings.workers or self.workers
        by_name = isinstance(getattr(self.settings, "benchmark", ""), str)  # one that the caller opened is here alone
        if count == 1 or not by_name or not computes_here(model) or is_judged(self.benchmark):
            return nullcontext()
        data = getattr(self.settings, "data", None)
        opens = partial(open_benchmark, self.benchmark.name, None if data is None else Path(data))
        return processes(count, opens=opens, benchmark=self.benchmark, config=model.config)


DISK_TROUBLE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS, errno.EACCES, errno.EPERM})
W = TypeVar("W", bound=Work)
Prepare = Callable[[RawSettings[S]], W]
"""From what was said to what is to be done. Called twice where a run goes on: the second time with what it kept."""


@dataclass(frozen=True, kw_only=True)
class FinishedRun:
    """A run that is over."""

    payload: Mapping[str, Json]
    folder: RunFolder


@dataclass(kw_only=True)
class Life:
    """The life of one run in a workspace."""

    which: Which
    workspace: Workspace
    listener: Listener

    def prepared(self, said: RawSettings[S], prepare: Prepare[S, W]) -> W:
        """The work, at the pace and under the caps that its run had where nothing is said of them now."""
        work = prepare(said)
        identity = identity_of(work)
        stored = self.which.look_up(self.workspace, identity)
        kept = {} if stored is None else kept_pace(RunFolder(self.workspace, stored.id), said.model.names("pace"))
        unsaid = {name: value for name, value in kept.items() if name not in said.given and name not in said.file}
        return prepare(said.above(unsaid)) if unsaid else work

    async def live(self, work: Work) -> FinishedRun:
        """Carry the work out under a run of its own. An outage and a spent budget leave it paused."""
        # The model first: without its key no run is begun and no seal is opened.
        model = work.models.get(work.model)
        async with work.models.opened():
            identity = identity_of(work)
            with Store.open(self.workspace, write=True) as store:
                stored = self.which.stored(store, identity)
                if stored is not None and stored.status == "finished" and self.which.resume is not None:
                    folder = RunFolder(self.workspace, stored.id)
                    return FinishedRun(payload=folder.read_result(), folder=folder)
                run = self._begin(store, stored, identity)
                with self._disk_errors(run):
                    count_paid(work.models.meter, store, work.ids(run))
                    folder = RunFolder(self.workspace, run)
                    parts, over = Parts(folder), stored is not None and stored.status == "finished"
                    with parts.under_way(store, anew=over and self.which.certified is None):
                        found = await self._carry_out(work, store, run, identity, model)
                    took = parts.seconds()
                    payload = {**found, **_judging(work, store, run), "wall_seconds": sum(took), "parts": len(took)}
                    folder.write_result(work.schema, payload)
                    store.set_run_status(run, "finished")
        return FinishedRun(payload=payload, folder=folder)

    @contextmanager
    def _disk_errors(self, run: str) -> Iterator[None]:
        """A disk that is full ends the run with the command that goes on with it, whichever file did not fit."""
        again = self.which.again(run)
        how = "run the same command again" if again is None else f"go on with `{again}`"
        try:
            yield
        except DiskError as error:
            raise DiskError(error.what, how) from error
        except OSError as error:
            if error.errno not in DISK_TROUBLE:
                raise
            where = error.filename or RunFolder(self.workspace, run).path
            raise DiskError(f"{where} cannot be written: {error.strerror}", how) from error

    def _begin(self, store: Store, stored: Run | None, identity: Mapping[str, Json]) -> str:
        if stored is None:
            run = free_id(store, identity) if self.which.anew else run_id(identity)
            store.create_run(run, dict(identity))
            return run
        if self.which.certified is None:
            store.set_run_status(stored.id, "running")
        return stored.id

    async def _carry_out(
        self, work: Work, store: Store, run: str, identity: Mapping[str, Json], model: ChatModel
    ) -> dict[str, Json]:
        folder, again = RunFolder(store.workspace, run), self.which.again(run)
        listener = Recorder(self.listener, folder)
        if self.which.certified is None:
            for name, harness in work.harnesses().items():
                folder.write_harness(name, harness)
            folder.write_settings(work.resolved(), work.models.tables())  # last: whoever finds it finds all
        command = self.which.command
        begun = RunBegun(
            command=command, run=run, label=work.label, again=again, config=identity, rollouts=_foreseen(work)
        )
        listener.told(begun)
        try:
            async with Sandbox(max_sessions=work.concurrency) as sandbox:
                with work.processes() as processes:
                    return await work.carry_out(
                        OpenRun(
                            id=run,
                            store=store,
                            model=model,
                            sandbox=sandbox,
                            pace=Pace(concurrency=work.concurrency, processes=processes),
                            listener=listener,
                        )
                    )
        except asyncio.CancelledError:
            listener.told(RunInterrupted(again=again))
            raise
        except RunPaused as outage:
            self._pause(store, run)
            raise (outage if again is None else RunPaused(outage.reason, f"go on with `{again}`")) from None
        except BudgetExhausted as reached:
            self._pause(store, run)
            raise at_the_cap(reached, work.models.meter, again) from None
        finally:
            listener.told(RunEnded(run=run))

    def _pause(self, store: Store, run: str) -> None:
        """A certification that is cut leaves its run finished, as it was."""
        if self.which.certified is None:
            store.set_run_status(run, "paused")


def identity_of(work: Work) -> dict[str, Json]:
    """What decides the result: with a judge as it is connected, which is more than the benchmark's folder says."""
    found, judge = work.identity(work.models.get(work.model).fingerprint), judge_of(work.benchmark)
    return found if judge is None else {**found, "judge": judge.fingerprint}


def _judging(work: Work, store: Store, run: str) -> dict[str, Json]:
    """Of a judged benchmark: who judged, and what that took; nothing of any other."""
    judge, benchmark = judge_of(work.benchmark), work.benchmark
    if judge is None or not isinstance(benchmark, Judged) or benchmark.asks is None:
        return {}
    spends = [spend for id_ in work.ids(run) for spend in store.spend(id_) if spend.purpose == JUDGE]
    spent = asdict(sum((spend.usage for spend in spends), Usage(cost_usd=0.0)))
    verdicts = sum(spend.episodes for spend in spends)
    return {"judge": {"model": benchmark.asks.name, "fingerprint": judge.fingerprint, "verdicts": verdicts, **spent}}


def _foreseen(work: Work) -> tuple[int, int] | None:
    """Between how many rollouts the run will take. A method, which may be a plug-in, that cannot say ends no run."""
    try:
        return work.rollouts_between()
    except Exception:
        return None


def kept_pace(folder: RunFolder, names: frozenset[str]) -> dict[str, Any]:
    """The pace and the caps that a run had: a cap does not vanish by not being said.

    A run that was killed before its settings were written down has none.
    """
    if not folder.has_settings:
        return {}
    return {name: value for name, value in folder.read_settings().items() if name in names}


def note_models(served: Sequence[str], model: ChatModel, others: Sequence[str] = ()) -> list[str]:
    """What whoever reads a score has to know of the models behind it, and other notes."""
    notes = [f"the provider served more than one model: {', '.join(served)}"] if len(served) > 1 else []
    notes += others
    return notes if model.note is None else [*notes, model.note]
