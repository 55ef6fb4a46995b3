"""Which files of a folder somebody opens, in their order, as the kernel tells it (inotify, Linux).

It sees what a confined command opens too, since that is the same folder. It does not see what is done with a file, nor
what is known of it without opening it: names, sizes.
"""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Sequence
from pathlib import Path

_OPENED, _OVERFLOW, _FOLDER = 0x20, 0x4000, 0x40000000
_HEAD = struct.Struct("iIII")


class FileReads:
    """Watches a folder and all in it from now on. Close it."""

    def __init__(self, root: Path, folders: Sequence[Path]) -> None:
        """`folders` are those that hold files, in the root or the root itself."""
        self._root = root
        self._file = -1
        self._watches: dict[int, Path] = {}
        self.complete = False
        """Whether all that was opened is known."""
        try:
            libc = ctypes.CDLL(None, use_errno=True)
            self._file = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
            for folder in folders if self._file >= 0 else ():
                watch = libc.inotify_add_watch(self._file, os.fsencode(folder), _OPENED)
                self._watches[watch] = folder
            self.complete = self._file >= 0 and -1 not in self._watches
        except (AttributeError, OSError):  # another system
            pass

    def opened(self) -> list[str]:
        """Paths, relative to the root, of what was opened since this was last asked; each opening is one."""
        found: list[str] = []
        while data := self._read():
            place = 0
            while place < len(data):
                watch, kind, _, length = _HEAD.unpack_from(data, place)
                name = data[place + _HEAD.size : place + _HEAD.size + length].rstrip(b"\0")
                place += _HEAD.size + length
                if kind & _OVERFLOW:
                    self.complete = False
                elif kind & _OPENED and not kind & _FOLDER and name and watch in self._watches:
                    found.append(str((self._watches[watch] / os.fsdecode(name)).relative_to(self._root)))
        return found

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _read(self) -> bytes:
        try:
            return os.read(self._file, 64 << 10) if self._file >= 0 else b""
        except BlockingIOError:
            return b""
