"""Dropping what nothing refers to any more."""

from __future__ import annotations

import sqlite3

from chase.store.reader import file_bytes
from chase.store.records import Collected
from chase.store.schema import explained
from chase.store.workspace import Workspace


def collect(connection: sqlite3.Connection, workspace: Workspace) -> Collected:
    """Drop the traces that no rollout refers to and give the space back to the file system.

    Such traces come from failed rollouts that a scored one has replaced.
    """
    with explained(workspace):
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        before = file_bytes(workspace)
        dropped = connection.execute("DELETE FROM traces WHERE digest NOT IN (SELECT trace FROM rollouts)").rowcount
        connection.execute("VACUUM")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return Collected(traces=dropped, freed_bytes=before - file_bytes(workspace))
