"""A file of weights: what it must be to be served, and its hash, which is kept beside its size and time."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import NamedTemporaryFile

from chase.core.errors import UserError
from chase.core.keyed import digest
from chase.models.gguf.header import Header, NotGguf, read_header

PATIENCE_SECONDS = 2.0
"""How long something takes before somebody is told, and how often."""
_BLOCK = 1 << 22

Tell = Callable[[str], object]
"""Hears that something takes a while. May be called by another thread; must return at once."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Weights:
    """A model's file that llama.cpp can serve."""

    path: Path
    header: Header
    bytes: int

    @property
    def name(self) -> str:
        """What the model is called where its path does not matter."""
        return self.path.name


def find_weights(model: str, path: Path) -> Weights:
    """The file of a model. A `UserError` where it is missing, no GGUF, in parts, or no model that can chat."""
    try:
        header, size = read_header(path), path.stat().st_size
    except FileNotFoundError:
        raise UserError(f"model '{model}': there is no file {path}: check the path after 'gguf:'.") from None
    except OSError as error:
        raise UserError(f"model '{model}': {path} cannot be read ({error.strerror}): name a GGUF file.") from None
    except NotGguf as error:
        raise UserError(
            f"model '{model}': {path} is no GGUF file ({error}): take one that was converted for llama.cpp."
        ) from None
    if header.parts > 1:
        raise UserError(
            f"model '{model}': {path} is one of {header.parts} parts: merge them with llama.cpp's `llama-gguf-split "
            "--merge` and name the whole file."
        )
    if not header.has_chat_template:
        raise UserError(
            f"model '{model}': {path} has no chat template, so it is no model that follows instructions: take its "
            "'instruct' or 'chat' version."
        )
    return Weights(path=path, header=header, bytes=size)


def hash_file(path: Path, tell: Tell | None = None) -> str:
    """The file's SHA-256 in hex: from `~/.cache/chase/weights` where path, size and time are as they were."""
    path = path.resolve()
    state = path.stat()
    what = {"path": str(path), "bytes": state.st_size, "changed_ns": state.st_mtime_ns}
    kept = _kept_at(path)
    with suppress(OSError, ValueError, KeyError, TypeError):
        known = json.loads(kept.read_text(encoding="utf-8"))
        if known["of"] == what and len(known["sha256"]) == 64:
            return str(known["sha256"])
    found = _hash(path, state.st_size, tell or (lambda message: None))
    with suppress(OSError, RuntimeError):
        _keep(kept, json.dumps({"of": what, "sha256": found}))
    return found


def _hash(path: Path, size: int, tell: Tell) -> str:
    whole, done, told = hashlib.sha256(), 0, time.monotonic()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            whole.update(block)
            done += len(block)
            if time.monotonic() - told > PATIENCE_SECONDS:
                told = time.monotonic()
                tell(f"hashing {path.name} (once for each file): {100 * done // max(size, 1)} %")
    return whole.hexdigest()


def _kept_at(path: Path) -> Path:
    return Path.home() / ".cache" / "chase" / "weights" / f"{digest(str(path))}.json"


def _keep(file: Path, content: str) -> None:
    """Through a name of its own, so that no reader meets half a file."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with NamedTemporaryFile("w", dir=file.parent, delete=False, encoding="utf-8") as part:
        part.write(content)
    Path(part.name).replace(file)
