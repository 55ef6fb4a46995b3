"""A benchmark of documents under a variant, as plain files for somebody else's runner."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chase.benchmarks.documents.demonstrations import in_order, shown_examples
from chase.core.interfaces import Progress, Transformation

if TYPE_CHECKING:
    from chase.benchmarks.documents.benchmark import Documents

PLACE = "documents"


def export_benchmark(
    benchmark: Documents, transformation: Transformation[Any], tasks: Sequence[str], folder: Path, progress: Progress
) -> dict[str, int]:
    """Write `tasks.jsonl` (with answers), `manifest.jsonl` (in listing order), `documents/<path>`, `tools.json`,
    `protocol.json` and, where there are any, `examples.md` and `judge.json` (who judges answers, and the
    prompt); count what was written.
    """
    protocol, library = benchmark.collection.under(transformation)
    rows = [
        {
            "id": id_,
            "label": task.label,
            "split": task.role,
            "question": task.question,
            "answer": task.answer,
            "evidence": list(task.evidence),
            "group": task.group,
            "documents": PLACE,
        }
        for id_, task in ((id_, benchmark.task(id_)) for id_ in tasks)
    ]
    files = [{"document": id_, "path": library.names[id_]} for id_ in library.listed]
    _write_lines(folder / "tasks.jsonl", rows)
    _write_lines(folder / "manifest.jsonl", [{"documents": PLACE, "files": files}])
    environment = benchmark.environment(benchmark.tasks()[0], transformation)
    interface: Any = protocol.interface
    _write(folder / "tools.json", [asdict(tool) for tool in environment.tools])
    _write(folder / "protocol.json", {**protocol.layout.fields(), **interface.fields()})
    examples = shown_examples(in_order(benchmark.description.demonstrations, interface.demonstration_order))
    if examples:
        (folder / "examples.md").write_text(examples + "\n", encoding="utf-8")
    if benchmark.scorer.prompt is not None:
        _write(folder / "judge.json", {**benchmark.scorer.identity, "text": benchmark.scorer.prompt})
    for done, id_ in enumerate(library.listed):
        progress(f"{done} of {len(files)} documents")
        path = folder / PLACE / library.names[id_]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(library.text(id_).encode())
    return {"tasks": len(rows), "documents": len(files)}


def _write(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")


def _write_lines(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
