"""Anyone can check the benchmark from its exported files alone; what is exported is what is rendered."""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from chase.benchmarks.syn_ledger.benchmark import SynLedger
from chase.cli import bench
from chase.cli.main import app
from tests.benchmarks.syn_ledger import independent_check
from tests.benchmarks.syn_ledger.independent_check import Export

pytestmark = pytest.mark.slow

Row = dict[str, Any]
Change = Callable[[list[Row]], None]
Check = Callable[[Export], list[str]]


@pytest.fixture(scope="module")
def exports(ledger: SynLedger, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """What `chase bench export` writes for two variants."""
    folder = tmp_path_factory.mktemp("export")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bench, "open_benchmark", lambda *_: ledger)  # built already
        for variant in ("released", "neutral"):
            arguments = ["bench", "export", "syn-ledger@7", "--variant", variant, "--out", str(folder / variant)]
            arguments += ["--unseal", "checked as a whole", "--workspace", str(folder)]
            assert CliRunner().invoke(app, arguments).exit_code == 0
    return {variant: folder / variant for variant in ("released", "neutral")}


def test_the_checker_knows_nothing_of_the_project() -> None:
    tree = ast.parse(Path(independent_check.__file__).read_text())
    imported = {
        (node.module or "") if isinstance(node, ast.ImportFrom) else name.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in node.names
    }
    assert {name.split(".")[0] for name in imported} <= {*sys.stdlib_module_names, "__future__"}


def test_the_exported_files_alone_show_a_sound_benchmark(exports: dict[str, Path]) -> None:
    assert independent_check.check(exports["released"], exports["neutral"]) == []


def test_rows_have_the_promised_fields(exports: dict[str, Path]) -> None:
    rows = {
        name: [json.loads(line) for line in (exports["released"] / f"{name}.jsonl").read_text().splitlines()]
        for name in ("tasks", "records", "manifest")
    }
    assert {name: len(lines) for name, lines in rows.items()} == {"tasks": 320, "records": 23040, "manifest": 3840}
    assert list(rows["tasks"][0]) == ["id", "block", "family", "split", "question", "answer", "evidence"]
    assert list(rows["records"][0]) == ["task", "document", "index", *independent_check.COLUMNS]
    assert list(rows["manifest"][0]) == ["task", "document", "path", *independent_check.FEATURES]
    assert sum(path.is_file() for path in (exports["released"] / "documents").rglob("*")) == 3840


def test_documents_are_exactly_as_rendered(ledger: SynLedger, exports: dict[str, Path]) -> None:
    for variant, folder in exports.items():
        for task in ledger.tasks()[::16]:
            for file in ledger.view(task, ledger.variant(variant)).files:
                assert (folder / "documents" / task / file.path).read_bytes() == file.text.encode()


def _wrong_answer(rows: list[Row]) -> None:
    rows[0]["answer"] += 1


def _wrong_evidence(rows: list[Row]) -> None:
    rows[0]["evidence"] = rows[0]["evidence"][:1] + rows[1]["evidence"][:1]


def _wrong_split(rows: list[Row]) -> None:
    next(row for row in rows if row["split"] == "cert")["split"] = "evo"


def _wrong_level(rows: list[Row]) -> None:
    rows[5]["depth"] = {"favorable": "unfavorable", "unfavorable": "favorable"}[rows[5]["depth"]]


def _wrong_amount(rows: list[Row]) -> None:
    rows[7]["amount"] += 1000


@pytest.mark.parametrize(
    ("name", "change", "check", "tasks"),
    [
        ("tasks", _wrong_answer, independent_check.check_answers, 8),
        ("tasks", _wrong_evidence, independent_check.check_answers, 8),
        ("tasks", _wrong_split, independent_check.check_sets, 320),
        ("manifest", _wrong_level, independent_check.check_levels_are_shown, 8),
        ("records", _wrong_amount, independent_check.check_answers, 8),
    ],
)
def test_the_checker_sees_a_changed_export(
    exports: dict[str, Path], tmp_path: Path, name: str, change: Change, check: Check, tasks: int
) -> None:
    """The same tasks, as they are and with something changed."""
    (tmp_path / "documents").symlink_to(exports["released"] / "documents")
    rows = {}
    for table, each in (("tasks", 1), ("records", 72), ("manifest", 12)):
        lines = (exports["released"] / f"{table}.jsonl").read_text().splitlines()[: tasks * each]
        rows[table] = [json.loads(line) for line in lines]
        (tmp_path / f"{table}.jsonl").write_text("\n".join(lines) + "\n")
    assert check(Export(tmp_path)) == []
    change(rows[name])
    (tmp_path / f"{name}.jsonl").write_text("\n".join(json.dumps(row) for row in rows[name]) + "\n")
    assert check(Export(tmp_path))
