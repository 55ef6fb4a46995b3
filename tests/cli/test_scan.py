"""`chase scan`: what it prints and writes, what its files are good for, and what it says of wrong input."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import chase as library
from chase.core.errors import UserError
from chase.store.store import Store
from chase.store.workspace import Workspace
from tests.cli.commands import Commands, checked, kit_once
from tests.conftest import open_once

PAGE = (Path(__file__).parents[2] / "docs" / "scan.md").read_text(encoding="utf-8")


@pytest.fixture
def chase(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Commands:
    monkeypatch.chdir(tmp_path)
    return Commands(monkeypatch, capsys)


FAST = ("--no-removal",)


def test_the_planted_features_are_printed_and_no_file_is_written_without_removals(
    chase: Commands, tmp_path: Path
) -> None:
    finished = chase("scan", "syn-ledger@7", *FAST)
    assert finished.code == 0
    assert finished.out.startswith("syn-ledger@7 under released: 112 of 112 tasks of evo, disc, conf1, conf2, conf3;")
    assert "the chance of any false finding is at most 1 %" in finished.out
    for said in (
        "window: evidence stands early",
        "path-depth: evidence documents have a lower value of: folders above",
    ):
        assert said in finished.out
    assert list(tmp_path.iterdir()) == []


def test_the_neutral_variant_gives_nothing_away(chase: Commands, tmp_path: Path) -> None:
    payload = chase.json("scan", "syn-ledger@7", "--variant", "neutral", "--strict")
    assert payload["findings"] == []
    assert payload["together"] is None
    assert "cert" not in payload["roles"]
    assert list(tmp_path.iterdir()) == []


def test_strict_ends_with_six_where_anything_is_found(chase: Commands) -> None:
    finished = chase("scan", "syn-ledger@7", *FAST, "--strict", "--json")
    assert finished.code == 6
    assert len(checked(finished.out)["findings"]) == 5
    assert "5 give-aways found" in finished.sentence


@pytest.mark.slow
def test_what_is_written_is_taken_by_export_and_by_an_audit_and_leaves_nothing_to_find(
    chase: Commands, tmp_path: Path
) -> None:
    printed = chase("scan", "syn-ledger@7").out
    (shown,) = re.findall(r"```\n\$ chase scan syn-ledger@7\n(.*?)```", PAGE, re.DOTALL)
    assert [line for line in shown.splitlines() if line not in (*printed.splitlines(), "…")] == []
    (tmp_path / "scan-syn-ledger@7").rename(tmp_path / "found")
    payload = checked((tmp_path / "found" / "scan.json").read_text())
    names = {finding["name"] for finding in payload["findings"]}
    assert all(finding["removal"]["file"] == f"{finding['name']}.json" for finding in payload["findings"])
    alone = {part["removal"]["file"] for finding in payload["findings"] for part in finding["apart"]}
    assert alone == {"listing-position-alone.json"}
    names |= {name.removesuffix(".json") for name in alone}
    assert {path.stem for path in (tmp_path / "found").iterdir()} == names | {"all", "scan"}
    after = chase.json("scan", "syn-ledger@7", "--variant", "found/all.json")
    assert after["findings"] == []
    for name in (*names, "all"):
        assert chase("firewall", "check", f"found/{name}.json", "--benchmark", "syn-ledger@7").code == 0
    exported = chase.json("bench", "export", "syn-ledger@7", "--variant", "found/all.json", "--out", "exported")
    assert (exported["tasks"], exported["sealed"]) == (112, 208)
    dry = ("--harness", "h", "--model", "sim:reader", "--transformations", "found/all.json", "--dry-run")
    assert chase("harness", "init", "h", "--benchmark", "syn-ledger@7").code == 0
    with (tmp_path / "h" / "prompt.md").open("a") as prompt:
        prompt.write("Read every file.\n")
    assert chase("audit", "--benchmark", "syn-ledger@7", *dry).code == 0


def test_an_observable_of_ones_own_is_scanned_too(chase: Commands, tmp_path: Path) -> None:
    (tmp_path / "own_words.py").write_text('def bars(shown):\n    """bars."""\n    return shown.text.count("|")\n')
    payload = chase.json("scan", "syn-ledger@7", "--observable", "own_words:bars", *FAST)
    assert payload["observables"]["bars"] == "bars"
    (found,) = (finding for finding in payload["findings"] if "bars" in finding["observables"])
    assert "bar-count" in found["observables"]


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("def f(shown):\n    return 'x'", "observable=f returned 'x': it must return a number or None"),
        ("def f(shown):\n    return float('nan')", "observable=f returned nan"),
        ("def f(shown):\n    return 1 / 0", "observable=f failed: ZeroDivisionError"),
        ("f = 3", "cannot be called"),
        ("g = 3", "cannot be imported: AttributeError"),
    ],
)
def test_a_faulty_observable_is_the_users_and_named(
    chase: Commands, tmp_path: Path, source: str, said: str, request: pytest.FixtureRequest
) -> None:
    module = f"faulty_{abs(hash(request.node.name))}"
    (tmp_path / f"{module}.py").write_text(source + "\n")
    finished = chase("scan", "syn-ledger@7", "--observable", f"{module}:f", *FAST)
    assert finished.code == 2
    assert said in finished.sentence


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("syn-ledgr",), "syn-ledger"),
        (("syn-ledger@7", "--observable", "nowhere"), "MODULE:FUNCTION"),
        (("syn-ledger@7", "--level", "2"), "level=2.0 must be a number"),
        (("syn-ledger@7", "--variant", "neutrl"), "neutral"),
        (("syn-ledger@7", "--use-cert", " "), "needs a reason"),
    ],
)
def test_wrong_input_is_answered_with_what_to_do(chase: Commands, arguments: tuple[str, ...], said: str) -> None:
    finished = chase("scan", *arguments, *FAST)
    assert finished.code == 2
    assert said in finished.sentence


def test_sealed_tasks_are_scanned_for_a_reason_that_stays_in_the_record(chase: Commands, tmp_path: Path) -> None:
    payload = chase.json("scan", "syn-ledger@7", "--use-cert", "before release", "--workspace", tmp_path, *FAST)
    assert "cert" in payload["roles"]
    assert payload["tasks"] == 320
    with Store.open(Workspace(tmp_path), write=False) as store:
        (seal,) = store.seals("scan of syn-ledger@7")
    assert seal.reason == "before release"


def test_a_folder_with_something_else_in_it_is_not_touched(chase: Commands, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.json").write_text("{}")
    finished = chase("scan", "syn-ledger@7", "--out", "mine", *FAST)
    assert finished.code == 2
    assert "already holds something" in finished.sentence
    assert (tmp_path / "mine" / "notes.json").read_text() == "{}"


def test_from_python_the_result_has_transformations_and_writes_when_asked(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("chase.runs.opening.ProtocolKit", kit_once)
    found = library.scan(
        benchmark=open_once("syn-ledger@7").fewer({"conf1": 2, "conf2": 2, "conf3": 2}), no_removal=True
    )
    assert len(found.findings) == 5
    assert repr(found).startswith("<ScanResult syn-ledger@7: window")
    assert found.write(tmp_path / "out") == []
    assert found.write(tmp_path / "out") == []  # an earlier scan's folder is replaced
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["scan.json"]
    with pytest.raises(UserError, match="variant"):
        library.scan(benchmark="syn-ledger@7", variante="neutral")  # type: ignore[call-arg]
