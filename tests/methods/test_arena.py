"""The arena: all tasks of a role or some of them, and what of it the role's agents can read."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from fractions import Fraction
from pathlib import Path

import pytest

from chase.agents.history import RELEASED, HistoryWriter
from chase.benchmarks.syn_ledger.benchmark import SynLedger
from chase.core.errors import IntegrityError
from chase.engine.evaluator import Evaluator
from chase.engine.runner import Runner
from chase.engine.sandbox import Sandbox
from chase.methods.arena import Contender, StoreArena, Variant
from chase.models.config import ModelConfig
from chase.models.connect import connect
from chase.store.records import Use
from chase.store.store import Store
from chase.store.workspace import Workspace
from tests.engine.rollouts import make_harness
from tests.methods.runs import FewTasks, few_tasks

H0 = Contender(name="H0", harness=make_harness(), record={"note": "about its own tasks"})
ROLES = {"evo": 1, "disc": 1}


class Place:
    """An arena with what it counts and what it writes."""

    def __init__(self, benchmark: FewTasks, store: Store, evaluator: Evaluator, folder: Path) -> None:
        self.benchmark = benchmark
        self.store = store
        self.evaluator = evaluator
        self.tree = HistoryWriter(folder / "tree")
        self.arena = StoreArena(evaluator, {"evo": self.tree})
        self.released = Variant(name=RELEASED, transformation=benchmark.variant("released"))

    def tasks(self, role: str = "evo") -> list[str]:
        return list(self.benchmark.tasks(role))

    def executed(self) -> int:
        return len(self.store.used("run-1"))

    def lines(self) -> list[str]:
        return [json.loads(line)["task"] for line in (self.tree.root / "scores.jsonl").read_text().splitlines()]

    def traced(self) -> set[str]:
        return {path.stem.rpartition("-")[0] for path in self.tree.root.glob("traces/H0/released/*.jsonl")}


@asynccontextmanager
async def place(ledger: SynLedger, folder: Path) -> AsyncIterator[Place]:
    benchmark = few_tasks(ledger)
    with Store.open(Workspace(folder), write=True) as store:
        store.create_run("run-1", {})
        async with Sandbox(max_sessions=2) as sandbox, connect(ModelConfig(name="sim:reader")) as model:
            runner = Runner(model=model, store=store, sandbox=sandbox, use=Use(run="run-1", method="m"))
            made = Evaluator(benchmark=benchmark, runner=runner, store=store, roles=ROLES, run_seed=1)
            yield Place(benchmark, store, made, folder)


async def test_some_tasks_are_evaluated_alone_and_score_as_they_do_among_all(ledger: SynLedger, tmp_path: Path) -> None:
    async with place(ledger, tmp_path) as here:
        some = here.tasks()[3:7]
        found = await here.arena.means([H0], [here.released], "evo", some[::-1])
        assert list(found["H0", RELEASED]) == some  # in the role's order
        assert here.executed() == len(some)
        every = await here.arena.means([H0], [here.released], "evo")
        assert {task: every["H0", RELEASED][task] for task in some} == found["H0", RELEASED]
        assert all(isinstance(score, Fraction) for score in found["H0", RELEASED].values())
        assert here.executed() == len(here.tasks())


async def test_a_second_batch_is_added_to_the_tree_and_an_overlap_is_there_once(
    ledger: SynLedger, tmp_path: Path
) -> None:
    async with place(ledger, tmp_path) as here:
        tasks = here.tasks()
        for batch in (tasks[:4], tasks[2:6], tasks[:6]):
            await here.arena.means([H0], [here.released], "evo", batch)
        assert here.lines() == [*sorted(tasks[:4]), *sorted(tasks[4:6])]
        assert here.traced() == set(tasks[:6])
        await here.arena.means([H0], [here.released], "evo")
        assert set(here.lines()) == set(tasks)
        assert len(here.lines()) == len(tasks)
        assert here.traced() == set(tasks)


async def test_a_tree_of_two_task_sets_does_not_tell_them_apart_by_order_or_time(
    ledger: SynLedger, tmp_path: Path
) -> None:
    async with place(ledger, tmp_path) as here:
        arena = StoreArena(here.evaluator, {"search": here.tree}, {"search": ("evo", "disc")})
        await arena.means([H0], [here.released], "search")
        both = sorted([*here.tasks("evo"), *here.tasks("disc")])
        assert both[: len(here.tasks("evo"))] != sorted(here.tasks("evo"))  # else the order would say nothing
        with here.tree.read_only() as root:
            for name in ("scores.jsonl", "index.jsonl", "tasks.jsonl"):
                assert [json.loads(line)["task"] for line in (root / name).read_text().splitlines()] == both
            found = [path.stat() for path in (root, *root.rglob("*"))]
            assert len({stat.st_mtime_ns for stat in found}) == 1


@pytest.mark.parametrize("role", ["disc", "conf1", "cert"])
async def test_a_task_of_another_role_is_refused_and_nothing_is_run(
    ledger: SynLedger, tmp_path: Path, role: str
) -> None:
    async with place(ledger, tmp_path) as here:
        strange = here.tasks(role)[0]
        with pytest.raises(IntegrityError, match=f"task {strange} is not of role 'evo'"):
            await here.arena.means([H0], [here.released], "evo", [here.tasks()[0], strange])
        assert here.executed() == 0
        assert here.lines() == []


@pytest.mark.parametrize("role", ["conf1", "cert"])
async def test_a_role_that_is_not_held_is_refused(ledger: SynLedger, tmp_path: Path, role: str) -> None:
    async with place(ledger, tmp_path) as here:
        for tasks in (None, here.tasks(role)[:1]):
            with pytest.raises(IntegrityError, match=f"role '{role}' is not held here"):
                await here.arena.means([H0], [here.released], role, tasks)


async def test_no_task_at_all_is_no_evaluation(ledger: SynLedger, tmp_path: Path) -> None:
    async with place(ledger, tmp_path) as here:
        with pytest.raises(ValueError, match="no task was given"):
            await here.arena.means([H0], [here.released], "evo", [])


async def test_some_tasks_of_a_pool_may_be_of_one_of_its_sets(ledger: SynLedger, tmp_path: Path) -> None:
    async with place(ledger, tmp_path) as here:
        pool = StoreArena(here.arena._evaluator, {}, {"search": ("evo", "disc")})
        chosen = [here.tasks("disc")[1], here.tasks("evo")[0]]
        found = await pool.means([H0], [here.released], "search", chosen)
        assert set(found["H0", RELEASED]) == set(chosen)
        alone = await pool.means([H0], [here.released], "search", chosen[:1])
        assert set(alone["H0", RELEASED]) == {chosen[0]}


async def test_a_proposers_record_is_in_its_own_tree_alone(ledger: SynLedger, tmp_path: Path) -> None:
    async with place(ledger, tmp_path) as here:
        other = HistoryWriter(tmp_path / "other", records=False)
        both = StoreArena(here.arena._evaluator, {"evo": here.tree, "disc": other})
        for role in ROLES:
            await both.means([H0], [here.released], role, here.tasks(role)[:1])
        assert json.loads((here.tree.root / "harnesses/H0/candidate.json").read_text()) == H0.record
        assert json.loads((other.root / "harnesses/H0/candidate.json").read_text()) == {}


async def test_several_roles_count_as_one_task_set_and_their_reader_cannot_tell_them_apart(
    ledger: SynLedger, tmp_path: Path
) -> None:
    async with place(ledger, tmp_path) as here:
        arena = StoreArena(here.evaluator, {"evo": here.tree, "disc": here.tree})
        chosen = [*here.tasks("disc")[:4], *here.tasks("evo")[:4]]
        found = await arena.means([H0], [here.released], ("evo", "disc"), chosen)
        assert set(found["H0", RELEASED]) == set(chosen)
        assert here.lines() == sorted(chosen)
        with pytest.raises(IntegrityError, match="have different readers"):
            await here.arena.means([H0], [here.released], ("evo", "disc"), chosen)
        with pytest.raises(IntegrityError, match="is not of roles evo, disc"):
            await arena.means([H0], [here.released], ("evo", "disc"), here.tasks("conf1")[:1])


async def test_the_first_rollouts_of_a_role_are_those_that_all_of_them_begin_with(
    ledger: SynLedger, tmp_path: Path
) -> None:
    async with place(ledger, tmp_path) as here:
        runner = here.evaluator._runner
        many = Evaluator(
            benchmark=here.benchmark, runner=runner, store=here.store, roles={"evo": 3, "disc": 1}, run_seed=1
        )
        some, arena = here.tasks()[:2], StoreArena(many, {})
        await arena.means([H0], [here.released], "evo", some, 2)
        first = {used.rollout.digest for used in here.store.used("run-1")}
        assert {used.rollout.key.index for used in here.store.used("run-1")} == {0, 1}
        assert len(first) == 4
        await arena.means([H0], [here.released], "evo", some)
        every = {used.rollout.digest for used in here.store.used("run-1")}
        assert len(every) == 6
        assert first < every
        await arena.means([H0], [here.released], "evo", some, 9)  # there are no more than were agreed
        assert here.executed() == 6
        both = await arena.means([H0], [here.released], ("evo", "disc"), [some[0], here.tasks("disc")[0]], 2)
        assert all(score in (0, 1) for score in both["H0", RELEASED].values()), "as many of each task: one"
