"""`chase repair`: what is taken out and what is kept, on which tasks, and how it ends, goes on and refuses."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import chase as api
from chase.harness.folder import load_harness, save_harness
from chase.methods.arena import Contender, Means, SomeTasks, StoreArena, Variant
from chase.runs.exposure import exposure_of
from chase.runs.finished_audit import FinishedAudit, find_audit
from chase.store.store import Store
from chase.store.workspace import Workspace
from chase.testing.almanac.reader import NAME as READER
from tests.cli.commands import Commands, checked
from tests.testing.almanacs import install, make_harness, open_once

pytestmark = pytest.mark.slow

NAME = "almanac@8-large"
SHORTCUT, HONEST = "Prefer files with low name-length.", "Look at every record."
SAYING = {"h0": "", "cheat": f"{SHORTCUT} {HONEST}", "shortcut": SHORTCUT, "honest": HONEST}
NAMES = {"benchmark": "almanac", "operators": [{"name": "rename-documents", "arguments": {"style": "opaque"}}]}
SEARCH, FRESH = ("evo", "disc"), ("conf1", "conf2", "conf3")
_KEPT: dict[str, Path] = {}


@pytest.fixture
def chase(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Commands:
    """Commands beside a cheat with an honest sentence, its two halves, and the baseline."""
    install(monkeypatch)
    monkeypatch.chdir(tmp_path)
    for name, said in SAYING.items():
        save_harness(make_harness(open_once(NAME), say=said), tmp_path / name)
    return Commands(monkeypatch, capsys)


def audit(harness: str = "cheat", *more: object) -> tuple[object, ...]:
    settings = ("--benchmark", NAME, "--model", READER, "--rollouts", 2)
    return ("audit", *settings, "--harness", harness, *more)


@pytest.fixture
def audited(chase: Commands, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Commands:
    """Commands in a workspace in which the cheat was audited by the battery and by other names: made once, then copied.

    The battery settles it, so nothing would be searched for.
    """
    if "audit" not in _KEPT:
        (tmp_path / "names.json").write_text(json.dumps(NAMES))
        ended = chase(*audit("cheat", "--transformations", "names.json"))
        assert ended.code == 5
        assert re.search(r"^To take it out: chase repair --audit audit-\w+ --out DIR$", ended.out, re.MULTILINE)
        _KEPT["audit"] = tmp_path_factory.mktemp("kept")
        shutil.copytree(tmp_path / ".chase", _KEPT["audit"] / ".chase")
    else:
        shutil.copytree(_KEPT["audit"] / ".chase", tmp_path / ".chase")
    return chase


def lasting(payload: dict[str, Any]) -> dict[str, Any]:
    """What does not change when a finished repair is asked for again."""
    return {
        key: value for key, value in payload.items() if key not in ("wall_seconds", "parts", "tokens", "out", "next")
    }


def scored(folder: Path) -> int:
    with Store.open(Workspace(folder), write=False) as store:
        return store.info().rollouts["scored"]


def runs(folder: Path) -> dict[str, str]:
    """Id → status of each repair."""
    with Store.open(Workspace(folder), write=False) as store:
        return {run.id: run.status for run in store.runs() if run.config["command"] == "repair"}


# What it does


def test_the_shortcut_is_taken_out_and_the_honest_sentence_kept(audited: Commands, tmp_path: Path) -> None:
    finished = audited("repair", "--audit", "latest", "--harness", "cheat", "--baseline", "h0", "--out", "fixed")
    assert finished.code == 0
    assert finished.out.startswith("Repaired: gain +")
    assert f'  taken out: prompt: "{SHORTCUT}"\n  kept: prompt: "{HONEST}"\n' in finished.out
    fixed, honest = (load_harness(tmp_path / name) for name in ("fixed", "honest"))
    assert fixed.prompt.split() == honest.prompt.split()
    assert replace(fixed, prompt=honest.prompt).hash == honest.hash
    audit = find_audit(Workspace(tmp_path), "latest").run
    assert f"70 tasks, seen once by {audit} of this harness; intervals hold together" in finished.out
    assert "everything neutral at once (high)" in finished.out
    assert "note: the audit used these tasks" in finished.out
    assert "note: sim:almanac" in finished.out
    assert "  taken out" not in finished.err
    assert re.match(r"search: gain destruction c1 \+[\d.]+, neutral-high \+", finished.err)
    assert f'called a shortcut: prompt: "{SHORTCUT}"' in finished.err


def test_the_sentence_says_what_was_had_and_what_is_kept(audited: Commands) -> None:
    payload = audited.json("repair", "--audit", "latest", "--out", "fixed")
    before, after = payload["measured"]["harness"], payload["measured"]["repaired"]
    points = [f"{100 * found[which]['value']:+.1f}" for found in (before, after) for which in ("released", "surviving")]
    assert payload["reason"] == (
        f"gain {points[0]} points as released and {points[1]} surviving; repaired {points[2]} and {points[3]}"
    )
    assert before["released"]["value"] - before["surviving"]["value"] > 0.2
    assert after["released"]["value"] - after["surviving"]["value"] < 0.05
    assert after["surviving"]["value"] > 0


def test_the_gains_are_the_audits_and_their_intervals_hold_together(audited: Commands, tmp_path: Path) -> None:
    found = find_audit(Workspace(tmp_path), "latest").payload
    measured = audited.json("repair", "--audit", "latest")["measured"]
    assert measured["harness"]["released"]["value"] == found["g_rel"]["value"]
    under = {finding["name"]: finding["gain"]["value"] for finding in found["confirmed"]}
    assert {n: g["value"] for n, g in measured["harness"]["gains"].items() if n != "released"} == under
    alone = found["g_rel"]
    both = measured["harness"]["released"]
    assert both["low"] < alone["low"]
    assert both["high"] > alone["high"]
    assert {gain["level"] for harness in measured.values() for gain in harness["gains"].values()} == {0.95}


def test_the_search_sees_no_task_of_the_measurement_and_nobody_a_sealed_one(
    audited: Commands, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[set[str], str]] = []
    means = StoreArena.means

    async def spied(
        arena: StoreArena, harnesses: Sequence[Contender], variants: Sequence[Variant], role: str,
        tasks: SomeTasks = None, rollouts: int | None = None,
    ) -> Means:  # fmt: skip
        asked.append(({named.name for named in harnesses}, role))
        return await means(arena, harnesses, variants, role, tasks, rollouts)

    monkeypatch.setattr(StoreArena, "means", spied)
    payload = audited.json("repair", "--audit", "latest")
    roles = [role for _, role in asked]
    assert roles == sorted(roles, reverse=True), "all of the search comes before the measurement"
    assert asked[-1] == ({"H0", "H", "repaired"}, "confirm")
    assert {role for _, role in asked[:-1]} == {"search"}
    with Store.open(Workspace(tmp_path), write=False) as store:
        used = {count.role for count in store.episodes(payload["run"])}
    assert used == {*SEARCH, *FRESH}


def test_it_measures_on_tasks_that_the_audit_left_and_says_so(
    chase: Commands, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chase.methods.repair_measurement.LEAST_UNSEEN", 20)
    chase(*audit("cheat", "--confirm-size", 50))
    used = find_audit(Workspace(tmp_path), "latest").tasks
    printed = chase("repair", "--audit", "latest")
    assert "20 tasks, fresh; intervals hold together" in printed.out
    assert "the audit used these tasks" not in printed.out
    assert "0 tasks" not in chase("repair", "--audit", "latest", "--dry-run").out
    run = next(iter(runs(tmp_path)))
    with Store.open(Workspace(tmp_path), write=False) as store:
        measured = store.tasks_used([run], FRESH)[run]
    assert len(measured) == 20
    assert measured.isdisjoint(used)


def test_an_audit_a_repair_and_an_audit_of_what_is_repaired_leave_nothing_fresh(
    audited: Commands, tmp_path: Path
) -> None:
    mended = audited.json("repair", "--audit", "latest", "--out", "fixed")
    again = json.loads(audited(*audit("fixed", "--json")).out)["run"]
    with Store.open(Workspace(tmp_path), write=False) as store:
        found = exposure_of(store, again, FRESH)
        first = exposure_of(store, mended["audit"], FRESH)
    assert mended["exposure"]["text"] == f"seen once by {mended['audit']} of this harness"
    assert found.text == f"seen twice by {mended['audit']} of this harness and {mended['run']} of this harness"
    assert first.text == "fresh"


def test_what_the_audit_ran_is_not_run_again(audited: Commands, tmp_path: Path) -> None:
    before = scored(tmp_path)
    payload = audited.json("repair", "--audit", "latest")
    cells = {role: len(open_once(NAME).tasks(role)) for role in (*SEARCH, *FRESH)}
    draws = {"neutral-low": 2, "neutral-high": 2, "c1": 1}
    forms = sum(1 + sum(draws[name] for name in form["destruction"]) for form in payload["tried"])
    search = forms * sum(cells[role] for role in SEARCH)
    both = 2 * (1 + sum(draws.values())) * sum(cells[role] for role in SEARCH)  # the audit ran nothing on these
    fresh = 2 * sum(cells[role] for role in FRESH)  # of the rest the audit's attribution has all
    assert scored(tmp_path) - before == search + both + fresh, "the repaired harness under what was searched for"


def test_the_command_that_it_ends_with_audits_what_was_repaired(audited: Commands) -> None:
    payload = audited.json("repair", "--audit", "latest", "--out", "fixed")
    said = shlex.split(payload["next"])
    assert said == ["chase", "audit", "--benchmark", NAME, "--model", READER, "--rollouts", "2", "--harness", "fixed"]
    again = audited(*said[1:], "--rounds", 1, "--json")
    assert again.code == 0, "the gain is not called unsupported any more"
    found = json.loads(again.out)
    assert [finding for finding in found["confirmed"] if finding["status"] == "confirmed"] == []
    assert found["g_rel"]["value"] == payload["measured"]["repaired"]["released"]["value"]


def test_the_api_returns_what_the_command_prints(audited: Commands, tmp_path: Path) -> None:
    printed = audited.json("repair", "--audit", "latest", "--out", "fixed")
    result = api.repair(audit="latest", out="fixed", progress=False)
    assert lasting(checked(json.dumps(result.to_json()))) == lasting(printed)
    assert json.loads((result.folder / "result.json").read_text()) == result.to_json()
    assert (result.outcome, result.out) == ("repaired", Path("fixed"))
    assert result.harness is not None
    assert result.harness.hash == load_harness(tmp_path / "fixed").hash
    assert (result.dropped, result.generalised) == ((f'prompt: "{SHORTCUT}"',), ())
    assert result.kept == (f'prompt: "{HONEST}"',)
    assert result.released["harness"].value > result.released["repaired"].value > 0
    assert result.surviving["repaired"].n == 70
    assert "; repaired +" in repr(result)


def test_another_harness_may_be_repaired_and_that_is_said(audited: Commands, tmp_path: Path) -> None:
    other = replace(load_harness(tmp_path / "cheat"), memory="Reports were printed in two versions. Be brief.")
    result = api.repair(audit="latest", harness=other, baseline="h0", progress=False)
    assert "the audit was of another harness" in result.warnings[0]
    assert result.out == result.folder / "harnesses" / "repaired"
    assert f'prompt: "{SHORTCUT}"' in result.dropped
    assert "--baseline" not in result.payload["next"], "H_0 is what an audit takes by itself"


def test_another_baseline_is_named_in_the_command_that_it_ends_with(audited: Commands, tmp_path: Path) -> None:
    brief = replace(load_harness(tmp_path / "h0"), memory="Be brief.")
    result = api.repair(audit="latest", baseline=brief, progress=False)
    said = shlex.split(result.payload["next"])
    assert load_harness(Path(said[said.index("--baseline") + 1])).hash == brief.hash


def test_an_audit_of_fewer_tasks_is_repaired_on_these(chase: Commands) -> None:
    cut = open_once(NAME).fewer({"conf1": 4, "evo": 6})
    settings: dict[str, Any] = {"model": READER, "harness": "cheat", "rounds": 1, "rollouts": 2, "progress": False}
    run = api.audit(benchmark=cut, **settings).run
    by_name, by_value = (api.repair(audit=run, benchmark=given, progress=False) for given in (None, cut))
    assert by_name.run == by_value.run
    tasks = [by_name.payload["search_tasks"], by_name.payload["confirm_tasks"]]
    assert tasks == [sum(len(cut.tasks(role)) for role in roles) for roles in (SEARCH, FRESH)]


# How it ends where there is nothing


def test_an_audit_that_confirmed_nothing_leaves_nothing_to_repair(chase: Commands, tmp_path: Path) -> None:
    verdict = json.loads(chase(*audit("honest", "--json")).out)["verdict"]
    before = scored(tmp_path)
    finished = chase("repair", "--audit", "latest", "--out", "fixed")
    assert finished.code == 0
    sentence = "the audit confirmed nothing that counts against the gain"
    assert finished.out.splitlines()[0] == f"Nothing to repair: {sentence} (its verdict: {verdict})."
    assert scored(tmp_path) == before
    assert not (tmp_path / "fixed").exists()
    payload = chase.json("repair", "--audit", "latest", "--out", "fixed")
    assert (payload["outcome"], payload["repaired"], payload["measured"]) == ("nothing to repair", None, None)


def test_a_tolerance_that_allows_the_shortcut_leaves_nothing_to_repair(audited: Commands) -> None:
    finished = audited("repair", "--audit", "latest", "--epsilon", "0.9")
    assert finished.code == 0
    assert "destroys more than epsilon = 0.9 (at most 0." in finished.out
    assert "a smaller --epsilon asks for more" in finished.out


def test_where_the_shortcut_is_all_there_is_nothing_is_written(chase: Commands, tmp_path: Path) -> None:
    assert chase(*audit("shortcut")).code == 5
    finished = chase("repair", "--audit", "latest", "--out", "fixed")
    assert finished.code == 0
    assert finished.out.startswith("Nothing left: gain +")
    assert "nothing of it is left without the shortcut: keep the baseline." in finished.out
    assert not (tmp_path / "fixed").exists()
    payload = chase.json("repair", "--audit", "latest", "--out", "fixed")
    assert (payload["outcome"], payload["out"], payload["next"]) == ("nothing left", None, None)
    assert payload["measured"]["repaired"] is None
    assert api.repair(audit="latest", progress=False).harness is None


def test_what_scales_with_the_base_rate_does_not_count(audited: Commands, tmp_path: Path) -> None:
    found = find_audit(Workspace(tmp_path), "latest")
    assert [finding["name"] for finding in found.counted] == ["c1", "neutral-high", "neutral-low"]
    for status in ("scales with the base rate", "not informative"):
        findings = [{**finding, "status": status} for finding in found.payload["confirmed"]]
        left = replace(found, payload={**found.payload, "confirmed": findings}).counted
        assert [finding["name"] for finding in left] == (["neutral-high", "neutral-low"] if "scales" in status else [])


def test_a_shortcut_edit_counts_where_more_than_epsilon_of_it_goes(audited: Commands, tmp_path: Path) -> None:
    found = find_audit(Workspace(tmp_path), "latest")
    assert found.shortcuts("0.05") == (f'prompt: "{SHORTCUT}"',)
    assert found.shortcuts("0.9") == ()
    assert found.honest() == ()
    parts = [{**part, "label": "honest"} for part in found.payload["attribution"]["parts"]]
    called = replace(found, payload={**found.payload, "attribution": {"parts": parts}})
    assert (called.shortcuts("0.05"), len(called.honest())) == ((), 2)
    assert replace(found, payload={**found.payload, "attribution": None}).shortcuts("0.05") == ()


def test_a_shortcut_edit_is_taken_out_though_the_sum_keeps_every_constraint(audited: Commands) -> None:
    """On the search tasks no more than 33 points go in all; of the edit alone, on the audit's, 41."""
    told = audited("repair", "--audit", "latest", "--epsilon", "0.35").err
    assert told.startswith(f'search: called a shortcut: prompt: "{SHORTCUT}"; '), "no gain destruction beyond epsilon"
    payload = audited.json("repair", "--audit", "latest", "--epsilon", "0.35")
    assert payload["repaired"]["dropped"] == [f'prompt: "{SHORTCUT}"']


def test_an_audit_that_calls_an_edit_a_shortcut_and_confirms_nothing_is_repaired(
    audited: Commands, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where an honest edit gains more with everything neutral and covers the shortcut in the sum."""

    def unconfirmed(workspace: Workspace, reference: str) -> FinishedAudit:
        found = find_audit(workspace, reference)
        findings = [{**finding, "status": "not confirmed"} for finding in found.payload["confirmed"]]
        return replace(found, payload={**found.payload, "confirmed": [], "not_confirmed": findings})

    monkeypatch.setattr("chase.runs.repair.find_audit", unconfirmed)
    payload = audited.json("repair", "--audit", "latest")
    assert payload["repaired"]["dropped"] == [f'prompt: "{SHORTCUT}"']
    assert {found["source"] for found in payload["counterfactuals"]} == {"battery"}


# Going on


def test_a_repair_that_was_cut_goes_on_and_pays_nothing_again(
    audited: Commands, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, means = scored(tmp_path), StoreArena.means

    async def cut(arena: StoreArena, harnesses: Sequence[Contender], variants: Any, role: str, *more: Any) -> Means:
        """Ends before the measurement."""
        if role == "confirm":
            raise KeyboardInterrupt
        return await means(arena, harnesses, variants, role, *more)

    with monkeypatch.context() as patched:
        patched.setattr(StoreArena, "means", cut)
        assert audited("repair", "--audit", "latest", "--out", "fixed").code == 130
    assert not (tmp_path / "fixed").exists()
    searched = scored(tmp_path)
    assert searched > before
    payload = audited.json("repair", "--audit", "latest", "--out", "fixed")
    paid = scored(tmp_path)
    assert payload["exposure"]["text"].startswith("seen once by audit-"), "itself is no earlier run"
    again = audited.json("repair", "--audit", "latest", "--out", "fixed")
    assert lasting(again) == lasting(payload)
    assert scored(tmp_path) == paid
    assert runs(tmp_path) == {payload["run"]: "finished"}


def test_a_cap_pauses_it_and_is_kept(audited: Commands, tmp_path: Path) -> None:
    finished = audited("repair", "--audit", "latest", "--budget-tokens", 1000)
    assert finished.code == 4
    assert "go on by the same command with a higher --budget-tokens" in finished.sentence
    assert audited("repair", "--audit", "latest").code == 4
    assert list(runs(tmp_path).values()) == ["paused"]
    assert audited("repair", "--audit", "latest", "--budget-tokens", 10**9).code == 0
    assert list(runs(tmp_path).values()) == ["finished"]


def test_a_forecast_writes_nothing_and_bounds_what_is_run(audited: Commands, tmp_path: Path) -> None:
    forecast = audited.json("repair", "--audit", "latest", "--dry-run")
    assert (forecast["command"], forecast["agents"]) == ("repair", [])
    assert runs(tmp_path) == {}
    used = audited.json("repair", "--audit", "latest")["episodes"]
    assert forecast["total"]["episodes"]["least"] <= used <= forecast["total"]["episodes"]["most"]
    assert "repair on almanac" in audited("repair", "--audit", "latest", "--dry-run").out


# What it refuses


def test_a_run_that_is_no_finished_audit_is_refused(audited: Commands, tmp_path: Path) -> None:
    assert "no run 'nope'" in audited("repair", "--audit", "nope").sentence
    assert audited("repair").sentence.startswith("chase: audit is missing: give --audit")
    made = audited.json("repair", "--audit", "latest")["run"]
    assert f"run '{made}' is not one of `chase audit`" in audited("repair", "--audit", made).sentence
    assert audited(*audit("shortcut", "--budget-tokens", 1000)).code == 4
    assert "is not finished" in audited("repair", "--audit", "latest").sentence
    shutil.rmtree(tmp_path / ".chase")
    assert audited("repair", "--audit", "latest").code == 3


def test_a_folder_that_is_not_its_own_is_refused_before_anything_is_run(audited: Commands, tmp_path: Path) -> None:
    before = scored(tmp_path)
    for out in ("h0", "honest"):
        finished = audited("repair", "--audit", "latest", "--out", out)
        assert finished.code == 2
        assert "is in the way of saving a harness. Name a new or an empty folder." in finished.sentence
    assert (scored(tmp_path), runs(tmp_path)) == (before, {})
    (tmp_path / "empty").mkdir()
    for _ in range(2):  # its own folder is no obstacle
        assert audited("repair", "--audit", "latest", "--out", "empty").code == 0
    (tmp_path / "empty" / "prompt.md").write_text("mine\n")
    assert audited("repair", "--audit", "latest", "--out", "empty").code == 2


def test_equal_harnesses_and_a_wrong_tolerance_are_refused(audited: Commands) -> None:
    same = audited("repair", "--audit", "latest", "--harness", "h0", "--baseline", "h0")
    assert same.sentence == "chase: the harness is the same as its baseline: there is no gain to repair."
    wrong = audited("repair", "--audit", "latest", "--epsilon", "7")
    assert wrong.sentence == "chase: epsilon=7 must be a decimal number from 0 to 1, such as 0.05."


def test_what_is_not_what_was_audited_is_refused(
    audited: Commands, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def other(workspace: Workspace, reference: str) -> FinishedAudit:
        found = find_audit(workspace, reference)
        return replace(found, identity={**found.identity, "content_hash": "other"})

    monkeypatch.setattr("chase.runs.repair.find_audit", other)
    assert "benchmark changed since. Audit the harness again." in audited("repair", "--audit", "latest").sentence
