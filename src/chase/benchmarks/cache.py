"""Built benchmarks kept in files, so that one that was built before opens at once.

An entry is a benchmark's content in pieces of text, whose SHA-256 in a row is its content hash, with notes on them.
Opened, it is checked three times: the file's bytes against their digest, its key against the one asked for, and the
pieces against the content hash. So the hash of a benchmark from a file is that of what it holds, not a claim. Whoever
writes a file anew with other tasks and all digests gets a benchmark with another content hash.
"""

from __future__ import annotations

import json
import os
import stat
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import zstandard

from chase.core.keyed import canonical_json, digest
from chase.core.values import Json

FORMAT = b"chase built benchmark 1\n"
SUFFIX, PART = ".built", ".part"
COMPRESSION_LEVEL = 3
MOST_BYTES = 500_000_000

_LOADED = time.time()
"""When this process read the code that it runs."""


def hash_pieces(pieces: Iterable[str]) -> str:
    """The SHA-256 of the texts in a row, in hex."""
    whole = sha256()
    for piece in pieces:
        whole.update(piece.encode())
    return whole.hexdigest()


def digest_code(files: Iterable[Path]) -> str | None:
    """One digest of source files; None where one cannot be read, or was written after this process had started.

    In the second case the process may run older code than the files hold, and its work must not be kept as theirs.
    """
    found = []
    try:
        for file in files:
            if file.stat().st_mtime > _LOADED:
                return None
            found.append([file.parent.name, file.name, sha256(file.read_bytes()).hexdigest()])
    except OSError:
        return None
    return digest(sorted(found))


@dataclass(frozen=True, kw_only=True, slots=True)
class Built:
    """A benchmark as it was built. Its pieces stay compressed until they are asked for."""

    content_hash: str
    """The SHA-256 of the pieces in a row; worked out from them, not only stated."""
    notes: Json
    """What the builder wrote down beside the pieces. The content hash does not cover it."""
    frames: Sequence[bytes] = field(repr=False)

    def __len__(self) -> int:
        return len(self.frames)

    def piece(self, place: int) -> str:
        """One piece of the content; -1 is the last."""
        return _unpacked(self.frames[place])


@dataclass(frozen=True, kw_only=True, slots=True)
class BuiltCache:
    """A folder of built benchmarks, which any number of processes may use at once.

    It never fails: what is missing, damaged, of another key or out of reach is None, and what cannot be written is not
    kept. A file appears whole or not at all.
    """

    folder: Path | None = None
    """None: `~/.cache/chase/benchmarks`, looked up when it is used."""
    most_bytes: int = MOST_BYTES
    """Of all files together: the oldest go first."""

    def load(self, key: Mapping[str, Json]) -> Built | None:
        """The entry of a key, if there is one that is sound."""
        try:
            file = self._file(key)
            return _read(file.read_bytes(), key) if _is_own(file) else None
        except (OSError, RuntimeError):
            return None

    def store(self, key: Mapping[str, Json], pieces: Sequence[str], notes: Json) -> None:
        """Keep a benchmark's content, if the folder can be written."""
        entry = _written(key, pieces, notes)
        with suppress(OSError, RuntimeError):
            file = self._file(key)
            file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            _write_whole(file, entry)
            self._make_room(file.parent)

    @property
    def place(self) -> Path:
        """The folder, wherever it is now."""
        return self.folder or Path.home() / ".cache" / "chase" / "benchmarks"

    def _file(self, key: Mapping[str, Json]) -> Path:
        return self.place / f"{digest(key)}{SUFFIX}"

    def _make_room(self, folder: Path) -> None:
        files = [file for file in folder.iterdir() if file.suffix in (SUFFIX, PART)]
        states = sorted(((file.stat(), file) for file in files), key=lambda pair: pair[0].st_mtime_ns, reverse=True)
        total = 0
        for state, file in states:
            total += state.st_size
            if total > self.most_bytes:
                file.unlink(missing_ok=True)


HOME_CACHE = BuiltCache()
"""Where benchmarks are kept unless something else is said."""


def _is_own(file: Path) -> bool:
    """Whether it is a plain file that nobody else can have written: a pipe would not even end."""
    state, folder = file.lstat(), file.parent.stat()
    others = stat.S_IWGRP | stat.S_IWOTH
    mine = state.st_uid == folder.st_uid == os.getuid()
    return mine and stat.S_ISREG(state.st_mode) and not (state.st_mode | folder.st_mode) & others


def _write_whole(file: Path, content: bytes) -> None:
    """Through a name of its own, so that no reader and no other writer meets half a file."""
    with NamedTemporaryFile(dir=file.parent, suffix=PART, delete=False) as part:
        path = Path(part.name)
        try:
            part.write(content)
            part.close()
            path.replace(file)
        except BaseException:
            path.unlink(missing_ok=True)
            raise


def _written(key: Mapping[str, Json], pieces: Sequence[str], notes: Json) -> bytes:
    """An entry: format, SHA-256 of the rest, size of the head, the head, and one frame for each piece."""
    compressor = zstandard.ZstdCompressor(level=COMPRESSION_LEVEL)
    frames = [compressor.compress(piece.encode()) for piece in pieces]
    head = {"key": key, "content_hash": hash_pieces(pieces), "notes": notes, "sizes": [len(frame) for frame in frames]}
    first = compressor.compress(canonical_json(head).encode())
    rest = b"".join([len(first).to_bytes(8, "big"), first, *frames])
    return FORMAT + sha256(rest).digest() + rest


def _read(entry: bytes, key: Mapping[str, Json]) -> Built | None:
    """What `_written` made, or None where any byte is not as it was written."""
    start = len(FORMAT) + sha256().digest_size
    rest = memoryview(entry)[start:]
    if not entry.startswith(FORMAT) or sha256(rest).digest() != entry[len(FORMAT) : start]:
        return None
    try:
        end = 8 + int.from_bytes(rest[:8], "big")
        head: Any = json.loads(_unpacked(rest[8:end]))
        frames = _cut(rest[end:], head["sizes"])
        built = Built(content_hash=head["content_hash"], notes=head["notes"], frames=frames)
        same = canonical_json(head["key"]) == canonical_json(key)
        return built if same and hash_pieces(map(_unpacked, frames)) == built.content_hash else None
    except (ValueError, KeyError, TypeError, zstandard.ZstdError):
        return None


def _cut(frames: memoryview, sizes: Sequence[int]) -> list[bytes]:
    cut, place = [], 0
    for size in sizes:
        cut.append(bytes(frames[place : place + size]))
        place += size
    if place != len(frames):
        raise ValueError("the frames are not as long as the head says")
    return cut


def _unpacked(frame: bytes | memoryview) -> str:
    # A decompressor of its own: one must not be shared between threads.
    return zstandard.ZstdDecompressor().decompress(frame).decode()
