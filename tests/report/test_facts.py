"""The facts of a run: what its folder and the store say, read alone, and less where less is there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from chase.protocol.proposal import parse_for
from chase.report.facts import RunFacts, load_facts, measure
from chase.report.heads import WantedRuns, run_heads
from chase.report.outcomes import PairedOutcomes, paired_outcomes
from chase.runs.folder import RunFolder
from chase.store.store import Store
from chase.store.workspace import Workspace
from tests.conftest import open_once
from tests.report.finished_runs import Runs

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("report")]


def facts_of(root: Path, run: str) -> RunFacts:
    with Store.open(Workspace(root), write=False) as store:
        return load_facts(store, run)


def test_outcomes_are_paired_task_by_task_and_agree_with_the_result(runs: Runs) -> None:
    with Store.open(Workspace(runs.root), write=False) as store:
        facts = load_facts(store, runs.audit)
        paired = {found.variant: found for found in measure(store, facts).paired}
    result = facts.result
    assert result is not None
    findings = {found["name"]: found for found in (*result["confirmed"], *result["not_confirmed"])}
    assert {"released", "c1"} <= paired.keys() <= {"released", *findings}
    for name, found in paired.items():
        gain = result["g_rel"] if name == "released" else findings[name]["gain"]
        assert len(found.tasks) == result["confirm_tasks"] == gain["n"]
        assert gain_of(found) == pytest.approx(gain["value"])
        assert found.better + found.same + found.worse == len(found.tasks)


def gain_of(found: PairedOutcomes) -> float:
    return sum(pair.after - pair.before for pair in found.tasks) / len(found.tasks)


def test_outcomes_under_several_draws_are_their_mean_and_never_those_of_the_first_alone(runs: Runs) -> None:
    with Store.open(Workspace(runs.root), write=False) as store:
        facts = load_facts(store, runs.audit)
        result = json.loads(json.dumps(facts.result))
        probes = [f for f in (*result["confirmed"], *result["not_confirmed"]) if len(f["draws"]) > 1]
        assert probes
        for probe in probes:
            benchmark = open_once("syn-ledger@7")
            probe["hashes"] = [parse_for(benchmark, draw).transformation.hash for draw in probe["draws"]]
            assert probe["hashes"][0] == probe["hash"]
        paired = {found.variant: found for found in paired_outcomes(store, runs.audit, result)}
        for probe in probes:
            assert gain_of(paired[probe["name"]]) == pytest.approx(probe["gain"]["value"])
            probe["hashes"] = probe["hashes"][:1]
        assert not {probe["name"] for probe in probes} & {
            found.variant for found in paired_outcomes(store, runs.audit, result)
        }


def test_tokens_by_role_add_up_to_the_results_own_sums(runs: Runs) -> None:
    with Store.open(Workspace(runs.root), write=False) as store:
        facts = load_facts(store, runs.evolution)
        rows = measure(store, facts).tokens
    assert facts.result is not None
    for stage, expected in facts.result["tokens"].items():
        own = [row for row in rows if row.stage == stage]
        assert sum(row.total for row in own) == expected["total"]
        assert sum(row.episodes for row in own) == expected["episodes"]
        assert sum(row.reused for row in own) == expected["reused"]


def test_harnesses_come_with_what_they_change(runs: Runs) -> None:
    facts = facts_of(runs.root, runs.evolution)
    assert [harness.name for harness in facts.harnesses] == ["H0", "H1", "H2"]
    assert facts.harnesses[0].changes == ()
    pool = {entry["harness"] for record in facts.rounds for entry in record["selection"]["pool"]}
    assert pool <= facts.candidates.keys()
    assert facts.problems == []


def test_an_unfinished_run_has_the_rounds_that_were_selected(runs: Runs, tmp_path: Path) -> None:
    own = runs.copied(tmp_path)
    whole = facts_of(own.root, own.evolution)
    with Store.open(Workspace(own.root), write=True) as store:
        store.set_run_status(own.evolution, "paused")
    facts = facts_of(own.root, own.evolution)
    assert facts.result is None
    assert facts.head.conclusion == "not finished"
    assert [r["selection"]["selected"] for r in facts.rounds] == [r["selection"]["selected"] for r in whole.rounds]


def test_a_result_that_was_changed_is_left_out_and_said(runs: Runs, tmp_path: Path) -> None:
    own = runs.copied(tmp_path)
    path = RunFolder(Workspace(own.root), own.audit).path / "result.json"
    path.write_text(path.read_text().replace("syn-ledger", "other"))
    facts = facts_of(own.root, own.audit)
    assert facts.result is None
    assert "result.json cannot be read" in facts.problems[0]


def test_runs_are_listed_newest_first_without_members_unless_they_are_wanted(runs: Runs) -> None:
    with Store.open(Workspace(runs.root), write=False) as store:
        heads, total = run_heads(store)
        assert [head.id for head in heads] == [runs.comparison, runs.audit, runs.evolution]
        assert total == 3
        assert all(head.simulated for head in heads)
        members, _ = run_heads(store, WantedRuns(members=True))
        assert len(members) == 5
        assert {head.model for head in members} == {"sim:reader"}
        assert [h.id for h in run_heads(store, WantedRuns(command="audit"))[0]] == [runs.audit]
        assert run_heads(store, WantedRuns(model="openai:"))[0] == []
        assert run_heads(store, limit=1)[1] == 3


def test_reading_facts_changes_nothing(runs: Runs) -> None:
    def snapshot() -> dict[str, bytes]:
        folder = runs.root / ".chase" / "runs"
        return {str(path): path.read_bytes() for path in sorted(folder.rglob("*.json"))}

    before = snapshot()
    for run in (runs.evolution, runs.audit, runs.comparison):
        facts_of(runs.root, run)
    assert snapshot() == before
    assert json.loads(next(iter(before.values())))
