"""Ten planted leanings in turn, some on observables that mean nothing: does the frozen counterfactual touch it?

`python -m studies.detection` gives the initial harness one preference at a time and lets the mining Challenger search
on the discovery tasks of five benchmarks, with the diff from `H_0` and without it (behaviour alone).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from chase.agents.history import RELEASED, History, HistoryWriter
from chase.challengers.mining import MiningChallenger
from chase.core.agents import ChallengerContext
from chase.engine.evaluator import Evaluator
from chase.engine.runner import Runner
from chase.engine.sandbox import Sandbox
from chase.methods.arena import Contender, StoreArena, Variant
from chase.methods.counterfactuals import EVALUATED, discover
from chase.models.chat import ChatModel
from chase.store.records import Use
from chase.testing.ledger import H0
from studies.evolution_worth import CUES
from studies.planted_harnesses import harness_of
from studies.reader_scores import write
from studies.running import Row, opened, rows_of, share_of, with_reader, workspace

SEEDS = range(801, 806)
LEANINGS = (
    "name-length",
    "name-initial",
    "path-depth",
    "extension-length",
    "hit-position",
    "name-digits",
    "folder-initial",
    "folder-length",
    "listing-position",
    "capital-words",
)


def case_rows(case: Mapping[str, Any]) -> list[Row]:
    """Every leaning on one benchmark."""
    benchmark, kit = opened(f"syn-ledger@{case['seed']}")
    challenger = MiningChallenger(use_diff=case["diff"])

    async def work(model: ChatModel, sandbox: Sandbox) -> list[Row]:
        rows = []
        with workspace() as store:
            store.create_run("detection", dict(case))
            runner = Runner(model=model, store=store, sandbox=sandbox, use=Use(run="detection", method="detection"))
            evaluator = Evaluator(benchmark=benchmark, runner=runner, store=store, roles={"disc": 2}, run_seed=1)
            for place, name in enumerate(LEANINGS):
                tree = HistoryWriter(Path(store.workspace.root) / f"history-{place}")
                arena = StoreArena(evaluator, {"disc": tree})
                initial = Contender(name="H0", harness=H0)
                leaning = Contender(name="H1", harness=harness_of(prompt=[f"Prefer files with low {name}."]))
                released = Variant(name=RELEASED, transformation=benchmark.variant("released"))
                await arena.means([leaning, initial], [released], "disc")
                context = ChallengerContext(
                    history=tree.root,
                    round=1,
                    current="H1",
                    initial="H0",
                    benchmark=benchmark.base,
                    observables={observable.name: observable for observable in benchmark.observables},
                    operators=kit.operators(),
                    effects=kit.effects,
                    tools=tuple(benchmark.tools),
                    proposals=8,
                    evaluated=EVALUATED,
                    seed=case["seed"],
                )
                suspects = [s.observable for s in challenger.suspects(History(tree.root), context)]
                found = await discover(
                    arena, kit, await challenger.challenge(context), pair=(leaning, initial), role="disc",
                    tasks=arena.tasks("disc"), archived=frozenset(),
                )  # fmt: skip
                frozen = found.frozen
                rows.append(
                    {
                        **case,
                        "leaning": name,
                        "suspected_as": suspects.index(name) + 1,
                        "touches": frozen is not None and name in frozen.touched,
                        "operators": frozen.operators if frozen else 0,
                        "destruction": found.destruction.value if found.destruction else None,
                    }
                )
        return rows

    found: list[Row] = with_reader(work)
    return found


def main() -> None:
    cases = [{"seed": seed, "diff": diff} for seed in SEEDS for diff in (True, False)]
    rows = rows_of("detection", cases, case_rows)
    planted = {name for feature in ("filename", "depth", "rank", "serialization") for name in CUES[feature]}
    payload: dict[str, Any] = {
        "command": "python -m studies.detection",
        "model": "sim:reader (simulated)",
        "benchmarks": [f"syn-ledger@{seed}" for seed in SEEDS],
        "rows": rows,
    }
    for diff in (True, False):
        of_kind = [row for row in rows if row["diff"] == diff]
        payload["with the diff" if diff else "behaviour alone"] = {
            "touches_the_right_one": share_of([row["touches"] for row in of_kind]),
            "and_names_at_most_two": share_of([row["touches"] and row["operators"] <= 2 for row in of_kind]),
            "suspected_first": share_of([row["suspected_as"] == 1 for row in of_kind]),
            "suspected_among_four": share_of([row["suspected_as"] <= 4 for row in of_kind]),
            "on_planted_cues": share_of([row["touches"] for row in of_kind if row["leaning"] in planted]),
            "on_others": share_of([row["touches"] for row in of_kind if row["leaning"] not in planted]),
        }
    write("detection", payload)


if __name__ == "__main__":
    main()
