"""Files that begin as GGUF files do, without any weights."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

ENTRIES: dict[str, Any] = {
    "general.architecture": "tiny",
    "tiny.block_count": 2,
    "tiny.context_length": 4_096,
    "tiny.embedding_length": 64,
    "tiny.attention.head_count": 4,
    "tiny.attention.head_count_kv": 2,
    "tokenizer.ggml.tokens": ["a", "b", "longer"],
    "tokenizer.ggml.scores": [0.5] * 5_000,
    "tokenizer.chat_template": "{{ messages }}",
}


def gguf_bytes(**changes: Any) -> bytes:
    """A header with these entries; None leaves one out."""
    entries = {key: value for key, value in {**ENTRIES, **changes}.items() if value is not None}
    body = b"".join(_text(key) + _value(value) for key, value in entries.items())
    return b"GGUF" + struct.pack("<IQQ", 3, 0, len(entries)) + body


def write_gguf(path: Path, **changes: Any) -> Path:
    path.write_bytes(gguf_bytes(**changes) + b"weights")
    return path


def _text(text: str) -> bytes:
    return struct.pack("<Q", len(text.encode())) + text.encode()


def _value(value: Any) -> bytes:
    if isinstance(value, str):
        return struct.pack("<I", 8) + _text(value)
    if isinstance(value, int):
        return struct.pack("<Ii", 5, value)
    if isinstance(value[0], str):
        return struct.pack("<IIQ", 9, 8, len(value)) + b"".join(map(_text, value))
    kind, form = (6, "f") if isinstance(value[0], float) else (5, "i")
    return struct.pack("<IIQ", 9, kind, len(value)) + struct.pack(f"<{len(value)}{form}", *value)
