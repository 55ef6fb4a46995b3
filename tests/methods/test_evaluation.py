"""Evaluation as far as a decision needs it: the same decisions, fewer episodes, and a record of what is missing."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chase.agents.history import RELEASED, History
from chase.benchmarks.syn_ledger.benchmark import SynLedger
from chase.core.errors import UserError
from chase.core.events import Confirmed, FinalSelected, Selected
from chase.methods.arena import Arena, Contender, Means, SomeTasks, Variant
from chase.methods.b0_access import B0Access
from chase.methods.chase import Chase, ChaseOptions
from chase.methods.confirmation import Measurement, Trial, by_papers_rule, by_papers_rule_curtailed
from chase.methods.contract import World
from chase.methods.evaluation import Evaluation, Kind, evaluation_order, parts
from chase.methods.evolution import EvolutionOutcome, choose
from chase.methods.meta_harness import MetaHarness
from chase.methods.options import settle_options
from chase.methods.selection import ArchiveGate, ScoreUnder, SelectionRule, Standing, Violation
from chase.protocol.kit import ProtocolKit
from chase.protocol.transformation import OperatorList
from chase.runs.narration import lines
from tests.engine.rollouts import make_harness
from tests.methods.runs import Told, few_tasks, plan, running, texts

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "schemas" / "chase.evolve.json").read_text())
NEUTRAL = "neutral"


@dataclass
class TableArena:
    """Gives scores back, and refuses to be asked for anything twice."""

    scores: Means
    asked: Counter[tuple[str, str, str]] = field(default_factory=Counter)

    async def means(
        self, harnesses: Sequence[Contender], variants: Sequence[Variant], role: Any, tasks: SomeTasks = None,
        rollouts: int | None = None,
    ) -> Means:  # fmt: skip
        cells = {(h.name, v.name): self.scores[h.name, v.name] for h in harnesses for v in variants}
        found = {
            cell: {task: score for task, score in row.items() if tasks is None or task in tasks}
            for cell, row in cells.items()
        }
        self.asked.update((*cell, task) for cell, row in found.items() for task in row)
        return found


@dataclass(frozen=True)
class Table:
    """A pool with all its scores."""

    pool: list[Contender]
    variants: list[Variant]
    scores: Means

    @property
    def tasks(self) -> list[str]:
        return list(next(iter(self.scores.values())))

    def evaluation(self, kind: Kind) -> tuple[Evaluation, TableArena]:
        arena = TableArena(self.scores)
        return Evaluation(arena=arena, role="evo", order=evaluation_order(self.tasks, 0), rollouts=2, kind=kind), arena


@st.composite
def tables(draw: st.DrawFn) -> Table:
    tasks, count, archived = draw(st.integers(1, 10)), draw(st.integers(1, 5)), draw(st.integers(0, 2))
    pool = [Contender(name=f"H{n}", harness=make_harness(memory=str(n))) for n in range(count)]
    names = [RELEASED, *(f"b{n}" for n in range(1, archived + 1))]
    level = st.sampled_from([Fraction(0), Fraction(1, 2), Fraction(1)])
    scores = {(h.name, v): {f"t{n}": draw(level) for n in range(tasks)} for h in pool for v in names}
    return Table(pool=pool, variants=[Variant(name=v, transformation=OperatorList()) for v in names], scores=scores)


RULES = {
    "released score": SelectionRule(),
    "archive": SelectionRule(gates=(ArchiveGate(epsilon="0.05"),)),
    "another benchmark's score": SelectionRule(objective=ScoreUnder("b1"), gates=(ArchiveGate(epsilon="0.5"),)),
}


@settings(max_examples=150)
@given(tables(), st.sampled_from(sorted(RULES)))
def test_a_curtailed_choice_is_the_full_one(table: Table, named: str) -> None:
    rule = RULES[named if len(table.variants) > 1 else "released score"]
    evaluation, arena = table.evaluation("curtailed")
    choice = asyncio.run(evaluation.choose(table.pool, table.variants, rule))
    full = choose(table.pool, table.scores, table.variants, rule)
    assert choice.harness is full.harness
    assert max(arena.asked.values()) == 1  # nothing is asked for twice
    whole = {entry.harness: entry for entry in full.pool}
    for entry in choice.pool:
        if entry.stopped is None:
            assert entry == whole[entry.harness]
        else:
            assert entry.released in (None, whole[entry.harness].released)
            assert entry.destruction.items() <= whole[entry.harness].destruction.items()
            assert set(entry.violates) <= set(whole[entry.harness].violates)
            assert sum(entry.stopped.tasks.values()) * 2 == entry.stopped.after < entry.stopped.of
    assert next(entry for entry in choice.pool if entry.harness == choice.harness.name).stopped is None
    assert evaluation.record["episodes"] == 2 * len(arena.asked)
    assert evaluation.record["full"] == 2 * len(table.scores) * len(table.tasks)


@settings(max_examples=150)
@given(tables())
def test_a_race_never_selects_what_the_full_scores_reject(table: Table) -> None:
    evaluation, arena = table.evaluation("racing")
    choice = asyncio.run(evaluation.choose(table.pool, table.variants, RULES["archive"]))
    full = {entry.harness: entry for entry in choose(table.pool, table.scores, table.variants, RULES["archive"]).pool}
    assert not full[choice.harness.name].violates
    assert next(entry for entry in choice.pool if entry.harness == choice.harness.name) == full[choice.harness.name]
    assert max(arena.asked.values()) == 1


@pytest.mark.parametrize("kind", ["curtailed", "racing"])
def test_all_harnesses_meet_the_tasks_in_one_order(kind: Kind) -> None:
    better = {f"t{n}": Fraction(n % 3 > 0) for n in range(16)}
    scores = {(name, RELEASED): {t: s * (name != "H1") for t, s in better.items()} for name in ("H0", "H1", "H2")}
    pool = [Contender(name=name, harness=make_harness(memory=name)) for name in ("H0", "H1", "H2")]
    released = Variant(name=RELEASED, transformation=OperatorList())
    evaluation, _ = Table(pool=pool, variants=[released], scores=scores).evaluation(kind)
    choice = asyncio.run(evaluation.choose(pool, [released], SelectionRule()))
    assert choice.harness.name == "H0"
    known = [set(evaluation.known[named.harness.hash, RELEASED]) for named in pool[1:]]
    assert all(tasks == set(evaluation.order[: len(tasks)]) for tasks in known)
    assert len(known[0]) < len(known[1]) <= 16


def test_the_order_is_the_seeds_whatever_order_the_tasks_come_in() -> None:
    tasks = [f"t{n}" for n in range(16)]
    assert evaluation_order(tasks, 1) == evaluation_order(tasks[::-1], 1) != evaluation_order(tasks, 2)
    assert evaluation_order(tasks, 1) != tasks


def test_parts_end_with_the_whole_set_and_begin_where_something_can_be_decided() -> None:
    assert parts(32, "curtailed") == (16, 20, 24, 28, 32)
    assert parts(3, "curtailed")[-1] == parts(3, "racing")[-1] == 3
    assert parts(1, "racing") == (1,)


class HighScore(ArchiveGate):
    """A gate that looks at standings in a way of its own."""

    def violations(self, standing: Standing) -> tuple[Violation, ...]:
        return (Violation(name="too high"),) if standing.released > Fraction(9, 10) else ()


@pytest.mark.parametrize(
    "rule", [SelectionRule(gates=(HighScore(epsilon="0"),)), SelectionRule(objective=lambda s: (-s.released,))]
)
@pytest.mark.parametrize("kind", ["curtailed", "racing"])
def test_a_rule_of_its_own_way_is_decided_by_all_scores(rule: SelectionRule, kind: Kind) -> None:
    pool = [Contender(name=name, harness=make_harness(memory=name)) for name in ("H0", "H1", "H2")]
    scores = {(h.name, RELEASED): {f"t{n}": Fraction(n < 4 * p, 1) for n in range(8)} for p, h in enumerate(pool)}
    released = Variant(name=RELEASED, transformation=OperatorList())
    evaluation, arena = Table(pool=pool, variants=[released], scores=scores).evaluation(kind)
    choice = asyncio.run(evaluation.choose(pool, [released], rule))
    assert choice == choose(pool, scores, [released], rule)
    assert len(arena.asked) == 24


# Confirmation


@settings(max_examples=150)
@given(
    st.lists(st.tuples(*[st.sampled_from([Fraction(n, 5) for n in range(6)])] * 4), min_size=1, max_size=16),
    st.sampled_from(["0", "0.05", "0.1", "0.5"]),
)
def test_a_curtailed_confirmation_is_the_papers(rows: list[tuple[Fraction, ...]], eta: str) -> None:
    cells = [("H1", RELEASED), ("H0", RELEASED), ("H1", "b"), ("H0", "b")]
    scores = {cell: {f"t{n}": row[place] for n, row in enumerate(rows)} for place, cell in enumerate(cells)}
    pair = tuple(Contender(name=name, harness=make_harness(memory=name)) for name in ("H1", "H0"))
    variant = Variant(name="b", transformation=OperatorList(), told=False)

    def measured(curtailed: bool) -> tuple[Measurement, TableArena]:
        arena = TableArena(scores)
        order = evaluation_order(scores["H0", "b"], 3)
        trial = Trial(arena=arena, kit=AnyKit(), pair=pair, role="conf1", order=order)  # type: ignore[arg-type]
        rule = by_papers_rule_curtailed(trial, variant, eta=eta, rollouts=5) if curtailed else None
        return asyncio.run(rule or by_papers_rule(trial, variant, eta=eta)), arena

    (found, arena), (full, _) = measured(True), measured(False)
    assert found.confirmed is full.confirmed
    assert max(arena.asked.values()) == 1
    if found.cut is None:
        assert found == full
    else:
        assert not full.confirmed
        assert full.estimate.value - 1e-9 <= found.cut.bound < float(eta)
        assert found.cut.after == 5 * len(arena.asked) < found.cut.of == 20 * len(rows)
        assert found.estimate.n < len(rows)


class AnyKit:
    identity = OperatorList()


# Whole runs


@dataclass
class RememberingArena:
    """The arena, with every harness and variant that was asked for."""

    real: Arena
    harnesses: dict[str, Contender] = field(default_factory=dict)
    variants: dict[str, Variant] = field(default_factory=dict)

    async def means(
        self, harnesses: Sequence[Contender], variants: Sequence[Variant], role: Any, *others: Any, **further: Any
    ) -> Means:
        self.harnesses |= {named.name: named for named in harnesses}
        self.variants |= {variant.name: variant for variant in variants}
        return await self.real.means(harnesses, variants, role, *others, **further)


class Watched:
    """Keeps what a method asked its arena for."""

    arena: RememberingArena

    async def evolve(self, world: World[Any]) -> EvolutionOutcome:
        self.arena = RememberingArena(world.arena)
        found: EvolutionOutcome = await super().evolve(replace(world, arena=self.arena))  # type: ignore[misc]
        return found


class WatchedChase(Watched, Chase):
    pass


class WatchedMetaHarness(Watched, MetaHarness):
    pass


class WatchedB0Access(Watched, B0Access):
    pass


@pytest.mark.slow
@pytest.mark.parametrize(("method", "seed"), [(WatchedChase, 1), (WatchedMetaHarness, 1), (WatchedB0Access, 1)])
async def test_every_selection_of_a_curtailed_run_is_that_of_all_scores(
    ledger: SynLedger, kit: ProtocolKit, tmp_path: Path, method: type[Watched], seed: int
) -> None:
    told, watched = Told(), method()
    options = {"rounds": 2, "evaluation": "curtailed", "eta": "0.01"}
    made = plan(few_tasks(ledger), kit=kit, seed=seed, method=watched.name, **options)  # type: ignore[attr-defined]
    made = replace(made, method=watched)  # type: ignore[arg-type]
    async with running(made, tmp_path, told=told) as run:
        evolved = await run.evolve()
        arena, rule = watched.arena, SelectionRule()
        if method is WatchedChase:
            rule = SelectionRule(gates=(ArchiveGate(epsilon=made.options.epsilon),))  # type: ignore[attr-defined]
        elif method is WatchedB0Access:
            rule = SelectionRule(objective=ScoreUnder(NEUTRAL))
        selections = [*told.of(Selected), *told.of(FinalSelected)]
        for event in selections:
            pool = [arena.harnesses[entry.harness] for entry in event.pool]
            entry = next(entry for entry in event.pool if entry.harness == event.selected)
            assert entry.stopped is None
            variants = [arena.variants[name] for name in (RELEASED, *entry.destruction)]
            full = choose(pool, await arena.means(pool, variants, "evo"), variants, rule)
            assert full.harness.name == event.selected
    assert len(selections) == 3
    assert 0 < evolved.evaluation["episodes"] < evolved.evaluation["full"]
    stops = [entry.stopped for event in selections for entry in event.pool if entry.stopped is not None]
    assert stops
    jsonschema.validate(evolved.selection, {**SCHEMA["$defs"]["selection"], "$defs": SCHEMA["$defs"]})
    words = [line for event in selections for line in lines(event)]
    assert any(f"stopped after {stops[0].after} of {stops[0].of}: " in line for line in words)


@pytest.mark.slow
async def test_what_decides_a_stop_is_not_told_where_the_proposer_may_not_know_of_it(
    ledger: SynLedger, kit: ProtocolKit, tmp_path: Path
) -> None:
    """B_0 decides in B_0-Access: neither its name nor a bound under it reaches the Proposer's tree."""
    made = plan(few_tasks(ledger), kit=kit, seed=1, method="b0-access", evaluation="racing")
    async with running(made, tmp_path) as run:
        evolved = await run.evolve()
        tree = run.journal.path / "history" / "proposer"
    rows = [row for record in evolved.rounds for row in record["selection"]["pool"]]
    assert any(NEUTRAL in row["stopped"]["tasks"] for row in rows if "stopped" in row)
    for path, text in texts(tree):
        assert NEUTRAL not in path
        assert "bound" not in text or path.endswith(".jsonl")
    assert all(row.keys().isdisjoint({"stopped"}) for record in History(tree).rounds() for row in record["pool"])
    assert NEUTRAL not in (tree / "rounds.jsonl").read_text()


def test_a_repair_needs_whole_scores(ledger: SynLedger) -> None:
    for kind in ("curtailed", "racing"):
        with pytest.raises(UserError, match=r"repair=True weighs by how much .* it needs evaluation=full"):
            settle_options("chase", ChaseOptions, {"repair": True, "evaluation": kind}, ledger.defaults)
    assert settle_options("chase", ChaseOptions, {"repair": True}, ledger.defaults).evaluation == "full"


def test_a_confirmation_that_was_cut_says_so() -> None:
    estimate = {"value": 0.01, "se": 0.02, "n": 12, "low": -0.1, "high": 0.1, "level": 0.95}
    event = Confirmed(
        round=1, role="conf1", destruction=estimate, eta="0.05", by_noise=0.1, failed=(), confirmed=False,
        stopped={"after": 300, "of": 320, "bound": 0.04},
    )  # fmt: skip
    assert list(lines(event))[1] == "    stopped after 300 of 320: it can come to +4.0 at most"
