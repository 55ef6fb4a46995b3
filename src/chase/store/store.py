"""The store of a workspace: everything that is read from it and written to it."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

from chase.core.errors import ChaseError, UserError
from chase.core.values import Json, Rollout
from chase.store.collect import collect
from chase.store.digests import TraceCodec
from chase.store.export import export_store
from chase.store.lock import WriterLock
from chase.store.reader import Reader
from chase.store.records import Collected, LedgerRow, Problem, RunStatus, StoredVerdict, Use
from chase.store.rows import (
    ledger_rows,
    meta_rows,
    rollout_rows,
    run_row,
    run_status_row,
    seal_row,
    use_row,
    verdict_rows,
)
from chase.store.schema import connect_writer
from chase.store.verify import find_problems
from chase.store.workspace import Workspace
from chase.store.writer import Encode, Writer

Progress = Callable[[str, int, int], None]
"""Hears what is being worked on, how much is done and how much there is."""


def _unheard(what: str, done: int, total: int) -> None:
    """Progress that nobody listens to."""


class Store(Reader):
    """A workspace's store. Opened for writing by one process at a time, for reading by any number.

    Every write returns only after it is committed: the process may be killed at the next moment without loss. Runs and
    seals survive a power cut too. A rollout and its ledger rows are stored together or not at all. The value handed in
    must not be changed until the call returns, because it is serialised in the writing thread.
    """

    def __init__(self, workspace: Workspace, *, write: bool) -> None:
        self._writer: Writer | None = None
        self._lock: WriterLock | None = None
        self._codec_of_writer = TraceCodec()
        self.turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        """By the digest of what is to be paid for: who shares the store in this process does not begin it twice."""
        if write:
            workspace.create()
            self._lock = WriterLock(workspace)
        try:
            if write:
                self._writer = Writer(connect_writer(workspace), workspace)
                self._writer.write_sync(meta_rows)
            super().__init__(workspace)
        except BaseException:
            self._end_writing()
            raise

    @classmethod
    def open(cls, workspace: Workspace, *, write: bool) -> Self:
        """Open the store; to write, take the workspace's lock, create the store and bring it up to date."""
        return cls(workspace, write=write)

    def close(self) -> None:
        """Commit what was handed in, then let go of the files and the lock."""
        self._connection.close()
        self._end_writing()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def record(self, rollout: Rollout, ledger: Sequence[LedgerRow] = (), *, use: Use | None = None) -> None:
        """Store a rollout, its model requests and who paid for it; return when all are committed.

        A scored rollout of the same key is kept as it is; any other gives way to this one.
        """
        await self._writing.write(partial(rollout_rows, self._codec_of_writer, rollout, ledger, use))

    def record_sync(self, rollout: Rollout, ledger: Sequence[LedgerRow] = (), *, use: Use | None = None) -> None:
        """`record` for callers outside an event loop."""
        self._write_sync(partial(rollout_rows, self._codec_of_writer, rollout, ledger, use))

    async def record_reuse(self, use: Use, digests: Iterable[str]) -> None:
        """Store that a method used rollouts from the store: episodes of its own, at no spend."""
        statements = [use_row(use, digest, reused=True) for digest in digests]
        await self._writing.write(lambda now: statements)

    def record_reuse_sync(self, use: Use, digests: Iterable[str]) -> None:
        """`record_reuse` for callers outside an event loop."""
        statements = [use_row(use, digest, reused=True) for digest in digests]
        self._write_sync(lambda now: statements)

    async def record_verdict(self, stored: StoredVerdict, ledger: Sequence[LedgerRow] = ()) -> None:
        """Store a judge's verdict with the requests that it took. The first verdict on a case stays."""
        await self._writing.write(partial(verdict_rows, stored, ledger))

    async def record_requests(self, ledger: Sequence[LedgerRow]) -> None:
        """Store model requests that belong to no rollout, such as a Proposer's."""
        await self._writing.write(lambda now: ledger_rows(ledger))

    def record_requests_sync(self, ledger: Sequence[LedgerRow]) -> None:
        """`record_requests` for callers outside an event loop."""
        self._write_sync(lambda now: ledger_rows(ledger))

    def create_run(self, run: str, config: Json) -> None:
        """Store a new run, with status 'running'. Its id must be new and fit to name a folder."""
        self.workspace.run_folder(run)
        if run == "latest" or any(known.id == run for known in self.runs()):
            raise UserError(f"run id '{run}' is taken in {self.workspace.state}; choose another.")
        self._write_sync(lambda now: [run_row(run, config, now)], durable=True)

    def set_run_status(self, run: str, status: RunStatus) -> None:
        """Store how far a run has come."""
        known = self.find_run(run)
        self._write_sync(lambda now: [run_status_row(known, status)], durable=True)

    def record_seal(self, subject: str, hashes: Mapping[str, Json], reason: str = "") -> None:
        """Store that a run's or a comparison's certification set is opened, before it is.

        The first opening needs no reason; every later one does.
        """
        earlier = self.seals(subject)
        if earlier and not reason.strip():
            raise UserError(
                f"the certification set of '{subject}' was opened at {earlier[0].opened_at}. "
                "To open it again, say why with --reopen REASON: the reason stays in the record."
            )
        self._write_sync(lambda now: [seal_row(subject, hashes, reason, now)], durable=True)

    def verify(self, progress: Progress = _unheard) -> list[Problem]:
        """Recompute every hash and return what is damaged or missing; empty if all is as recorded."""
        return find_problems(self.workspace, progress)

    def gc(self) -> Collected:
        """Drop what nothing refers to and give the space back."""
        with self._writing.exclusive() as connection:
            return collect(connection, self.workspace)

    def export(self, out_dir: Path, *, parquet: bool | None = None, progress: Progress = _unheard) -> dict[str, int]:
        """Write everything as JSONL, and rollouts and ledger as Parquet; records by file name.

        `parquet` None means: if pyarrow is installed.
        """
        return export_store(self.workspace, out_dir, parquet=parquet, progress=progress)

    @property
    def _writing(self) -> Writer:
        if self._writer is None:
            raise ChaseError(f"workspace={self.workspace.root}: its store was opened for reading only.")
        return self._writer

    def _write_sync(self, encode: Encode, *, durable: bool = False) -> None:
        self._writing.write_sync(encode, durable=durable)

    def _end_writing(self) -> None:
        if self._writer is not None:
            self._writer.close()
        if self._lock is not None:
            self._lock.release()
            self._lock = None
