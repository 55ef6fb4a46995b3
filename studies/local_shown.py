"""What the harnesses of the local model's study bring to light by themselves, on development seeds and without a model.

`python -m studies.local_shown` counts in how many tasks a harness opens both required amounts before the model's first
turn, as released and with one planted feature neutralised; a script in the model's place answers at once. What is not
shown cannot be read. So the cheat of item 3n was chosen: by this table, not by any figure that is reported.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from chase.benchmarks.registry import open_benchmark
from chase.benchmarks.syn_ledger.benchmark import SynLedger
from chase.engine.rollout import Job, run_rollout
from chase.engine.sandbox import Sandbox
from chase.testing.scripted import scripted
from studies.local_harnesses import studied
from studies.local_model import AMOUNTS, SINGLY, amounts_shown
from studies.reader_scores import RESULTS

NAME = "local_shown"
SEEDS = (103, 104)
SPLITS = ("evo", "disc")
COUNTED = ("released", *SINGLY, "neutral")
Counts = dict[str, dict[str, int]]


async def counts_of(
    benchmark: SynLedger, tasks: Sequence[str], variants: Sequence[str] = COUNTED, names: Sequence[str] = ()
) -> Counts:
    """Tasks in which both amounts are shown, by harness (without names: every one) and variant."""
    model, found, harnesses = scripted(lambda request: "0"), Counts(), studied(benchmark)
    async with Sandbox() as sandbox:
        for name in names or harnesses:
            for variant in variants:
                jobs = [
                    Job(
                        benchmark=benchmark,
                        transformation=benchmark.variant(variant),
                        harness=harnesses[name].harness,
                        task=task,
                        index=0,
                        run_seed=benchmark.spec.seed,
                    )
                    for task in tasks
                ]
                traces = [(await run_rollout(job, model, sandbox))[0].trace for job in jobs]
                shown = (amounts_shown(benchmark, job.task, trace) for job, trace in zip(jobs, traces, strict=True))
                found.setdefault(name, {})[variant] = sum(count == AMOUNTS for count in shown)
            sys.stderr.write(f"{benchmark.name}, {name}: {found[name]}\n")
    return found


async def work(seeds: Sequence[int]) -> dict[str, Any]:
    """The counts of each seed, with the number of tasks."""
    counts: dict[str, Counts] = {}
    for seed in seeds:
        benchmark = open_benchmark(f"syn-ledger-small@{seed}")
        tasks = [task for split in SPLITS for task in benchmark.tasks(split)]
        counts[benchmark.name] = await counts_of(benchmark, tasks)
    return {"tasks of each seed": len(tasks), "both amounts shown": counts}


def table(found: Mapping[str, Any]) -> list[str]:
    """All seeds together, for docs/local-model-study.md."""
    counts = found["both amounts shown"]
    total = found["tasks of each seed"] * len(counts)
    heads = ["Harness", *(variant.removeprefix("neutralise-") for variant in COUNTED)]
    lines = [f"| {' | '.join(heads)} |", f"| {' | '.join('---' for _ in heads)} |"]
    for name in next(iter(counts.values())):
        cells = [f"{100 * sum(each[name][variant] for each in counts.values()) / total:.0f} %" for variant in COUNTED]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--seeds", type=lambda text: [int(seed) for seed in text.split(",")], default=list(SEEDS))
    found = asyncio.run(work(parser.parse_args().seeds))
    (RESULTS / f"{NAME}.json").write_text(json.dumps(found, indent=1) + "\n")
    sys.stdout.writelines(f"{line}\n" for line in table(found))


if __name__ == "__main__":
    main()
