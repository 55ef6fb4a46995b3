"""How many processes a command has, and how much memory they hold, as the system tells it (Linux)."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")
_PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, kw_only=True, slots=True)
class Crowd:
    """What a command and all that it started come to."""

    processes: int = 0
    memory_bytes: int = 0
    """Resident; what several processes share counts for each."""


def crowd_of(pid: int) -> Crowd:
    """The descendants of a process and the others of its session. Nothing where the system does not tell."""
    found: dict[int, tuple[int, int, int]] = {}
    for entry in os.scandir(_PROC) if _PROC.is_dir() else ():
        if entry.name.isdigit():
            try:
                fields = Path(entry.path, "stat").read_bytes().rpartition(b")")[2].split()
            except OSError:  # it ended meanwhile
                continue
            found[int(entry.name)] = int(fields[1]), int(fields[3]), int(fields[21])
    children: dict[int, list[int]] = {}
    for child, (parent, _, _) in found.items():
        children.setdefault(parent, []).append(child)
    own, waiting = {each for each, (_, session, _) in found.items() if session == pid}, [pid]
    while waiting:
        own.add(one := waiting.pop())
        waiting += [child for child in children.get(one, ()) if child != one]
    pages = sum(found[each][2] for each in own if each in found)
    return Crowd(processes=len(own & found.keys()), memory_bytes=pages * _PAGE)
