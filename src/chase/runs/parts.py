"""How long a run took in all its parts: it may be stopped or killed, and gone on with."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager

from chase.core.errors import IntegrityError
from chase.runs.folder import RunFolder
from chase.store.reader import Reader

PARTS = "parts.json"


class Parts:
    """When each part of a run began and ended, in seconds since 1970, in a file of the run's folder."""

    def __init__(self, folder: RunFolder) -> None:
        self._folder = folder

    @contextmanager
    def under_way(self, store: Reader, *, anew: bool) -> Iterator[None]:
        """While a part is; `anew`: the run was finished before, and that is no part of it."""
        before = [] if anew else self._read()
        if before and before[-1][1] is None:  # killed: it ended with the last rollout that it stored
            began = before[-1][0]
            before[-1] = (began, max(began, store.last_stored(self._folder.run)))
        part = time.time()
        self._write([*before, (part, None)])
        try:
            yield
        finally:
            self._write([*before, (part, time.time())])

    def seconds(self) -> list[float]:
        """How long each took, until now if it is under way."""
        return [(time.time() if ended is None else ended) - began for began, ended in self._read()]

    def _read(self) -> list[tuple[float, float | None]]:
        path = self._folder.path / PARTS
        try:
            found = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
            return [(float(began), None if ended is None else float(ended)) for began, ended in found]
        except (OSError, ValueError, TypeError) as error:
            raise IntegrityError(f"{path} cannot be read: {error}. Remove it: it only holds times.") from None

    def _write(self, parts: list[tuple[float, float | None]]) -> None:
        self._folder.write(PARTS, f"{json.dumps(parts)}\n")
