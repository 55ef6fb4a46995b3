"""One output of a command in a file: as it comes, cut to size, cleared of keys."""

from __future__ import annotations

import asyncio
import codecs
from collections.abc import Callable
from pathlib import Path

HELD = 16 << 10
"""Characters that are held back, so that a key which arrives in two parts is found."""
READ_BYTES = 64 << 10
FLOOD = 16
"""Times the size that is kept, after which nothing more is kept."""


class CommandLog:
    """Keeps the first and the last half of `most` bytes: a tool sums up at the end."""

    def __init__(self, path: Path, *, most: int, redact: Callable[[str], str]) -> None:
        self._path = path
        self._file = path.open("wb")
        self._half = most // 2
        self._redact = redact
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._held = ""
        self._head = 0
        self._tail = bytearray()
        self._cut = 0
        self._heard = 0

    @property
    def flooded(self) -> bool:
        return self._heard > FLOOD * 2 * self._half

    async def drain(self, stream: asyncio.StreamReader) -> None:
        """Read to the end. What is too much is dropped, and read slowly: the writer is about to be stopped."""
        while data := await stream.read(READ_BYTES):
            if self.flooded:
                await asyncio.sleep(0.01)
            else:
                self.feed(data)

    def feed(self, data: bytes) -> None:
        self._heard += len(data)
        text = self._redact(self._held + self._decoder.decode(data))
        self._held = text[-HELD:]
        self._write(text[:-HELD])

    def close(self) -> None:
        """Write what was held back. After that the file is complete."""
        self._write(self._redact(self._held + self._decoder.decode(b"", final=True)))
        if self._cut:
            self._file.write(f"\n… {self._cut} bytes are left out here …\n".encode())
        self._file.write(self._tail)
        self._file.close()

    def text(self) -> str:
        """What was kept."""
        return self._path.read_text(encoding="utf-8", errors="replace")

    def _write(self, text: str) -> None:
        data = text.encode("utf-8", "replace")
        first = data[: self._half - self._head]
        if first:
            self._file.write(first)
            self._file.flush()
            self._head += len(first)
        self._tail += data[len(first) :]
        if (over := len(self._tail) - self._half) > 0:
            del self._tail[:over]
            self._cut += over
