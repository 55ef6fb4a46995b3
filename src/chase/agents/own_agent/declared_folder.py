"""The folder that an agent's owner declares: its content is the agent's identity, and what is run is a copy of it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

from chase.core.errors import UserError
from chase.core.keyed import digest

LEFT_OUT = frozenset({"__pycache__", ".git", ".chase", ".mypy_cache", ".pytest_cache", ".ruff_cache"})
"""What running or editing an agent leaves behind: no part of it."""
MOST_FILES, MOST_BYTES = 20_000, 512 << 20


def folder_hash(folder: Path) -> str:
    """The digest of all that is in a folder: paths, contents, links as links, and which files can be executed."""
    if not folder.is_dir():
        raise UserError(f"agent folder={folder} is no folder. Name the one that holds the agent's files.")
    found, total = [], 0
    for path in _entries(folder):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found.append([name, "link", str(path.readlink())])
            continue
        total += path.stat().st_size
        if len(found) >= MOST_FILES or total > MOST_BYTES:
            raise UserError(
                f"agent folder={folder} holds more than {MOST_FILES} files or {MOST_BYTES >> 20} MiB. Declare a "
                "smaller one, and name what else the agent needs with --readable."
            )
        runs = "program" if os.access(path, os.X_OK) else "file"
        found.append([name, runs, sha256(path.read_bytes()).hexdigest()])
    if not found:
        raise UserError(f"agent folder={folder} is empty. Name the one that holds the agent's files.")
    return digest(found)


def counts(folder: Path, path: Path) -> bool:
    """Whether a path is in a folder, and not in what is left out."""
    return path.is_relative_to(folder) and not LEFT_OUT & {*path.relative_to(folder).parts}


def copy_folder(folder: Path, target: Path) -> None:
    """A copy of what counts."""
    shutil.copytree(folder, target, symlinks=True, ignore=lambda _, names: LEFT_OUT & {*names})


def _entries(folder: Path) -> Iterator[Path]:
    """Files and links in a fixed order."""
    for root, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in LEFT_OUT)
        links = [name for name in folders if Path(root, name).is_symlink()]
        for name in sorted([*names, *links]):
            if (name not in LEFT_OUT and (path := Path(root, name)).is_symlink()) or path.is_file():
                yield path
