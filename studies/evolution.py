"""CHASE, with repair and without its Challenger, with the mining agents and the simulated reader, paired by seed.

`python -m studies.evolution` runs every setting over its run seeds, each on a benchmark seed of its own that was not
looked at before, and measures on certification tasks (one rollout each) what `H*` is worth: gains as released, under
`B_0` and under fresh random protocols; *shortcut gain kept*, the largest `Δ` under neutralising a planted feature that
an edit of `H*` names; and the rollouts that the method used. In the two main settings every archived counterfactual is
tried again on four other benchmarks, for the same pair of harnesses: whether its `Δ` is above 0 there, and whether it
touches a cue that the harness really leans on (equalising that cue alone destroys at least 0.02).

`--develop` does the same on the benchmarks that agents are developed on, and writes to a file that is not committed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from chase.challengers.mining import MiningChallenger
from chase.core.agents import EDIT_SPACES
from chase.core.events import ignore
from chase.engine.sandbox import Sandbox
from chase.methods.chase import Chase, ChaseOptions
from chase.methods.chase_without_challenger import ChaseWithoutChallenger, ChaseWithoutChallengerOptions
from chase.methods.contract import Method, World
from chase.methods.desks import Assignment
from chase.methods.evolution import EvolutionOutcome
from chase.methods.options import settle_options
from chase.methods.rounds import EvolutionState, conclude, propose_and_select
from chase.methods.run import Plan, Run
from chase.methods.selection import SelectionRule
from chase.models.chat import ChatModel
from chase.proposers.mining import MiningProposer
from chase.store.store import Store
from chase.testing.ledger import H0
from studies.evolution_summary import CHASE, EQUAL, LABELS, PLAIN, REPAIR, summary
from studies.evolution_worth import (
    Bench,
    Kept,
    certification_means,
    entries_elsewhere,
    entries_of,
    variants_of,
    worth,
)
from studies.reader_scores import write
from studies.report import evolution as tables
from studies.running import Row, opened, rows_of, with_reader, workspace

ROUNDS = 3
MOST_ROUNDS = 20
"""Of the row at CHASE's rollouts: the most that the option allows."""
FIRST_SEED = 600
"""Run seed k is on benchmark seed 600 + k. Not looked at in development."""
FIRST_DEVELOPMENT_SEED = 100
OTHER_FEATURES = "digits+folder+preamble+title+casing"
SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "all edits": {"seeds": 20, "main": True},
    "document handling only": {"seeds": 20, "main": True, "space": "documents"},
    "all edits, procedural prior": {"seeds": 10, "prior": "procedural"},
    "five other features planted, document handling only": {
        "seeds": 10,
        "space": "documents",
        "suffix": f":{OTHER_FEATURES}",
    },
    "larger: 64 evolution tasks, all edits": {"seeds": 10, "suffix": "/evo64"},
}

_ELSEWHERE: dict[Kept, float] = {}
"""What rollouts on other benchmarks scored: `H_0` there is the same in every case of a process."""


class UntilRollouts(ChaseWithoutChallenger):
    """CHASE without Challenger, with further rounds of three candidates until a number of rollouts is reached.

    Rounds come to at most its option; a round in which nothing new was proposed uses no rollouts.
    """

    def __init__(self, rollouts: int, used: Callable[[], int]) -> None:
        self._rollouts = rollouts
        self._used = used

    async def evolve(self, world: World[ChaseWithoutChallengerOptions]) -> EvolutionOutcome:
        rule, state = SelectionRule(), EvolutionState.begin(world)
        while len(state.rounds) < world.options.rounds and self._used() < self._rollouts:
            state.open_round()
            await propose_and_select(world, state, rule, Assignment())
        return await conclude(world, state, rule)


def case_rows(case: Mapping[str, Any]) -> list[Row]:
    """All rows of one setting and seed, in one workspace: what they share is run once."""
    found: list[Row] = with_reader(lambda model, sandbox: _rows(case, model, sandbox))
    return found


async def _rows(case: Mapping[str, Any], model: ChatModel, sandbox: Sandbox) -> list[Row]:
    benchmark, kit = opened(case["benchmark"])
    plan = _plan(case)
    with workspace() as store:
        evolved = {row: await _evolved(row, plan, store, model, sandbox) for row in (CHASE, REPAIR, PLAIN, EQUAL)}
        used = {row: _used(store, row) for row in evolved}
    bench, elsewhere = (Bench(model=model, sandbox=sandbox, kept=kept) for kept in ({}, _ELSEWHERE))
    finals = [H0, *(outcome.final.harness for outcome in evolved.values())]
    means = await certification_means(bench, benchmark, finals, plan.seed, variants_of(benchmark, kit))
    return [
        {
            **case,
            "method": row,
            **worth(outcome.final, means, benchmark.planted),
            "rollouts": used[row],
            "rounds": len(outcome.rounds),
            "edits": [edit["name"] for edit in outcome.final.record.get("edits", [])],
            "entries": await entries_elsewhere(elsewhere, outcome, benchmark.planted)
            if SETTINGS[case["setting"]].get("main")
            else entries_of(outcome),
            "confirmations": sum("confirmation" in record for record in outcome.rounds),
        }
        for row in LABELS
        for outcome in (evolved[row],)
    ]


def _plan(case: Mapping[str, Any]) -> Plan:
    """CHASE as in the paper, at one setting and seed."""
    setting = SETTINGS[case["setting"]]
    benchmark, kit = opened(case["benchmark"])
    method = Chase()
    return Plan(
        benchmark=benchmark,
        kit=kit,
        initial=H0,
        method=method,
        options=settle_options(method.name, method.Options, {"rounds": ROUNDS}, benchmark.defaults),
        proposer=MiningProposer(setting.get("prior", "even")),
        challenger=MiningChallenger(),
        rollouts=benchmark.defaults.rollouts,
        seed=case["seed"],
        edit_space=EDIT_SPACES[setting.get("space", "all")],
    )


async def _evolved(row: str, plan: Plan, store: Store, model: ChatModel, sandbox: Sandbox) -> EvolutionOutcome:
    """A row's evolution, under a run id of its own. CHASE comes before the row that has its number of rollouts."""
    method, given = _method(row, store)
    options = settle_options(method.name, method.Options, given, plan.benchmark.defaults)
    plan, run = replace(plan, method=method, options=options), _run_id(row)
    store.create_run(run, plan.describe(model.fingerprint))
    return await Run(plan, run=run, store=store, model=model, sandbox=sandbox, tell=ignore).evolve()


def _method(row: str, store: Store) -> tuple[Method, dict[str, Any]]:
    """A row's method and the options that are given."""
    if row == PLAIN:
        return ChaseWithoutChallenger(), {"rounds": ROUNDS}
    if row == EQUAL:
        return UntilRollouts(_used(store, CHASE), lambda: _used(store, EQUAL)), {"rounds": MOST_ROUNDS}
    repair = {"repair": row == REPAIR} if "repair" in ChaseOptions.model_fields else {}
    return Chase(), {"rounds": ROUNDS, **repair}


def _run_id(row: str) -> str:
    return f"row-{list(LABELS).index(row)}"


def _used(store: Store, row: str) -> int:
    """The rollouts that a row used, as if it had run alone: one that another row had run counts too."""
    return sum(count.episodes for count in store.episodes(_run_id(row)))


def cases_of(settings: Sequence[str], *, develop: bool, seeds: int | None = None) -> list[dict[str, Any]]:
    """Every setting with each of its run seeds, and the benchmark that goes with it."""
    first = FIRST_DEVELOPMENT_SEED if develop else FIRST_SEED
    return [
        {
            "setting": name,
            "seed": seed,
            "benchmark": f"syn-ledger@{first + seed}{SETTINGS[name].get('suffix', '')}",
        }
        for name in settings
        for seed in range(1, (seeds or SETTINGS[name]["seeds"]) + 1)
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--develop", action="store_true", help="On syn-ledger@101 to @120; nothing to commit.")
    parser.add_argument("--setting", action="append", choices=SETTINGS, help="This one only (repeatable; --develop).")
    parser.add_argument("--seeds", type=int, help="The first so many run seeds only (--develop).")
    given = parser.parse_args(arguments)
    if (given.setting or given.seeds) and not given.develop:
        parser.error("--setting and --seeds go with --develop: what is reported is whole.")
    settings = given.setting or list(SETTINGS)
    name = "evolution-develop" if given.develop else "evolution"
    rows = rows_of(name, cases_of(settings, develop=given.develop, seeds=given.seeds), case_rows)
    benchmarks = "syn-ledger@101 to @120" if given.develop else "syn-ledger@601 to @620"
    payload = {
        "command": f"python -m studies.evolution{' --develop' if given.develop else ''}",
        "model": "sim:reader (simulated)",
        "benchmarks": f"{benchmarks}, one for each run seed from 1",
        "epsilon": "0.05",
        "eta": "0.05",
        "repair_exists": "repair" in ChaseOptions.model_fields,
        "intervals": "95 %, Student's t over seeds",
        "summary": {setting: summary([row for row in rows if row["setting"] == setting]) for setting in settings},
        "rows": rows,
    }
    write(name, payload)
    sys.stdout.write("\n".join(tables(name)) + "\n")


if __name__ == "__main__":
    main()
