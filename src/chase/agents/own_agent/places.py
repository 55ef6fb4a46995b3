"""Where commands work: folders of this process whose paths say nothing, removed when they are done with.

What a killed process left is removed by the next one.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from chase.agents.desk_folder import remove

_PREFIX, _LOCK = "place-own-", "lock"


class Places:
    """A folder in the system's temporary one, locked while this process lives."""

    def __init__(self) -> None:
        _sweep()
        self.root = Path(tempfile.mkdtemp(prefix=_PREFIX))
        self._lock = (self.root / _LOCK).open("w")
        fcntl.flock(self._lock, fcntl.LOCK_EX)

    @contextmanager
    def place(self) -> Iterator[Path]:
        """A new folder, for as long as the block lasts."""
        folder = Path(tempfile.mkdtemp(dir=self.root, prefix="p"))
        try:
            yield folder
        finally:
            remove(folder)

    def close(self) -> None:
        remove(self.root)
        self._lock.close()


def _sweep() -> None:
    """Remove the places of processes that are gone."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError):
            if folder.is_symlink() or folder.stat().st_uid != os.getuid():
                continue
            with (folder / _LOCK).open("r+") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                remove(folder)
