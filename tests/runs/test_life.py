"""The one life of a run: which run is meant, what it keeps, how it pauses and what it leaves, for every command."""

from __future__ import annotations

import errno
import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

import chase
from chase.agents.history import HistoryWriter
from chase.core.errors import BudgetExhausted, DiskError, RolloutError, UserError
from chase.runs.finding import Which, find_same, find_unfinished, free_id, run_id
from chase.store.store import Store
from chase.store.workspace import Workspace
from tests.cli.commands import closed_port, write_h0
from tests.cli.test_audit import CHEAT, few_once

pytestmark = pytest.mark.slow

COMMON: dict[str, Any] = {"benchmark": few_once("syn-ledger@7"), "progress": False}
ROLLOUT: dict[str, Any] = {**COMMON, "model": "sim:reader", "harness": "h0", "split": "evo", "rollouts": 1}
AUDIT: dict[str, Any] = {
    **COMMON,
    "model": "sim:reader",
    "harness": "cheat",
    "rounds": 1,
    "proposals": 2,
    "rollouts": 1,
    "no_battery": True,
    "anyway": True,
}
"""With a search, in which an agent works, and with nothing that could end the audit before."""
EVOLVE: dict[str, Any] = {
    **COMMON, "model": "sim:reader", "method": "chase-without-challenger", "rounds": 1, "rollouts": "evo=1",
    "no_certify": True,
}  # fmt: skip
COMMANDS: dict[str, tuple[Any, dict[str, Any]]] = {
    "rollout": (chase.rollout, ROLLOUT),
    "audit": (chase.audit, AUDIT),
    "evolve": (chase.evolve, EVOLVE),
}


@pytest.fixture(autouse=True)
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_h0(tmp_path / "h0")
    write_h0(tmp_path / "cheat", say=CHEAT)
    return tmp_path


def spent(folder: Path) -> int:
    with Store.open(Workspace(folder), write=False) as store:
        return sum(spend.usage.input_tokens + spend.usage.output_tokens for spend in store.spend())


def statuses(folder: Path) -> dict[str, str]:
    with Store.open(Workspace(folder), write=False) as store:
        return {run.id: run.status for run in store.runs()}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_cap_does_not_vanish_by_not_being_said(command: str, workspace: Path) -> None:
    run, settings = COMMANDS[command]
    cap = 20_000
    with pytest.raises(BudgetExhausted, match="What was finished is saved; go on"):
        run(**settings, budget_tokens=cap)
    assert list(statuses(workspace).values()) == ["paused"]
    again = {**settings, "resume": "latest"} if command == "evolve" else settings
    with pytest.raises(BudgetExhausted):
        run(**again)
    assert 0 < spent(workspace) <= cap
    done = run(**again, budget_tokens=10**9)
    assert statuses(workspace) == {done.run: "finished"}
    kept = tomllib.loads((done.folder / "config.toml").read_text())
    assert kept["budget_tokens"] == 10**9


@pytest.mark.parametrize("command", COMMANDS)
def test_an_outage_pauses_the_run_and_says_how_to_go_on(command: str, workspace: Path) -> None:
    run, settings = COMMANDS[command]
    endpoint = "openai-compatible:tiny"
    (workspace / "chase.toml").write_text(f'[models."{endpoint}"]\nretries = 0\n')
    address = f"http://127.0.0.1:{closed_port()}/v1"
    with pytest.raises(RolloutError) as paused:
        run(**{**settings, "model": endpoint}, base_url=address, config="chase.toml")
    ((name, status),) = statuses(workspace).items()
    assert status == "paused"
    how = f"go on with `chase evolve --resume {name}`" if command == "evolve" else "run the same command again to go on"
    assert str(paused.value).endswith(f"Finished rollouts are saved; {how}.")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_run_leaves_its_settings_its_harnesses_and_its_result(command: str) -> None:
    run, settings = COMMANDS[command]
    result = run(**settings)
    assert json.loads((result.folder / "result.json").read_text()) == result.to_json()
    kept = tomllib.loads((result.folder / "config.toml").read_text())
    assert (kept["benchmark"], kept["model"], kept["seed"]) == ("syn-ledger@7", "sim:reader", 0)
    began = {path.name for path in (result.folder / "harnesses").iterdir()}
    assert began >= {"rollout": {"H"}, "audit": {"H", "H0"}, "evolve": {"H0"}}[command]


@pytest.mark.slow
@pytest.mark.parametrize("command", ["rollout", "audit"])
def test_the_same_again_is_the_same_run_and_an_evolution_is_a_new_one(command: str, workspace: Path) -> None:
    run, settings = COMMANDS[command]
    first, second = run(**settings), run(**settings)
    assert first.run == second.run
    evolved, anew = chase.evolve(**EVOLVE), chase.evolve(**EVOLVE)
    assert anew.run == f"{evolved.run}-2"
    assert anew.payload["executed"] == 0
    assert set(statuses(workspace).values()) == {"finished"}


def test_a_config_that_a_run_wrote_describes_the_same_run(workspace: Path) -> None:
    first = chase.rollout(**ROLLOUT, exclude_task=[COMMON["benchmark"].tasks("evo")[0]])
    again = chase.rollout(benchmark=COMMON["benchmark"], config=first.folder / "config.toml", progress=False)
    assert (again.run, again.executed) == (first.run, 0)


def test_pace_is_kept_and_what_is_said_now_wins(workspace: Path) -> None:
    first = chase.rollout(**ROLLOUT, concurrency=3, patience=7.0)
    chase.rollout(**ROLLOUT, patience=8.0)
    kept = tomllib.loads((first.folder / "config.toml").read_text())
    assert (kept["concurrency"], kept["patience"]) == (3, 8.0)


# Which run is meant


def test_an_id_is_made_of_method_or_command_and_identity() -> None:
    assert run_id({"command": "rollout", "seed": 1}).startswith("rollout-")
    assert run_id({"command": "evolve", "method": "chase"}).startswith("chase-")
    assert run_id({"command": "audit", "seed": 1}) != run_id({"command": "audit", "seed": 2})


def test_runs_of_another_command_are_not_gone_on_with(tmp_path: Path) -> None:
    with Store.open(Workspace(tmp_path), write=True) as store:
        store.create_run("audit-1", {"command": "audit", "seed": 1})
        store.create_run("chase-1", {"command": "evolve", "method": "chase", "seed": 1})
        assert find_unfinished(store, "evolve", "latest").id == "chase-1"
        with pytest.raises(UserError, match=r"run 'audit-1' is not one of `chase evolve`\."):
            find_unfinished(store, "evolve", "audit-1")
        with pytest.raises(UserError, match=r"run 'chase-1' has other settings: what differs is seed\."):
            find_same(store, "evolve", {"command": "evolve", "method": "chase", "seed": 2}, "chase-1")
        identity = {"command": "evolve", "method": "chase", "seed": 1}
        assert find_same(store, "evolve", identity, "latest").id == "chase-1"
        assert free_id(store, identity) == run_id(identity)
        store.create_run(run_id(identity), identity)
        assert free_id(store, identity) == f"{run_id(identity)}-2"


def test_nothing_is_written_to_find_that_there_is_no_run(tmp_path: Path) -> None:
    place = Workspace(tmp_path / "empty")
    assert Which(command="rollout").look_up(place, {"command": "rollout"}) is None
    with pytest.raises(UserError, match="Leave --resume out to start one"):
        Which(command="evolve", anew=False, resume="latest").look_up(place, {"command": "evolve"})
    assert not (tmp_path / "empty").exists()


@pytest.mark.parametrize("command", ["audit", "evolve"])
def test_a_full_disk_says_how_to_go_on_and_that_does(
    command: str, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk is full while the history tree of an agent is written."""
    run, settings = COMMANDS[command]

    def full(*arguments: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(HistoryWriter, "add_scores", full)
        with pytest.raises(DiskError) as ended:
            run(**settings)
    [name] = statuses(workspace)
    how = f"go on with `chase evolve --resume {name}`" if command == "evolve" else "run the same command again"
    assert ended.value.exit_code == 3
    assert "No space left on device. Everything recorded so far is safe: free some space" in str(ended.value)
    assert str(ended.value).endswith(f"then {how}.")
    paid = spent(workspace)
    again = {"resume": name, "benchmark": settings["benchmark"], "progress": False} if command == "evolve" else settings
    done = run(**again)
    assert (done.run, statuses(workspace)) == (name, {name: "finished"})
    assert spent(workspace) > paid > 0


def test_going_on_leaves_the_settings_as_they_were(workspace: Path) -> None:
    with pytest.raises(BudgetExhausted):
        chase.evolve(**EVOLVE, harness="h0", budget_tokens=20_000)
    [name] = statuses(workspace)
    config = Workspace(workspace).run_folder(name) / "config.toml"
    before = tomllib.loads(config.read_text())
    assert before["harness"] == "h0"
    with pytest.raises(BudgetExhausted):
        chase.evolve(resume=name, benchmark=COMMON["benchmark"], budget_tokens=20_001, progress=False)
    assert tomllib.loads(config.read_text()) == {**before, "budget_tokens": 20_001}
    assert str(workspace) not in config.read_text()


def test_settings_without_a_harness_stay_so(workspace: Path) -> None:
    with pytest.raises(BudgetExhausted):
        chase.evolve(**EVOLVE, budget_tokens=20_000)
    [name] = statuses(workspace)
    with pytest.raises(BudgetExhausted):
        chase.evolve(resume=name, benchmark=COMMON["benchmark"], progress=False)
    assert "harness" not in tomllib.loads((Workspace(workspace).run_folder(name) / "config.toml").read_text())
