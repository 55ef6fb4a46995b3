"""Language-model Proposers and Challengers in a whole run: capable, refused, hopeless, interrupted, lied to."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from chase.agents.records import TRANSCRIPT
from chase.benchmarks.syn_ledger.benchmark import SynLedger
from chase.core.agents import Candidate, Draft
from chase.core.errors import UserError
from chase.core.events import AgentReplied
from chase.engine.runner import RunPaused
from chase.harness.folder import parse_files
from chase.methods.evolution import EvolutionOutcome
from chase.methods.run import Run
from chase.models.config import ModelConfig
from chase.models.connect import connect
from chase.models.errors import ConnectionLost
from chase.protocol.kit import ProtocolKit
from chase.store.store import Store
from chase.store.workspace import Workspace
from chase.testing.capable import capable_model
from chase.testing.openai_server import OpenAIServer
from chase.testing.scripted import Call, Request, ScriptedModel, Step, call
from chase.testing.served import served
from tests.methods.agents import (
    FEEDBACK,
    FORMS,
    GOOD,
    PROMPT,
    agents,
    asked_for,
    candidate,
    capable,
    handed,
    proposals,
    submitting,
    written,
)
from tests.methods.runs import Told, few_tasks, plan, running

pytestmark = pytest.mark.slow


@asynccontextmanager
async def opened(
    ledger: SynLedger, kit: ProtocolKit, folder: Path, model: Any, told: Told | None = None, **settings: Any
) -> AsyncIterator[Run]:
    made = plan(few_tasks(ledger), kit=kit, **{"rounds": 1, **agents(model), **settings})
    async with running(made, folder, told=told) as run:
        yield run


async def evolved(ledger: SynLedger, kit: ProtocolKit, folder: Path, model: Any, **settings: Any) -> EvolutionOutcome:
    async with opened(ledger, kit, folder, model, **settings) as run:
        return await run.evolve()


def journal(folder: Path, name: str) -> Any:
    return json.loads((folder / ".chase/runs/run-1" / name).read_text())


# A capable model


@pytest.mark.slow
async def test_a_capable_model_evolves_a_harness_and_challenges_it(
    ledger: SynLedger, kit: ProtocolKit, tmp_path: Path
) -> None:
    told = Told()
    made = plan(ledger, kit=kit, rounds=2, seed=1, rollouts=ledger.defaults.rollouts, **agents(capable()))
    async with running(made, tmp_path, told=told) as run:
        found = await run.evolve()
    first, second = (round["selection"] for round in found.rounds)
    assert first["selected"] == "r1-guidance"  # the shortcut pays
    assert [entry.name for entry in found.archive.entries] == ["b1"]  # and is found
    assert {row["harness"]: row["violates"] for row in second["pool"]}["r1-guidance"] == ["b1"]
    assert found.final.name == "r2-guidance"  # what replaces it holds
    assert first["refused"] == second["refused"] == []
    requests = told.of(AgentReplied)
    assert {event.purpose for event in requests} == {"propose", "challenge"}
    with Store.open(Workspace(tmp_path), write=False) as store:
        spent = {s.role: s for s in store.spend("run-1") if s.purpose != "rollout"}
    assert {role: spend.episodes for role, spend in spent.items()} == {"propose": 2, "challenge": 2}
    assert sum(spend.usage.requests for spend in spent.values()) == len(requests)


@pytest.mark.slow
async def test_over_http_the_run_is_the_same_as_in_process(ledger: SynLedger, kit: ProtocolKit, tmp_path: Path) -> None:
    results = []
    async with OpenAIServer(served(capable_model())) as server:
        config = ModelConfig(name="openai-compatible:capable", base_url=server.url)
        async with connect(config) as model:
            for name, asked in (("wire", model), ("process", capable())):
                made = plan(few_tasks(ledger), kit=kit, rounds=2, **agents(asked))
                async with running(made, tmp_path / name, model=asked) as run:
                    found = await run.evolve()
                    certified = await run.certify(found)
                results.append(
                    (found.final.harness.hash, found.archive.hashes, _plain(found.rounds), certified.to_json())
                )
        assert any("submit_candidates" in json.dumps(request.json["tools"]) for request in server.requests)
    assert results[0] == results[1]


def _plain(value: Any) -> Any:
    """Without the agent's name, which names its model."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items() if key not in ("agent", "hashes", "replay")}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value


async def test_every_record_says_who_wrote_it_and_with_which_prompts(
    ledger: SynLedger, kit: ProtocolKit, tmp_path: Path
) -> None:
    model = submitting(FORMS)
    named = agents(model)
    await evolved(ledger, kit, tmp_path, model)
    answers = [Candidate(**data) for data in journal(tmp_path, "rounds/1/candidates.json")]
    assert [answer.track for answer in answers] == ["structural", "guidance", "integrated"]
    stamp = named["proposer"].name.split(":prompts-")[1].split(":")[0]
    for answer in answers:
        assert answer.record["agent"] == named["proposer"].name
        assert answer.record["prompts"] == stamp
        assert answer.record["feedback"] == [{**FEEDBACK, "improvements": []}] * 2
        assert answer.record["edits"] == ["an edit"]
        assert {"targeted_failures", "activation", "stopping", "expected_tool_calls", "regression_risks"} <= set(
            answer.record
        )


# What cannot be used


async def test_a_refused_candidate_gets_one_precise_message_and_is_replaced(
    ledger: SynLedger, kit: ProtocolKit, tmp_path: Path
) -> None:
    bad = {**GOOD, "structural": candidate({"harness.toml": 'benchmark = "syn-ledger"\nspeed = 3\n'})}
    model = submitting({**FORMS, "submit_candidates": [handed(bad), handed(GOOD)]})
    found = await evolved(ledger, kit, tmp_path, model)
    asked = [request for request in model.requests if asked_for(request) == "submit_candidates"]
    assert len(asked) == 2  # the first answer, and one further try: nothing is asked for again
    message = asked[1].texts()[-1 - len(asked[1].tools)]
    assert message.startswith("These candidates cannot be used.")
    assert "structural: speed=3 in r1-structural/harness.toml: unknown key" in message
    assert "guidance:" not in message
    selection = found.rounds[0]["selection"]
    assert [row["harness"] for row in selection["pool"]] == ["H0", "r1-structural", "r1-guidance", "r1-integrated"]
    [refused] = selection["refused"]
    assert refused.startswith("r1-structural: speed=3")


@pytest.mark.parametrize(
    ("track", "form", "reason"),
    [
        ("structural", candidate({"prompt.md": "Look twice."}), "changes the other track"),
        ("guidance", candidate({"prompt.md": PROMPT}), "the same as a harness of the pool"),
        ("guidance", candidate({"../../escaped.md": "out"}), "does not belong in a harness"),
        ("integrated", candidate({"harness.toml": "=== no TOML"}), "not valid TOML"),
        ("integrated", candidate({"harness.toml": 'benchmark = "other"\n'}), "other"),
        ("structural", candidate({"control.py": "def plan(task):\n    return open('/etc/passwd')\n"}), "control.py"),
    ],
)
async def test_after_a_bounded_number_of_tries_the_round_goes_on_with_what_is_valid(
    ledger: SynLedger, kit: ProtocolKit, tmp_path: Path, track: str, form: dict[str, Any], reason: str
) -> None:
    model = submitting({**FORMS, "submit_candidates": [handed({**GOOD, track: form})]})
    found = await evolved(ledger, kit, tmp_path, model)
    refused = found.rounds[0]["selection"]["refused"]
    assert len(refused) == 1
    assert refused[0].startswith(f"r1-{track}: ")
    assert reason in refused[0]
    assert [answer["track"] for answer in journal(tmp_path, "rounds/1/candidates.json")] == [*GOOD, track, track]
    pool = [row["harness"] for row in found.rounds[0]["selection"]["pool"]]
    assert pool == ["H0", *(f"r1-{other}" for other in GOOD if other != track)]
    assert not list(tmp_path.rglob("escaped.md"))


async def test_a_harness_that_was_evaluated_before_is_told_back(
    ledger: SynLedger, kit: ProtocolKit, tmp_path: Path
) -> None:
    """All three lose the selection, so the second round starts from the same harness, and proposes the same."""
    worse = {
        "structural": candidate({"harness.toml": 'benchmark = "syn-ledger"\n[tools]\nopened_files = 1\n'}),
        "guidance": candidate({"memory.md": "Do not read on."}),
        "integrated": candidate(
            {"harness.toml": 'benchmark = "syn-ledger"\n[tools]\nopened_files = 1\n', "memory.md": "Do not read on."}
        ),
    }
    model = submitting({**FORMS, "submit_candidates": [handed(worse)]})
    found = await evolved(ledger, kit, tmp_path, model, rounds=2)
    assert [round["selection"]["selected"] for round in found.rounds] == ["H0", "H0"]
    told = "\n".join(text for request in model.requests for text in request.texts())
    assert "structural: the same as r1-structural, which was evaluated" in told


async def test_what_replaces_a_repetition_is_evaluated(ledger: SynLedger, kit: ProtocolKit, tmp_path: Path) -> None:
    few = {
        "structural": candidate({"harness.toml": 'benchmark = "syn-ledger"\n[tools]\nopened_files = 1\n'}),
        "guidance": candidate({"memory.md": "Do not read on."}),
        "integrated": candidate(
            {"harness.toml": 'benchmark = "syn-ledger"\n[tools]\nopened_files = 1\n', "memory.md": "Do not read on."}
        ),
    }
    fewer = {**few, "structural": candidate({"harness.toml": 'benchmark = "syn-ledger"\n[tools]\nopened_files = 2\n'})}

    def script(request: Request) -> Step:
        name = asked_for(request)
        if name != "submit_candidates":
            return Call(name, dict(FORMS[name][0]))
        return Call(
            name, handed(fewer) if any("which was evaluated" in text for text in request.texts()) else handed(few)
        )

    found = await evolved(ledger, kit, tmp_path, ScriptedModel(script), rounds=2)
    pools = [[row["harness"] for row in round["selection"]["pool"]] for round in found.rounds]
    assert pools == [["H0", *(f"r{t}-{track}" for track in GOOD)] for t in (1, 2)]
    replaced = journal(tmp_path, "rounds/2/candidates.json")
    assert "opened_files = 2" in replaced[3]["files"]["harness.toml"]
    with Store.open(Workspace(tmp_path), write=False) as store:
        harnesses = {used.rollout.key.harness for used in store.used("run-1")}
    assert parse_files(replaced[3]["files"], where="the new one").hash in harnesses


async def test_an_unknown_operator_and_an_archived_transformation_are_told_back(
    ledger: SynLedger, kit: ProtocolKit, tmp_path: Path
) -> None:
    bad = {"proposals": [*proposals("depth")["proposals"], *proposals("depth", name="erase")["proposals"]]}
    model = submitting({**FORMS, "submit_proposals": [bad, proposals("format", "depth"), proposals("name")]})
    await evolved(ledger, kit, tmp_path, model)
    told = "\n".join(text for request in model.requests for text in request.texts())
    assert "proposal 2: unknown operator 'erase'" in told
    assert "proposal 4: the same as proposal 1: write another" in told
    drafts = [Draft(**data) for data in journal(tmp_path, "rounds/1/drafts.json")]
    assert [draft.form["operators"][0]["arguments"]["aspect"] for draft in drafts] == [
        "depth", "depth", "format", "depth", "name",
    ]  # fmt: skip


RUBBISH: Sequence[Step] = (
    "I would rather talk about the weather.",
    "",
    "x" * 2_000_000,
    call("format_disk", now=True),
    call("submit_candidates", structural="none", surprise=1),
    call("submit_proposals", proposals=[{"operators": []}]),
    call("read_file", path="../../../../../../etc/passwd"),
    call("read_file", path="/etc/passwd"),
    call("search_files", text=["no", "text"]),
    call("list_files", offset=-3),
)


@pytest.mark.parametrize("number", range(len(RUBBISH)))
async def test_a_proposer_that_returns_only_rubbish_ends_as_h0(
    ledger: SynLedger, kit: ProtocolKit, tmp_path: Path, number: int
) -> None:
    model = ScriptedModel(lambda request: RUBBISH[number])
    found = await evolved(ledger, kit, tmp_path, model)
    assert found.final.name == "H0"
    assert found.rounds[0]["selection"]["refused"] == ["the whole round: the Proposer handed in no candidate"]
    assert found.rounds[0]["challenger"] == {"skipped": "H_t = H_0"}
    episode = journal(tmp_path, "rounds/1/propose/episode.json")
    assert any("submit_candidates" in remark for remark in episode["remarks"])
    assert "root:" not in written(tmp_path / ".chase/runs")


async def test_arguments_that_are_no_json_are_told_back(ledger: SynLedger, kit: ProtocolKit, tmp_path: Path) -> None:
    def script(request: Request) -> Step:
        name = asked_for(request)
        tried = any("not valid JSON" in text for text in request.texts())
        return Call(name, dict(FORMS[name][0])) if tried else Call(name, '{"structural": ')

    found = await evolved(ledger, kit, tmp_path, ScriptedModel(script))
    assert len(found.rounds[0]["selection"]["pool"]) == 4


# Interruptions


@pytest.mark.slow
async def test_a_resumed_episode_asks_only_for_what_it_has_not(
    ledger: SynLedger, kit: ProtocolKit, tmp_path: Path
) -> None:
    whole = submitting(FORMS)
    expected = await evolved(ledger, kit, tmp_path / "whole", whole)
    asked = len(whole.requests)
    assert asked > 4
    for lost in range(1, asked):
        folder = tmp_path / f"lost-{lost}"
        count = 0

        def script(request: Request, lost: int = lost) -> Step:
            nonlocal count
            count += 1
            if count == lost:
                return ConnectionLost(
                    "gone",
                )
            return submitting_step(request)

        def submitting_step(request: Request) -> Step:
            name = asked_for(request)
            return Call(name, dict(FORMS[name][0]))

        model = ScriptedModel(script)
        with pytest.raises(RunPaused, match="sim:scripted, which is to"):
            await evolved(ledger, kit, folder, model)
        again = await evolved(ledger, kit, folder, model)
        assert len(model.requests) == asked + 1  # the lost one, and each of the others once
        assert again.final.harness.hash == expected.final.harness.hash
        assert again.archive.hashes == expected.archive.hashes
        with Store.open(Workspace(folder), write=False) as store:
            charged = sum(s.usage.requests for s in store.spend("run-1") if s.purpose != "rollout")
        assert charged == asked


async def test_a_reply_that_was_recorded_but_not_charged_is_charged_once(
    ledger: SynLedger, kit: ProtocolKit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def dies(self: Store, ledger: Sequence[Any]) -> None:
        raise UserError("killed")

    model = submitting(FORMS)
    with monkeypatch.context() as patched:
        patched.setattr(Store, "record_requests", dies)
        with pytest.raises(UserError, match="killed"):
            await evolved(ledger, kit, tmp_path, model)
    path = tmp_path / ".chase/runs/run-1/rounds/1/propose" / TRANSCRIPT
    assert len(path.read_text().splitlines()) == 1
    with path.open("a") as file:
        file.write('{"asked": "torn')  # and the process died while it wrote the next line
    await evolved(ledger, kit, tmp_path, model)
    with Store.open(Workspace(tmp_path), write=False) as store:
        charged = sum(s.usage.requests for s in store.spend("run-1") if s.purpose != "rollout")
    assert charged == len(model.requests)
