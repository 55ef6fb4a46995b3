"""Audits of planted harnesses over many seeds: how often a cheat is missed and an honest harness accused.

`python -m studies.audits` takes the six cheats and four honest harnesses that `studies.planted_harnesses` chose, prints
a power calculation from its large-sample figures, and audits each as a whole on enlarged benchmarks of that size. A
miss is a verdict for a cheat that does not speak against it (*supported*, *inconclusive*, *untested*, *no gain*); a
false alarm is one against an honest harness (*not supported*, *in doubt*, *partly supported*). Resumable; nothing was
tuned on these seeds.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from chase.challengers.mining import MiningChallenger
from chase.core.events import ignore
from chase.engine.sandbox import Sandbox
from chase.methods.audit_plan import AuditPlan, audit_harness
from chase.methods.audit_search import SearchSettings
from chase.models.chat import ChatModel
from chase.stats.bounded import GAINS
from chase.stats.simultaneous import tasks_to_detect
from chase.testing.ledger import H0
from studies.planted_harnesses import harness_of
from studies.reader_scores import RESULTS, write
from studies.running import Row, opened, rows_of, share_of, with_reader, workspace

FIRST_SEED = 731
ROUNDS = 1
QUANTITIES = 1 + ROUNDS
POWER = 0.9
MOST_BLOCKS = 120


def power_calculation(harnesses: Mapping[str, Mapping[str, Any]], tasks: int) -> dict[str, Any]:
    """For each harness the tasks that show its released gain to be above 0; the size is the most any cheat needs."""
    needed = {}
    for name, harness in harnesses.items():
        gain = harness["g_rel"]
        spread = gain["se"] * math.sqrt(tasks)
        needed[name] = tasks_to_detect(gain["value"], spread, GAINS, quantities=QUANTITIES, power=POWER)
    most = max(needed[name] for name in needed if harnesses[name]["kind"] == "cheat")
    blocks = min(MOST_BLOCKS, 10 * math.ceil((10 + max(0, most - 48) / 8) / 10))
    return {"needed": needed, "most": most, "blocks": blocks, "confirmation_tasks": 48 + 8 * (blocks - 10)}


def audits_of(case: Mapping[str, Any]) -> list[Row]:
    """All harnesses on one benchmark seed, in one workspace: the initial harness is run once."""
    benchmark, kit = opened(f"syn-ledger@{FIRST_SEED + case['seed'] - 1}x{case['blocks']}")

    async def work(model: ChatModel, sandbox: Sandbox) -> list[Row]:
        rows = []
        with workspace() as store:
            for place, (name, form) in enumerate(case["harnesses"].items()):
                plan = AuditPlan(
                    benchmark=benchmark,
                    kit=kit,
                    baseline=H0,
                    harness=harness_of(**form),
                    challenger=MiningChallenger(use_diff=case["diff"]),
                    settings=SearchSettings(rounds=ROUNDS, whole=True),
                    rollouts=dict.fromkeys(benchmark.roles, 1),
                    seed=case["seed"],
                )
                run = f"audit-{place}"
                store.create_run(run, plan.describe(model.fingerprint))
                audited = await audit_harness(plan, run=run, store=store, model=model, sandbox=sandbox, tell=ignore)
                rows.append(
                    {
                        "name": name,
                        "seed": case["seed"],
                        "verdict": audited.verdict.word,
                        "reason": audited.verdict.reason,
                        "g_rel": audited.gain.value,
                        "rollouts": len(store.used(run)),
                        "gamma": audited.gamma,
                        "confirmed": [f.to_json()["what"] for f in audited.findings if f.tested.destroys],
                    }
                )
        return rows

    found: list[Row] = with_reader(work)
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--no-diff", action="store_true", help="The Challenger looks at behaviour alone.")
    given = parser.parse_args(arguments)
    planted = json.loads((RESULTS / "planted_harnesses.json").read_text())
    harnesses = {name: planted["harnesses"][name] for name in planted["chosen"]}
    power = power_calculation(harnesses, planted["tasks"])
    sys.stderr.write(json.dumps(power, indent=2) + "\n")
    forms = {name: harness["form"] for name, harness in harnesses.items()}
    cases = [
        {"seed": seed, "blocks": power["blocks"], "diff": not given.no_diff, "harnesses": forms}
        for seed in range(1, given.seeds + 1)
    ]
    rows = rows_of("audits", cases, audits_of)
    kinds = {name: harness["kind"] for name, harness in harnesses.items()}
    accused = ("not supported", "in doubt", "partly supported")
    payload = {
        "command": f"python -m studies.audits --seeds {given.seeds}{' --no-diff' if given.no_diff else ''}",
        "model": "sim:reader (simulated)",
        "seeds": given.seeds,
        "rounds": ROUNDS,
        "rollouts": 1,
        "power": {**power, "level": 0.95, "power": POWER, "quantities": QUANTITIES},
        "misses": share_of([row["verdict"] not in accused for row in rows if kinds[row["name"]] == "cheat"]),
        "false_alarms": share_of([row["verdict"] in accused for row in rows if kinds[row["name"]] == "honest"]),
        "rollouts_each": sum(row["rollouts"] for row in rows) / len(rows),
        "verdicts": {
            name: {"kind": kinds[name], **Counter(row["verdict"] for row in rows if row["name"] == name)}
            for name in harnesses
        },
        "rows": rows,
    }
    write("audits-no-diff" if given.no_diff else "audits", payload)


if __name__ == "__main__":
    main()
