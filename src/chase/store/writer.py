"""The writing thread: it gathers what is to be stored, commits it in groups and then says so."""

from __future__ import annotations

import asyncio
import concurrent.futures
import queue
import sqlite3
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime

from chase.core.errors import ChaseError
from chase.store.counts import RowCounts
from chase.store.digests import Cell
from chase.store.rows import Statement
from chase.store.schema import explain, explained
from chase.store.workspace import Workspace

BATCH = 512

Encode = Callable[[str], Iterable[Statement]]
"""Makes the statements of one write; called once, in the writing thread, with the time of the batch."""


@dataclass(slots=True, eq=False)
class _Write:
    """One write that somebody waits for."""

    encode: Encode
    future: concurrent.futures.Future[None] | asyncio.Future[None]
    loop: asyncio.AbstractEventLoop | None
    durable: bool = False
    """Whether it must survive a power cut from the moment that it is announced."""
    statements: list[Statement] = field(default_factory=list)
    error: Exception | None = None

    def settle(self) -> None:
        if self.future.done():  # cancelled: nobody waits any more, and what is committed stays
            return
        if self.error is None:
            self.future.set_result(None)
        else:
            self.future.set_exception(self.error)


class Writer:
    """Commits writes in groups, in one thread, over the one writing connection.

    A write is announced only after its transaction is committed. Writes that come in while a group is
    being committed make up the next one, so that a lone write waits for nobody and many share one commit.
    An event loop's writes are handed over at the end of its turn: rollouts in this process finish many a
    turn, and a thread that is woken for each of them fights with the loop for the interpreter.
    A write that cannot be stored fails alone; the others of its group are stored.
    Statements of a group are run by kind, in the order of each kind's first appearance.
    """

    def __init__(self, connection: sqlite3.Connection, workspace: Workspace) -> None:
        self._connection = connection
        self._workspace = workspace
        with explained(workspace):
            self._counts = RowCounts(connection)
        self._queue: queue.SimpleQueue[list[_Write] | None] = queue.SimpleQueue()
        self._held: dict[asyncio.AbstractEventLoop, list[_Write]] = {}
        """Writes of a loop's present turn."""
        self._using = threading.Lock()
        self._closing = threading.Lock()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="chase-store-writer", daemon=True)
        self._thread.start()

    async def write(self, encode: Encode) -> None:
        """Store and return when it is committed. Cancelling stops the waiting, not the write."""
        loop = asyncio.get_running_loop()
        future = loop.create_future()
        write = _Write(encode=encode, future=future, loop=loop)
        with self._closing:
            self._check_open()
            if loop not in self._held:
                self._held[loop] = []
                loop.call_soon(self._hand_over, loop)
            self._held[loop].append(write)
        await future

    def write_sync(self, encode: Encode, *, durable: bool = False) -> None:
        """Store and return when it is committed, outside an event loop; `durable`: and on the disk, in the file itself.

        Any other write survives the death of the process; a power cut can take the last ones.
        """
        future: concurrent.futures.Future[None] = concurrent.futures.Future()
        with self._closing:
            self._check_open()
            self._queue.put([_Write(encode=encode, future=future, loop=None, durable=durable)])
        future.result()

    @contextmanager
    def exclusive(self) -> Iterator[sqlite3.Connection]:
        """The connection for the caller alone, between two groups."""
        with self._using:
            yield self._connection

    def close(self) -> None:
        """Commit everything that was handed in, then end the thread and the connection."""
        with self._closing:
            if self._closed:
                return
            self._closed = True
            for held in self._held.values():
                self._queue.put(held)
            self._held.clear()
            self._queue.put(None)
        self._thread.join()
        self._connection.close()

    def _check_open(self) -> None:
        if self._closed:
            raise ChaseError(f"workspace={self._workspace.root}: its store is closed.")

    def _hand_over(self, loop: asyncio.AbstractEventLoop) -> None:
        with self._closing:
            if held := self._held.pop(loop, None):
                self._queue.put(held)

    def _run(self) -> None:
        open_ended = True
        while open_ended:
            group, open_ended = self._gather()
            with self._using:
                self._store(group)
            _announce(group)

    def _gather(self) -> tuple[list[_Write], bool]:
        """What waits now, at least one write, and whether more may come."""
        group: list[_Write] = []
        writes = self._queue.get()
        while writes is not None:
            group += writes
            if len(group) >= BATCH:
                return group, True
            try:
                writes = self._queue.get_nowait()
            except queue.Empty:
                return group, True
        return group, False

    def _store(self, group: list[_Write]) -> None:
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        for write in group:
            try:
                write.statements = list(write.encode(now))
            except Exception as error:
                write.error = error
        good = [write for write in group if write.error is None]
        try:
            self._commit(good)
        except Exception:
            for write in good:
                self._store_alone(write)

    def _store_alone(self, write: _Write) -> None:
        try:
            self._commit([write])
        except Exception as error:
            write.error = explain(error, self._workspace)
            write.error.__cause__ = error

    def _commit(self, group: list[_Write]) -> None:
        by_kind: defaultdict[str, list[tuple[Cell, ...]]] = defaultdict(list)
        for write in group:
            for sql, parameters in write.statements:
                by_kind[sql].append(parameters)
        if not by_kind:
            return
        durable = any(write.durable for write in group)
        with self._synced() if durable else nullcontext():
            self._transact(by_kind)

    def _transact(self, by_kind: Mapping[str, list[tuple[Cell, ...]]]) -> None:
        connection, committed = self._connection, False
        try:
            connection.execute("BEGIN IMMEDIATE")
            for sql, rows in by_kind.items():
                self._counts.add(sql, connection.executemany(sql, rows).rowcount)
            for sql, cells in self._counts.statements():
                connection.execute(sql, cells)
            connection.execute("COMMIT")
            committed = True
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        finally:
            self._counts.settle(committed=committed)

    @contextmanager
    def _synced(self) -> Iterator[None]:
        """What is committed within is on the disk, and moved from the log into the file: it outlives the log."""
        self._connection.execute("PRAGMA synchronous = FULL")
        try:
            yield
            with suppress(sqlite3.Error):  # it is on the disk already, and must not be stored again
                self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
        finally:
            self._connection.execute("PRAGMA synchronous = NORMAL")


def _announce(group: list[_Write]) -> None:
    by_loop: defaultdict[asyncio.AbstractEventLoop, list[_Write]] = defaultdict(list)
    for write in group:
        if write.loop is None:
            write.settle()
        else:
            by_loop[write.loop].append(write)
    for loop, writes in by_loop.items():
        try:
            loop.call_soon_threadsafe(_settle_all, writes)
        except RuntimeError:  # the loop is closed: nobody waits there any more
            continue


def _settle_all(writes: list[_Write]) -> None:
    for write in writes:
        write.settle()
