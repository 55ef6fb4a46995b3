"""`chase evolve` and `chase audit` with a language model in every role, over HTTP: the scripted capable model."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from chase.harness.folder import save_harness
from chase.harness.spec import Harness
from chase.testing.capable import SHORTCUT, capable_model
from chase.testing.faults import KINDS, FaultSchedule
from chase.testing.ledger import H0
from chase.testing.openai_server import FaultHook
from chase.testing.served import served
from tests.cli.commands import Commands, checked, serving

MODEL = "openai-compatible:capable"
SMALL = ("--split-sizes", "evo=8,disc=8,conf=6,cert=6", "--rollouts", "evo=2,disc=1,conf=2,cert=1", "--rounds", 2)
ALL_ROLES = ("--proposer-model", MODEL, "--challenger-model", MODEL)


@pytest.fixture
def chase(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Commands:
    monkeypatch.chdir(tmp_path)
    return Commands(monkeypatch, capsys)


def evolve(chase: Commands, folder: Path, *more: object, fault: FaultHook | None = None) -> dict[str, Any]:
    with serving(served(capable_model()), fault) as server:
        return chase.json(
            "evolve", "--benchmark", "syn-ledger@7", "--model", MODEL, "--base-url", server.url, *ALL_ROLES, *SMALL,
            "--workspace", folder, *more,
        )  # fmt: skip


def told(payload: dict[str, Any]) -> dict[str, Any]:
    """What a run found, without what names the address."""
    kept = {name: payload[name] for name in ("harnesses", "archive", "certification", "executed", "reused")}
    kept["final"] = {name: payload["final"][name] for name in ("name", "hash", "selection", "changes")}
    kept["rounds"] = [round["selection"] for round in payload["rounds"]]
    kept["tokens"] = payload["tokens"]
    return json.loads(json.dumps(kept))  # type: ignore[no-any-return]


@pytest.mark.slow
def test_faults_on_the_way_change_nothing(chase: Commands, tmp_path: Path) -> None:
    (tmp_path / "hurried.toml").write_text(f'[models."{MODEL}"]\ntimeout_seconds = 1\n')
    quiet = evolve(chase, tmp_path / "quiet")
    schedule = FaultSchedule(rate=0.15, seed=3, kinds=tuple(KINDS))
    disturbed = evolve(chase, tmp_path / "disturbed", "--config", tmp_path / "hurried.toml", fault=schedule)
    assert sum(schedule.injected.values()) > 20
    assert told(quiet) == told(disturbed)
    assert quiet["tokens"]["optimisation"]["agent_episodes"] >= 3
    assert quiet["archive"] == disturbed["archive"] != []


def test_a_pilot_is_small_and_has_every_part(chase: Commands, tmp_path: Path) -> None:
    with serving(served(capable_model())) as server:
        arguments = ("evolve", "--preset", "pilot", "--benchmark", "syn-ledger@7", "--model", MODEL, *ALL_ROLES)
        arguments = (*arguments, "--base-url", server.url, "--seed", 3, "--json")
        forecast = json.loads(chase(*arguments, "--dry-run").out)
        finished = chase(*arguments)
    assert finished.code == 0, finished.err
    payload = json.loads(finished.out)
    assert payload["config"]["tasks"] == {"evo": 4, "disc": 4, "conf1": 4, "conf2": 4, "conf3": 4, "cert": 8}
    assert payload["config"]["rounds"] == 1
    most = sum(stage["episodes"]["most"] for stage in forecast["rollouts"])
    assert 0 < payload["executed"] <= most
    assert f"Proposer ({MODEL}), request 1: list_files" in finished.err
    run = tmp_path / ".chase/runs" / payload["run"]
    assert (run / "rounds/1/propose/transcript.jsonl").exists()
    # The run's own config makes the same run, address included.
    with serving(served(capable_model())):
        again = chase("evolve", "--resume", payload["run"], "--json")
    assert again.code == 0, again.err
    assert json.loads(again.out)["final"] == payload["final"]


def test_an_audit_asks_a_language_model(chase: Commands, tmp_path: Path) -> None:
    initial = H0
    save_harness(Harness(structure=initial.structure, prompt=" ".join([initial.prompt, *SHORTCUT])), tmp_path / "h1")
    with serving(served(capable_model())) as server:
        finished = chase(
            "audit", "--benchmark", "syn-ledger@7", "--model", MODEL, "--challenger", "llm", "--harness", "h1",
            "--base-url", server.url, "--preset", "pilot", "--no-battery", "--anyway", "--json",
        )  # fmt: skip
    assert finished.code in (0, 5), finished.err
    payload = checked(finished.out)
    assert len(payload["tried"]) >= 4
    assert {tried["replay"]["prompts"] for tried in payload["tried"] if tried["replay"]} != set()
    assert f"Challenger ({MODEL}), request 1" in finished.err


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (("--proposer", "llm", "--command", "agent"), "--command is for --proposer coding-agent"),
        (("--proposer", "coding-agent"), "needs a command: give --command"),
        (("--proposer", "mining", "--proposer-model", "sim:reader"), "--proposer-model is for --proposer llm"),
        (("--challenger", "oracle"), "unknown challenger 'oracle'"),
        (("--preset", "pilott"), "unknown preset 'pilott'. Did you mean 'pilot'?"),
        (("--split-sizes", "evo=1"), "must be whole numbers from 2 to 1000000 by role: evo=1 is not"),
        (("--split-sizes", "conf=17"), "split_sizes: conf=17 must be a whole number from 2 to 16, all that there are"),
        (("--split-sizes", "all=3"), "unknown role in split_sizes 'all'"),
        (("--split-sizes", "3"), "split_sizes=3 must be counts by role"),
        (("--history-tokens", "5", "--proposer", "llm"), "history_tokens=5 must be a whole number from 100"),
        (("--method", "chase-without-challenger", "--challenger-model", "sim:reader"), "leave --challenger-model out"),
    ],
)
def test_contradictory_settings_are_refused_before_anything_runs(
    chase: Commands, tmp_path: Path, flags: tuple[str, ...], sentence: str
) -> None:
    finished = chase("evolve", "--benchmark", "syn-ledger@7", "--model", "sim:reader", *flags)
    assert finished.code == 2
    assert sentence in finished.sentence
    assert not (tmp_path / ".chase").exists()


def test_a_flag_beside_a_preset_wins_for_the_roles_that_it_names(chase: Commands, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text("rounds = 5\n[rollouts]\nevo = 7\n")
    flags = ("--preset", "pilot", "--split-sizes", "evo=2", "--rollouts", "conf=3", "--config", "mine.toml")
    finished = chase("evolve", "--benchmark", "syn-ledger@7", "--model", "sim:reader", *flags, "--no-certify", "--json")
    config = json.loads(finished.out)["config"]
    assert config["tasks"] == {"evo": 2, "disc": 4, "conf1": 4, "conf2": 4, "conf3": 4, "cert": 8}
    assert config["rollouts"] == {"evo": 1, "disc": 1, "conf1": 3, "conf2": 3, "conf3": 3, "cert": 1}
    assert config["rounds"] == 1  # the preset was asked for on the command line: it wins over the file


@pytest.mark.parametrize("name", ["paper-syn-ledger", "paper-officeqa"])
def test_the_papers_settings_are_those_of_the_paper(name: str) -> None:
    path = Path(__file__).parents[2] / "configs" / f"{name}.toml"
    config = tomllib.loads(path.read_text())
    officeqa = name == "paper-officeqa"
    assert config["rounds"] == 3
    assert config["epsilon"] == "0.05"
    assert config["eta"] == ("0.075" if officeqa else "0.05")
    assert config["rollouts"] == {"evo": 2, "disc": 2, "conf": 5, "cert": 3}
    assert config["proposals"] == 8
    models = {config[key] for key in ("model", "proposer_model", "challenger_model")}
    assert models == {"openai:gpt-5.6-sol"}
    assert config["models"]["openai:gpt-5.6-sol"]["settings"] == {"thinking": "high" if officeqa else False}


def test_the_papers_config_is_understood(chase: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "not-a-key")
    path = Path(__file__).parents[2] / "configs" / "paper-syn-ledger.toml"
    forecast = chase.json("evolve", "--config", path, "--benchmark", "syn-ledger@7", "--dry-run")
    assert forecast["schema"] == "chase.forecast/1"


def test_the_papers_config_for_officeqa_is_understood(
    chase: Commands, monkeypatch: pytest.MonkeyPatch, officeqa_data: Path
) -> None:
    """On a sample with 9 evolution, 9 discovery, 3 x 5 confirmation and 15 certification questions."""
    monkeypatch.setenv("OPENAI_API_KEY", "not-a-key")
    path = Path(__file__).parents[2] / "configs" / "paper-officeqa.toml"
    forecast = chase.json("evolve", "--config", path, "--data", officeqa_data, "--dry-run")
    first = {stage["role"]: stage["episodes"] for stage in forecast["rollouts"] if stage["stage"] == "round 1"}
    assert first["evo"] == {"least": 9 * 2, "most": 4 * 9 * 2}  # H_0 and three candidates, twice each
    assert first["conf1"]["most"] == 2 * 2 * 5 * 5  # two harnesses, two benchmarks, five questions, five times
    sealed = {stage["role"]: stage["episodes"] for stage in forecast["rollouts"] if stage["stage"] == "certification"}
    assert sealed["cert"]["least"] == 15 * 3
