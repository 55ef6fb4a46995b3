"""Spend, episodes, runs and seals."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from store_samples import sample_key, sample_ledger, sample_rollout

from chase.core.errors import UserError
from chase.store.digests import rollout_digest
from chase.store.records import Use
from chase.store.store import Store
from chase.store.workspace import Workspace

CHASE = Use(run="run-1", method="chase")
RAW = Use(run="run-1", method="raw")


def test_an_unknown_cost_stays_unknown_and_is_never_zero(workspace: Workspace) -> None:
    rollout = sample_rollout(cost_usd=None)
    with Store.open(workspace, write=True) as store:
        store.record_sync(rollout, sample_ledger(rollout, 0.5, None), use=CHASE)
        found = store.get(rollout_digest(rollout.key))
        assert found is not None
        assert found.usage.cost_usd is None
        (spend,) = store.spend("run-1")
        assert spend.usage.cost_usd is None
        assert spend.unpriced_requests == 1
        (episodes,) = store.episodes("run-1")
        assert episodes.usage.cost_usd is None


def test_known_costs_are_summed_by_run_method_and_role(workspace: Workspace) -> None:
    first, second = sample_rollout(0, cost_usd=0.75), sample_rollout(1, key=sample_key("task-1", role="conf1"))
    with Store.open(workspace, write=True) as store:
        store.record_sync(first, sample_ledger(first, 0.5, 0.25), use=CHASE)
        store.record_sync(second, sample_ledger(second, 0.0), use=CHASE)
        store.record_sync(sample_rollout(2), sample_ledger(first, 1.0, run="run-2"))
        sums = {(s.run, s.method, s.role): s for s in store.spend()}
        assert set(sums) == {("run-1", "chase", "evo"), ("run-1", "chase", "conf1"), ("run-2", "chase", "evo")}
        evo = sums["run-1", "chase", "evo"]
        assert (evo.usage.cost_usd, evo.usage.requests, evo.episodes) == (0.75, 2, 1)
        assert (evo.usage.input_tokens, evo.usage.cached_tokens, evo.usage.output_tokens) == (200, 20, 40)
        assert evo.usage.wall_seconds == 0.5
        assert sums["run-1", "chase", "conf1"].usage.cost_usd == 0.0
        assert [s.run for s in store.spend("run-2")] == ["run-2"]


def test_requests_of_agents_are_summed_apart_with_what_is_known_of_their_cost(workspace: Workspace) -> None:
    rollout = sample_rollout(0)
    asked = replace(sample_ledger(rollout, 0.5)[0], role="propose", purpose="propose", episode="run-1/propose/1")
    with Store.open(workspace, write=True) as store:
        store.record_sync(rollout, sample_ledger(rollout, 0.25), use=CHASE)
        store.record_requests_sync([asked, replace(asked, cost_usd=None)])
        sums = {spend.purpose: spend for spend in store.spend("run-1")}
        quick = {spend.purpose: spend for spend in store.spend("run-1", uncounted="rollout")}
    assert quick == {**sums, "rollout": replace(sums["rollout"], episodes=0)} != sums
    assert (sums["propose"].episodes, sums["propose"].usage.requests) == (1, 2)
    assert (sums["propose"].usage.cost_usd, sums["propose"].priced_usd) == (None, 0.5)
    assert sums["propose"].unpriced_requests == 1
    assert sums["rollout"].priced_usd == sums["rollout"].usage.cost_usd == 0.25


async def test_a_reused_rollout_is_an_episode_of_the_method_at_no_spend(workspace: Workspace) -> None:
    rollout = sample_rollout(cost_usd=0.5)
    key_digest = rollout_digest(rollout.key)
    with Store.open(workspace, write=True) as store:
        await store.record(rollout, sample_ledger(rollout, 0.5), use=CHASE)
        await store.record_reuse(RAW, [key_digest])
        counts = {count.method: count for count in store.episodes("run-1")}
        assert (counts["chase"].episodes, counts["chase"].reused) == (1, 0)
        assert (counts["raw"].episodes, counts["raw"].reused) == (1, 1)
        assert counts["raw"].usage == rollout.usage
        assert [spend.method for spend in store.spend("run-1")] == ["chase"]
        assert [(used.use.method, used.reused) for used in store.used("run-1")] == [("chase", False), ("raw", True)]
        assert [used.rollout.digest for used in store.used("run-1", "raw")] == [key_digest]


def test_a_resumed_run_does_not_turn_its_own_rollouts_into_reused_ones(workspace: Workspace) -> None:
    rollout = sample_rollout()
    with Store.open(workspace, write=True) as store:
        store.record_sync(rollout, use=CHASE)
    with Store.open(workspace, write=True) as store:
        store.record_reuse_sync(CHASE, [rollout_digest(rollout.key)])
        (count,) = store.episodes("run-1")
        assert (count.episodes, count.reused) == (1, 0)


async def test_requests_of_agents_are_in_the_ledger_without_a_rollout(workspace: Workspace) -> None:
    row = replace(*sample_ledger(sample_rollout(), None), episode="proposer-1", purpose="propose")
    with Store.open(workspace, write=True) as store:
        await store.record_requests([row, row])
        store.record_requests_sync([row])
        (spend,) = store.spend("run-1")
        assert (spend.episodes, spend.usage.requests, spend.unpriced_requests) == (1, 3, 3)


def test_a_run_is_found_by_id_unique_prefix_or_latest(workspace: Workspace) -> None:
    with Store.open(workspace, write=True) as store:
        with pytest.raises(UserError, match="no run 'latest'"):
            store.find_run("latest")
        for run in ("2026-a", "2026-b", "2026-b2"):
            store.create_run(run, {"seed": 1, "name": run, "text": "\ud800"})
        assert store.find_run("2026-a").config == {"seed": 1, "name": "2026-a", "text": "\ud800"}
        assert store.find_run("2026-b").id == "2026-b"
        assert store.find_run("latest").id == "2026-b2"
        with pytest.raises(UserError, match="more than one run: 2026-a, 2026-b, 2026-b2"):
            store.find_run("2026")
        with pytest.raises(UserError, match="no run 'x'"):
            store.find_run("x")
        with pytest.raises(UserError, match="taken"):
            store.create_run("2026-a", {})
        with pytest.raises(UserError, match="cannot name a folder"):
            store.create_run("../elsewhere", {})


def test_a_runs_status_changes_and_stays_verifiable(workspace: Workspace) -> None:
    with Store.open(workspace, write=True) as store:
        store.create_run("run-1", {"epsilon": 0.05, "text": "é\ud800"})
        assert store.find_run("run-1").status == "running"
        store.set_run_status("run-1", "paused")
        store.set_run_status("run-1", "finished")
    with Store.open(workspace, write=False) as store:
        assert [run.status for run in store.runs()] == ["finished"]
        assert store.verify() == []


def test_a_seal_opens_once_and_again_only_with_a_reason(workspace: Workspace) -> None:
    with Store.open(workspace, write=True) as store:
        assert store.seals("run-1") == []
        store.record_seal("run-1", {"chase": "abc"})
        with pytest.raises(UserError, match="--reopen REASON"):
            store.record_seal("run-1", {"chase": "abc"}, "  ")
        store.record_seal("run-1", {"chase": "abd"}, "a task was mislabelled")
        store.record_seal("run-2", {})
        assert [(seal.hashes, seal.reason) for seal in store.seals("run-1")] == [
            ({"chase": "abc"}, ""),
            ({"chase": "abd"}, "a task was mislabelled"),
        ]
        assert store.verify() == []


def test_runs_and_seals_are_in_the_file_before_going_on(workspace: Workspace, tmp_path: Path) -> None:
    """A power cut may take the whole log: what is left is the file as it is in this moment."""

    def left(name: str) -> Store:
        copy = Workspace(tmp_path / name)
        copy.create()
        shutil.copy(workspace.database, copy.database)
        return Store.open(copy, write=False)

    with Store.open(workspace, write=True) as store:
        store.create_run("run-1", {"seed": 1})
        with left("after the run") as found:
            assert [(run.id, run.status) for run in found.runs()] == [("run-1", "running")]
        store.record_sync(sample_rollout(1))
        store.record_seal("run-1", {"final": "abc"})
        with left("after the seal") as found:
            assert [seal.hashes for seal in found.seals("run-1")] == [{"final": "abc"}]
            assert found.info().rollouts["scored"] == 1
        store.set_run_status("run-1", "finished")
        with left("after the end") as found:
            assert found.find_run("run-1").status == "finished"
            assert found.verify() == []
