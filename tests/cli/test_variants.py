"""`--variant`: a construction, a file or an archive's entry, wherever it is taken; what cannot be used is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from chase.benchmarks.syn_ledger.benchmark import SynLedger
from chase.core.keyed import digest
from chase.protocol.archive import Archive
from chase.protocol.firewall import FirewallRecord
from chase.runs.variants import resolve_variant
from chase.testing.ledger import parse_ledger
from tests.cli.commands import Commands, write_h0
from tests.conftest import open_once

FORMS = [
    {"benchmark": "syn-ledger", "operators": [{"name": "reverse", "arguments": {"aspect": "name"}}]},
    {"benchmark": "syn-ledger", "operators": [{"name": "shift", "arguments": {"by": 3}}]},
]
HASHES = [parse_ledger(form).transformation.hash for form in FORMS]


@pytest.fixture
def chase(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Commands:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("chase.cli.bench.open_benchmark", open_once)
    write_h0(tmp_path / "h0")
    return Commands(monkeypatch, capsys)


def write_archive(ledger: SynLedger, *forms: Any, to: str = "archive.json") -> Path:
    """An archive of proposals; that the firewall let them pass is taken for granted here."""
    archive = Archive(benchmark=ledger.name, content_hash=ledger.content_hash)
    for form in forms:
        archive = archive.with_entry(
            parse_ledger(form),
            round=1,
            views="0" * 64,
            firewall=FirewallRecord(verdicts=(), tasks=0),
            discovery={},
            confirmation={},
        )
    path = Path(to)
    path.write_text(archive.to_json())
    return path


def rewritten(path: Path, change: Any) -> Path:
    """The archive as another version of chase would have written it: changed, with digests that fit."""
    document = json.loads(path.read_text())
    change(document)
    del document["digest"]
    path.write_text(json.dumps({**document, "digest": digest(document)}))
    return path


def rollout(variant: object) -> tuple[object, ...]:
    flags = ("--model", "sim:reader", "--harness", "h0", "--split", "conf1", "--rollouts", 1)
    return ("rollout", "--benchmark", "syn-ledger@7", *flags, "--variant", variant)


@pytest.mark.parametrize("entry", ["b2", "2", HASHES[1][:6], HASHES[1]])
def test_an_entry_goes_by_name_number_or_hash(chase: Commands, ledger: SynLedger, entry: str) -> None:
    path = write_archive(ledger, *FORMS)
    assert resolve_variant(ledger, f"{path}#{entry}").hash == HASHES[1]


def test_an_archive_of_one_needs_no_name(chase: Commands, ledger: SynLedger) -> None:
    assert resolve_variant(ledger, str(write_archive(ledger, FORMS[0]))).hash == HASHES[0]


def test_a_file_whose_name_has_a_hash_sign_is_a_file(chase: Commands, ledger: SynLedger) -> None:
    Path("try#2.json").write_text(json.dumps(FORMS[1]))
    assert resolve_variant(ledger, "try#2.json").hash == HASHES[1]


def test_an_entry_and_its_file_are_the_same_variant_and_are_paid_once(chase: Commands, ledger: SynLedger) -> None:
    archived = chase.json(*rollout(f"{write_archive(ledger, *FORMS)}#2"))
    Path("shift.json").write_text(json.dumps(FORMS[1]))
    from_file = chase.json(*rollout("shift.json"))
    assert archived["transformation"] == from_file["transformation"] == HASHES[1]
    assert (archived["executed"], from_file["executed"], from_file["reused"]) == (16, 0, 16)
    assert archived["per_task"] == from_file["per_task"]


def test_bench_show_and_export_take_an_entry_too(chase: Commands, ledger: SynLedger) -> None:
    path = write_archive(ledger, *FORMS)
    task = ledger.tasks("evo")[0]
    shown = chase.json("bench", "show", "syn-ledger@7", "--task", task, "--variant", f"{path}#1")
    view = ledger.view(task, parse_ledger(FORMS[0]).transformation)
    assert [file["path"] for file in shown["files"]] == [file.path for file in view.files]
    ended = chase("bench", "export", "syn-ledger@7", "--variant", f"{path}#9", "--out", "out")
    assert ended.code == 2
    assert not Path("out").exists()


def another_version(document: dict[str, Any]) -> None:
    document["entries"][0]["transformation"]["operators"][0]["version"] = 99


def another_hash(document: dict[str, Any]) -> None:
    document["entries"][0]["hash"] = "0" * 64


def other_content(document: dict[str, Any]) -> None:
    document["content_hash"] = "0" * 64


def other_benchmark(document: dict[str, Any]) -> None:
    document["benchmark"] = "syn-ledger@8"


@pytest.mark.parametrize(
    ("change", "code", "what", "to_do"),
    [
        (another_version, 2, "version 1 here, not 99", "the version of chase that archived it"),
        (another_hash, 6, "canonical form is another one", "the version of chase that archived it"),
        (other_content, 6, "another content of syn-ledger@7", "the version of chase that made it"),
        (other_benchmark, 2, "an archive for syn-ledger@8, not for syn-ledger@7", "chase archive show archive.json"),
    ],
)
def test_an_entry_that_means_something_else_here_is_refused_in_one_sentence(
    chase: Commands, ledger: SynLedger, change: Any, code: int, what: str, to_do: str
) -> None:
    path = rewritten(write_archive(ledger, FORMS[1]), change)
    before = path.read_bytes()
    finished = chase(*rollout(f"{path}#1"))
    assert (finished.code, finished.out, finished.err.count("\n")) == (code, "", 1)
    assert "archive.json" in finished.sentence
    assert what in finished.sentence
    assert to_do in finished.sentence
    assert path.read_bytes() == before
    assert not Path(".chase", "store.sqlite").exists()


def cut(path: Path) -> None:
    path.write_text(path.read_text()[:300])


def tampered(path: Path) -> None:
    path.write_text(path.read_text().replace('"by": 3', '"by": 2'))


def nested(path: Path) -> None:
    path.write_text("[" * 100_000)


@pytest.mark.parametrize(("damage", "what"), [(cut, "damaged"), (tampered, "changed"), (nested, "damaged")])
def test_a_corrupt_archive_ends_with_code_6(chase: Commands, ledger: SynLedger, damage: Any, what: str) -> None:
    path = write_archive(ledger, *FORMS)
    damage(path)
    finished = chase(*rollout(f"{path}#b1"))
    assert (finished.code, finished.out, finished.err.count("\n")) == (6, "", 1)
    assert what in finished.sentence


@pytest.mark.parametrize(
    ("variant", "what", "to_do"),
    [
        ("archive.json", "it holds 2 counterfactuals", "name one. Valid: archive.json#b1, archive.json#b2"),
        ("archive.json#b3", "unknown archive entry 'b3'", "Valid: b1, b2"),
        ("archive.json#", "unknown archive entry ''", "Valid: b1, b2"),
        (f"archive.json#{HASHES[0][:5]}", "unknown archive entry", "Valid: b1, b2"),
        ("empty.json", "holds no counterfactual", "write released"),
        ("none.json#b1", "there is no archive at none.json", "."),
        ("none.json", "variant=none.json cannot be read", "."),
        (".#b1", "cannot be read", "."),
        ("text.json", "variant=text.json: the transformation is not valid JSON", "."),
        ("text.json#1", "text.json is damaged", "Restore it"),
        ("#2", "unknown variant '#2'", "Valid: released"),
    ],
)
def test_a_variant_that_names_nothing_is_refused_in_one_sentence(
    chase: Commands, ledger: SynLedger, variant: str, what: str, to_do: str
) -> None:
    write_archive(ledger, *FORMS)
    write_archive(ledger, to="empty.json")
    Path("text.json").write_text("no JSON")
    finished = chase(*rollout(variant))
    assert finished.code == (6 if "damaged" in what else 2)
    assert (finished.out, finished.err.count("\n")) == ("", 1)
    assert what in finished.sentence
    assert to_do in finished.sentence


def test_an_entry_that_cannot_be_used_hides_no_other_in_show(chase: Commands, ledger: SynLedger) -> None:
    path = rewritten(write_archive(ledger, FORMS[1]), another_version)
    finished = chase("archive", "show", path)
    assert finished.code == 0
    assert "b1  round 1  cannot be used: archive.json#b1: operator 'shift' has version 1 here" in finished.out
