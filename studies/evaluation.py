"""How many episodes curtailed and racing evaluation take, and whether they choose what the full scores choose.

`python -m studies.evaluation --record` runs CHASE in full with the mining agents and the simulated reader, on
benchmarks that nothing was developed on, and keeps every score of every selection in
`results/evaluation_decisions.json`. Only `D_evo` has the paper's size there; discovery and confirmation are small, and
`η` is low, so that there are archived counterfactuals to be held to. `python -m studies.evaluation` judges both ways on
these scores, decision by decision: each starts from the pool, the archive and the known cells that the full run had at
that moment.

`--develop` does the same on the benchmarks that agents are developed on, and writes to files that are not committed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from chase.agents.history import RELEASED
from chase.challengers.mining import MiningChallenger
from chase.core.events import Event, FinalSelected, Selected
from chase.engine.sandbox import Sandbox
from chase.methods.arena import Arena, Contender, Means, SomeTasks, Variant
from chase.methods.chase import Chase
from chase.methods.contract import World
from chase.methods.evaluation import Evaluation, Kind, evaluation_order
from chase.methods.evolution import Choice, EvolutionOutcome, choose
from chase.methods.options import settle_options
from chase.methods.run import Plan, Run
from chase.methods.selection import ArchiveGate, SelectionRule
from chase.models.chat import ChatModel
from chase.proposers.mining import MiningProposer
from chase.protocol.transformation import OperatorList
from chase.testing.ledger import H0
from studies.reader_scores import RESULTS, write
from studies.running import Row, mean_of, opened, rows_of, share_of, with_reader, workspace

FIRST_SEED, FIRST_DEVELOPMENT_SEED = 1300, 100
RUNS = 60
ROUNDS, EPSILON, ETA = 3, "0.05", "0.02"
FEW = {"disc": 8, "conf1": 8, "conf2": 8, "conf3": 8}
ROLLOUTS = {"evo": 2, "disc": 2, "conf1": 2, "conf2": 2, "conf3": 2, "cert": 1}
RULE = SelectionRule(gates=(ArchiveGate(epsilon=EPSILON),))
WAYS: tuple[Kind, ...] = ("curtailed", "racing")


def cases(*, develop: bool, runs: int = RUNS) -> list[dict[str, Any]]:
    """Two run seeds on each benchmark."""
    first = FIRST_DEVELOPMENT_SEED if develop else FIRST_SEED
    return [{"benchmark": f"syn-ledger@{first + 1 + n // 2}", "seed": n + 1} for n in range(runs)]


# Recording


@dataclass
class RecordingArena:
    """The arena, with every score on `D_evo`."""

    real: Arena
    scores: dict[tuple[str, str], Mapping[str, Fraction]] = field(default_factory=dict)

    async def means(
        self, harnesses: Sequence[Contender], variants: Sequence[Variant], role: Any, tasks: SomeTasks = None,
        rollouts: int | None = None,
    ) -> Means:  # fmt: skip
        found = await self.real.means(harnesses, variants, role, tasks, rollouts)
        if role == "evo":
            self.scores |= found
        return found


@dataclass
class Recorded(Chase):
    """CHASE, with the scores of every pool that it selects from."""

    decisions: list[Row] = field(default_factory=list)

    async def evolve(self, world: World[Any]) -> EvolutionOutcome:
        arena = RecordingArena(world.arena)

        def told(event: Event) -> None:
            if isinstance(event, Selected | FinalSelected) and len(event.pool) > 1:
                names = [RELEASED, *event.pool[0].destruction]
                pool = [entry.harness for entry in event.pool]
                cells = {f"{h} {v}": digits(arena.scores[h, v]) for h in pool for v in names}
                known = pool if isinstance(event, FinalSelected) else []
                self.decisions.append(
                    {"pool": pool, "variants": names, "cells": cells, "current": self._current, "final": bool(known)}
                )
            if isinstance(event, Selected):
                self._current = event.selected

        self._current = world.initial.name
        return await super().evolve(replace(world, arena=arena, tell=told))


def digits(cell: Mapping[str, Fraction]) -> str:
    """Of each task, in the order of their ids, how many of two rollouts succeeded."""
    return "".join(str(int(2 * cell[task])) for task in sorted(cell))


def recorded(case: Mapping[str, Any]) -> list[Row]:
    """The decisions of one run."""
    found: list[Row] = with_reader(lambda model, sandbox: _recorded(case, model, sandbox))
    return found


async def _recorded(case: Mapping[str, Any], model: ChatModel, sandbox: Sandbox) -> list[Row]:
    whole, kit = opened(case["benchmark"])
    benchmark, method = whole.fewer(FEW), Recorded()
    given = {"rounds": ROUNDS, "epsilon": EPSILON, "eta": ETA, "reduce": False}
    plan = Plan(
        benchmark=benchmark, kit=kit, initial=H0, method=method, proposer=MiningProposer(),
        options=settle_options(method.name, method.Options, given, benchmark.defaults), challenger=MiningChallenger(),
        rollouts=ROLLOUTS, seed=case["seed"],
    )  # fmt: skip
    with workspace() as store:
        store.create_run("run", plan.describe(model.fingerprint))
        await Run(plan, run="run", store=store, model=model, sandbox=sandbox, tell=lambda _: None).evolve()
    return [{**case, **decision} for decision in method.decisions]


# Judging


@dataclass
class TableArena:
    """Gives recorded scores back."""

    scores: Means

    async def means(
        self, harnesses: Sequence[Contender], variants: Sequence[Variant], role: Any, tasks: SomeTasks = None,
        rollouts: int | None = None,
    ) -> Means:  # fmt: skip
        return {
            (h.name, v.name): {t: s for t, s in self.scores[h.name, v.name].items() if tasks is None or t in tasks}
            for h in harnesses
            for v in variants
        }


@dataclass(frozen=True)
class Decision:
    """A selection with all its scores."""

    row: Row
    pool: list[Contender]
    variants: list[Variant]
    scores: Means

    @classmethod
    def of(cls, row: Row) -> Decision:
        scores = {
            tuple(cell.split()): {f"t{n:02}": Fraction(int(digit), 2) for n, digit in enumerate(text)}
            for cell, text in row["cells"].items()
        }
        pool = [Contender(name=name, harness=replace(H0, memory=name)) for name in row["pool"]]
        variants = [Variant(name=name, transformation=OperatorList()) for name in row["variants"]]
        return cls(row=row, pool=pool, variants=variants, scores=scores)  # type: ignore[arg-type]

    def full(self) -> Choice:
        return choose(self.pool, self.scores, self.variants, RULE)

    async def by(self, kind: Kind) -> tuple[Choice, Evaluation, int]:
        """The choice, what was evaluated for it, and how much of that was known before: `H_0` and `H_{t-1}` under every
        variant; in the final selection each harness as released.
        """
        tasks = sorted(next(iter(self.scores.values())))
        seed = self.row["seed"]
        evaluation = Evaluation(
            arena=TableArena(self.scores), role="evo", order=evaluation_order(tasks, seed), rollouts=2, kind=kind
        )
        known = [named for named in self.pool if named.name in (self.pool[0].name, self.row["current"])]
        await evaluation.in_full(known, self.variants)
        if self.row["final"]:
            await evaluation.in_full(self.pool, self.variants[:1])
        before = sum(map(len, evaluation.known.values()))
        return await evaluation.choose(self.pool, self.variants, RULE), evaluation, before


def judged(row: Row) -> Iterator[Row]:
    """One decision, both ways."""
    decision = Decision.of(row)
    full = decision.full()
    entries = {entry.harness: entry for entry in full.pool}
    tasks = len(next(iter(decision.scores.values())))
    for kind in WAYS:
        choice, evaluation, before = asyncio.run(decision.by(kind))
        name = choice.harness.name
        by_hash = {f"{h.name} {v.name}": (h.harness.hash, v.name) for h in decision.pool for v in decision.variants}
        lost = float(entries[full.harness.name].released or 0) - float(entries[name].released or 0)
        yield {
            "kind": kind,
            "benchmark": row["benchmark"],
            "archive": len(row["variants"]) - 1,
            "candidates": len(row["pool"]) - len({decision.pool[0].name, row["current"]}),
            "final": row["final"],
            "same": name == full.harness.name,
            "lost": round(lost, 4),
            "within one task": abs(lost) <= 1 / tasks + 1e-9 and not entries[name].violates,
            "violators": sum(bool(entry.violates) for entry in full.pool),
            "admitted": bool(entries[name].violates),
            "episodes": 2 * sum(map(len, evaluation.known.values())),
            "known before": 2 * before,
            "full": 2 * len(decision.scores) * tasks,
            "run": [row["benchmark"], row["seed"]],
            "tasks of cells": {cell: 2 * len(evaluation.known[by_hash[cell]]) for cell in by_hash},
            "tasks": 2 * tasks,
        }


def summary(rows: Sequence[Row]) -> Row:
    """Of one way: agreement, violators, and episodes against the full schedule."""
    some = [row for row in rows if row["full"] > row["known before"]]
    spent = sum(row["episodes"] - row["known before"] for row in some)
    every = sum(row["full"] - row["known before"] for row in some)
    violators = sum(row["violators"] for row in rows)
    return {
        "decisions": len(rows),
        "with something to evaluate": len(some),
        "with an archive": sum(row["archive"] > 0 for row in rows),
        "same choice": share_of([row["same"] for row in rows]),
        "same or within one task": share_of([row["same"] or row["within one task"] for row in rows]),
        "points lost where another": mean_of([100 * row["lost"] for row in rows if not row["same"]] or [0.0]),
        "most points lost": 100 * max((row["lost"] for row in rows), default=0.0),
        "violators": violators,
        "violators admitted": sum(row["admitted"] for row in rows),
        "episodes of candidates": {"spent": spent, "full": every, "share": round(spent / every, 4)},
        "episodes of runs": _of_runs(rows),
    }


def _of_runs(rows: Sequence[Row]) -> Row:
    """Every cell of a run counted once, as far as any of its decisions evaluated it."""
    reached: dict[tuple[Any, ...], int] = {}
    every: dict[tuple[Any, ...], int] = {}
    for row in rows:
        for cell, episodes in row["tasks of cells"].items():
            key = (*row["run"], cell)
            reached[key] = max(episodes, reached.get(key, 0))
            every[key] = row["tasks"]
    spent, full = sum(reached.values()), sum(every.values())
    return {"spent": spent, "full": full, "share": round(spent / full, 4)}


def table(found: Mapping[str, Row]) -> Iterator[str]:
    """The study's table on its page."""
    yield "| | decisions | same choice | same, or within one task | violators admitted | of what is left | of all |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    for kind, row in found.items():
        same, near = (f"{100 * row[key]['value']:.1f} %" for key in ("same choice", "same or within one task"))
        left, every = (f"{100 * row[key]['share']:.0f} %" for key in ("episodes of candidates", "episodes of runs"))
        violators = f"{row['violators admitted']} of {row['violators']}"
        yield f"| {kind} | {row['decisions']} | {same} | {near} | {violators} | {left} | {every} |"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--develop", action="store_true", help="On syn-ledger@101 and on; nothing to commit.")
    parser.add_argument("--record", action="store_true", help="Run CHASE in full first.")
    parser.add_argument("--runs", type=int, default=RUNS, help="The first so many runs only (--develop).")
    given = parser.parse_args(arguments)
    kept = RESULTS / f"evaluation_decisions{'-develop' if given.develop else ''}.json"
    if given.record:
        rows = rows_of(kept.stem, cases(develop=given.develop, runs=given.runs), recorded)
        kept.write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n", encoding="utf-8")
    rows = [row for decision in json.loads(kept.read_text(encoding="utf-8")) for row in judged(decision)]
    found = {kind: summary([row for row in rows if row["kind"] == kind]) for kind in WAYS}
    write(f"evaluation{'-develop' if given.develop else ''}", found)


if __name__ == "__main__":
    main()
