"""`chase bench`: output, JSON schemas, exit codes, messages."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from chase.benchmarks.syn_ledger.benchmark import SynLedger
from chase.cli import bench
from chase.cli.main import main
from chase.core.values import CheckResult
from chase.store.store import Store
from chase.store.workspace import Workspace
from tests.benchmarks.syn_ledger import faults
from tests.conftest import open_once

SCHEMAS = Path(__file__).parents[2] / "docs" / "schemas"
NAME = "syn-ledger@7"


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str

    def payload(self, schema: str) -> dict[str, Any]:
        """The JSON on stdout, checked against the committed schema."""
        found: dict[str, Any] = json.loads(self.out)
        described = json.loads((SCHEMAS / f"chase.bench.{schema}.json").read_text())
        jsonschema.Draft202012Validator.check_schema(described)
        jsonschema.validate(found, described, cls=jsonschema.Draft202012Validator)
        assert found["schema"] == f"chase.bench.{schema}/1"
        return found


Run = Callable[..., Ended]


@pytest.fixture
def chase(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """Runs the command line's entry point in this process, on benchmarks that are built already."""

    def run(*arguments: str | Path) -> Ended:
        capfd.readouterr()
        monkeypatch.setattr(sys, "argv", ["chase", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capfd.readouterr()
        assert isinstance(ended.value.code, int)
        return Ended(ended.value.code, out, err)

    monkeypatch.setattr(bench, "open_benchmark", open_once)
    return run


def refused(ended: Ended, *says: str, code: int = 2) -> None:
    """It ended with this code and one sentence on stderr that says these things."""
    assert ended.code == code
    assert ended.out == ""
    line, rest = ended.err.split("\n", 1)
    assert rest == ""
    assert line.startswith("chase: ")
    assert line.endswith(".")
    assert "Traceback" not in line
    for what in says:
        assert what in line


# Exit codes of the real process


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["bench", "list", "--json"], 0, ""),
        (["bench", "stats", "syn-legder"], 2, "unknown benchmark 'syn-legder'. Did you mean 'syn-ledger'?"),
        (["bench", "validate", "syn-ledger@seven"], 2, "Write syn-ledger, syn-ledger@SEED"),
        (["bench", "stats"], 2, "BENCHMARK"),
    ],
)
def test_the_process_ends_with_the_code(arguments: list[str], code: int, says: str, tmp_path: Path) -> None:
    command = [sys.executable, "-c", "from chase.cli.main import main; main()", *arguments]
    ended = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False, timeout=300)
    assert ended.returncode == code, ended.stderr
    assert says in ended.stderr
    assert "Traceback" not in ended.stderr
    assert not list(tmp_path.iterdir())


# list


def test_list_names_the_benchmarks(chase: Run) -> None:
    text, payload = chase("bench", "list"), chase("bench", "list", "--json").payload("list")
    assert text.code == 0
    for entry in payload["benchmarks"]:
        assert f"{entry['name']}\n    {entry['summary']}\n    written as {entry['pattern']}\n" in text.out
    names = [entry["name"] for entry in payload["benchmarks"]]
    assert names == ["syn-ledger", "syn-ledger-small", "officeqa", "documents"]


# show


def test_show_lists_the_tasks(chase: Run, ledger: SynLedger) -> None:
    payload = chase("bench", "show", NAME, "--json").payload("tasks")
    assert [task["id"] for task in payload["tasks"]] == list(ledger.tasks())
    assert all(task["split"] == ledger.role_of(task["id"]) for task in payload["tasks"])
    lines = chase("bench", "show", NAME).out.splitlines()
    assert len(lines) == 320
    first = payload["tasks"][0]
    assert lines[0].split() == [first["id"], first["split"], first["family"]]


@pytest.mark.parametrize("variant", ["released", "neutral", "placebo-trailing-whitespace"])
def test_show_shows_what_an_agent_sees_and_nothing_more(chase: Run, ledger: SynLedger, variant: str) -> None:
    task = ledger.tasks()[5]
    arguments = ["bench", "show", NAME, "--task", task, "--variant", variant]
    payload = chase(*arguments, "--json").payload("show")
    view = ledger.view(task, ledger.variant(variant))
    assert (payload["task"], payload["variant"], payload["question"]) == (task, variant, view.question)
    assert [(f["id"], f["path"], f["text"]) for f in payload["files"]] == [(f.id, f.path, f.text) for f in view.files]
    text = chase(*arguments).out
    assert view.question in text
    for file in view.files:
        assert f"  {file.path}  [{file.id}]\n" in text
        assert f"--- {file.path}\n{file.text}" in text
    for said in (text, json.dumps(payload)):
        assert not any(role in said.split() for role in ledger.roles)
        assert "evidence" not in said


# validate


def test_validate_says_each_check_with_its_count(
    chase: Run, ledger: SynLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a benchmark whose checks were answered before; the slow tests run them."""
    ended = [CheckResult(name=name, count=3 + place) for place, name in enumerate(("sizes", "scorer"))]
    monkeypatch.setattr(SynLedger, "validate", lambda self, progress: (progress("sizes"), ended)[1])
    text, payload = chase("bench", "validate", NAME), chase("bench", "validate", NAME, "--json").payload("validate")
    assert text.code == 0
    assert payload["passed"] is True
    assert payload["content_hash"] == ledger.content_hash
    assert payload["checks"] == [
        {"name": "sizes", "passed": True, "count": 3, "failures": []},
        {"name": "scorer", "passed": True, "count": 4, "failures": []},
    ]
    assert "ok   sizes                         3 checked\n" in text.out
    assert text.out.splitlines()[-1].startswith(f"{NAME} is sound: 2 checks")
    assert text.err.startswith(f"validating {NAME}: sizes")
    assert "validating" not in text.out


class _Faulty(SynLedger):
    """Validated by the checks of contents alone, which take no time."""

    def validate(self, progress: Callable[[str], None]) -> Any:
        progress("sizes")
        return [faults.check(self, name) for name in ("sizes", "answer-from-records", "unique-solution")]


@pytest.fixture
def faulty(ledger: SynLedger) -> SynLedger:
    """A ledger whose first task has two solutions."""
    return faults.rebuilt(ledger, faults.in_task(ledger.tasks("evo")[0], faults.second_solution), _Faulty)


@pytest.mark.parametrize("as_json", [False, True])
def test_validate_ends_with_six_and_the_failing_task(
    chase: Run, faulty: SynLedger, monkeypatch: pytest.MonkeyPatch, as_json: bool
) -> None:
    task = faulty.tasks("evo")[0]
    monkeypatch.setattr(bench, "open_benchmark", lambda *_: faulty)
    ended = chase("bench", "validate", NAME, *(["--json"] if as_json else []))
    assert ended.code == 6
    last = ended.err.strip().splitlines()[-1]
    assert last.startswith(f"chase: {NAME}: 2 of 3 checks failed; answer-from-records: {task}: records give None")
    assert last.endswith(".")
    if as_json:
        payload = ended.payload("validate")
        assert payload["passed"] is False
        assert [check["passed"] for check in payload["checks"]] == [True, False, False]
        assert payload["checks"][1]["failures"] == [f"{task}: records give None"]
    else:
        assert "ok   sizes" in ended.out
        assert f"FAIL unique-solution             768 checked\n     {task}: 2 records satisfy" in ended.out
        assert "is sound" not in ended.out


# stats


def test_stats_count_every_split(chase: Run) -> None:
    payload = chase("bench", "stats", NAME, "--json").payload("stats")
    sizes = {"evo": 32, "disc": 32, "conf1": 16, "conf2": 16, "conf3": 16, "cert": 208}
    assert {split: row["size"] for split, row in payload["splits"].items()} == sizes
    for split, row in payload["splits"].items():
        documents = 2 * row["size"]
        assert sum(row["families"].values()) == row["size"]
        assert list(row["features"]) == ["filename", "depth", "rank", "position", "serialization"]
        for counts in row["features"].values():
            assert counts["released"] == {"favorable": documents * 7 // 8, "total": documents}
            assert counts["neutral"] == {"favorable": documents // 2, "total": documents}
        for pair in payload["pairs"][split].values():
            assert sum(pair["released"].values()) == sum(pair["neutral"].values()) == documents
    for counts in payload["pairs"]["evo"].values():
        assert counts["released"] == {"both": 49, "first_only": 7, "second_only": 7, "neither": 1}
        assert counts["neutral"] == {"both": 16, "first_only": 16, "second_only": 16, "neither": 16}


def test_stats_are_a_table_in_text(chase: Run) -> None:
    ended = chase("bench", "stats", NAME)
    assert ended.code == 0
    assert "364 / 208 of 416" in ended.out
    assert all(word in ended.out for word in ("split", "families", "serialization", "conf3"))
    assert "\x1b" not in ended.out


def test_stats_know_other_planted_features(chase: Run, other_ledger: SynLedger) -> None:
    payload = chase("bench", "stats", other_ledger.name, "--json").payload("stats")
    assert list(payload["splits"]["evo"]["features"]) == list(other_ledger.planted)


# export


def test_export_writes_the_files_and_says_what(chase: Run, ledger: SynLedger, tmp_path: Path) -> None:
    out = tmp_path / "new" / "folder"
    few = faults.copied(ledger)
    kept = [*ledger.tasks("evo")[:2], *ledger.tasks("conf1")[:1], *ledger.tasks("cert")[:2]]
    few._role_of = {task: ledger.role_of(task) for task in kept}
    few.generated = {task: ledger.generated[task] for task in few._role_of}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bench, "open_benchmark", lambda *_: few)
        ended = chase("bench", "export", NAME, "--variant", "neutral", "--out", out, "--json")
        assert ended.payload("export") == {
            "schema": "chase.bench.export/1",
            "benchmark": NAME,
            "variant": "neutral",
            "out": str(out),
            "tasks": 3,
            "records": 216,
            "documents": 36,
            "sealed": 2,
        }
        assert ended.err.startswith(f"exporting {NAME}: ")
        assert {path.name for path in out.iterdir()} == {"tasks.jsonl", "records.jsonl", "manifest.jsonl", "documents"}
        assert sealed_words(ledger, kept[3:], out) == []
        text = chase("bench", "export", NAME, "--out", tmp_path / "other")
        refused(chase("bench", "export", NAME, "--out", tmp_path / "no", "--unseal", " "), "needs a reason")
        opened = ("--unseal", "my own check", "--workspace", tmp_path / "w")
        whole = chase("bench", "export", NAME, "--out", tmp_path / "whole", *opened, "--json").payload("export")
    assert text.out == (
        f"{NAME} under released: 3 tasks, 36 documents and 216 records in {tmp_path / 'other'}\n"
        "2 sealed tasks were left out; --unseal REASON writes them too.\n"
    )
    assert (whole["tasks"], whole["sealed"]) == (5, 0)
    assert sealed_words(ledger, kept[3:], tmp_path / "whole") != []
    with Store.open(Workspace(tmp_path / "w"), write=False) as store:
        (seal,) = store.seals(f"export of {NAME}")
    assert seal.reason == "my own check"


def sealed_words(ledger: SynLedger, tasks: list[str], folder: Path) -> list[str]:
    """Ids of these tasks and of their documents that stand in any file, or in its name."""
    words = [word for task in tasks for word in (task, *(document.id for document in ledger.task(task).documents))]
    paths = [path for path in folder.rglob("*") if path.is_file()]
    text = "".join(f"{path}\n{path.read_text(encoding='utf-8')}" for path in paths)
    return [word for word in words if word in text]


def test_export_refuses_a_folder_that_holds_something(chase: Run, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    refused(chase("bench", "export", NAME, "--out", tmp_path), f"--out={tmp_path}", "new or an empty folder")
    refused(chase("bench", "export", NAME, "--out", tmp_path / "mine.txt"), "already holds something")
    refused(chase("bench", "export", NAME, "--out", tmp_path / "mine.txt" / "below"), "cannot be made")
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
    assert (tmp_path / "mine.txt").read_text() == "mine"


def test_export_of_an_unknown_variant_writes_nothing(chase: Run, tmp_path: Path) -> None:
    ended = chase("bench", "export", NAME, "--variant", "neutrall", "--out", tmp_path / "out")
    refused(ended, "unknown variant 'neutrall'", "Did you mean 'neutral'?", "placebo-section-labels")
    assert not (tmp_path / "out").exists()


# Bad input


@pytest.mark.parametrize("command", [["show"], ["validate"], ["stats"], ["export", "--out", "never-written"]])
@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("officeqq", ["unknown benchmark 'officeqq'", "Valid: syn-ledger"]),
        ("", ["unknown benchmark ''", "Valid: syn-ledger"]),
        ("syn-ledger@seven", ["benchmark='syn-ledger@seven'", "syn-ledger@SEED"]),
        ("syn-ledger@-1", ["syn-ledger@SEED"]),
        ("syn-ledger@7x15", ["15 blocks", "multiple of 10 from 10 to 200"]),
        ("syn-ledger@7x400", ["multiple of 10 from 10 to 200"]),
        ("syn-ledger@99999999999999", ["at most 12 digits"]),
        ("syn-ledger@7:depth+rank", ["exactly 5 different"]),
        ("syn-ledger@7:depth+rank+title+casing+size", ["unknown feature 'size'", "filename", "preamble"]),
    ],
)
def test_an_unknown_benchmark_or_seed_gets_one_sentence(
    chase: Run, command: list[str], name: str, says: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    refused(chase("bench", command[0], name, *command[1:]), *says)
    assert not list(tmp_path.iterdir())


def test_an_unknown_task_gets_one_sentence(chase: Run, ledger: SynLedger) -> None:
    ended = chase("bench", "show", NAME, "--task", "zzzzzzzz")
    refused(ended, "unknown task 'zzzzzzzz'", f"chase bench show {NAME}", ledger.tasks()[0])


@pytest.mark.parametrize("more", [[], ["--task", "zzzzzzzz"], ["--json"]])
def test_an_unknown_variant_gets_one_sentence(chase: Run, more: list[str]) -> None:
    ended = chase("bench", "show", NAME, "--variant", "neutralise-colour", *more)
    refused(ended, "unknown variant 'neutralise-colour'", "released, neutral, neutralise-filename")


@pytest.mark.parametrize(
    "arguments",
    [
        ["bench", "unknown"],
        ["bench", "export", NAME],
        ["bench", "stats", NAME, "--jsn"],
        ["bench", "show"],
        ["unknown"],
    ],
)
def test_wrong_usage_ends_with_two(chase: Run, arguments: list[str]) -> None:
    ended = chase(*arguments)
    assert ended.code == 2
    assert "--help" in ended.err
    assert ended.out == ""


def test_an_internal_error_ends_with_one_and_a_hint(chase: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> SynLedger:
        raise RuntimeError("the sky fell")

    monkeypatch.setattr(bench, "open_benchmark", broken)
    refused(chase("bench", "stats", NAME), "the sky fell", "--debug", code=1)
    ended = chase("--debug", "bench", "stats", NAME)
    assert ended.code == 1
    assert "Traceback" in ended.err


def test_an_interruption_ends_with_130(chase: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> SynLedger:
        raise KeyboardInterrupt

    monkeypatch.setattr(bench, "open_benchmark", interrupted)
    ended = chase("bench", "stats", NAME)
    assert ended.code == 130
    assert "interrupted" in ended.err


def test_version_and_help(chase: Run) -> None:
    assert chase("--version").out.startswith("chase 0.")
    for arguments in (["--help"], ["bench", "--help"], ["bench", "validate", "-h"]):
        ended = chase(*arguments)
        assert ended.code == 0
        assert "Usage" in ended.out


def test_every_schema_of_bench_names_itself() -> None:
    found = {
        path.name.removeprefix("chase.bench.").removesuffix(".json") for path in SCHEMAS.glob("chase.bench.*.json")
    }
    assert found == {"list", "show", "tasks", "validate", "stats", "export", "init", "check", "import"}
    for name in found:
        schema = json.loads((SCHEMAS / f"chase.bench.{name}.json").read_text())
        assert schema["properties"]["schema"] == {"const": f"chase.bench.{name}/1"}
