"""Every method keeps its contract: ours, and one that another package brings."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from chase.agents.history import History
from chase.core.events import Repaired
from chase.core.values import Json
from chase.methods.contract import Method
from chase.methods.registry import find_method, method_names
from chase.testing.method_suite import MethodConformance
from chase.testing.method_trial import MethodTrial
from tests.methods.plugins import write_entry_point

pytestmark = pytest.mark.slow

NAME, WHERE = "random-edits", "tests.methods.random_edits:RandomEdits"


class TestChase(MethodConformance):
    @pytest.fixture
    def method(self) -> Method:
        return find_method("chase")

    @pytest.fixture
    def options(self) -> Mapping[str, Json]:
        """Every counterfactual that destroys anything is confirmed, so that there is an archive."""
        return {"rounds": 2, "eta": "0", "epsilon": "0.05"}

    def test_the_run_has_something_of_everything(self, trial: MethodTrial) -> None:
        done = trial.whole
        assert done.evolved.archive.entries
        assert {"propose 1", "propose 2", "challenge 1"} <= done.asks.keys()
        assert {"evo", "disc", "conf1"} <= {used.rollout.key.role for used in done.used}


class TestChaseWithRepair(MethodConformance):
    seed = 29
    """One with which a harness is repaired, and another cannot be."""

    @pytest.fixture
    def method(self) -> Method:
        return find_method("chase")

    @pytest.fixture
    def options(self) -> Mapping[str, Json]:
        """Everything that destroys anything is confirmed, and nothing may be destroyed."""
        return {"rounds": 3, "eta": "0", "epsilon": "0", "repair": True}

    def test_the_run_has_something_of_everything(self, trial: MethodTrial) -> None:
        done = trial.whole
        ends = [event for event in done.events if isinstance(event, Repaired)]
        assert {event.repaired is None for event in ends} == {True, False}
        names = {event.repaired for event in ends} & {named.name for named in done.evolved.harnesses}
        assert names
        told = [History(done.history / "proposer").record(name) for name in names]
        assert all("beyond the paper" in record["repair"]["by"] for record in told)

    def test_what_was_only_tried_is_in_no_tree(self, trial: MethodTrial) -> None:
        done = trial.whole
        repaired = {event.repaired for event in done.events if isinstance(event, Repaired)}
        trees = {name for name in History(done.history / "proposer").harnesses() if "repair" in name}
        assert trees == repaired - {None}


class TestChaseRacing(MethodConformance):
    """Candidates are stopped, what is selected is completed, and confirmations end early: all of it again after a
    crash.
    """

    @pytest.fixture
    def method(self) -> Method:
        return find_method("chase")

    @pytest.fixture
    def options(self) -> Mapping[str, Json]:
        return {"rounds": 2, "eta": "0", "epsilon": "0.05", "evaluation": "racing"}

    def test_the_run_has_something_of_everything(self, trial: MethodTrial) -> None:
        done = trial.whole
        assert done.evolved.archive.entries
        rows = [row for record in done.evolved.rounds for row in record["selection"]["pool"]]
        assert any("stopped" in row for row in rows)
        assert done.evolved.evaluation["episodes"] < done.evolved.evaluation["full"]
        used = [used for used in done.used if used.rollout.key.role == "evo"]
        assert len(used) == done.evolved.evaluation["episodes"]


class TestChaseWithoutChallenger(MethodConformance):
    @pytest.fixture
    def method(self) -> Method:
        return find_method("chase-without-challenger")

    @pytest.fixture
    def options(self) -> Mapping[str, Json]:
        return {"rounds": 2}


class TestMetaHarness(MethodConformance):
    @pytest.fixture
    def method(self) -> Method:
        return find_method("meta-harness")

    @pytest.fixture
    def options(self) -> Mapping[str, Json]:
        return {"rounds": 2, "candidates": 2}


class TestRawHarness(MethodConformance):
    @pytest.fixture
    def method(self) -> Method:
        return find_method("raw-harness")


class TestBestOfN(MethodConformance):
    @pytest.fixture
    def method(self) -> Method:
        return find_method("best-of-n")

    @pytest.fixture
    def options(self) -> Mapping[str, Json]:
        return {"episodes": 100}

    def test_it_stays_within_its_budget(self, trial: MethodTrial) -> None:
        assert 16 < len(trial.whole.used) <= 100


class TestHarnessCompass(MethodConformance):
    cuts = 2

    @pytest.fixture
    def method(self) -> Method:
        return find_method("harness-compass")

    @pytest.fixture
    def options(self) -> Mapping[str, Json]:
        return {"rounds": 2}

    def test_the_run_has_something_of_everything(self, trial: MethodTrial) -> None:
        selections = [record["selection"] for record in trial.whole.evolved.rounds]
        assert any("the generalization gate refuses it" in reason for s in selections for reason in s["refused"])
        assert all(len(s["pool"]) > 1 for s in selections)


class TestB0Access(TestHarnessCompass):
    @pytest.fixture
    def method(self) -> Method:
        return find_method("b0-access")


class TestHarnessEvolve(MethodConformance):
    @pytest.fixture
    def method(self) -> Method:
        return find_method("harness-evolve")

    @pytest.fixture
    def options(self) -> Mapping[str, Json]:
        return {"epochs": 2, "batches": 2}

    def test_the_run_has_something_of_everything(self, trial: MethodTrial) -> None:
        done = trial.whole
        assert {"evo", "disc", "conf1", "conf2", "conf3", "reference"} == {used.rollout.key.role for used in done.used}
        accepted = {record["selection"]["accepted"] for record in done.evolved.rounds}
        assert accepted == {True, False}


class TestInstalledMethod(MethodConformance):
    """Found through a dist-info folder on the path, as pip would leave it."""

    seed = 5

    @pytest.fixture
    def method(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Method:
        write_entry_point(tmp_path, method=NAME, value=WHERE)
        monkeypatch.syspath_prepend(str(tmp_path))
        assert NAME in method_names()
        return find_method(NAME)

    @pytest.fixture
    def options(self) -> Mapping[str, Json]:
        return {"tries": 4}

    def test_it_found_something_better_without_asking_anyone(self, trial: MethodTrial) -> None:
        done = trial.whole
        assert done.asks == {}
        assert len({named.harness.hash for named in done.evolved.harnesses}) > 2
        assert done.evolved.final.name != "H0"


@pytest.mark.slow
def test_an_installed_method_runs_from_the_command_line(tmp_path: Path) -> None:
    write_entry_point(tmp_path / "installed", method=NAME, value=WHERE)
    paths = [str(tmp_path / "installed"), *(path for path in sys.path if path)]

    def chase(*arguments: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "chase", *map(str, arguments)],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
            capture_output=True, text=True, check=False, timeout=120,
        )  # fmt: skip

    common = ("--benchmark", "syn-ledger@7", "--model", "sim:reader", "--workspace", tmp_path / "space", "--json")
    sizes = ("--split-sizes", "evo=4,disc=2,conf=2,cert=4", "--rollouts", "evo=1,disc=1,conf=1,cert=1")
    ended = chase("evolve", "--method", NAME, "--option", "tries=2", *sizes, *common)
    assert ended.returncode == 0, ended.stderr
    found = json.loads(ended.stdout)
    assert found["config"]["method"] == NAME
    assert found["config"]["tries"] == 2
    assert found["config"]["proposer"] is None
    assert [harness["name"] for harness in found["harnesses"]] == ["H0", "try-0", "try-1"]
    assert found["certification"]["tasks"] == 4
    resumed = chase("evolve", "--resume", found["run"], "--workspace", tmp_path / "space", "--json")
    assert json.loads(resumed.stdout)["final"] == found["final"]
    idle = chase("evolve", "--method", NAME, "--rounds", "2", "--proposer", "mining", *common)
    assert idle.returncode == 2
    assert f"method={NAME} has no use for this: leave --rounds, --proposer out" in idle.stderr
    wrong = chase("evolve", "--method", NAME, "--option", "tries=99", *common)
    assert "tries=99 must be a whole number from 1 to 20" in wrong.stderr
