"""A benchmark of documents under a variant, as plain files for somebody else's runner."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chase.benchmarks.documents.demonstrations import in_order, shown_examples
from chase.core.interfaces import Progress, Transformation

if TYPE_CHECKING:
    from chase.benchmarks.documents.benchmark import Documents


def export_benchmark(
    benchmark: Documents, transformation: Transformation[Any], folder: Path, progress: Progress
) -> dict[str, int]:
    """Write `tasks.jsonl` (with answers), `documents.jsonl` (in listing order), `documents/<path>`, `tools.json` and,
    where there are any, `examples.md` and `judge.json` (who judges answers, and the prompt); count what was written.
    """
    protocol, library = benchmark.collection.under(transformation)
    tasks = [
        {
            "id": id_,
            "label": task.label,
            "split": task.role,
            "question": task.question,
            "answer": task.answer,
            "evidence": [library.names[document] for document in task.evidence],
            "group": task.group,
        }
        for id_, task in ((id_, benchmark.task(id_)) for id_ in benchmark.tasks())
    ]
    rows = [{"id": id_, "path": library.names[id_], "lines": library.line_counts[id_]} for id_ in library.listed]
    _write_lines(folder / "tasks.jsonl", tasks)
    _write_lines(folder / "documents.jsonl", rows)
    environment = benchmark.environment(benchmark.tasks()[0], transformation)
    tools = [{"name": t.name, "description": t.description, "parameters": t.parameters} for t in environment.tools]
    interface: Any = protocol.interface
    written = {"tools": tools, "protocol": {**protocol.layout.fields(), **interface.fields()}}
    (folder / "tools.json").write_text(json.dumps(written, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    examples = shown_examples(in_order(benchmark.description.demonstrations, interface.demonstration_order))
    if examples:
        (folder / "examples.md").write_text(examples + "\n", encoding="utf-8")
    if benchmark.scorer.prompt is not None:
        judge = {**benchmark.scorer.identity, "text": benchmark.scorer.prompt}
        (folder / "judge.json").write_text(json.dumps(judge, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    for done, id_ in enumerate(library.listed):
        progress(f"{done} of {len(rows)} documents")
        path = folder / "documents" / library.names[id_]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(library.text(id_).encode())
    return {"tasks": len(tasks), "documents": len(rows)}


def _write_lines(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
