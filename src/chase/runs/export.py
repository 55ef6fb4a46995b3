"""A benchmark under a variant as plain files, for somebody else's runner: what any benchmark can be written as."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path, PurePosixPath
from typing import Any

from chase.core.errors import UserError
from chase.core.interfaces import Benchmark, Exportable, Progress, Transformation
from chase.core.values import FileView, Json
from chase.protocol.scanning.sights import Subjects


def export_benchmark(
    benchmark: Benchmark[Any],
    transformation: Transformation[Any],
    tasks: Sequence[str],
    folder: Path,
    progress: Progress,
) -> Mapping[str, int]:
    """Write these tasks, their documents and tools into an empty folder, in the benchmark's own way if it has one."""
    if isinstance(benchmark, Exportable):
        return benchmark.export(transformation, tasks, folder, progress)
    subjects = Subjects(benchmark=benchmark, tasks=tuple(tasks))
    answers = {facts.id: facts.answer for facts in benchmark.gate.tasks}
    corpora: dict[tuple[tuple[str, str], ...], str] = {}
    rows, documents, tools = [], 0, {}
    for done, task in enumerate(tasks):
        progress(f"{done} of {len(tasks)} tasks")
        view = benchmark.view(task, transformation)
        held = tuple((file.id, file.path) for file in view.files)
        if held not in corpora:
            corpora[held] = f"documents/{len(corpora) + 1}"
            documents += _write_documents(view.files, folder / corpora[held])
        rows.append(
            {
                "id": task,
                "split": benchmark.role_of(task),
                "question": view.question,
                "answer": answers.get(task),
                "evidence": sorted(subjects.evidence[task]),
                "documents": corpora[held],
            }
        )
        tools = {tool.name: asdict(tool) for tool in benchmark.environment(task, transformation).tools}
    _write_lines(folder / "tasks.jsonl", rows)
    _write_lines(folder / "manifest.jsonl", [_held(place, held) for held, place in corpora.items()])
    (folder / "tools.json").write_text(json.dumps(list(tools.values()), indent=2) + "\n", encoding="utf-8")
    return {"tasks": len(rows), "documents": documents}


def _held(place: str, held: tuple[tuple[str, str], ...]) -> dict[str, Json]:
    return {"documents": place, "files": [{"document": id_, "path": path} for id_, path in held]}


def _write_documents(files: tuple[FileView, ...], place: Path) -> int:
    for file in files:
        parts = PurePosixPath(file.path).parts
        if not parts or parts[0] == "/" or ".." in parts:
            raise UserError(f"document '{file.path}' cannot be written: its name leads out of the folder.")
        path = place.joinpath(*parts)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(file.text.encode())
    return len(files)


def _write_lines(path: Path, rows: list[dict[str, Json]]) -> None:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
