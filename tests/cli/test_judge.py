"""A judged benchmark on the command line: rollouts, an audit, an evolution, outages, a kill, caps and forecasts."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from chase.benchmarks.documents.benchmark import open_documents
from chase.harness.folder import initial_harness, save_harness
from chase.store.store import Store
from chase.store.workspace import Workspace
from chase.testing.openai_server import Completion, Fault, OpenAIServer, text_reply, token_usage
from tests.benchmarks.documents.judged import GOLD, given_of, reply, write_judged
from tests.cli.commands import Commands, serving

PLAYER, JUDGE = "openai-compatible:player", "openai-compatible:judge"


@pytest.fixture
def chase(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Commands:
    monkeypatch.chdir(tmp_path)
    return Commands(monkeypatch, capsys)


def said(request: dict[str, Any]) -> str:
    return "\n".join(str(message["content"]) for message in request["messages"])


def script(score: Callable[[str], float]) -> Callable[[dict[str, Any], int], Completion]:
    """One server for both: the player says how often its harness wants it to try, the judge gives a score."""

    def answer(request: dict[str, Any], attempt: int) -> Completion:
        text = said(request)
        if request["model"] == "judge":
            return text_reply(reply(text, score(given_of(text))), usage=token_usage(100, 20))
        return text_reply("metal, surely" if "Be sure." in text else "metal")

    return answer


def half(given: str) -> float:
    return 1.0 if "surely" in given else 0.5


def config(folder: Path, server: OpenAIServer, *, more: str = "") -> Path:
    """A config in which each model has its own address."""
    tables = [f'[models."{name}"]\nbase_url = "{server.url}"\nretries = 0\n' for name in (PLAYER, JUDGE)]
    file = folder / "config.toml"
    file.write_text("".join(tables) + more)
    return file


def on(folder: Path, config: Path, *, model: str = PLAYER) -> tuple[object, ...]:
    return ("--benchmark", "documents", "--data", folder, "--model", model, "--config", config, "--workspace", ".")


def rollout(folder: Path, config: Path, *more: object, model: str = PLAYER) -> tuple[object, ...]:
    """`chase rollout` of H_0."""
    harness = config.parent / "h0"
    save_harness(initial_harness(open_documents("documents", folder)), harness)
    return ("rollout", *on(folder, config, model=model), "--harness", harness, "--split", "evo", *more)


def judge_requests(server: OpenAIServer) -> list[str]:
    return [said(request.json) for request in server.requests if request.json["model"] == "judge"]


def test_a_rollout_is_judged_once_paid_once_and_told(chase: Commands, tmp_path: Path) -> None:
    data = write_judged(tmp_path / "data", model=JUDGE, scorer="settings = {temperature = 0}")
    assert chase.json("bench", "check", data)["passed"]
    assert f"judged by a language model, {JUDGE}" in chase("bench", "check", data).out
    with serving(script(half)) as server:
        flags = rollout(data, config(tmp_path, server))
        found = chase.json(*flags)
        assert (found["score"]["value"], found["executed"]) == (0.5, 4)
        assert {key: found["judge"][key] for key in ("model", "verdicts", "requests", "input_tokens")} == {
            "model": JUDGE, "verdicts": 2, "requests": 2, "input_tokens": 200,
        }  # fmt: skip
        asked = [request.json for request in server.requests if request.json["model"] == "judge"]
        assert [request["temperature"] for request in asked] == [0, 0]
        text = chase(*flags).out
        assert f"judged by {JUDGE}, a language model: 2 verdicts" in text
        assert len(judge_requests(server)) == 2
        usage = chase.json("store", "usage", "--workspace", ".")["accounts"][0]
        assert (usage["episodes"], usage["rollouts"], usage["judged"], usage["agent_episodes"]) == (6, 4, 2, 0)
        assert usage["paid"]["total"] == 4 * 15 + 2 * 120
        assert all(GOLD in text for text in judge_requests(server))
        assert not [r for r in server.requests if r.json["model"] == "player" and GOLD in said(r.json)]
        assert chase("store", "verify", "--workspace", ".").code == 0


def test_an_outage_of_the_judge_pauses_the_run_and_the_same_command_goes_on(chase: Commands, tmp_path: Path) -> None:
    data, away = write_judged(tmp_path / "data", model=JUDGE), [True]

    def fault(request: dict[str, Any], attempt: int) -> Fault | None:
        return Fault(status=503) if away[0] and request["model"] == "judge" else None

    with serving(script(half), fault) as server:
        flags = rollout(data, config(tmp_path, server), "--patience", 0)
        paused = chase(*flags)
        assert paused.code == 7
        assert "judge:" in paused.sentence
        played = sum(request.json["model"] == "player" for request in server.requests)
        away[0] = False
        assert chase.json(*flags)["score"]["value"] == 0.5
        assert sum(request.json["model"] == "player" for request in server.requests) == 4
        assert played > 0
    with Store.open(Workspace(tmp_path), write=False) as store:
        assert {(s.purpose, s.episodes, s.usage.requests) for s in store.spend()} == {
            ("rollout", 4, 4),
            ("judge", 2, 2),
        }


@pytest.mark.slow
def test_a_process_that_is_killed_while_it_judges_asks_for_no_verdict_twice(tmp_path: Path) -> None:
    data, pid = write_judged(tmp_path / "data", model=JUDGE), list[int]()
    judged: list[str] = []

    def deadly(request: dict[str, Any], attempt: int) -> Completion:
        if request["model"] == "judge":
            judged.append(said(request))
            if len(judged) == 2 and pid:
                os.kill(pid.pop(), signal.SIGKILL)
        return script(half)(request, attempt)

    with serving(deadly) as server:
        flags = rollout(data, config(tmp_path, server), "--concurrency", 1, "--json")
        command = [sys.executable, "-m", "chase", *map(str, flags)]
        first = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        pid.append(first.pid)
        assert first.wait(120) == -signal.SIGKILL
        subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, timeout=120)
    assert (len(judged), len(set(judged))) == (3, 2)  # the first is kept, the second was under way


@pytest.mark.slow
def test_an_audit_and_an_evolution_are_judged_forecast_and_capped(chase: Commands, tmp_path: Path) -> None:
    data = write_judged(tmp_path / "data", model=JUDGE)
    with serving(script(half)) as server:
        flags = on(data, config(tmp_path, server))
        chase("harness", "init", "h1", "--benchmark", "documents", "--data", data)
        with (tmp_path / "h1" / "prompt.md").open("a") as prompt:
            prompt.write("\nBe sure.\n")
        audit = ("audit", *flags, "--harness", "h1", "--rounds", 1, "--proposals", 1, "--rollouts", 1)
        forecast = chase.json(*audit, "--dry-run")
        [row] = [agent for agent in forecast["agents"] if agent["agent"] == "judge"]
        assert row["episodes"] == {"least": 0, "most": sum(r["episodes"]["most"] for r in forecast["rollouts"])}
        assert row["requests"] == 2 * row["episodes"]["most"]
        assert row["tokens"] > 0
        assert server.requests == []
        capped = chase(*audit, "--budget-tokens", 1_000)
        assert capped.code == 4
        audited = chase.json(*audit, "--budget-tokens", 10_000_000)
        assert audited["g_rel"]["value"] == 0.5
        assert audited["judge"]["verdicts"] == len(set(judge_requests(server))) == len(judge_requests(server))
        evolve = ("evolve", *flags, "--rounds", 1, "--proposals", 1, "--rollouts", "evo=1,disc=1,conf=1,cert=1")
        evolved = chase.json(*evolve)
        assert evolved["tokens"]["certification"]["judged"] > 0
        assert len(set(judge_requests(server))) == len(judge_requests(server))
        history = tmp_path / ".chase" / "runs" / evolved["run"] / "history"
        texts = [file.read_text() for file in history.rglob("*") if file.is_file()]
        assert texts
        assert not [text for text in texts if GOLD in text]


@pytest.mark.slow
def test_a_comparison_is_judged_once_for_all_methods_and_goes_on(chase: Commands, tmp_path: Path) -> None:
    data = write_judged(tmp_path / "data", model=JUDGE)
    with serving(script(half)) as server:
        named = ("--methods", "chase,chase-without-challenger", "--seeds", "1,2", "--rounds", 1)
        compare = ("compare", *on(data, config(tmp_path, server)), *named, "--rollouts", "evo=1,disc=1,conf=1,cert=1")
        compared = chase.json(*compare)
        asked = judge_requests(server)
        assert len(asked) == len(set(asked)) == compared["judge"]["verdicts"]
        again = chase.json(*compare, "--resume", compared["run"])
        assert again["methods"] == compared["methods"]
        assert judge_requests(server) == asked


def test_what_cannot_be_is_refused_before_anything_is_asked(chase: Commands, tmp_path: Path) -> None:
    data = write_judged(tmp_path / "data", model=JUDGE)
    with serving(script(half)) as server:
        file = config(tmp_path, server)
        flags = rollout(data, file, model="lexical")
        workers = chase(*flags, "--workers", 2)
        assert workers.code == 2
        assert "a language model judges" in workers.sentence
        unpriced = chase(*flags, "--budget-usd", 1)
        assert unpriced.code == 2
        assert f"the price of model '{JUDGE}' is not known" in unpriced.sentence
        file.write_text("")
        homeless = chase(*flags)
        assert homeless.code == 2
        assert f"'{JUDGE}' has no base_url" in homeless.sentence
        assert server.requests == []
        config(tmp_path, server)
        assert chase.json(*flags)["judge"]["model"] == JUDGE


def test_a_cap_in_money_counts_a_judge_beside_a_model_that_is_free(chase: Commands, tmp_path: Path) -> None:
    data = write_judged(tmp_path / "data", model=JUDGE)
    with serving(script(half)) as server:
        price = "price = {input = 1000, output = 1000}\n"  # in the last table, which is the judge's
        flags = rollout(data, config(tmp_path, server, more=price), model="lexical")
        capped = chase(*flags, "--budget-usd", 1)  # a first reply is expected to have 1,024 tokens
        assert capped.code == 4
        assert "budget reached" in capped.sentence
        assert judge_requests(server) == []
        assert chase.json(*flags, "--budget-usd", 1_000)["judge"]["cost_usd"] == pytest.approx(0.24)
        assert len(judge_requests(server)) == 2


def test_the_benchmark_alone_needs_no_judge(chase: Commands, tmp_path: Path) -> None:
    data = write_judged(tmp_path / "data", model=JUDGE)
    assert chase("bench", "validate", "documents", "--data", data).code == 0
    assert chase("bench", "export", "documents", "--data", data, "--out", tmp_path / "out").code == 0
    assert (tmp_path / "out" / "judge.json").exists()
    assert chase("firewall", "selftest", "documents", "--data", data).code == 0
    assert chase("scan", "documents", "--data", data).code == 0
