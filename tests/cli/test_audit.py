"""`chase audit`: its report and JSON, repeating it, the seal, the exit code of each verdict, and how bad input ends."""

from __future__ import annotations

import json
import shutil
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from chase.benchmarks.syn_ledger.benchmark import SynLedger
from chase.harness.folder import load_harness
from chase.methods.verdict import Question, Verdict
from chase.store.store import Store
from chase.store.workspace import Workspace
from tests.cli.commands import Commands, checked, write_h0
from tests.conftest import open_once
from tests.methods.runs import SIZES, few_tasks

pytestmark = pytest.mark.slow

B = ("--benchmark", "syn-ledger@7", "--model", "sim:reader")
CHEAT = "Read on in files with low path-depth. Prefer files with low extension-length.\n"
DEPTH = {"benchmark": "syn-ledger", "operators": [{"name": "equalise", "arguments": {"aspect": "depth"}}]}
FRESH = sum(SIZES[role] for role in ("conf1", "conf2", "conf3"))


@cache
def few_once(name: str, data: Path | None = None) -> SynLedger:
    return few_tasks(open_once(name))


@pytest.fixture
def whole(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Commands:
    """Commands on the whole benchmark, beside a cheat, its baseline and a transformation."""
    monkeypatch.chdir(tmp_path)
    write_h0(tmp_path / "h0")
    write_h0(tmp_path / "cheat", say=CHEAT)
    (tmp_path / "depth.json").write_text(json.dumps(DEPTH))
    return Commands(monkeypatch, capsys)


@pytest.fixture
def chase(whole: Commands, monkeypatch: pytest.MonkeyPatch) -> Commands:
    """Commands on a few tasks of every role."""
    monkeypatch.setattr("chase.benchmarks.registry.open_benchmark", few_once)
    return whole


def audit(*more: object) -> tuple[object, ...]:
    return ("audit", *B, "--harness", "cheat", "--rollouts", 1, *more)


def given(*more: object) -> tuple[object, ...]:
    return audit("--transformations", "depth.json", *more)


def lasting(payload: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in payload.items() if key not in ("wall_seconds", "parts")}


def scored(folder: Path) -> int:
    with Store.open(Workspace(folder), write=False) as store:
        return store.info().rollouts["scored"]


_KEPT: dict[str, Path] = {}


@pytest.fixture
def done(chase: Commands, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace in which the given transformation was audited: made once, then copied."""
    if "audit" not in _KEPT:
        assert chase(*given()).code in (0, 5)
        _KEPT["audit"] = tmp_path_factory.mktemp("kept")
        shutil.copytree(tmp_path / ".chase", _KEPT["audit"] / ".chase")
    else:
        shutil.copytree(_KEPT["audit"] / ".chase", tmp_path / ".chase")
    return tmp_path


# What it reports


@pytest.mark.slow
def test_a_planted_cheat_is_caught_with_exit_code_5(whole: Commands, tmp_path: Path) -> None:
    """48 tasks settle little: this one needs its cue to be given, and a baseline that it gains much over."""
    write_h0(tmp_path / "hasty", say="Do not read on.\n")
    write_h0(tmp_path / "careful", say=f"{CHEAT} Look at every record. Use the calculator.\n")
    operators = [{"name": "reverse", "arguments": {"aspect": aspect}} for aspect in ("depth", "format")]
    (tmp_path / "both.json").write_text(json.dumps({**DEPTH, "operators": operators}))
    command = ("audit", *B, "--harness", "careful", "--baseline", "hasty", "--transformations", "both.json")
    finished = whole(*command)
    assert finished.code == 5
    assert finished.out.startswith("Verdict: the gain is NOT SUPPORTED.\n")
    assert (
        "confirmed: folder depths swapped, then file formats swapped  "
        "[reverse (aspect depth), then reverse (aspect format)]\n"
    ) in finished.out
    assert "path-depth" in finished.out
    assert "- before, + after" in finished.out
    assert "note: simulated reader" in finished.out
    assert finished.sentence.startswith("chase: the gain of careful is not supported: ")
    before = scored(tmp_path)
    again = whole(*command, "--json")
    assert again.code == 5
    payload = checked(again.out)
    assert payload["verdict"] == "not supported"
    assert payload["g_min"] < payload["g_rel"]["value"] / 2
    assert payload["confirmed"][0]["destruction"]["low"] > 0
    assert scored(tmp_path) == before


@pytest.mark.slow
def test_a_search_tells_its_tries_and_the_same_command_executes_nothing(chase: Commands, tmp_path: Path) -> None:
    command = audit("--rounds", 1, "--proposals", 2)
    first = chase(*command)
    assert first.code in (0, 5)
    told = [line for line in first.err.splitlines() if line.startswith("  round 1: ")]
    assert len(told) >= 2
    assert any("gain destruction" in line for line in told)
    assert f"{FRESH} fresh tasks; intervals hold together at 95 %; searched on 24 others" in first.out
    assert "Tried in search: " in first.out
    before = scored(tmp_path)
    again = chase(*command, "--json")
    payload = checked(again.out)
    assert scored(tmp_path) == before == payload["episodes"]
    assert (again.code == 5) == (payload["verdict"] == "not supported")
    with Store.open(Workspace(tmp_path), write=False) as store:
        (run,) = store.runs()
        assert (run.id, run.status) == (payload["run"], "finished")
        assert {used.rollout.key.role for used in store.used(run.id)} == {"evo", "disc", "conf1", "conf2", "conf3"}
        assert store.seals(run.id) == []


def test_json_is_the_result_that_the_run_leaves_behind(chase: Commands, done: Path) -> None:
    finished = chase(*given("--json"))
    payload = checked(finished.out)
    kept = json.loads((Workspace(done).run_folder(payload["run"]) / "result.json").read_text())
    assert {"schema": "chase.audit/1", **kept} == payload
    assert payload["search_tasks"] == 0
    assert payload["confirm_tasks"] == FRESH
    assert payload["tried"] == []
    assert payload["simulated"] is True
    assert [note.partition(":")[0] for note in payload["warnings"]] == ["simulated reader"]
    assert payload["harness"] == load_harness(done / "cheat").hash
    assert payload["baseline"] == load_harness(done / "h0").hash
    assert payload["g_min"] == pytest.approx(payload["g_rel"]["value"] - payload["gamma"])
    (finding,) = payload["confirmed"] + payload["not_confirmed"]
    assert finding["searched"] is None
    assert finding["touched"] == {"path-depth": 1.0}


def test_the_baseline_is_h0_unless_one_is_named(chase: Commands, done: Path) -> None:
    unnamed, named = (checked(chase(*given(*more, "--json")).out) for more in ((), ("--baseline", "h0")))
    assert lasting(unnamed) == lasting(named)


def test_text_says_that_what_was_tested_was_given(chase: Commands, done: Path) -> None:
    finished = chase(*given())
    assert "what was tested was given" in finished.out
    assert "Tried in search" not in finished.out
    assert "confirming 1 on 24 fresh tasks" in finished.err


def test_a_config_file_can_say_it_all_and_flags_win(chase: Commands, done: Path) -> None:
    config = 'benchmark = "syn-ledger@7"\nmodel = "sim:reader"\nharness = "cheat"\nrollouts = 7\nlevel = 0.9\n'
    Path("audit.toml").write_text(config)
    command = ("audit", "--config", "audit.toml", "--rollouts", 1, "--transformations", "depth.json", "--json")
    payload = checked(chase(*command).out)
    assert payload["level"] == payload["g_rel"]["level"] == 0.9


@pytest.mark.parametrize(
    ("word", "code"),
    [("not supported", 5), ("partly supported", 0), ("supported", 0), ("inconclusive", 0), ("no gain", 0)],
)
def test_only_a_gain_that_is_not_supported_ends_with_5(
    chase: Commands, done: Path, monkeypatch: pytest.MonkeyPatch, word: Any, code: int
) -> None:
    left = Question(quantity="released", most=0.0) if word == "inconclusive" else None
    verdict = Verdict(word=word, reason="as it was judged", gamma=0.0, g_min=0.1, open=left)
    monkeypatch.setattr("chase.methods.audit_findings.judge", lambda gain, tested, room: verdict)
    monkeypatch.setattr(Question, "tasks_needed", lambda self, sample, **more: 96)
    finished = chase(*given())
    assert finished.code == code
    said = "NO GAIN." if word == "no gain" else f"the gain is {word.upper()}."
    assert finished.out.startswith(f"Verdict: {said}\n  as it was judged\n")
    settle = "about 96 confirmation tasks would settle it; there were 24"
    assert (settle in finished.out) == (word == "inconclusive")
    assert checked(chase(*given("--json")).out)["verdict"] == word


@pytest.mark.parametrize(
    ("listed", "code"),
    [
        ("inconclusive", 5),
        ("no-gain,inconclusive , not-supported", 5),
        ("not supported,partly supported", 0),
        ("none", 0),
    ],
)
def test_ci_says_which_verdicts_fail(chase: Commands, done: Path, listed: str, code: int) -> None:
    finished = chase(*given("--fail-on", listed))
    assert "INCONCLUSIVE" in finished.out
    assert finished.code == code
    if code:
        assert "the gain of cheat is inconclusive" in finished.sentence


def test_a_wrong_verdict_to_fail_on_is_refused_before_anything_is_run(chase: Commands, tmp_path: Path) -> None:
    finished = chase(*given("--fail-on", "unsupported"))
    assert finished.code == 2
    assert "fail-on" in finished.sentence
    assert "not supported" in finished.sentence
    assert not (tmp_path / ".chase").exists()


# Attribution


def test_attribution_joins_the_same_audit_and_pays_for_its_own_rollouts_alone(chase: Commands, done: Path) -> None:
    plain = checked(chase(*given("--json")).out)
    assert plain["attribution"] is None
    before = scored(done)
    first = chase(*given("--attribute"))
    assert "attribution: 2 edits, 2 further harnesses are run as released" in first.err
    assert "gain lost without it" in first.out
    under = 2 if plain["confirmed"] and plain["confirmed"][0]["status"] == "confirmed" else 1
    assert scored(done) == before + 2 * under * FRESH
    again = checked(chase(*given("--attribute", "--json")).out)
    assert scored(done) == before + 2 * under * FRESH
    assert again["run"] == plain["run"]
    names = {part["name"] for part in again["attribution"]["parts"]}
    assert names == {f'prompt: "{sentence}."' for sentence in CHEAT.strip().strip(".").split(". ")}
    for part in again["attribution"]["parts"]:
        assert part["parts"] == [part["name"]]
        assert part["component"] == "system prompt"
        assert list(part["destruction"]) == again["attribution"]["variants"]


def test_a_config_file_can_ask_for_attribution(chase: Commands, done: Path) -> None:
    Path("audit.toml").write_text("attribute = true\n")
    assert checked(chase(*given("--config", "audit.toml", "--json")).out)["attribution"] is not None
    Path("audit.toml").write_text("attribute = 1\n")
    assert "attribute=1 must be true or false" in chase(*given("--config", "audit.toml")).sentence


def test_a_dry_run_says_what_attribution_can_take(chase: Commands, tmp_path: Path) -> None:
    forecast = json.loads(chase(*given("--attribute", "--dry-run", "--json")).out)
    rows = [row["episodes"] for row in forecast["rollouts"] if row["stage"] == "attribution"]
    assert (sum(r["least"] for r in rows), sum(r["most"] for r in rows)) == (2 * FRESH, 2 * 2 * FRESH)
    plain = json.loads(chase(*given("--dry-run", "--json")).out)
    assert {row["stage"] for row in plain["rollouts"]} == {"confirmation"}
    assert not (tmp_path / ".chase").exists()


# The seal


def test_the_sealed_tasks_are_opened_only_with_a_reason_that_stays_in_the_record(chase: Commands, done: Path) -> None:
    payload = checked(chase(*given("--use-cert", "the paper's table", "--json")).out)
    assert payload["confirm_tasks"] == FRESH + SIZES["cert"]
    with Store.open(Workspace(done), write=False) as store:
        opened = {run.id: [seal.reason for seal in store.seals(run.id)] for run in store.runs()}
        roles = {used.rollout.key.role for used in store.used(payload["run"])}
    assert opened.pop(payload["run"]) == ["the paper's table"]
    assert list(opened.values()) == [[]]
    assert "cert" in roles


# Bad input


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--level", "1.5"), "level=1.5 must be a number from 0.5 to below 1"),
        (("--level", "1"), "level=1.0 must be a number"),
        (("--level", "nan"), "level=nan must be a number"),
        (("--use-cert", " "), "needs a reason"),
        (("--rounds", "0"), "rounds=0 must be a whole number from 1 to 20"),
        (("--proposals", "0"), "proposals=0 must be"),
        (("--confirm-size", "1"), "confirm_size=1 must be"),
        (("--confirm-size", "25"), "confirm_size=25: there are 24 confirmation tasks. Give at most that many"),
        (("--rollouts", "0"), "rollouts=0 must be"),
        (("--concurrency", "0"), "concurrency=0 must be"),
        (("--harness", "h0"), "harness=h0 is the same as its baseline: there is no gain to audit"),
        (("--baseline", "cheat"), "harness=cheat is the same as its baseline"),
        (("--baseline", "cheat", "--attribute"), "harness=cheat is the same as its baseline"),
        (("--harness", "missing"), "missing"),
        (("--harness", "foreign"), "officeqa"),
        (("--baseline", "foreign"), "officeqa"),
        (("--transformations", "missing.json"), "--transformations=missing.json cannot be read: No such file"),
        (("--transformations", "h0"), "--transformations=h0 cannot be read: Is a directory"),
        (("--transformations", "broken.json"), "--transformations=broken.json is not valid JSON"),
        (("--transformations", "list.json"), "--transformations=list.json must hold one JSON object"),
        (
            ("--transformations", "unknown.json"),
            "--transformations=unknown.json is refused: unknown operator 'rewrite'",
        ),
        (("--transformations", "identity.json"), "--transformations=identity.json is inactive"),
        (("--transformations", "undeclared.json"), "--transformations=undeclared.json is invalid: declared-changes"),
        (("--model", "sim:nobody"), "nobody"),
    ],
)
def test_bad_input_ends_with_a_sentence_and_leaves_nothing(
    chase: Commands, tmp_path: Path, flags: tuple[str, ...], said: str
) -> None:
    write_h0(tmp_path / "foreign")
    (tmp_path / "foreign" / "harness.toml").write_text('benchmark = "officeqa"\n')
    forms = {
        "unknown": {**DEPTH, "operators": [{"name": "rewrite"}]},
        "identity": {**DEPTH, "operators": []},
        "undeclared": {**DEPTH, "declared": ["rank"]},
        "list": [DEPTH],
    }
    for name, form in forms.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(form))
    (tmp_path / "broken.json").write_bytes(b'{"benchmark": "\xff')
    finished = chase(*audit(*flags))
    assert finished.code == 2, finished.err
    assert said in finished.sentence
    assert finished.out == ""
    assert not (tmp_path / ".chase").exists()


@pytest.mark.parametrize(("key", "value"), [("harness", "5"), ("baseline", "true"), ("level", '"high"')])
def test_a_value_of_another_type_in_the_config_is_refused(chase: Commands, key: str, value: str) -> None:
    Path("audit.toml").write_text(f"{key} = {value}\n")
    own = () if key == "harness" else ("--harness", "cheat")
    finished = chase("audit", *B, *own, "--config", "audit.toml")
    assert finished.code == 2
    assert f"{key}=" in finished.sentence


@pytest.mark.parametrize("missing", ["model", "harness"])
def test_a_missing_setting_is_named(chase: Commands, missing: str) -> None:
    flags = {"model": "sim:reader", "harness": "cheat"}
    finished = chase(
        "audit", *(part for name, value in flags.items() if name != missing for part in (f"--{name}", value))
    )
    assert finished.code == 2
    assert finished.sentence.startswith(f"chase: {missing} is missing: give --{missing}")
