"""A benchmark as plain files, from which anyone can check it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chase.benchmarks.syn_ledger.features import FEATURES
from chase.benchmarks.syn_ledger.manifest import Manifest
from chase.core.interfaces import Transformation

if TYPE_CHECKING:
    from chase.benchmarks.syn_ledger.benchmark import SynLedger


def export_benchmark(
    benchmark: SynLedger,
    transformation: Transformation[Manifest],
    tasks: Sequence[str],
    folder: Path,
    progress: Callable[[str], None],
) -> dict[str, int]:
    """Write `tasks.jsonl`, `records.jsonl`, `manifest.jsonl` and `documents/<task>/<path>`; count what was written."""
    counts = {
        "tasks": _write_lines(folder / "tasks.jsonl", _tasks(benchmark, tasks)),
        "documents": _write_lines(folder / "manifest.jsonl", _manifest(benchmark, tasks, transformation)),
        "records": _write_lines(folder / "records.jsonl", _records(benchmark, tasks)),
    }
    for done, task in enumerate(tasks):
        progress(f"{done} of {counts['tasks']} tasks")
        for file in benchmark.render(task, transformation):
            path = folder / "documents" / task / file.path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(file.text.encode())
    return counts


def _tasks(benchmark: SynLedger, tasks: Sequence[str]) -> Iterator[Mapping[str, Any]]:
    for identifier in tasks:
        task = benchmark.task(identifier)
        yield {
            "id": identifier,
            "block": task.block,
            "family": task.family.name,
            "split": benchmark.role_of(identifier),
            "question": task.question,
            "answer": task.answer,
            "evidence": list(task.evidence),
        }


def _records(benchmark: SynLedger, tasks: Sequence[str]) -> Iterator[Mapping[str, Any]]:
    for identifier in tasks:
        for document in benchmark.task(identifier).documents:
            for index, record in enumerate(document.records):
                yield {"task": identifier, "document": document.id, "index": index, **asdict(record)}


def _manifest(
    benchmark: SynLedger, tasks: Sequence[str], transformation: Transformation[Manifest]
) -> Iterator[Mapping[str, Any]]:
    for identifier in tasks:
        manifest = benchmark.manifest(identifier, transformation)
        for document, protocol in zip(benchmark.task(identifier).documents, manifest, strict=True):
            levels = {
                name: "favorable" if FEATURES[name].is_favorable(protocol, document) else "unfavorable"
                for name in benchmark.planted
            }
            yield {"task": identifier, "document": document.id, "path": protocol.path, **levels}


def _write_lines(path: Path, rows: Iterator[Mapping[str, Any]]) -> int:
    count = 0
    with path.open("w", encoding="utf-8") as file:
        for row in rows:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
            count += 1
    return count
