"""A real language model on this machine: does it lean on the planted features, and does a cheat's gain survive `B_0`?

`python -m studies.local_model --model FILE.gguf` rolls out on `syn-ledger-small`, whose size is chosen beforehand with
`--items choose` on seeds that are not reported. Item 1: `H_0` as released and neutralised; 1f: with one feature
neutralised at a time. Item 2: the six harnesses of `local_harnesses.py`; 2n: the pair that opens two documents. Each
rollout is a line in `results/local_model.rows.jsonl` under the digest of everything that decides it, so that the study
can be stopped at any time and goes on by the same command; after each task the summary, on the tasks that have all
their rollouts, is `results/local_model.json`. Prompts are cached, so replies are not reproducible bit by bit.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

from chase.benchmarks.registry import open_benchmark
from chase.benchmarks.syn_ledger.benchmark import SynLedger
from chase.benchmarks.syn_ledger.contents import matches
from chase.benchmarks.syn_ledger.features import PAPER_FEATURES
from chase.benchmarks.syn_ledger.parsing import parse
from chase.engine.rollout import Job, run_rollout
from chase.engine.sandbox import Sandbox
from chase.models.chat import ChatModel
from chase.models.config import LocalServer, ModelConfig
from chase.models.connect import connect
from chase.stats.bounded import DESTRUCTIONS, GAINS, SCORES
from chase.stats.estimates import PerTask, difference, estimate
from chase.store.digests import rollout_digest
from studies.local_harnesses import NARROW, Studied, studied
from studies.reader_scores import RESULTS

NAME = "local_model"
CHOOSING_SEEDS = tuple(range(101, 121))
SEEDS = (201, 202, 203, 204)
SPLIT = "evo"
"""A block of 32 tasks: every configuration of the planted features once."""
VARIANTS = ("released", "neutral")
SINGLY = tuple(f"neutralise-{name}" for name in PAPER_FEATURES)
"""One planted feature as it is under `B_0`, the others as released."""
ITEMS = ("1", "1f", "2", "2n")
SETTINGS = {"temperature": 0, "max_tokens": 160}
BASELINES = {"2": "initial", "2n": NARROW}
"""What the harnesses of an item are measured against."""
AMOUNTS = 2
"""That a task asks for."""
Row = dict[str, Any]
Scores = Mapping[tuple[str, str], PerTask]
"""(harness, variant) → each task's score."""


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One rollout of the study."""

    seed: int
    task: str
    harness: str
    variant: str

    def job(self, benchmark: SynLedger, harnesses: Mapping[str, Studied]) -> Job:
        return Job(
            benchmark=benchmark,
            transformation=benchmark.variant(self.variant),
            harness=harnesses[self.harness].harness,
            task=self.task,
            index=0,
            run_seed=self.seed,
        )


def cells_of(seed: int, task: str, item: str, harnesses: Mapping[str, Studied]) -> list[Cell]:
    """The rollouts of one task: of `H_0`, or of all harnesses that are measured against it (2) or the pair (2n).

    Item 1 again, feature by feature: 1f.
    """
    variants = {"choose": ("released",), "1f": SINGLY}.get(item, VARIANTS)
    wanted = names_of(BASELINES[item], harnesses) if item in BASELINES else ["initial"]
    # Harnesses that begin alike follow each other, so that the model's cache has what it has read.
    return [Cell(seed=seed, task=task, harness=name, variant=variant) for variant in variants for name in wanted]


def names_of(baseline: str, harnesses: Mapping[str, Studied]) -> list[str]:
    """The harnesses that are measured against one, itself among them."""
    return [name for name, each in harnesses.items() if each.baseline == baseline]


def finished(path: Path) -> dict[str, Row]:
    """The rows of a file by their digests; a line that was torn off is made again."""
    rows = {}
    for line in path.read_text().splitlines() if path.exists() else []:
        try:
            row = json.loads(line)
        except ValueError:
            continue
        rows[row["rollout"]] = row
    return rows


def amounts_shown(benchmark: SynLedger, task: str, trace: Mapping[str, Any]) -> int:
    """How many of a task's required amounts stood in what was opened, whoever opened it."""
    events = [event for event in trace["events"] if event["event"] == "tool" and event["tool"] == "open_file"]
    records = {record for event in events if event["ok"] for item in event["items"] for record in parse(item["line"])}
    return sum(bool(found) for found in matches(benchmark.task(task).query, records).values())


class Study:
    """Rolls out what is missing and keeps each result at once."""

    def __init__(self, model: ChatModel, sandbox: Sandbox, rows: Path) -> None:
        self._model = model
        self._sandbox = sandbox
        self._path = rows
        self._finished = finished(rows)
        self.rows: dict[str, Row] = {}
        """What is summed up, by digest: a kept row of another model or harness is not among it."""

    def take_over(self) -> None:
        """Of what was kept, this model's rows of every item, so that one item's command leaves the others' figures."""
        for seed in sorted({row["seed"] for row in self._finished.values()}):
            benchmark = open_benchmark(f"syn-ledger-small@{seed}")
            harnesses = studied(benchmark)
            kept = {row["task"] for row in self._finished.values() if row["seed"] == seed}
            for task, item in product([task for task in benchmark.tasks(SPLIT) if task in kept], ITEMS):
                for cell in cells_of(seed, task, item, harnesses):
                    digest = rollout_digest(cell.job(benchmark, harnesses).key(self._model))
                    if digest in self._finished:
                        self.rows[digest] = self._finished[digest]

    async def run(self, benchmark: SynLedger, cells: Sequence[Cell]) -> int:
        """See that there are rows of the cells; how many had to be rolled out."""
        harnesses, made = studied(benchmark), 0
        for cell in cells:
            job = cell.job(benchmark, harnesses)
            digest = rollout_digest(job.key(self._model))
            if digest not in self._finished:
                self._finished[digest] = await self._roll_out(digest, cell, job)
                made += 1
            self.rows[digest] = self._finished[digest]
        return made

    async def _roll_out(self, digest: str, cell: Cell, job: Job) -> Row:
        rollout, _ = await run_rollout(job, self._model, self._sandbox)
        row = {
            "rollout": digest,
            "benchmark": job.benchmark.name,
            "content_hash": job.benchmark.content_hash,
            **asdict(cell),
            "score": rollout.outcome.score,
            "reason": rollout.outcome.reason,
            "answer": rollout.answer,
            "shown": amounts_shown(job.benchmark, cell.task, rollout.trace),
            "usage": asdict(rollout.usage),
        }
        with self._path.open("a") as file:
            file.write("\n" + json.dumps(row))  # what stands before it may be a torn line
        _say(f"{job.benchmark.name} {cell.task}, {cell.harness} {cell.variant}: {row['score']:g}")
        return row


def _say(what: str) -> None:
    sys.stderr.write(f"{time.strftime('%H:%M:%S')} {what}\n")


def scores_of(rows: Sequence[Row]) -> Scores:
    """Each cell's scores by task, on the tasks that every cell has."""
    table: dict[tuple[str, str], dict[str, Fraction]] = {}
    for row in rows:
        table.setdefault((row["harness"], row["variant"]), {})[row["task"]] = Fraction(row["score"])
    shared = set.intersection(*(set(cell) for cell in table.values())) if table else set()
    return {key: {task: cell[task] for task in sorted(shared)} for key, cell in table.items()}


def summary_of_initial(rows: Sequence[Row]) -> Row:
    """Item 1: `R_rel(H_0)`, `R_0(H_0)` and their difference, with 95 % intervals, and how rollouts ended."""
    scores = scores_of(rows)
    found: Row = {f"r_{variant}": asdict(estimate(scores["initial", variant], SCORES)) for _, variant in scores}
    if ("initial", "neutral") in scores:
        lean = difference(scores["initial", "released"], scores["initial", "neutral"])
        found["lean"] = asdict(estimate(lean, GAINS))
    found["reasons"] = dict(Counter(f"{row['variant']}: {row['reason']}" for row in rows))
    return found


def summary_of_features(rows: Sequence[Row]) -> Row:
    """Item 1, feature by feature: what `H_0` loses where one feature is neutralised, on the tasks that have it all."""
    wanted = ("released", *SINGLY)
    scores = scores_of([row for row in rows if row["variant"] in wanted])
    if any(("initial", variant) not in scores for variant in wanted):
        return {}
    released = scores["initial", "released"]
    lost = {variant: difference(released, scores["initial", variant]) for variant in SINGLY}
    return {variant: asdict(estimate(per_task, GAINS)) for variant, per_task in lost.items()}


def reading_of(rows: Sequence[Row]) -> Row:
    """By harness and variant: in how many tasks both amounts were shown, and in how many of these the answer is right.

    What was shown is the harness's work, what was made of it the model's.
    """
    found: Row = {}
    for row in rows:
        counts = found.setdefault(f"{row['harness']}, {row['variant']}", Counter(tasks=0, shown=0, right=0))
        counts.update(tasks=1, shown=row["shown"] == AMOUNTS, right=row["shown"] == AMOUNTS and row["score"] == 1)
    return found


def summary_of_harnesses(rows: Sequence[Row], baseline: str, harnesses: Mapping[str, Studied]) -> Row:
    """Items 2 and 2n: `G_rel`, `G_0` and `Δ_BS` with 95 % intervals, on the tasks that every harness has."""
    names = names_of(baseline, harnesses)
    scores = scores_of([row for row in rows if row["harness"] in names and row["variant"] in VARIANTS])
    found: Row = {}
    for name in names if len(scores) > len(VARIANTS) else ():
        if any((name, variant) not in scores for variant in VARIANTS):
            continue
        found[name] = {"kind": harnesses[name].kind, "track": harnesses[name].track}
        found[name] |= {f"r_{v}": asdict(estimate(scores[name, v], SCORES)) for v in VARIANTS}
        if name != baseline:
            gains = {v: difference(scores[name, v], scores[baseline, v]) for v in VARIANTS}
            found[name] |= {
                "g_rel": asdict(estimate(gains["released"], GAINS)),
                "g_0": asdict(estimate(gains["neutral"], GAINS)),
                "delta_bs": asdict(estimate(difference(gains["released"], gains["neutral"]), DESTRUCTIONS)),
            }
    return found


def summary_of(model: ChatModel, rows: Sequence[Row], harnesses: Mapping[str, Studied]) -> Row:
    """Everything that is reported, with what it was measured on."""
    assert model.file is not None
    initial = [row for row in rows if row["harness"] == "initial"]
    used = [row["usage"] for row in rows]
    main = [row for row in rows if row["variant"] in VARIANTS]
    return {
        "model": {"file": model.file.weights.name, "sha256": model.file.sha256, "fingerprint": model.fingerprint},
        "served": asdict(model.file.serving) | {"settings": dict(model.config.settings), "by": model.file.program},
        "reproducible": model.file.serving.reproducible,
        "benchmarks": {row["benchmark"]: row["content_hash"] for row in rows},
        "seeds": sorted({row["seed"] for row in rows}),
        "rollouts": len(rows),
        "tokens": {name: sum(use[name] for use in used) for name in ("input_tokens", "cached_tokens", "output_tokens")},
        "model_seconds": round(sum(use["wall_seconds"] for use in used)),
        "reading": reading_of(rows),
        "item 1": summary_of_initial([row for row in main if row["harness"] == "initial"]),
        "item 1, feature by feature": summary_of_features(initial),
        **{f"item {item}": summary_of_harnesses(rows, base, harnesses) for item, base in BASELINES.items()},
    }


async def work(options: argparse.Namespace) -> None:
    """Roll out what is asked for, and write the summary after each task."""
    config = ModelConfig(
        name=f"gguf:{options.model}",
        tool_mode="json-schema",
        settings=SETTINGS,
        server=LocalServer(slots=1, threads=options.threads, context_tokens=8_192),
    )
    name = f"{NAME}-develop" if "choose" in options.items else NAME
    RESULTS.mkdir(exist_ok=True)
    async with connect(config, tell=_say) as model, Sandbox() as sandbox:
        study = Study(model, sandbox, options.rows or RESULTS / f"{name}.rows.jsonl")
        if name == NAME:
            study.take_over()
        for item, seed in product(options.items, options.seeds):  # item 1 on every seed, then item 2
            benchmark = open_benchmark(f"syn-ledger-small@{seed}")
            harnesses, tasks = studied(benchmark), list(benchmark.tasks(SPLIT))[: options.tasks]
            for number, task in enumerate(tasks, 1):
                made = await study.run(benchmark, cells_of(seed, task, item, harnesses))
                if made or number == len(tasks):
                    _say(f"item {item}, {benchmark.name}: {number} of {len(tasks)} tasks")
                    found = summary_of(model, list(study.rows.values()), harnesses)
                    (RESULTS / f"{name}.json").write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--model", required=True, help="a GGUF file")
    items = "of 1,1f,2,2n; or choose"
    parser.add_argument("--items", type=lambda text: text.split(","), default=list(ITEMS), help=items)
    parser.add_argument("--seeds", type=lambda text: [int(seed) for seed in text.split(",")], default=None)
    parser.add_argument("--tasks", type=int, default=32, help="of each seed, at most 32")
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument("--rows", type=Path, default=None, help="where rollouts are kept")
    options = parser.parse_args()
    if unknown := sorted(set(options.items) - {*ITEMS, "choose"}):
        parser.error(f"--items: there is no {', '.join(unknown)}; write some {items}.")
    options.seeds = options.seeds or (CHOOSING_SEEDS[:1] if options.items == ["choose"] else SEEDS)
    asyncio.run(work(options))


if __name__ == "__main__":
    main()
