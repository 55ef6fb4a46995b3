"""`chase audit`: its report and JSON, repeating it, edits, the seal, the exit code of each verdict, and how bad input
ends. What stands on the verdict's line is in `test_verdicts.py`.
"""

from __future__ import annotations

import json
import shutil
from functools import cache
from pathlib import Path
from typing import Any, get_args

import pytest

from chase.benchmarks.syn_ledger.benchmark import SynLedger
from chase.harness.folder import load_harness
from chase.methods.verdict import FAILING, Verdict, Word
from chase.runs.folder import RunFolder
from chase.store.store import Store
from chase.store.workspace import Workspace
from tests.cli.commands import Commands, checked, write_h0
from tests.conftest import open_once
from tests.methods.runs import SIZES, few_tasks

pytestmark = pytest.mark.slow

B = ("--benchmark", "syn-ledger@7", "--model", "sim:reader")
CHEAT = "Read on in files with low path-depth. Prefer files with low extension-length.\n"
AGAINST, WITH = "Prefer files with high path-depth.\n", "Prefer files with low path-depth.\n"
"""What is planted, avoided and followed: among three files that may be opened that is half of all points."""
DEPTH = {"benchmark": "syn-ledger", "operators": [{"name": "equalise", "arguments": {"aspect": "depth"}}]}
SWAPPED = {"benchmark": "syn-ledger", "operators": [{"name": "reverse", "arguments": {"aspect": "depth"}}]}
FRESH = sum(SIZES[role] for role in ("conf1", "conf2", "conf3"))


@cache
def few_once(name: str, data: Path | None = None) -> SynLedger:
    return few_tasks(open_once(name))


@pytest.fixture
def whole(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Commands:
    """Commands on the whole benchmark, beside harnesses and transformations."""
    monkeypatch.chdir(tmp_path)
    write_h0(tmp_path / "h0")
    write_h0(tmp_path / "cheat", say=CHEAT)
    opens_three(tmp_path / "deep", AGAINST)
    opens_three(tmp_path / "shallow", WITH)
    (tmp_path / "depth.json").write_text(json.dumps(DEPTH))
    (tmp_path / "swapped.json").write_text(json.dumps(SWAPPED))
    return Commands(monkeypatch, capsys)


def opens_three(folder: Path, say: str) -> None:
    """A harness whose choice of files matters: it may open three of twelve."""
    policy = write_h0(folder, say=say) / "harness.toml"
    policy.write_text(policy.read_text().replace("opened_files = 6", "opened_files = 3"))


@pytest.fixture
def chase(whole: Commands, monkeypatch: pytest.MonkeyPatch) -> Commands:
    """Commands on a few tasks of every role."""
    monkeypatch.setattr("chase.benchmarks.registry.open_benchmark", few_once)
    return whole


def audit(*more: object) -> tuple[object, ...]:
    return ("audit", *B, "--harness", "cheat", "--rollouts", 1, *more)


def given(*more: object) -> tuple[object, ...]:
    """One transformation and nothing else, whatever the released scores say."""
    return audit("--transformations", "depth.json", "--no-battery", "--anyway", *more)


def planted(*more: object) -> tuple[object, ...]:
    """The audit of a pure cheat."""
    return ("audit", *B, "--harness", "shallow", "--baseline", "deep", "--rollouts", 1, *more)


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
def test_a_planted_cheat_is_caught_by_the_battery_with_exit_code_5(whole: Commands, tmp_path: Path) -> None:
    """On 48 tasks: half as many do not settle it."""
    command = planted("--battery-only")
    finished = whole(*command)
    assert finished.code == 5
    assert finished.out.startswith("Verdict: the gain is NOT SUPPORTED.\n")
    assert "tested against changes of top folders, folder depths, " in finished.out
    assert ", all at once; not tested: restyle\n" in finished.out
    assert "confirmed: everything neutral at once (low)\n" in finished.out
    assert finished.out.count("- before, + after") == 1
    assert "note: simulated reader" in finished.out
    assert "To take it out: chase repair --audit audit-" in finished.out
    assert finished.sentence.startswith("chase: the gain of shallow is not supported: ")
    assert finished.err.index("48 confirmation tasks can show a gain of ") < finished.err.index("battery: 2 probes")
    before = scored(tmp_path)
    again = whole(*command, "--json")
    assert again.code == 5
    payload = checked(again.out)
    assert payload["verdict"] == "not supported"
    assert payload["against"] == ["neutral-low", "neutral-high"]
    assert payload["g_min"] < payload["g_rel"]["value"] / 2
    assert payload["confirmed"][0]["destruction"]["low"] > 0
    (edit,) = payload["attribution"]["parts"]
    assert edit["label"] == "shortcut"
    assert "folder depths" in edit["rests_on"]
    assert scored(tmp_path) == before


def test_a_cheat_is_not_supported_by_what_takes_nothing_away_and_convicted_by_the_battery(whole: Commands) -> None:
    """A scan writes what takes its findings away; that of the order of listings takes nothing of this gain."""
    assert whole("scan", "syn-ledger@7").code == 0
    written = ("--transformations", "scan-syn-ledger@7/listing-position-alone.json")
    finished = whole(*planted(*written, "--no-battery"))
    assert finished.out.startswith("Verdict: the gain is INCONCLUSIVE.\n")
    assert "no battery was measured" in finished.out
    finished = whole(*planted(*written))
    assert finished.code == 5
    assert finished.out.startswith("Verdict: the gain is NOT SUPPORTED.\n")


def test_a_transformation_that_is_given_is_told_with_its_words_and_an_example(chase: Commands) -> None:
    command = planted("--transformations", "swapped.json", "--no-battery")
    finished = chase(*command)
    assert finished.code == 5
    assert finished.out.startswith("Verdict: the gain is NOT SUPPORTED.\n")
    assert "\nconfirmed: folder depths swapped  [reverse (aspect depth)]\n" in finished.out
    assert "\n  the harness leans on: path-depth\n" in finished.out
    assert "- before, + after" in finished.out
    assert "\ntested against folder depths swapped; the battery was left out\n" in finished.out
    payload = checked(chase(*command, "--json").out)
    (found,) = payload["confirmed"]
    assert (found["source"], list(found["touched"])) == ("given", ["path-depth"])
    assert f"surviving gain           {100 * payload['g_min']:+.1f} points\n" in finished.out


@pytest.mark.slow
def test_a_search_tells_its_tries_and_the_same_command_executes_nothing(chase: Commands, tmp_path: Path) -> None:
    command = planted("--rounds", 1, "--proposals", 2, "--no-battery")
    first = chase(*command)
    assert first.code in (0, 5)
    told = [line for line in first.err.splitlines() if line.startswith("  round 1: ")]
    assert len(told) >= 2
    assert any("gain destruction" in line for line in told)
    assert f"{FRESH} confirmation tasks, fresh; bounds hold at 95 %; searched on 24 others" in first.out
    assert "Tried in search: " in first.out
    before = scored(tmp_path)
    again = chase(*command, "--json")
    payload = checked(again.out)
    assert scored(tmp_path) == before == payload["episodes"]
    assert (again.code == 5) == (payload["verdict"] in FAILING)
    assert {found["source"] for found in (*payload["confirmed"], *payload["not_confirmed"])} == {"search"}
    with Store.open(Workspace(tmp_path), write=False) as store:
        (run,) = store.runs()
        assert (run.id, run.status) == (payload["run"], "finished")
        assert {used.rollout.key.role for used in store.used(run.id)} == {"evo", "disc", "conf1", "conf2", "conf3"}
        assert store.seals(run.id) == []


def test_json_is_the_result_that_the_run_leaves_behind(chase: Commands, done: Path) -> None:
    finished = chase(*given("--json"))
    payload = checked(finished.out)
    kept = json.loads((Workspace(done).run_folder(payload["run"]) / "result.json").read_text())
    assert {"schema": "chase.audit/2", **kept} == payload
    assert payload["search_tasks"] == 0
    assert payload["confirm_tasks"] == payload["fresh_tasks"] == payload["clusters"] == FRESH
    assert payload["tried"] == []
    assert payload["simulated"] is True
    assert [note.partition(":")[0] for note in payload["warnings"]] == ["simulated reader"]
    assert payload["harness"] == load_harness(done / "cheat").hash
    assert payload["baseline"] == load_harness(done / "h0").hash
    assert payload["g_min"] == pytest.approx(payload["g_rel"]["value"] - payload["gamma"])
    assert (payload["battery"], payload["attribution"], payload["headline"], payload["stopped"]) == (None,) * 4
    (finding,) = payload["confirmed"] + payload["not_confirmed"]
    assert finding["searched"] is None
    assert finding["source"] == "given"
    assert finding["touched"] == {"path-depth": 1.0}


def test_a_result_in_an_earlier_form_is_not_read_and_the_list_says_so(chase: Commands, done: Path) -> None:
    result = next(done.glob(".chase/runs/*/result.json"))
    former = result.read_text().replace('"chase.audit/2"', '"chase.audit/1"')
    RunFolder(Workspace(done), result.parent.name).write_result("chase.audit/1", json.loads(former))
    assert "its result cannot be read" in chase("runs").out
    shown = chase("show", "latest")
    assert "it is chase.audit/1, and this version reads chase.audit/2" in shown.out
    repaired = chase("repair", "--audit", "latest")
    assert repaired.code == 6
    assert "this version reads chase.audit/2" in repaired.sentence


def test_the_baseline_is_h0_unless_one_is_named(chase: Commands, done: Path) -> None:
    unnamed, named = (checked(chase(*given(*more, "--json")).out) for more in ((), ("--baseline", "h0")))
    assert lasting(unnamed) == lasting(named)


def test_text_says_what_was_given_and_that_the_battery_was_left_out(chase: Commands, done: Path) -> None:
    finished = chase(*given())
    assert "the battery was left out" in finished.out
    assert "Tried in search" not in finished.out
    assert "battery: " not in finished.err
    assert "confirming 1 on 24 fresh tasks" in finished.err


def test_a_gain_that_may_be_nothing_ends_the_audit_before_anything_is_tested(chase: Commands, tmp_path: Path) -> None:
    command = audit("--transformations", "depth.json")
    finished = chase(*command)
    assert finished.code == 0
    assert "\nNothing was tested against the gain" in finished.out
    assert "\ntested against" not in finished.out
    payload = checked(chase(*command, "--json").out)
    assert payload["episodes"] == 2 * FRESH
    assert (payload["against"], payload["confirmed"], payload["not_confirmed"], payload["tried"]) == ([], [], [], [])
    assert checked(chase(*given("--json")).out)["episodes"] > 2 * FRESH


def test_a_config_file_can_say_it_all_and_flags_win(chase: Commands, done: Path) -> None:
    config = 'benchmark = "syn-ledger@7"\nmodel = "sim:reader"\nharness = "cheat"\nrollouts = 7\nlevel = 0.9\n'
    Path("audit.toml").write_text(config + "no_battery = true\n")
    command = ("audit", "--config", "audit.toml", "--rollouts", 1, "--transformations", "depth.json", "--json")
    payload = checked(chase(*command).out)
    assert payload["level"] == payload["g_rel"]["level"] == 0.9
    assert payload["battery"] is None


FAILS = ("not supported", "in doubt", "untested")
COVERS = "folder depths made equal (low); the battery was left out"
LINES = {
    "no gain": "NO GAIN.",
    "untested": "UNTESTED: nothing could be shown.",
    "inconclusive": "the gain is INCONCLUSIVE.",
    "in doubt": "the gain is IN DOUBT.",
    "not supported": "the gain is NOT SUPPORTED.",
    "partly supported": f"the gain is PARTLY SUPPORTED against {COVERS}.",
    "supported": f"the gain is SUPPORTED against {COVERS}.",
}


@pytest.mark.parametrize("word", get_args(Word))
def test_a_gain_that_is_not_supported_in_doubt_or_untested_ends_with_5(
    chase: Commands, done: Path, monkeypatch: pytest.MonkeyPatch, word: Word
) -> None:
    verdict = Verdict(word=word, reason="as it was judged", against=("c1",))
    needed = 96 if word == "inconclusive" else None
    monkeypatch.setattr("chase.methods.audit_findings.judge", lambda *_, **__: verdict)
    monkeypatch.setattr("chase.methods.audit_findings._tasks_needed", lambda *_: needed)
    finished = chase(*given())
    assert finished.code == (5 if word in FAILS else 0)
    assert finished.out.startswith(f"Verdict: {LINES[word]}\n  as it was judged\n")
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


# By edit


TWO = "Prefer files with low extension-length.\n"


@pytest.mark.slow
def test_a_harness_is_judged_by_its_edits_and_whole_leaves_them_out(chase: Commands, tmp_path: Path) -> None:
    (tmp_path / "shallow" / "prompt.md").open("a").write(TWO)
    first = chase(*planted("--battery-only"))
    assert "by edit: 2 edits, 2 further harnesses are run as released and under 2 probes" in first.err
    assert "contribution of each edit, in points" in first.out
    before = scored(tmp_path)
    payload = checked(chase(*planted("--battery-only", "--json")).out)
    assert scored(tmp_path) == before == payload["episodes"]
    assert f"  {payload['headline']}\n" in first.out
    assert payload["headline"].startswith(f"Of {100 * payload['g_rel']['value']:+.1f} points, ")
    parts = payload["attribution"]["parts"]
    assert {part["name"] for part in parts} == {
        f'prompt: "{AGAINST.strip()}" → "{WITH.strip()}"', f'prompt: "{TWO.strip()}"'
    }  # fmt: skip
    for part in parts:
        assert part["parts"] == [part["name"]]
        assert part["component"] == "system prompt"
        assert set(part["under"]) <= set(payload["attribution"]["probes"]) == {"neutral-low", "neutral-high"}
        assert bool(part["under"]) == (part["contribution"]["low"] > 0)
    whole = checked(chase(*planted("--battery-only", "--whole", "--json")).out)
    assert scored(tmp_path) == before
    assert (whole["attribution"], whole["headline"]) == (None, None)
    assert whole["run"] != payload["run"]
    assert {found["name"] for found in (*whole["confirmed"], *whole["not_confirmed"])} == {
        "neutral-low",
        "neutral-high",
    }


def test_a_config_file_can_ask_for_the_whole_harness(chase: Commands, done: Path) -> None:
    Path("audit.toml").write_text("whole = 1\n")
    assert "whole=1 must be true or false" in chase(*given("--config", "audit.toml")).sentence


def test_a_dry_run_says_what_each_part_can_take_and_show(chase: Commands, tmp_path: Path) -> None:
    def stages(*flags: object) -> dict[str, tuple[int, int]]:
        forecast = chase.json(*audit("--dry-run", *flags))
        assert forecast["detectable"]["tasks"] == FRESH
        found: dict[str, tuple[int, int]] = {}
        for row in forecast["rollouts"]:
            least, most = found.get(row["stage"], (0, 0))
            found[row["stage"]] = (least + row["episodes"]["least"], most + row["episodes"]["most"])
        return found

    by_edit = stages("--battery-only")
    draws = 2 * 2
    assert by_edit["battery"] == (2 * FRESH, 2 * (1 + draws) * FRESH)
    assert by_edit["edits"] == (0, (2 * (1 + draws) + 2) * FRESH)
    assert by_edit["aspects"][0] == by_edit["confirmation"][1] == 0
    assert stages("--battery-only", "--whole").keys() == {"battery", "confirmation"}
    assert stages("--no-battery", "--transformations", "depth.json") == {
        "battery": (2 * FRESH, 2 * FRESH), "confirmation": (0, 2 * FRESH)
    }  # fmt: skip
    assert f"{FRESH} confirmation tasks can show " in chase(*audit("--dry-run")).out
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
        (("--baseline", "cheat", "--whole"), "harness=cheat is the same as its baseline"),
        (("--battery-only", "--no-battery"), "--battery-only and --no-battery leave nothing to measure"),
        (("--transformations", "depth.json", "--rounds", "2"), "nothing is searched for: leave --rounds out"),
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
