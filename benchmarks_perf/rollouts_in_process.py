"""Four-turn rollouts a second with a trivial model in this process, traces stored, against Inspect AI's `eval()`.

Both do 1,000 rollouts at concurrency 200: a question from Syn-Ledger, three tool calls, an answer, a score, a
record on disk. Ours runs the tools on real task environments; Inspect's look the very same texts up.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import re
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo
from pydantic_ai.usage import RequestUsage

from benchmarks_perf import Measurement, Row
from benchmarks_perf.peers import INSPECT, Unavailable, run_inspect
from chase.benchmarks.syn_ledger.benchmark import SynLedger, open_syn_ledger
from chase.engine.prompting import system_prompt
from chase.engine.rollout import Job
from chase.engine.runner import Pace, Progress, Runner, ScoredRollout
from chase.engine.sandbox import Sandbox
from chase.harness.folder import initial_harness
from chase.models.chat import ChatModel
from chase.models.config import ModelConfig
from chase.models.local import LocalModel
from chase.store.records import Use
from chase.store.store import Store
from chase.store.workspace import Workspace

NAME = "syn-ledger@7"
ROLLOUTS = 1_000
PER_TASK = 4
CONCURRENCY = 200
REPETITIONS = 3
WARM_UP = 10
TURNS = 4

_ID = re.compile(r"\[([a-z]{6,})\]")


async def _respond(messages: list[Any], info: AgentInfo) -> ModelResponse:
    """Search with the question, open the first two hits, answer."""
    turn = len(messages) // 2
    part: ToolCallPart | TextPart
    if turn == 0:
        part = ToolCallPart("search", {"query": messages[0].parts[1].content}, "call-0")
    elif turn < TURNS - 1:
        hits = _ID.findall(messages[2].parts[0].content)
        part = ToolCallPart("open_file", {"file": hits[turn - 1]}, f"call-{turn}")
    else:
        part = TextPart("42")
    return ModelResponse(parts=[part], usage=RequestUsage(input_tokens=10, output_tokens=5))


def trivial_model() -> ChatModel:
    return ChatModel(ModelConfig(name="sim:trivial"), LocalModel(_respond, name="sim:trivial", version="1"))


def jobs_of(benchmark: SynLedger, count: int, per_task: int = PER_TASK) -> list[Job]:
    """So many rollouts of the initial harness on the released benchmark, those of a task in a row."""
    tasks, harness, released = benchmark.tasks(), initial_harness(benchmark), benchmark.variant("released")
    return [
        Job(
            benchmark=benchmark,
            transformation=released,
            harness=harness,
            task=tasks[number // per_task],
            index=number % per_task,
            run_seed=0,
        )
        for number in range(count)
    ]


async def evaluate(
    model: ChatModel, store: Store, jobs: Sequence[Job], concurrency: int, progress: Progress | None = None
) -> list[ScoredRollout]:
    """The jobs, run as `chase rollout` runs them. Refuses results that are not four turns and an answer."""
    async with model, Sandbox() as sandbox:
        runner = Runner(
            model=model,
            store=store,
            sandbox=sandbox,
            use=Use(run="perf", method="perf"),
            pace=Pace(concurrency=concurrency),
            progress=progress,
        )
        scored = await runner.evaluate(jobs)
    if any(result.usage.requests != TURNS or result.outcome.reason != "answered" for result in scored):
        raise RuntimeError("a rollout did not take four turns to an answer; its speed means nothing")
    return scored


def rollouts(benchmark: SynLedger, count: int) -> dict[str, float]:
    """Wall and CPU seconds of so many rollouts into a new store, from opening it to closing it."""
    jobs = jobs_of(benchmark, count)
    with tempfile.TemporaryDirectory() as folder:
        wall, cpu = time.perf_counter(), time.process_time()
        with Store.open(Workspace(Path(folder)), write=True) as store:
            asyncio.run(evaluate(trivial_model(), store, jobs, CONCURRENCY))
        return {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}


def once() -> dict[str, float]:
    """One repetition, after a small one that loads what is loaded late."""
    benchmark = open_syn_ledger(NAME, cache=None)
    rollouts(benchmark, WARM_UP)
    return rollouts(benchmark, ROLLOUTS)


def same_work(benchmark: SynLedger) -> dict[str, Any]:
    """What `once` does, as Inspect AI's script takes it: the questions, the calls and the tools' answers."""
    released = benchmark.variant("released")
    answers: dict[str, str] = {}
    script: dict[str, list[tuple[str, dict[str, str]]]] = {}
    for task in benchmark.tasks()[: ROLLOUTS // PER_TASK]:
        environment = benchmark.environment(task, released)
        found = environment.call("search", {"query": environment.question})
        files = [item.shown.id for item in found.items[: TURNS - 2]]
        answers[environment.question] = found.text
        answers |= {file: environment.call("open_file", {"file": file}).text for file in files}
        calls = [("search", {"query": environment.question}), *(("open_file", {"file": file}) for file in files)]
        script[environment.question] = calls
    return {
        "questions": list(script),
        "script": script,
        "answers": answers,
        "system": system_prompt(initial_harness(benchmark), benchmark.answer_form, []),
        "count": ROLLOUTS,
        "concurrency": CONCURRENCY,
    }


def in_process() -> Sequence[Row]:
    """Ours and Inspect's in turn, each repetition in a fresh process."""
    work = same_work(open_syn_ledger(NAME, cache=None))
    ours: list[dict[str, float]] = []
    theirs: list[dict[str, float]] = []
    missing = ""
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        for _ in range(REPETITIONS):
            ours.append(pool.apply(once))
            try:
                theirs.append(run_inspect(work))
            except Unavailable as error:
                missing = str(error)
    return [
        Row(
            name=f"{ROLLOUTS:,} four-turn rollouts in process, traces stored ({what} time)",
            value=_rate(ours, what),
            unit="rollouts/s",
            repetitions=REPETITIONS,
            peer=f"{INSPECT} eval(), mock model",
            peer_value=_rate(theirs, what) if not missing else None,
            note=missing or "aim: 10 and more",
        )
        for what in ("wall", "cpu")
    ]


def _rate(runs: Sequence[dict[str, float]], what: str) -> float:
    return statistics.median(ROLLOUTS / run[what] for run in runs)


MEASUREMENTS: list[Measurement] = [in_process]
