"""Worker processes that end with the process that started them."""

from __future__ import annotations

import multiprocessing
import os
import threading
from multiprocessing.connection import wait


def end_with_parent() -> None:
    """To be called first in a worker: a parent that was killed tells nobody."""
    threading.Thread(target=_watch, daemon=True).start()


def _watch() -> None:
    if (parent := multiprocessing.parent_process()) is not None:
        wait([parent.sentinel])
        os._exit(1)
