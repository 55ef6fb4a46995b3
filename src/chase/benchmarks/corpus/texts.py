"""The documents of a corpus, on disk: 460 MB of text are never all in memory."""

from __future__ import annotations

import json
import re
from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass
from functools import lru_cache
from hashlib import sha256
from pathlib import Path

from chase.benchmarks.corpus.workplace import write_whole
from chase.core.errors import IntegrityError, UserError
from chase.core.interfaces import Progress
from chase.core.keyed import canonical_json, digest

SUFFIX = ".txt"
KEPT_DOCUMENTS = 32
"""Documents kept in memory: at the published size about 1 MB each."""
Identify = Callable[[str], str]
"""The identifier of a document's name: it tells nothing of it."""
CountLines = Callable[[bytes, Path], int]
"""Counts the lines in a file's bytes, and refuses a file that is not as it must be."""
_FORMAT = 1
_LINE_END = re.compile(rb"\r\n|\r|\n")


@dataclass(frozen=True, kw_only=True, slots=True)
class Facts:
    """What is known of a file without reading it again."""

    size: int
    mtime_ns: int
    sha256: str
    lines: int


class Corpus:
    """Text documents by name. Read-only: a file that changes while the corpus is open is noticed and refused."""

    def __init__(
        self, files: Mapping[Path, Facts], identify: Identify, names: Mapping[Path, str] | None = None
    ) -> None:
        """`files`: the documents with what is known of them; `names`: what they are called, if not by their file."""
        called = {path: names[path] if names else path.name for path in files}
        paths = {identify(name): path for path, name in called.items()}
        if len(paths) != len(files):
            raise IntegrityError(f"two of {len(files)} documents have the same identifier. Rename one of them.")
        self._paths = dict(sorted(paths.items()))
        self._files = files
        self.ids: tuple[str, ...] = tuple(self._paths)
        self.names: Mapping[str, str] = {id_: called[path] for id_, path in self._paths.items()}
        """Identifier → released file name, in the order of identifiers."""
        self.line_counts: Mapping[str, int] = {id_: files[path].lines for id_, path in self._paths.items()}
        self.content_hash = digest(sorted([called[path], facts.sha256] for path, facts in files.items()))
        """Of the name and all bytes of every document."""
        self._whole = lru_cache(maxsize=KEPT_DOCUMENTS)(self._read_lines)
        self._ends: dict[str, array[int]] = {}
        """Where each line that was ever asked for ends, in bytes: 18 kB for a document of the published size."""

    def lines(self, id_: str, start: int = 1, end: int | None = None) -> tuple[str, ...]:
        """A document's lines from `start` to `end`, both counted from 1, without their ends. All of them if not said.

        A part is read by itself, in 0.03 ms where the whole document takes 1 to 2; `start` is at least 1, and what is
        beyond the last line is not there.
        """
        _refuse_changed(self._paths[id_], self._files[self._paths[id_]])
        if start == 1 and end is None:
            return self._whole(id_)
        last = self.line_counts[id_] if end is None else min(end, self.line_counts[id_])
        return self._read_part(id_, start, last) if start <= last else ()

    def _read_lines(self, id_: str) -> tuple[str, ...]:
        return split_lines(decode(read_bytes(self._paths[id_]), self._paths[id_]))

    def _read_part(self, id_: str, start: int, last: int) -> tuple[str, ...]:
        if id_ not in self._ends:
            content = read_bytes(self._paths[id_])
            self._ends[id_] = array("L", [0, *(found.end() for found in _LINE_END.finditer(content)), len(content)])
        first, after = self._ends[id_][start - 1], self._ends[id_][last]
        with self._paths[id_].open("rb") as file:
            file.seek(first)
            return split_lines(file.read(after - first).decode("utf-8-sig" if first == 0 else "utf-8"))


def open_corpus(folder: Path, memory: Path, identify: Identify, tell: Progress = lambda _: None) -> Corpus:
    """The corpus of a folder of texts. `memory`: as in `file_facts`."""
    return Corpus(file_facts(document_paths(folder), memory, tell, _lines_with_text), identify)


def file_facts(paths: Sequence[Path], memory: Path, tell: Progress, count_lines: CountLines) -> dict[Path, Facts]:
    """What is known of files in one folder, by reading them whole.

    `memory` is a file where it is kept: files whose size and time of change are as they were are not read again.
    """
    known = _remembered(memory)
    found: dict[Path, Facts] = {}
    for count, path in enumerate(paths, 1):
        state, old = path.stat(), known.get(path.name)
        if old is None or (old.size, old.mtime_ns) != (state.st_size, state.st_mtime_ns):
            tell(f"reading documents {count}/{len(paths)}")
            old = _examined(path, count_lines)
        found[path] = old
    by_name = {path.name: facts for path, facts in found.items()}
    if by_name != known:
        rows = {name: list(astuple(facts)) for name, facts in by_name.items()}
        write_whole(memory, canonical_json({"format": _FORMAT, "documents": rows}).encode())
    return found


def document_paths(folder: Path, suffix: str = SUFFIX) -> list[Path]:
    """The documents in a folder by name, or a sentence where there are none."""
    paths = [path for path in sorted(folder.glob(f"[!.]*{suffix}")) if path.is_file()]
    if not paths:
        what = "holds no document" if folder.is_dir() else "is missing"
        raise UserError(f"{folder} {what}. The release's documents (*{suffix}) belong in it.")
    return paths


def read_bytes(path: Path) -> bytes:
    """A file's bytes, or a sentence where it cannot be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}. Make it readable, or get it again.") from None


def decode(content: bytes, path: Path) -> str:
    """A file's text, or a sentence where it is not UTF-8."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is not UTF-8 (byte {error.start}). Get the file again as it was released.") from None


def split_lines(text: str) -> tuple[str, ...]:
    """Lines end with LF, CRLF or CR and nothing else; what comes after the last end is a line if it is not empty."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    lines = text.split("\n")
    return tuple(lines if lines[-1] else lines[:-1])


def _lines_with_text(content: bytes, path: Path) -> int:
    if not content.strip():
        raise UserError(f"{path} holds no text. Get the file again as it was released.")
    return len(split_lines(decode(content, path)))


def _examined(path: Path, count_lines: CountLines) -> Facts:
    """The state is taken before the reading: a file that is written meanwhile is noticed at its next use."""
    state, content = path.stat(), read_bytes(path)
    lines = count_lines(content, path)
    hashed = sha256(content).hexdigest()
    return Facts(size=state.st_size, mtime_ns=state.st_mtime_ns, sha256=hashed, lines=lines)


def _remembered(memory: Path) -> Mapping[str, Facts]:
    """What an earlier opening wrote, by file name; nothing where that cannot be read."""
    try:
        kept = json.loads(memory.read_bytes())
        rows = kept["documents"] if kept["format"] == _FORMAT else {}
        return {name: _facts(*row) for name, row in rows.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}


def _facts(size: object, mtime_ns: object, hashed: object, lines: object) -> Facts:
    match (size, mtime_ns, hashed, lines):
        case (int(size), int(mtime_ns), str(hashed), int(lines)):
            return Facts(size=size, mtime_ns=mtime_ns, sha256=hashed, lines=lines)
    raise ValueError("no facts of a file")


def _refuse_changed(path: Path, known: Facts) -> None:
    try:
        state = path.stat()
    except OSError:
        raise IntegrityError(f"{path} is gone. Put it back and start again.") from None
    if (state.st_size, state.st_mtime_ns) != (known.size, known.mtime_ns):
        raise IntegrityError(f"{path} was changed while it was in use. Start again, so that it is read anew.")
