"""What a GGUF file says of itself: its first megabytes, without its weights."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

MAGIC = b"GGUF"
VERSIONS = (2, 3)
CHAT_TEMPLATE = "tokenizer.chat_template"

_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9
_MOST_ENTRIES = 100_000
_LONGEST_KEPT = 4_096
"""Of an array: a value for each layer is wanted, a vocabulary is not."""
_BYTES_OF_A_HALF = 2
_CUT = "it ends in the middle of its header"


class NotGguf(Exception):
    """The file is something else, or cut."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Header:
    """The entries of a file that are short."""

    entries: Mapping[str, Any]

    @property
    def has_chat_template(self) -> bool:
        return bool(self.entries.get(CHAT_TEMPLATE))

    @property
    def trained_context(self) -> int | None:
        """The longest history that the model was trained on, in tokens."""
        return self._of_architecture("context_length")

    @property
    def parts(self) -> int:
        """How many files the model is cut into."""
        return int(self.entries.get("split.count", 1) or 1)

    def cache_bytes(self, tokens: int) -> int:
        """What llama.cpp's cache of so many tokens takes: a key and a value of 16 bits a number in every layer."""
        layers = self._of_architecture("block_count") or 0
        heads = self._of_architecture("attention.head_count") or 1
        width = (self._of_architecture("embedding_length") or 0) // (heads or 1)
        key = self._of_architecture("attention.key_length") or width
        value = self._of_architecture("attention.value_length") or width
        of_layers = self.entries.get(f"{self._architecture}.attention.head_count_kv", heads)
        every = sum(of_layers) if isinstance(of_layers, list) else layers * int(of_layers)
        return tokens * every * (key + value) * _BYTES_OF_A_HALF

    @property
    def _architecture(self) -> str:
        return str(self.entries.get("general.architecture", ""))

    def _of_architecture(self, name: str) -> int | None:
        value = self.entries.get(f"{self._architecture}.{name}")
        value = max(value, default=None) if isinstance(value, list) else value
        return int(value) if isinstance(value, int | float) else None


def read_header(path: Path) -> Header:
    """The file's entries; `NotGguf` where it is none, and whatever `open` raises."""
    with path.open("rb") as file:
        if file.read(4) != MAGIC:
            raise NotGguf("its first four bytes are not 'GGUF'")
        (version,) = _numbers(file, "I")
        if version not in VERSIONS:
            raise NotGguf(f"it is of version {version}, not {' or '.join(map(str, VERSIONS))}")
        _, count = _numbers(file, "QQ")
        if count > _MOST_ENTRIES:
            raise NotGguf(f"it claims {count} entries")
        entries = {}
        for _ in range(count):
            key = _text(file)
            value = _value(file, *_numbers(file, "I"))
            if value is not None:
                entries[key] = value
        return Header(entries=entries)


def _numbers(file: BinaryIO, form: str) -> tuple[Any, ...]:
    wanted = struct.calcsize("<" + form)
    found = file.read(wanted)
    if len(found) != wanted:
        raise NotGguf(_CUT)
    return struct.unpack("<" + form, found)


def _text(file: BinaryIO) -> str:
    (length,) = _numbers(file, "Q")
    if length > 1 << 24:
        raise NotGguf(f"it holds a text of {length} bytes")
    found = file.read(length)
    if len(found) != length:
        raise NotGguf(_CUT)
    return found.decode("utf-8", "replace")


def _value(file: BinaryIO, kind: int) -> Any:
    """One value; None of an array that is too long to keep."""
    if kind in _NUMBERS:
        return _numbers(file, _NUMBERS[kind])[0]
    if kind == _STRING:
        return _text(file)
    if kind != _ARRAY:
        raise NotGguf(f"it holds a value of the unknown type {kind}")
    of, length = _numbers(file, "IQ")
    if of in _NUMBERS and length > _LONGEST_KEPT:
        file.seek(length * struct.calcsize("<" + _NUMBERS[of]), 1)
        return None
    if of == _STRING:
        for _ in range(length):
            file.seek(_numbers(file, "Q")[0], 1)
        return None
    return [_value(file, of) for _ in range(length)]
