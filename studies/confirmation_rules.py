"""CHASE with the paper's rule of confirmation and with the calibrated one, run for run on the same benchmarks.

`python -m studies.confirmation_rules` evolves ten run seeds, each on a benchmark seed that nobody had looked at, with
the mining agents and the simulated reader, in two settings: the paper's confirmation sets (16 tasks, 5 rollouts of
each), and the same number of rollouts spread over more tasks (80 tasks, 1 rollout). Of each run: what was put to the
test and what was archived; how many archived ones are *false* (`Δ` of the same pair of harnesses is not above 0 on four
other benchmarks); what `H*` gains on the 208 certification tasks as released and under `B_0`; and the rollouts that it
used, in all and in confirmation. Placebos are tried in a further run of the same seed, which makes the same decisions,
so that their rollouts are in no count.

`--develop` does the same on the benchmarks that agents are developed on, and writes to a file that is not committed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from chase.benchmarks.syn_ledger.benchmark import SynLedger, open_syn_ledger
from chase.challengers.mining import MiningChallenger
from chase.core.agents import EDIT_SPACES
from chase.core.events import ignore
from chase.engine.sandbox import Sandbox
from chase.methods.chase import Chase
from chase.methods.evolution import EvolutionOutcome
from chase.methods.options import settle_options
from chase.methods.run import Plan, Run
from chase.models.chat import ChatModel
from chase.proposers.mining import MiningProposer
from chase.protocol.kit import ProtocolKit
from chase.store.store import Store
from chase.testing.ledger import H0
from studies.evolution_worth import (
    Bench,
    Kept,
    certification_means,
    destruction_elsewhere,
    entries_of,
    named_features,
    named_observables,
)
from studies.reader_scores import write
from studies.report import confirmation_rules as tables
from studies.rules_summary import RULES, summary
from studies.running import Row, rows_of, with_reader, workspace

SEEDS = 10
FIRST_SEED, FIRST_DEVELOPMENT_SEED = 640, 100
"""Run seed k is on benchmark seed 640 + k. Not looked at before."""
PLACEBOS = 2
"""Of the benchmark's five; which ones, a run's seed decides."""
CERTIFICATION = 208
SETS: Mapping[str, Mapping[str, Any]] = {
    "16 tasks × 5 rollouts": {"suffix": "", "tasks": 16, "rollouts": 5},
    "80 tasks × 1 rollout": {"suffix": "x40", "tasks": 80, "rollouts": 1},
}
"""Confirmation sets, the paper's first. Larger ones need larger benchmarks; other task sets are as in the paper."""

_ELSEWHERE: dict[Kept, float] = {}


def cases_of(kinds: Sequence[str], *, develop: bool, seeds: int = SEEDS) -> list[dict[str, Any]]:
    """Each kind of confirmation set with every run seed, and the benchmark that goes with it."""
    first = FIRST_DEVELOPMENT_SEED if develop else FIRST_SEED
    return [
        {"sets": sets, "seed": seed, "benchmark": f"syn-ledger@{first + seed}{SETS[sets]['suffix']}"}
        for sets in kinds
        for seed in range(1, seeds + 1)
    ]


def case_rows(case: Mapping[str, Any]) -> list[Row]:
    """Both rules at one setting and seed, in one workspace: what they share is run once."""
    found: list[Row] = with_reader(lambda model, sandbox: _rows(case, model, sandbox))
    return found


def cut(case: Mapping[str, Any]) -> SynLedger:
    """A case's benchmark with confirmation sets of its size and everything else as in the paper."""
    sizes = dict.fromkeys(("conf1", "conf2", "conf3"), SETS[case["sets"]]["tasks"])
    return open_syn_ledger(case["benchmark"]).fewer({**sizes, "cert": CERTIFICATION})


async def _rows(case: Mapping[str, Any], model: ChatModel, sandbox: Sandbox) -> list[Row]:
    benchmark = cut(case)
    kit = ProtocolKit(benchmark)
    with workspace() as store:
        found = {}
        for rule in RULES:
            outcome = await _evolved(_plan(case, benchmark, kit, {"confirmation": rule}), rule, store, model, sandbox)
            options = {"confirmation": rule, "placebos": PLACEBOS}
            beside = await _evolved(_plan(case, benchmark, kit, options), f"{rule}-placebos", store, model, sandbox)
            if beside.final.harness.hash != outcome.final.harness.hash:
                raise AssertionError(f"placebos changed a decision: {case}")
            found[rule] = {"outcome": outcome, "used": _used(store, rule), "placebos": placebos_of(beside)}
    bench, elsewhere = (Bench(model=model, sandbox=sandbox, kept=kept) for kept in ({}, _ELSEWHERE))
    finals = [H0, *(each["outcome"].final.harness for each in found.values())]
    variants = {name: benchmark.variant(name) for name in ("released", "neutral")}
    means = await certification_means(bench, benchmark, finals, case["seed"], variants)
    return [
        {
            **case,
            "rule": rule,
            **_worth(each["outcome"], means, benchmark),
            **each["used"],
            **tested(each["outcome"]),
            "placebos": each["placebos"],
            "entries": await _entries(elsewhere, each["outcome"], benchmark),
        }
        for rule, each in found.items()
    ]


def _plan(case: Mapping[str, Any], benchmark: SynLedger, kit: ProtocolKit, given: Mapping[str, Any]) -> Plan:
    method, rollouts = Chase(), SETS[case["sets"]]["rollouts"]
    settled = {role: rollouts if role.startswith("conf") else n for role, n in benchmark.defaults.rollouts.items()}
    return Plan(
        benchmark=benchmark,
        kit=kit,
        initial=H0,
        method=method,
        options=settle_options(method.name, method.Options, dict(given), benchmark.defaults),
        proposer=MiningProposer("even"),
        challenger=MiningChallenger(),
        rollouts=settled,
        seed=case["seed"],
        edit_space=EDIT_SPACES["all"],
    )


async def _evolved(plan: Plan, run: str, store: Store, model: ChatModel, sandbox: Sandbox) -> EvolutionOutcome:
    store.create_run(run, plan.describe(model.fingerprint))
    return await Run(plan, run=run, store=store, model=model, sandbox=sandbox, tell=ignore).evolve()


def _used(store: Store, run: str) -> Row:
    """The rollouts that a rule used, as if it had run alone, and those of them on confirmation sets."""
    counts = store.episodes(run)
    return {
        "rollouts": sum(count.episodes for count in counts),
        "confirming": sum(count.episodes for count in counts if count.role.startswith("conf")),
    }


def _worth(outcome: EvolutionOutcome, means: Mapping[str, Mapping[str, float]], benchmark: SynLedger) -> Row:
    final, initial = means[outcome.final.harness.hash], means[H0.hash]
    g_rel, g_0 = (final[variant] - initial[variant] for variant in ("released", "neutral"))
    return {
        "g_rel": g_rel,
        "g_0": g_0,
        "delta_bs": g_rel - g_0,
        "initial": outcome.final.harness.hash == H0.hash,
        "cue": bool(named_features(named_observables(outcome.final), benchmark.planted)),
    }


def tested(outcome: EvolutionOutcome) -> Row:
    """What came of the frozen counterfactuals: put to the test or not, and where a test ended."""
    confirmations = [record["confirmation"] for record in outcome.rounds if "confirmation" in record]
    return {
        "tested": len(confirmations),
        "not_taken": sum("unconfirmed" in record for record in outcome.rounds),
        "ended": [each["test"]["looks"][-1]["step"] for each in confirmations if "test" in each],
        "by_noise": [each["by_noise"] for each in confirmations if each["by_noise"] is not None],
    }


def placebos_of(outcome: EvolutionOutcome) -> list[Row]:
    """Every placebo that was tried, and whether it would have been confirmed."""
    tried = [each for record in outcome.rounds for each in record.get("confirmation", {}).get("placebos", [])]
    return [
        {"name": each["name"], "destruction": each["destruction"]["value"], "confirmed": each["confirmed"]}
        for each in tried
    ]


async def _entries(bench: Bench, outcome: EvolutionOutcome, benchmark: SynLedger) -> list[Row]:
    """What was archived, and what it destroys on other benchmarks for the pair that it was confirmed for."""
    found = entries_of(outcome)
    for entry, row in zip(outcome.archive.entries, found, strict=True):
        harness, operators = outcome.harnesses[entry.round].harness, entry.transformation["operators"]
        row["elsewhere"] = await destruction_elsewhere(bench, benchmark.planted, harness, operators)
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--develop", action="store_true", help="On syn-ledger@101 and on; nothing to commit.")
    parser.add_argument("--sets", action="append", choices=SETS, help="These confirmation sets only (repeatable).")
    parser.add_argument("--seeds", type=int, default=SEEDS, help="The first so many run seeds only (--develop).")
    given = parser.parse_args(arguments)
    if given.seeds != SEEDS and not given.develop:
        parser.error("--seeds goes with --develop: what is reported is whole.")
    name = "confirmation_rules-develop" if given.develop else "confirmation_rules"
    kinds = given.sets or list(SETS)
    rows = rows_of(name, cases_of(kinds, develop=given.develop, seeds=given.seeds), case_rows)
    payload = {
        "command": f"python -m studies.confirmation_rules{' --develop' if given.develop else ''}",
        "model": "sim:reader (simulated)",
        "benchmarks": f"syn-ledger@{(FIRST_DEVELOPMENT_SEED if given.develop else FIRST_SEED) + 1} and on, "
        "one for each run seed from 1",
        "placebos": PLACEBOS,
        "summary": {sets: summary([row for row in rows if row["sets"] == sets]) for sets in kinds},
        "rows": rows,
    }
    write(name, payload)
    sys.stdout.write("\n".join(tables(name)) + "\n")


if __name__ == "__main__":
    main()
