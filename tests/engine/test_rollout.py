"""The rollout loop: how a rollout can end. What the agent causes is scored; only infrastructure fails."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, ThinkingPart, ToolCallPart, ToolReturnPart

from chase.benchmarks.syn_ledger.benchmark import SynLedger
from chase.core.errors import SetupError
from chase.engine.rollout import _versions
from chase.engine.trace import result_text
from chase.models.errors import AuthenticationFailed, ConnectionLost, ContextTooLong
from chase.store.digests import rollout_digest
from chase.store.store import Store
from chase.store.workspace import Workspace
from chase.testing.scripted import Call, Step, call, scripted
from tests.engine.rollouts import events, follow, make_harness, make_job, roll, tool_events


def right_answer(ledger: SynLedger) -> str:
    return str(ledger.task(ledger.tasks("evo")[0]).answer)


async def test_a_right_answer_scores_1_and_a_wrong_one_0(ledger: SynLedger) -> None:
    right, _ = await follow(make_job(ledger), [right_answer(ledger)])
    assert (right.outcome.status, right.outcome.score, right.outcome.reason) == ("scored", 1.0, "answered")
    assert right.answer == right_answer(ledger)
    wrong, _ = await follow(make_job(ledger), ["I do not know."])
    assert (wrong.outcome.status, wrong.outcome.score, wrong.outcome.reason) == ("scored", 0.0, "answered")
    assert wrong.answer == "I do not know."


@pytest.mark.parametrize("reply", ["", "  \n", ModelResponse(parts=[]), ModelResponse(parts=[ThinkingPart("Hm.")])])
async def test_an_empty_reply_is_no_answer(ledger: SynLedger, reply: Step) -> None:
    rollout, model = await follow(make_job(ledger), [reply])
    assert (rollout.outcome.status, rollout.outcome.score, rollout.outcome.reason) == ("scored", 0.0, "no-answer")
    assert rollout.answer is None
    assert len(model.requests) == 1


async def test_a_model_that_never_answers_ends_at_the_step_limit(ledger: SynLedger) -> None:
    rollout, model = await follow(make_job(ledger), lambda request: call("list_files"))
    assert (rollout.outcome.status, rollout.outcome.score, rollout.outcome.reason) == ("scored", 0.0, "step-limit")
    assert len(model.requests) == ledger.limits.steps
    assert rollout.usage.requests == ledger.limits.steps


async def test_calls_over_budget_are_refused_and_the_rollout_goes_on(ledger: SynLedger) -> None:
    script: list[Step] = [call("list_files")] * 6 + [right_answer(ledger)]
    rollout, model = await follow(make_job(ledger), script)
    assert [event["ok"] for event in tool_events(rollout)] == [True] * 4 + [False] * 2
    assert "No search calls left" in result_text(tool_events(rollout)[-1])
    assert "No search calls left" in model.requests[-1].texts()[-5]
    assert rollout.outcome.score == 1.0


async def test_calls_beyond_sixty_four_in_one_reply_are_refused_at_once(ledger: SynLedger) -> None:
    rollout, model = await follow(make_job(ledger), [[call("list_files")] * 10_000, "1"])
    assert len(tool_events(rollout)) == 64
    assert sum(isinstance(part, ToolReturnPart) for part in model.requests[-1].messages[-1].parts) == 64
    refusal = "Only the first 64 calls of a reply are looked at: the others were refused."
    assert [event["text"] for event in events(rollout, "note")] == [refusal]
    assert refusal in model.requests[-1].texts()


async def test_every_call_counts_whatever_the_tool(ledger: SynLedger) -> None:
    rollout, _ = await follow(make_job(ledger), [[call("delete_all")] * 12, call("list_files"), "1"])
    unknown, late = tool_events(rollout)[0], tool_events(rollout)[-1]
    assert not unknown["ok"]
    assert "There is no tool 'delete_all'. Tools: list_files" in result_text(unknown)
    assert not late["ok"]
    assert "12 calls in all" in result_text(late)
    assert rollout.outcome.status == "scored"


async def test_several_calls_in_one_turn_get_their_own_results_in_order(ledger: SynLedger) -> None:
    calls = [call("list_files"), call("calculator", expression="6 * 7"), call("search", query="approved")]
    rollout, model = await follow(make_job(ledger), [calls, right_answer(ledger)])
    assert len(model.requests) == 2
    results = model.requests[1].messages[-1]
    assert isinstance(results, ModelRequest)
    returns = [part for part in results.parts if isinstance(part, ToolReturnPart)]
    assert [(part.tool_name, part.tool_call_id) for part in returns] == [
        ("list_files", "call-0-0"),
        ("calculator", "call-0-1"),
        ("search", "call-0-2"),
    ]
    assert returns[1].content == "42"
    assert [part.content for part in returns] == [result_text(event) for event in tool_events(rollout)]
    assert rollout.outcome.score == 1.0


MALFORMED: dict[str, Any] = {
    "no JSON": "{query: x",
    "a list": "[1, 2]",
    "a text": '"approved"',
    "a number that JSON has not": '{"query": "x", "limit": NaN}',
    "the same, already parsed": {"query": "x", "limit": float("nan")},
    "an infinity": '{"query": "x", "limit": Infinity}',
    "nested beyond reading": '{"query":' + "[" * 100_000,
    "a number beyond reading": '{"query": "x", "limit": ' + "9" * 6000 + "}",
    "an unpaired surrogate": '{"query": "\\ud800"}',
    "no query": "{}",
    "nothing": "",
    "an unknown argument": '{"query": "x", "all": true}',
    "a wrong type": '{"query": 7}',
    "a limit beyond the tool's": '{"query": "x", "limit": 13}',
}


@pytest.mark.parametrize("kind", MALFORMED)
async def test_malformed_arguments_are_refused_counted_and_recorded(
    ledger: SynLedger, tmp_path: Path, kind: str
) -> None:
    job = make_job(ledger)
    script: list[Step] = [Call("search", MALFORMED[kind]), [call("list_files")] * 4, right_answer(ledger)]
    rollout, model = await follow(job, script)
    first, *rest = tool_events(rollout)
    assert not first["ok"]
    assert [event["ok"] for event in rest] == [True, True, True, False]
    assert rollout.outcome.score == 1.0
    with Store.open(Workspace(tmp_path), write=True) as store:
        await store.record(rollout)
        assert store.get(rollout_digest(job.key(model))) is not None
        assert store.verify() == []


async def test_arguments_that_are_no_object_never_reach_a_tool(ledger: SynLedger) -> None:
    """Neither does what the harness might make of them: they stay the model's mistake."""
    harness = make_harness(retrieval={"results": 3, "drop_stop_words": True})
    rollout, _ = await follow(make_job(ledger, harness), [Call("search", '"approved"'), "1"])
    assert [event["ok"] for event in tool_events(rollout)] == [False]


async def test_a_history_beyond_the_context_ends_the_rollout(ledger: SynLedger) -> None:
    flood = ModelResponse(
        parts=[TextPart("word " * ledger.limits.context_tokens), ToolCallPart("list_files", {}, "c1")]
    )
    rollout, model = await follow(make_job(ledger), [flood, right_answer(ledger)])
    assert (rollout.outcome.status, rollout.outcome.score, rollout.outcome.reason) == ("scored", 0.0, "context-limit")
    assert len(model.requests) == 1


async def test_a_context_that_the_provider_finds_too_long_is_the_agents_doing(ledger: SynLedger) -> None:
    rollout, _ = await follow(make_job(ledger), [call("list_files"), ContextTooLong("too long")])
    assert (rollout.outcome.status, rollout.outcome.score, rollout.outcome.reason) == ("scored", 0.0, "context-limit")
    assert rollout.usage.requests == 1


async def test_a_slow_model_ends_at_the_benchmarks_time_limit(
    ledger: SynLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Clock:
        now = 0.0

        def perf_counter(self) -> float:
            self.now += ledger.limits.wall_seconds / 3
            return self.now

    monkeypatch.setattr("chase.models.chat.time", Clock())
    rollout, model = await follow(make_job(ledger), lambda request: call("list_files"))
    assert (rollout.outcome.status, rollout.outcome.score, rollout.outcome.reason) == ("scored", 0.0, "time-limit")
    assert len(model.requests) == 4


@pytest.mark.parametrize(
    "error", [ConnectionLost("gone"), AuthenticationFailed("no"), SetupError("no"), RuntimeError("a bug of ours")]
)
async def test_what_the_agent_did_not_cause_is_never_scored(ledger: SynLedger, error: Exception) -> None:
    with pytest.raises(type(error)):
        await follow(make_job(ledger), [call("list_files"), error])


async def test_the_model_gets_harness_question_tools_and_seed_and_nothing_else(ledger: SynLedger) -> None:
    job = make_job(ledger, make_harness(memory="Totals come last."))
    _, model = await follow(job, ["1"])
    [request] = model.requests
    assert request.seed == job.seed
    assert [tool.name for tool in request.tools] == [tool.name for tool in ledger.tools]
    [first] = request.messages
    system, user = first.parts
    assert system.content == (
        "Answer the question.\n\nWhen you have the answer, reply with the integer alone and call no tool.\n\n"
        "From earlier work:\nTotals come last."
    )
    assert user.content == ledger.task(job.task).question


async def test_usage_adds_up_over_turns_and_names_who_served(ledger: SynLedger) -> None:
    rollout, _ = await follow(make_job(ledger), [call("list_files"), call("list_files"), "1"])
    assert (rollout.usage.requests, rollout.usage.input_tokens, rollout.usage.output_tokens) == (3, 30, 3)
    assert rollout.usage.cost_usd == 0.0
    assert rollout.served_models == ("sim:scripted",)


async def test_thinking_is_in_the_trace_and_is_no_answer(ledger: SynLedger) -> None:
    reply = ModelResponse(parts=[ThinkingPart("It must be 7."), TextPart("8")])
    rollout, _ = await follow(make_job(ledger), [reply])
    assert rollout.answer == "8"
    [event] = events(rollout, "model")
    assert (event["thinking"], event["text"]) == ("It must be 7.", "8")


async def test_a_step_is_decided_by_the_history_alone(ledger: SynLedger) -> None:
    """Two rollouts that take turns do not disturb one another's script."""
    model = scripted([call("list_files"), call("calculator", expression="1 + 1"), right_answer(ledger)])
    for _ in range(2):
        rollout = await roll(make_job(ledger), model)
        assert rollout.outcome.score == 1.0


# The key and the draws


def test_draws_do_not_depend_on_harness_or_variant(ledger: SynLedger) -> None:
    job = make_job(ledger)
    other_harness = make_harness(memory="other", retrieval={"results": 3})
    for variant in ledger.variants():
        for harness in (make_harness(), other_harness):
            assert make_job(ledger, harness, variant=variant).seed == job.seed
    others = [
        make_job(ledger, index=1),
        make_job(ledger, run_seed=1),
        make_job(ledger, task=ledger.tasks("evo")[1]),
        make_job(ledger, task=ledger.tasks("cert")[0]),
    ]
    assert len({job.seed, *(other.seed for other in others)}) == 5


def test_a_rollouts_key_covers_everything_that_decides_it(
    ledger: SynLedger, another_seed: SynLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = scripted(["1"])
    job = make_job(ledger)
    others = {
        "harness": make_job(ledger, make_harness(memory="other")).key(model),
        "transformation": make_job(ledger, variant="neutral").key(model),
        "task": make_job(ledger, task=ledger.tasks("evo")[1]).key(model),
        "role": make_job(ledger, task=ledger.tasks("disc")[0]).key(model),
        "index": make_job(ledger, index=1).key(model),
        "run seed": make_job(ledger, run_seed=1).key(model),
        "benchmark": make_job(another_seed).key(model),
        "model": job.key(scripted(["1"], version="2")),
    }
    for module in ("rollout", "trace"):
        monkeypatch.setattr(f"chase.engine.{module}.VERSION", 999)
        _versions.cache_clear()
        others[module] = job.key(model)
        monkeypatch.undo()
        _versions.cache_clear()
    digests = {name: rollout_digest(key) for name, key in others.items()} | {"same": rollout_digest(job.key(model))}
    assert len(set(digests.values())) == len(digests)
    assert others["role"].role == "disc"
    assert rollout_digest(make_job(ledger).key(scripted(["2"]))) == digests["same"]
