"""Faults between us and a model: does a run over HTTP with them end as the run in one process does?

`python -m studies.faults` runs every task of a benchmark once with the simulated reader, in this process, and then over
HTTP: without faults, with each kind of fault in 15 % of all attempts, with all kinds together, with an outage in the
middle, and with a model that misbehaves in every second turn. Then a whole run of CHASE, with language-model Proposer
and Challenger played by the scripted capable model, in this process and over HTTP: without faults and with all kinds.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from chase.benchmarks.registry import open_benchmark
from chase.challengers.llm import LanguageModelChallenger
from chase.core.events import ignore
from chase.core.values import Json
from chase.engine.rollout import Job
from chase.engine.runner import Runner, ScoredRollout
from chase.engine.sandbox import Sandbox
from chase.harness.folder import initial_harness
from chase.methods.chase import Chase, ChaseOptions
from chase.methods.run import Plan, Run
from chase.models.chat import ChatModel
from chase.models.config import ModelConfig
from chase.models.connect import connect, make_pacer
from chase.models.local import make_local
from chase.proposers.llm import LanguageModelProposer
from chase.protocol.kit import ProtocolKit
from chase.store.records import Use
from chase.store.store import Store
from chase.testing.capable import NAME as CAPABLE
from chase.testing.capable import capable_model
from chase.testing.comparing import Account, accounts, lost_and_doubled
from chase.testing.faults import KINDS, FaultSchedule
from chase.testing.misbehaviour import MISTAKES, misbehaving
from chase.testing.openai_server import Completion, OpenAIServer
from chase.testing.scripted import scripted
from chase.testing.served import served
from studies.reader_scores import write
from studies.running import workspace

BENCHMARK = "syn-ledger@7"
RATE, SEED = 0.15, 1
MISTAKE_RATE, MISBEHAVING_TASKS = 0.5, 64
TIMEOUT_SECONDS = 3.0
AWAY_SECONDS = 5.0
ANSWERS_BEFORE_OUTAGE = 800
READER = "sim:reader"
SIZES = {"evo": 16, "disc": 16, "conf1": 16, "conf2": 16, "conf3": 16, "cert": 32}
ROUNDS = 2
PURPOSES = ("rollout", "propose", "challenge")
Script = Callable[[dict[str, Json], int], Awaitable[Completion]]


class Restarts:
    """Counts rollouts that were begun again."""

    def __init__(self) -> None:
        self.count = 0

    def started(self, *, total: int, reused: int) -> None: ...
    def finished(self, scored: ScoredRollout) -> None: ...
    def failed(self, job: Job, reason: str, *, again: bool) -> None:
        self.count += 1


def jobs() -> list[Job]:
    """Every task once, with the initial harness."""
    benchmark = open_benchmark(BENCHMARK)
    harness, released = initial_harness(benchmark), benchmark.variant("released")
    return [
        Job(benchmark=benchmark, transformation=released, harness=harness, task=task, index=0, run_seed=0)
        for task in benchmark.tasks()
    ]


async def evaluate(store: Store, model: ChatModel, todo: Sequence[Job]) -> int:
    """Runs the jobs; how many rollouts were begun again."""
    store.create_run("run", {})
    restarts, use = Restarts(), Use(run="run", method="rollout")
    async with model:
        await Runner(model=model, store=store, sandbox=Sandbox(), use=use, progress=restarts).evaluate(todo)
    return restarts.count


async def in_process(model: ChatModel, todo: Sequence[Job]) -> list[Account]:
    with workspace() as store:
        await evaluate(store, model, todo)
        return accounts(store, todo, model)


async def over_http(
    case: str, server: OpenAIServer, schedule: FaultSchedule | None, todo: Sequence[Job], expected: Sequence[Account]
) -> dict[str, Any]:
    """One row: the run against an open server, compared with what is expected."""
    heard: list[str] = []
    config = ModelConfig(name="openai-compatible:reader", base_url=server.url, timeout_seconds=TIMEOUT_SECONDS)
    model = connect(config, pacer=make_pacer(config, patience_seconds=600.0, on_outage=heard.append))
    started = time.monotonic()
    with workspace() as store:
        restarted = await evaluate(store, model, todo)
        found = accounts(store, todo, model)
        lost, doubled = lost_and_doubled(store, "run", todo)
        row = {
            "case": case,
            "rollouts": len(found),
            "same": sum(ours == theirs for ours, theirs in zip(found, expected, strict=False)),
            "lost": lost,
            "doubled": doubled,
            "restarted": restarted,
            "requests": len(server.requests),
            "answers_used": sum(account.requests for account in found),
            "ledger_requests": sum(spend.usage.requests for spend in store.spend("run")),
            "injected": dict(sorted(schedule.injected.items())) if schedule else {},
            "heard": [message.split(" (")[0] for message in heard],
            "problems": len(store.verify()),
            "mean_score": sum(account.outcome.score or 0.0 for account in found) / len(found),
        }
    sys.stderr.write(f"{case}: {row['same']} of {len(todo)} the same, {time.monotonic() - started:.0f} s\n")
    return row


async def reader_rows(todo: Sequence[Job]) -> list[dict[str, Any]]:
    expected = await in_process(connect(ModelConfig(name=READER)), todo)
    rows = []
    for case, kinds in {"no fault": (), **{kind: (kind,) for kind in KINDS}, "all kinds": tuple(KINDS)}.items():
        schedule = FaultSchedule(rate=RATE, seed=SEED, kinds=kinds) if kinds else None
        async with OpenAIServer(served(make_local(ModelConfig(name=READER))), fault=schedule) as server:
            rows.append(await over_http(case, server, schedule, todo, expected))
    async with away_in_the_middle(served(make_local(ModelConfig(name=READER)))) as server:
        rows.append(await over_http(f"away for {AWAY_SECONDS:g} s", server, None, todo, expected))
    return rows


@asynccontextmanager
async def away_in_the_middle(script: Script) -> AsyncIterator[OpenAIServer]:
    """A server that closes after so many answers, and opens again at the same address."""
    answers, enough = 0, asyncio.Event()

    async def counted(request: dict[str, Json], attempt: int) -> Completion:
        nonlocal answers
        answers += 1
        if answers == ANSWERS_BEFORE_OUTAGE:
            enough.set()
        return await script(request, attempt)

    server = OpenAIServer(counted)
    await server.__aenter__()

    async def outage() -> None:
        await enough.wait()
        await server.__aexit__(None, None, None)
        await asyncio.sleep(AWAY_SECONDS)
        await server.__aenter__()

    going = asyncio.create_task(outage())
    try:
        yield server
    finally:
        going.cancel()
        await server.__aexit__(None, None, None)


async def misbehaving_row(todo: Sequence[Job]) -> dict[str, Any]:
    script = misbehaving(rate=MISTAKE_RATE, seed=SEED)
    expected = await in_process(scripted(script), todo)
    async with OpenAIServer(served(scripted(script)._model)) as server:
        row = await over_http("the model misbehaves", server, None, todo, expected)
    said = [event for account in expected for event in account.trace["events"] if event["event"] == "model"]
    made = {kind: sum(mistake.shows_in(event) for event in said) for kind, mistake in MISTAKES.items()}
    return {**row, "injected": made}


def plan_of(model: ChatModel) -> Plan:
    """A run of CHASE with the same model in every role."""
    benchmark = open_benchmark(BENCHMARK).fewer(SIZES)
    return Plan(
        benchmark=benchmark,
        kit=ProtocolKit(benchmark),
        initial=initial_harness(benchmark),
        method=Chase(),
        options=ChaseOptions(rounds=ROUNDS, epsilon="0.05", eta="0.05"),
        proposer=LanguageModelProposer(model),
        challenger=LanguageModelChallenger(model),
        rollouts=benchmark.defaults.rollouts,
        seed=SEED,
    )


async def whole_run(model: ChatModel) -> dict[str, Any]:
    """What a run found and what it paid: all of it must be the same, however the words travelled."""
    with workspace() as store:
        store.create_run("run", {})
        async with model, Sandbox() as sandbox:
            run = Run(plan_of(model), run="run", store=store, model=model, sandbox=sandbox, tell=ignore)
            evolved = await run.evolve()
            certified = await run.certify(evolved)
        scores = {
            (
                u.rollout.key.harness,
                u.rollout.key.transformation,
                u.rollout.key.task,
                u.rollout.key.index,
            ): u.rollout.outcome.score
            for u in store.used("run")
        }
        spent = store.spend("run")
        return {
            "final": evolved.final.harness.hash,
            "archive": sorted(evolved.archive.hashes),
            "selections": [round["selection"] for round in evolved.rounds],
            "certified": {key: value for key, value in certified.to_json().items() if key != "hashes"},
            "scores": scores,
            "requests": {purpose: sum(s.usage.requests for s in spent if s.purpose == purpose) for purpose in PURPOSES},
            "problems": len(store.verify()),
        }


def _unheard(kind: str, details: Mapping[str, Json]) -> None:
    """Nobody listens."""


async def run_rows() -> list[dict[str, Any]]:
    expected = await whole_run(ChatModel(ModelConfig(name=CAPABLE), capable_model()))
    rows = []
    for case, kinds in {"no fault": (), "all kinds": tuple(KINDS)}.items():
        schedule = FaultSchedule(rate=RATE, seed=SEED, kinds=kinds) if kinds else None
        async with OpenAIServer(served(capable_model()), fault=schedule) as server:
            url = server.url
            config = ModelConfig(name="openai-compatible:capable", base_url=url, timeout_seconds=TIMEOUT_SECONDS)
            found = await whole_run(connect(config))
            rows.append(
                {
                    "case": case,
                    "attempts": len(server.requests),
                    "injected": dict(sorted(schedule.injected.items())) if schedule else {},
                    "rollouts": len(found["scores"]),
                    **{name: found[name] == expected[name] for name in ("final", "archive", "selections", "certified")},
                    "scores": sum(found["scores"].get(key) == score for key, score in expected["scores"].items()),
                    "ledger": found["requests"],
                    "same_ledger": found["requests"] == expected["requests"],
                    "archived": len(found["archive"]),
                    "problems": found["problems"],
                }
            )
        sys.stderr.write(f"whole run, {case}: {rows[-1]}\n")
    return rows


async def measure() -> list[dict[str, Any]]:
    todo = jobs()
    return [*await reader_rows(todo), await misbehaving_row(todo[:MISBEHAVING_TASKS])]


def main() -> None:
    rows, runs = asyncio.run(measure()), asyncio.run(run_rows())
    write(
        "faults",
        {
            "command": "python -m studies.faults",
            "benchmark": BENCHMARK,
            "model": f"{READER} (simulated reader), served by chase.testing.openai_server",
            "rate": RATE,
            "seed": SEED,
            "mistake_rate": MISTAKE_RATE,
            "rows": rows,
            "run": {"model": f"{CAPABLE} (scripted)", "tasks": SIZES, "rounds": ROUNDS, "rows": runs},
        },
    )


if __name__ == "__main__":
    main()
