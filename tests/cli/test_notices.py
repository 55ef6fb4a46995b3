"""A harness that does nothing or breaks: rollouts, audits, evolutions and checks say so, in text and JSON."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest

from chase.benchmarks.syn_ledger.benchmark import SynLedger
from chase.models.reader.directives import VOCABULARY, Directives, read_directives
from tests.cli.commands import Commands, checked, write_h0
from tests.conftest import open_once
from tests.methods.runs import few_tasks

B = ("--benchmark", "syn-ledger@7")
SIM = (*B, "--model", "sim:reader")
BROKEN = """


def rerank(hits, state):
    for hit in hits:
        hit["seen"] = True
    return hits[0].order
"""
DEPTH = {"benchmark": "syn-ledger", "operators": [{"name": "equalise", "arguments": {"aspect": "depth"}}]}
FAILED = "failed in {0} of {0} rollouts: AttributeError: 'dict' object has no attribute 'order' at control.py line 7"
"""The file's own line, blank ones at its top included."""


@cache
def few_once(name: str, data: Path | None = None) -> SynLedger:
    return few_tasks(open_once(name))


@pytest.fixture
def chase(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Commands:
    """Commands on a few tasks, beside H_0 and three harnesses that come to nothing."""
    monkeypatch.chdir(tmp_path)
    write_h0(tmp_path / "h0")
    write_h0(tmp_path / "wordy", say="Think step by step.\n")
    (write_h0(tmp_path / "broken") / "control.py").write_text(BROKEN)
    commands = Commands(monkeypatch, capsys)
    monkeypatch.setattr("chase.benchmarks.registry.open_benchmark", few_once)
    return commands


def rollout(harness: str) -> tuple[object, ...]:
    return ("rollout", *SIM, "--harness", harness, "--split", "evo", "--rollouts", 1)


def evolve(harness: str) -> tuple[object, ...]:
    method = ("--method", "chase-without-challenger", "--rounds", 1, "--rollouts", "evo=1", "--no-certify")
    return ("evolve", *SIM, "--harness", harness, *method)


def test_a_rollout_says_which_hook_failed_how_often_and_where(chase: Commands) -> None:
    payload = chase.json(*rollout("broken"))
    tasks = payload["tasks"]
    [failure] = payload["hook_failures"]
    assert failure["hash"] == payload["harness"]
    assert (failure["hook"], failure["rollouts"], failure["of"]) == ("rerank", tasks, tasks)
    assert (failure["reason"], failure["line"], failure["other_reasons"]) == ("AttributeError", 7, 0)
    sentence = f"rerank of the harness {FAILED.format(tasks)}"
    assert sentence in payload["warnings"]
    again = chase(*rollout("broken"))  # from the store
    assert f"note: {sentence}" in again.out.splitlines()


@pytest.mark.slow
def test_an_audit_and_an_evolution_say_so_too(chase: Commands) -> None:
    Path("depth.json").write_text(json.dumps(DEPTH))
    given = ("--transformations", "depth.json", "--rollouts", 1)
    finished = chase("audit", *SIM, "--harness", "broken", *given, "--json")
    audited = checked(finished.out)
    of = audited["hook_failures"][0]["of"]
    assert f"rerank of the harness {FAILED.format(of)}" in audited["warnings"]
    evolved = chase.json(*evolve("broken"))
    first = next(failure for failure in evolved["hook_failures"] if failure["harness"] == "H_0")
    assert (first["hook"], first["rollouts"], first["reason"]) == ("rerank", first["of"], "AttributeError")
    assert any(warning.startswith("rerank of H_0 failed in ") for warning in evolved["warnings"])


def test_a_harness_that_does_what_h0_does_is_told_so_where_both_were_run(chase: Commands) -> None:
    alone = chase.json(*rollout("wordy"))
    assert not any("exactly like" in warning for warning in alone["warnings"])
    chase(*rollout("h0"))
    payload = chase.json(*rollout("wordy"))
    alike = f"the harness behaved exactly like H_0 on all {payload['tasks']} tasks"
    assert any(warning.startswith(alike) for warning in payload["warnings"])
    assert not any("exactly like" in warning for warning in chase.json(*rollout("h0"))["warnings"])
    assert not any("exactly like" in warning for warning in chase.json(*rollout("broken"))["warnings"])


def test_the_simulator_says_that_it_understands_none_of_the_edits_and_what_it_knows(chase: Commands) -> None:
    ignored = [text for text in chase.json(*rollout("wordy"))["warnings"] if "in the vocabulary of sim:reader" in text]
    assert len(ignored) == 1
    assert all(f"`{phrase}`" in ignored[0] for phrase in VOCABULARY.phrases)
    write_h0(Path("heard"), say="Use the calculator.\n")
    for harness in ("heard", "broken", "h0"):
        assert not any("vocabulary" in text for text in chase.json(*rollout(harness))["warnings"])


@pytest.mark.parametrize("phrase", VOCABULARY.phrases)
def test_every_phrase_that_is_named_is_understood(phrase: str) -> None:
    assert read_directives(phrase.replace("X", "path-depth")) != Directives()


def test_the_check_runs_each_hook_once_on_a_task(chase: Commands) -> None:
    finished = chase("harness", "check", "broken", *B, "--json")
    assert finished.code == 2
    assert finished.sentence.endswith("broken/control.py: rerank failed on an example. Mend it: it would do nothing.")
    [trial] = checked(finished.out)["hook_trials"]
    assert (trial["hook"], trial["status"], trial["reason"], trial["line"]) == ("rerank", "failed", "AttributeError", 7)
    assert "at control.py line 7" in chase("harness", "check", "broken", *B).out


def test_the_check_calls_every_hook_there_is(chase: Commands) -> None:
    (write_h0(Path("whole")) / "control.py").write_text(
        "def plan(task):\n    return {'queries': task['slots']['entity'][:1]}\n"
        "def rewrite_query(query, state):\n    return query\n"
        "def rerank(hits, state):\n    return list(range(len(hits)))\n"
        "def after_tool(tool, result, state):\n    return None\n"
        "def should_stop(state):\n    return False\n"
        "def check_answer(answer, state):\n    return None\n"
    )
    payload = chase.json("harness", "check", "whole", *B)
    assert {trial["hook"]: trial["status"] for trial in payload["hook_trials"]} == dict.fromkeys(
        payload["hooks"], "ran"
    )
    assert len(payload["hooks"]) == 6
