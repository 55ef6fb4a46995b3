"""The hashes that identify rollouts and traces and that guard every stored row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from functools import lru_cache
from hashlib import sha256
from operator import attrgetter

import zstandard
from pydantic_core import to_json

from chase.core.errors import ChaseError, IntegrityError
from chase.core.keyed import canonical_json, digest
from chase.core.values import Json, RolloutKey

KEY_FIELDS: tuple[str, ...] = tuple(field.name for field in fields(RolloutKey))
key_values = attrgetter(*KEY_FIELDS)

COMPRESSION_LEVEL = 1
"""Traces are a few KB: higher levels cost time and save next to nothing."""

Cell = str | int | float | bytes | None


@lru_cache(maxsize=4096)
def rollout_digest(key: RolloutKey) -> str:
    """A rollout's identity: the digest of every field of its key, role and run seed included."""
    return digest(dict(zip(KEY_FIELDS, key_values(key), strict=True)))


def row_digest(cells: Sequence[Cell]) -> bytes:
    """16 bytes that change when any cell of a row changes.

    From the SHA-256 of the cells as a JSON list, where bytes stand by their own SHA-256 and reals by
    their shortest text, which does not depend on how a JSON library writes them.
    """
    plain = [
        repr(cell) if type(cell) is float else sha256(cell).hexdigest() if type(cell) is bytes else cell
        for cell in cells
    ]
    return sha256(to_json(plain)).digest()[:16]


def clean(text: str) -> str:
    """The text as UTF-8 can carry it: an unpaired surrogate becomes its `\\udXXX` escape."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace").decode()
    return text


class TraceCodec:
    """Turns traces into compressed bytes and back. One for each thread: the compressor is not shared."""

    def __init__(self) -> None:
        self._compressor = zstandard.ZstdCompressor(level=COMPRESSION_LEVEL)
        self._decompressor = zstandard.ZstdDecompressor()

    def encode(self, trace: Json) -> tuple[str, int, bytes]:
        """The trace's digest, the size of its canonical JSON and that JSON compressed.

        In JSON the escape of an unpaired surrogate is the surrogate itself, so nothing is lost.
        """
        try:
            text = canonical_json(trace)
        except (TypeError, ValueError, RecursionError) as error:
            raise ChaseError(f"a trace is not plain JSON: {error}") from error
        content = text.encode("utf-8", "backslashreplace")
        return sha256(content).hexdigest(), len(content), self._compressor.compress(content)

    def decode(self, trace_digest: str, size: int, blob: bytes) -> bytes:
        """The canonical JSON of a stored trace, or an `IntegrityError` if it is not what was stored."""
        try:
            # A damaged header can claim any size, and the decompressor would try to allocate it.
            if zstandard.frame_content_size(blob) != size:
                raise IntegrityError(f"trace {trace_digest}: its size is not the recorded one")
            content = self._decompressor.decompress(blob)
        except (zstandard.ZstdError, TypeError) as error:
            raise IntegrityError(f"trace {trace_digest}: its bytes do not decompress ({error})") from error
        if sha256(content).hexdigest() != trace_digest:
            raise IntegrityError(f"trace {trace_digest}: its content has another digest")
        return content
