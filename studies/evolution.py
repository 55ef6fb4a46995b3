"""CHASE with and without its Challenger, with the mining agents and the simulated reader, paired by seed.

`python -m studies.evolution` runs every setting over ten run seeds, each on a benchmark seed of its own, and measures
on certification tasks (one rollout each) what `H*` is worth: released gain, gain under `B_0`, `Δ_BS`; whether `H*`
names a planted cue; and, for every archived counterfactual, whether its `Δ` is above 0 for the same pair of harnesses
on ten other benchmark seeds, and whether it touches a cue that the harness really leans on (there, equalising that
cue alone destroys at least 0.02). Nothing of the method was tuned on these seeds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from chase.benchmarks.syn_ledger.benchmark import SynLedger, SynLedgerSpec
from chase.challengers.mining import MiningChallenger
from chase.core.agents import EDIT_SPACES
from chase.core.events import ignore
from chase.engine.rollout import Job, run_rollout
from chase.engine.sandbox import Sandbox
from chase.harness.spec import Harness
from chase.methods.chase import Chase
from chase.methods.chase_without_challenger import ChaseWithoutChallenger
from chase.methods.evolution import EvolutionOutcome
from chase.methods.options import settle_options
from chase.methods.run import Plan, Run
from chase.models.chat import ChatModel
from chase.proposers.mining import MiningProposer
from chase.protocol.kit import ProtocolKit
from chase.store.store import Store
from chase.testing.ledger import H0
from studies.reader_scores import write
from studies.running import Row, mean_of, opened, rows_of, share_of, with_reader, workspace

METHODS = (Chase(), ChaseWithoutChallenger())
SEEDS = range(1, 11)
OTHER_SEEDS = range(301, 311)
LEANS = 0.02
OTHER_FEATURES = "digits+folder+listing+title+casing"
CUES: Mapping[str, tuple[str, ...]] = {
    "filename": ("name-length", "name-initial"),
    "depth": ("path-depth",),
    "rank": ("hit-position",),
    "position": (),
    "serialization": ("extension-length", "bar-count", "line-count", "text-size"),
    "digits": ("name-digits",),
    "folder": ("folder-initial",),
    "listing": ("listing-position",),
    "title": ("title-length",),
    "casing": ("capital-words",),
}
"""Planted feature → the observables that show it. Known to this study, to no agent."""
SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "paper, all edits, even": {},
    "paper, all edits, procedural": {"prior": "procedural"},
    "paper, document handling only, even": {"space": "documents"},
    "paper, document handling only, procedural": {"space": "documents", "prior": "procedural"},
    "larger: 64 evolution tasks, all edits, even": {"suffix": "/evo64"},
    "larger: five rounds, all edits, even": {"rounds": 5},
    "five other features planted, document handling only, even": {
        "space": "documents",
        "suffix": f":{OTHER_FEATURES}",
    },
}


def case_rows(case: Mapping[str, Any]) -> list[Row]:
    """Both methods at one setting and seed, in one workspace: what they share is run once."""
    setting = SETTINGS[case["setting"]]
    benchmark, kit = opened(f"syn-ledger@{200 + case['seed']}{setting.get('suffix', '')}")
    planted = {name for feature in benchmark.planted for name in CUES[feature]}

    async def work(model: ChatModel, sandbox: Sandbox) -> list[Row]:
        rows = []
        with workspace() as store:
            for method in METHODS:
                plan = Plan(
                    benchmark=benchmark,
                    kit=kit,
                    initial=H0,
                    method=method,
                    options=settle_options(
                        method.name, method.Options, {"rounds": setting.get("rounds", 3)}, benchmark.defaults
                    ),
                    proposer=MiningProposer(setting.get("prior", "even")),
                    challenger=MiningChallenger(),
                    rollouts={**benchmark.defaults.rollouts, "cert": 1},
                    seed=case["seed"],
                    edit_space=EDIT_SPACES[setting.get("space", "all")],
                )
                rows.append(await _one(plan, store, model, sandbox, planted) | dict(case) | {"method": method.name})
        return rows

    found: list[Row] = with_reader(work)
    return found


async def _one(plan: Plan, store: Store, model: ChatModel, sandbox: Sandbox, planted: set[str]) -> Row:
    name = plan.method.name
    store.create_run(name, plan.describe(model.fingerprint))
    run = Run(plan, run=name, store=store, model=model, sandbox=sandbox, tell=ignore)
    evolved = await run.evolve()
    certified = await run.certify(evolved)
    edits = evolved.final.record.get("edits", [])
    named = {edit["observable"] for edit in edits if edit["observable"]}
    return {
        "r_rel": certified.scores["H*"]["released"].value,
        "r_0": certified.scores["H*"]["neutral"].value,
        "g_rel": certified.gains["released"].value,
        "g_0": certified.gains["neutral"].value,
        "delta_bs": certified.destruction["neutral"].value,
        "edits": [edit["name"] for edit in edits],
        "cue": bool(named & planted),
        "initial": not edits,
        "entries": await _entries(evolved, plan.benchmark, model, sandbox),
        "confirmations": sum("confirmation" in record for record in evolved.rounds),
    }


async def _entries(evolved: EvolutionOutcome, benchmark: Any, model: ChatModel, sandbox: Sandbox) -> list[Row]:
    """Every archived counterfactual on other benchmarks that plant the same, for the pair that it was confirmed for."""
    planted = benchmark.planted
    found = []
    for entry in evolved.archive.entries:
        harness = evolved.harnesses[entry.round].harness
        form = entry.transformation
        delta = await _destruction(model, sandbox, planted, harness, form["operators"])
        aspects = sorted({o["arguments"].get("aspect", "") for o in form["operators"]} - {"", "records"})
        leans = {
            aspect: await _destruction(
                model, sandbox, planted, harness, [{"name": "equalise", "arguments": {"aspect": aspect}, "seed": 7}]
            )
            for aspect in aspects
        }
        found.append(
            {
                "operators": len(form["operators"]),
                "what": [f"{o['name']} {' '.join(map(str, o['arguments'].values()))}" for o in form["operators"]],
                "confirmation": entry.confirmation["value"],
                "elsewhere": delta,
                "leans": leans,
            }
        )
    return found


async def _destruction(
    model: ChatModel, sandbox: Sandbox, planted: tuple[str, ...], harness: Harness, operators: Sequence[Any]
) -> float:
    """`Δ_b` over the evolution tasks of ten other benchmarks."""
    total = 0.0
    count = 0
    for seed in OTHER_SEEDS:
        benchmark, kit = _other(seed, planted)
        form = {"benchmark": "syn-ledger", "operators": [dict(operator) for operator in operators]}
        transformation = kit.parse(form).transformation
        for task in benchmark.tasks("evo"):
            count += 1
            for which, sign in ((harness, 1), (H0, -1)):
                for variant, side in ((benchmark.variant("released"), 1), (transformation, -1)):
                    total += sign * side * await _score(model, sandbox, benchmark, which, variant, task)
    return total / count


_kept: dict[tuple[str, str, str, str], float] = {}


async def _score(
    model: ChatModel, sandbox: Sandbox, benchmark: SynLedger, harness: Harness, variant: Any, task: str
) -> float:
    key = benchmark.name, harness.hash, variant.hash, task
    if key not in _kept:
        job = Job(benchmark=benchmark, transformation=variant, harness=harness, task=task, index=0, run_seed=0)
        rollout, _ = await run_rollout(job, model, sandbox)
        _kept[key] = rollout.outcome.score or 0.0
    return _kept[key]


@lru_cache(maxsize=2 * len(OTHER_SEEDS))
def _other(seed: int, planted: tuple[str, ...]) -> tuple[SynLedger, ProtocolKit]:
    benchmark = SynLedger(SynLedgerSpec(seed=seed, planted=planted))
    return benchmark, ProtocolKit(benchmark)


def summary(rows: Sequence[Row]) -> dict[str, Any]:
    """Each method's means and shares, and CHASE less CHASE without its Challenger, paired by seed."""
    by_method = {method.name: [row for row in rows if row["method"] == method.name] for method in METHODS}
    found: dict[str, Any] = {}
    for method, of_method in by_method.items():
        found[method] = {
            **{name: mean_of([row[name] for row in of_method]) for name in FIGURES},
            "cue_in_final": share_of([row["cue"] for row in of_method]),
            "final_is_initial": share_of([row["initial"] for row in of_method]),
        }
    pairs = list(zip(by_method["chase"], by_method["chase-without-challenger"], strict=True))
    found["chase minus chase-without-challenger"] = {
        name: mean_of([a[name] - b[name] for a, b in pairs]) for name in FIGURES
    }
    entries = [entry for row in by_method["chase"] for entry in row["entries"]]
    found["archive"] = {
        "confirmations": sum(row["confirmations"] for row in by_method["chase"]),
        "entries": len(entries),
        "false": share_of([entry["elsewhere"] <= 0 for entry in entries]),
        "on_a_real_lean": share_of([any(v >= LEANS for v in entry["leans"].values()) for entry in entries]),
        "operators": [entry["operators"] for entry in entries],
    }
    return found


FIGURES = ("r_rel", "r_0", "g_rel", "g_0", "delta_bs")


def main() -> None:
    cases = [{"setting": setting, "seed": seed} for setting in SETTINGS for seed in SEEDS]
    rows = rows_of("evolution", cases, case_rows)
    payload = {
        "command": "python -m studies.evolution",
        "model": "sim:reader (simulated)",
        "benchmarks": "syn-ledger@201 to @210, one for each run seed 1 to 10",
        "epsilon": "0.05",
        "eta": "0.05",
        "summary": {name: summary([row for row in rows if row["setting"] == name]) for name in SETTINGS},
        "rows": rows,
    }
    write("evolution", payload)


if __name__ == "__main__":
    main()
