"""The runner and a judge: each case is judged and paid for once, and what a judge could not see is not played again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from chase.benchmarks.documents.benchmark import Documents
from chase.core.errors import BudgetExhausted, ChaseError, SetupError
from chase.core.values import Rollout
from chase.engine.evaluator import jobs_of
from chase.engine.rollout import Job
from chase.engine.runner import Pace, Runner, RunPaused, ScoredRollout
from chase.engine.sandbox import Sandbox
from chase.harness.folder import initial_harness
from chase.models.errors import ConnectionLost
from chase.models.meter import Meter
from chase.store.records import Use
from chase.store.store import Store
from chase.store.workspace import Workspace
from chase.testing.object_graph import reachable
from chase.testing.scripted import Request, Step, scripted
from tests.benchmarks.documents.judged import GOLD, given_of, judged, read, reply, says

Script = Callable[[Request], Step]


def jobs(benchmark: Documents, role: str = "evo", rollouts: int = 2) -> list[Job]:
    pair = (initial_harness(benchmark), benchmark.variant("released"))
    return jobs_of(benchmark, [pair], benchmark.tasks(role), rollouts, 0)


def evaluate(
    workspace: Path,
    todo: list[Job],
    player: Script,
    *,
    method: str = "m",
    meter: Meter | None = None,
    at_once: int = 64,
) -> tuple[list[ScoredRollout] | None, Exception | None]:
    """All in one process and store, as one method of the run 'run'."""

    async def run() -> list[ScoredRollout]:
        model = scripted(player, meter=meter)
        with Store.open(Workspace(workspace), write=True) as store:
            if not store.runs():
                store.create_run("run", {})
            runner = Runner(
                model=model,
                store=store,
                sandbox=Sandbox(),
                use=Use(run="run", method=method),
                pace=Pace(concurrency=at_once),
            )
            return await runner.evaluate(todo)

    try:
        return asyncio.run(run()), None
    except (RunPaused, BudgetExhausted) as error:
        return None, error


def spent(workspace: Path) -> dict[tuple[str, str], tuple[int, int]]:
    """(method, purpose) → episodes and requests in the ledger."""
    with Store.open(Workspace(workspace), write=False) as store:
        return {(s.method, s.purpose): (s.episodes, s.usage.requests) for s in store.spend()}


def by_answer(request: Request) -> str:
    """Half a point for metal, none for the rest."""
    return reply(read(request), 0.5 if given_of(read(request)) == "metal" else 0)


def test_scores_are_verdicts_and_the_same_answer_is_judged_once_across_rollouts_and_methods(tmp_path: Path) -> None:
    benchmark, judge = judged(tmp_path / "d", by_answer)
    todo = jobs(benchmark)
    found, _ = evaluate(tmp_path, todo, lambda _: "metal")
    assert found is not None
    assert [r.outcome.score for r in found] == [0.5] * 4
    assert {r.outcome.reason for r in found} == {"answered"}
    assert len(judge.requests) == 2  # two tasks, two rollouts each
    other = jobs(benchmark, rollouts=3)
    found, _ = evaluate(tmp_path, other, lambda _: "metal", method="other")
    assert found is not None
    assert len(judge.requests) == 2  # the third rollouts answer alike
    assert spent(tmp_path) == {("m", "rollout"): (4, 4), ("m", "judge"): (2, 2), ("other", "rollout"): (2, 2)}
    with Store.open(Workspace(tmp_path), write=False) as store:
        assert {store.trace(store.find_rollout(r.digest).trace_digest)["score"] for r in found} == {0.5}
        assert not store.verify()


async def test_runners_side_by_side_ask_for_a_verdict_once(tmp_path: Path) -> None:
    benchmark, judge = judged(tmp_path / "d", says(1))
    judge._seconds = 0.01
    with Store.open(Workspace(tmp_path), write=True) as store:
        store.create_run("run", {})
        runners = [
            Runner(model=scripted(["metal"]), store=store, sandbox=Sandbox(), use=Use(run="run", method=method))
            for method in ("one", "two")
        ]
        pairs = [(initial_harness(benchmark), benchmark.variant("released"))]
        seeds = [jobs_of(benchmark, pairs, benchmark.tasks("evo"), 1, seed) for seed in (1, 2)]
        await asyncio.gather(*(runner.evaluate(todo) for runner, todo in zip(runners, seeds, strict=True)))
    assert len(judge.requests) == 2  # two tasks


def test_a_blank_answer_is_0_and_nobody_is_asked(tmp_path: Path) -> None:
    benchmark, judge = judged(tmp_path / "d", says(1))
    found, _ = evaluate(tmp_path, jobs(benchmark), lambda _: "  ")
    assert found is not None
    assert {(r.outcome.status, r.outcome.score, r.outcome.reason) for r in found} == {("scored", 0.0, "no-answer")}
    assert judge.requests == []


def test_an_outage_of_the_judge_pauses_and_the_rest_alone_is_judged_later(tmp_path: Path) -> None:
    asked: list[str] = []

    def away(request: Request) -> Step:
        asked.append(read(request))
        return ConnectionLost("nobody there.") if len(asked) > 1 else reply(read(request), 1)

    benchmark, _ = judged(tmp_path / "d", away)  # type: ignore[arg-type]
    todo, played = jobs(benchmark), list[Request]()

    def player(request: Request) -> str:
        played.append(request)
        return "metal"

    found, error = evaluate(tmp_path, todo, player, at_once=1)
    assert found is None
    assert "judge: nobody there" in str(error)
    with Store.open(Workspace(tmp_path), write=False) as store:
        waiting = [r for r in store.rollouts()[0] if r.outcome.status == "failed"]
        assert [r.outcome.reason[:28] for r in waiting] == ["unjudged: judge: nobody ther"]
        assert {r.outcome.score for r in waiting} == {None}
    before = len(played)
    back, judge = judged(tmp_path / "again", says(1))
    found, _ = evaluate(tmp_path, jobs(back), player, at_once=1)
    assert found is not None
    assert [r.outcome.score for r in found] == [1.0] * 4
    assert len(played) == 4  # the one that waited was not played again
    assert before < 4
    assert len(judge.requests) == 1
    assert spent(tmp_path)["m", "rollout"] == (4, 4)


def test_a_verdict_is_kept_before_the_rollout_that_it_scores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    benchmark, judge = judged(tmp_path / "d", says(1))
    record = Store.record

    async def killed(self: Store, rollout: Rollout, *rest: object, **named: object) -> None:
        raise ChaseError("gone")

    monkeypatch.setattr(Store, "record", killed)
    with pytest.raises(ChaseError, match="gone"):
        evaluate(tmp_path, jobs(benchmark), lambda _: "metal", at_once=1)
    assert len(judge.requests) == 1
    monkeypatch.setattr(Store, "record", record)
    found, _ = evaluate(tmp_path, jobs(benchmark), lambda _: "metal", at_once=1)
    assert found is not None
    assert len(judge.requests) == 2  # the second task alone


def test_a_cap_counts_the_judge_and_what_it_did_not_see_waits(tmp_path: Path) -> None:
    meter = Meter(tokens=60)
    benchmark, judge = judged(tmp_path / "d", says(1))
    judge.meter = meter
    found, error = evaluate(tmp_path, jobs(benchmark), lambda _: "metal", meter=meter)
    assert found is None
    assert isinstance(error, BudgetExhausted)
    free, judge = judged(tmp_path / "again", says(1))
    played: list[int] = []
    found, _ = evaluate(tmp_path, jobs(free), lambda _: played.append(1) or "metal")  # type: ignore[func-returns-value]
    assert found is not None
    assert {r.outcome.score for r in found} == {1.0}
    assert spent(tmp_path)["m", "rollout"][0] == 4
    assert spent(tmp_path)["m", "judge"] == (2, 2)


def test_another_judge_is_another_rollout_and_one_that_is_not_connected_is_told(tmp_path: Path) -> None:
    first, _ = judged(tmp_path / "d", says(1))
    model = scripted(["metal"])
    other = first.judged_by(scripted(says(0), version="2"))
    [one], [two] = (jobs(b, rollouts=1)[:1] for b in (first, other))
    assert one.key(model) != two.key(model)
    assert one.key(model).benchmark == two.key(model).benchmark
    alone = first.judged_by(scripted(says(1)))
    alone.judge = None
    with pytest.raises(SetupError, match="is not connected"):
        jobs(alone)[0].key(model)


def test_the_expected_answer_reaches_the_judge_and_nobody_else(tmp_path: Path) -> None:
    benchmark, judge = judged(tmp_path / "d", lambda r: f"It should be {GOLD}.\n" + reply(read(r), 0.5))
    seen: list[str] = []

    def player(request: Request) -> str:
        seen.append(read(request))
        return "metal"

    todo = jobs(benchmark)
    found, _ = evaluate(tmp_path, todo, player)
    assert found is not None
    assert all(GOLD in read(request) for request in judge.requests)
    assert not [text for text in seen if GOLD in text]
    with Store.open(Workspace(tmp_path), write=False) as store:
        traces = [store.trace(store.find_rollout(r.digest).trace_digest) for r in found]
        assert GOLD not in str(traces)
        assert GOLD in str(store.verdict(benchmark.judge.case(todo[0].task, "metal")))  # type: ignore[union-attr]
    environment = benchmark.environment(todo[0].task, benchmark.variant("released"))
    held = [
        way
        for way, item in reachable(environment)
        if item is benchmark.judge or (isinstance(item, str) and GOLD in item)
    ]
    assert held == []
