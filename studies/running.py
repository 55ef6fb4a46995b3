"""What the studies of evolution and audits share: benchmarks kept open, a throw-away workspace, resumable rows."""

from __future__ import annotations

import asyncio
import inspect
import json
import math
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from functools import lru_cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import chase
from chase.benchmarks.syn_ledger.benchmark import SynLedger, open_syn_ledger
from chase.core.keyed import digest
from chase.engine.sandbox import Sandbox
from chase.models.chat import ChatModel
from chase.models.config import ModelConfig
from chase.models.connect import connect
from chase.protocol.kit import ProtocolKit
from chase.stats.comparisons import student_quantile
from chase.store.store import Store
from chase.store.workspace import Workspace
from studies.reader_scores import RESULTS

Row = dict[str, Any]
MEMORY = Path("/dev/shm")
ROOM_BYTES = 4_000_000_000
PRINTING = ("studies.evolution_summary", "studies.rules_summary", "studies.report")


@lru_cache(maxsize=4)
def opened(name: str) -> tuple[SynLedger, ProtocolKit]:
    """A benchmark with its kit: the firewall's verdicts are kept with it."""
    benchmark = open_syn_ledger(name)
    return benchmark, ProtocolKit(benchmark)


@contextmanager
def workspace() -> Iterator[Store]:
    """A store that is gone afterwards; in memory where there is room for it."""
    roomy = MEMORY.is_dir() and os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free >= ROOM_BYTES
    with (
        tempfile.TemporaryDirectory(dir=MEMORY if roomy else None) as folder,
        Store.open(Workspace(Path(folder)), write=True) as store,
    ):
        yield store


def with_reader(work: Callable[[ChatModel, Sandbox], Awaitable[Any]]) -> Any:
    """Run asynchronous work with the simulated reader."""

    async def run() -> Any:
        async with connect(ModelConfig(name="sim:reader")) as model, Sandbox() as sandbox:
            return await work(model, sandbox)

    return asyncio.run(run())


def rows_of(name: str, cases: Iterable[Mapping[str, Any]], work: Callable[[Mapping[str, Any]], list[Row]]) -> list[Row]:
    """The rows of every case, on every core. Finished cases are kept in a file and not done again by the same code.

    Processes start afresh: one that is forked from a process with threads (an open index has some) can wait for ever.
    """
    path, code = RESULTS / f"{name}.rows.jsonl", code_digest(work)
    done = _finished(path, code)
    todo = {json.dumps(case, sort_keys=True): case for case in cases}
    waiting = {key: case for key, case in todo.items() if key not in done}
    started = time.monotonic()
    with ProcessPoolExecutor(os.cpu_count(), get_context("spawn")) as pool, path.open("a") as file:
        futures = {pool.submit(work, case): key for key, case in waiting.items()}
        for count, future in enumerate(as_completed(futures), 1):
            done[futures[future]] = future.result()
            file.write(json.dumps({"case": futures[future], "code": code, "rows": future.result()}) + "\n")
            file.flush()
            sys.stderr.write(f"{name}: {count}/{len(waiting)} cases, {time.monotonic() - started:.0f} s\n")
    return [row for key in todo for row in done[key]]


def _finished(path: Path, code: str) -> dict[str, list[Row]]:
    """Case → its rows, of those that this code made."""
    lines = path.read_text().splitlines() if path.exists() else []
    return {kept["case"]: kept["rows"] for kept in map(json.loads, lines) if kept.get("code") == code}


def code_digest(work: Callable[..., Any]) -> str:
    """Of the package without its command line, and of the studies' modules at work: rows of other code do not mix in.

    What only summarises and prints rows does not count.
    """
    root = Path(chase.__file__).parent
    sources = [path for path in sorted(root.rglob("*")) if path.suffix in (".py", ".toml", ".md")]
    texts = {str(path.relative_to(root)): path.read_text() for path in sources if "cli" not in path.parts}
    modules = [module for name, module in sys.modules.items() if name.startswith("studies.") and name not in PRINTING]
    files = {str(module.__file__) for module in modules} | {inspect.getfile(work)}
    return digest({"package": texts, "studies": {Path(file).name: Path(file).read_text() for file in files}})


def mean_of(values: Sequence[float]) -> dict[str, float]:
    """A mean with its standard error and 95 % interval by Student's t."""
    n = len(values)
    mean = sum(values) / n
    variance = sum((v - mean) ** 2 for v in values) / max(1, n - 1)
    se = math.sqrt(variance / n)
    radius = student_quantile(max(1, n - 1)) * se
    return {"value": mean, "se": se, "low": mean - radius, "high": mean + radius, "n": n}


def share_of(flags: Sequence[bool]) -> dict[str, float]:
    """A share with its Wilson interval."""
    n, p = len(flags), sum(flags) / len(flags) if flags else 0.0
    if not n:
        return {"value": 0.0, "low": 0.0, "high": 1.0, "n": 0}
    z = 1.96
    middle = (p + z * z / (2 * n)) / (1 + z * z / n)
    radius = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    return {"value": p, "low": max(0.0, middle - radius), "high": middle + radius, "n": n}
