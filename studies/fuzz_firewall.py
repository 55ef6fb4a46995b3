"""Fuzzing the validity firewall: nothing that an oracle of its own calls invalid may be accepted.

`python -m studies.fuzz_firewall` makes the committed result; `--resume` goes on where an interrupted run stopped.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path

from chase.benchmarks.syn_ledger import rendering
from chase.benchmarks.syn_ledger.benchmark import SynLedger, open_syn_ledger
from chase.benchmarks.syn_ledger.canonical import LedgerSubject
from chase.benchmarks.syn_ledger.manifest import PROTOCOL_FIELDS
from chase.benchmarks.syn_ledger.tools import LedgerEnvironment, SearchableFile
from chase.benchmarks.syn_ledger.world import World
from chase.core.errors import UserError
from chase.core.values import Json
from chase.protocol.firewall import run_checks
from chase.protocol.proposal import Proposal, parse_proposal
from studies.fuzz_cases import HOSTILE, WORLD_ALLOWLIST, Case, make_case
from studies.fuzz_changes import BY_LABEL
from studies.fuzz_oracle import Look, Scene, judge, look
from studies.reader_scores import RESULTS

CASES, SEED, BENCHMARK = 5000, 1, "syn-ledger@7"
Row = dict[str, Json]


def parse(case: Case, forced: bool | None = None) -> Proposal[World]:
    """The case's proposal, its hostile operator on the allowlist. A `UserError` refuses it."""
    hostile = {HOSTILE: case.hostile.kind(forced)} if case.hostile else {}
    return parse_proposal(
        case.data, benchmark="syn-ledger", allowlist={**WORLD_ALLOWLIST, **hostile}, fields=PROTOCOL_FIELDS
    )


class FuzzSuspect:
    """A case as the oracle may look at it."""

    def __init__(self, case: Case, subject: LedgerSubject) -> None:
        self._subject = subject
        self._proposal = parse(case)
        self.declared = self._proposal.declared
        self.knows_by_itself = case.hostile is not None and case.hostile.name in BY_LABEL
        conditional = self.knows_by_itself or (case.hostile is not None and not case.hostile.lawful)
        self._forced = {holds: parse(case, holds) for holds in (True, False)} if conditional else {}

    def transformed(self, task: str) -> Scene:
        return self._scene(task, self._proposal.transformation.apply(self._subject.state(task)))

    def undone(self, task: str) -> Scene | None:
        transformation = self._proposal.transformation
        inverse = transformation.inverse()
        both = None if inverse is None else transformation.then(inverse)
        return None if both is None else self._scene(task, both.apply(self._subject.state(task)))

    def forced(self, task: str, holds: bool) -> Scene | None:
        proposal = self._forced.get(holds)
        return None if proposal is None else self._scene(task, proposal.transformation.apply(self._subject.state(task)))

    def _scene(self, task: str, world: World) -> Scene:
        answer = self._subject.answer(task)
        return Scene(environment=partial(_environment, world, _files(world)), score=partial(world.scorer, answer))


def _files(world: World) -> list[SearchableFile]:
    """The world's files for the tools; no record has the words that the oracle searches for."""
    pairs = list(zip(world.documents, world.manifest, strict=True))
    listing = sorted(pairs, key=lambda pair: (pair[1].listing, pair[1].name, pair[1].path))
    rank = sorted(pairs, key=lambda pair: (pair[1].rank, pair[0].id))
    return [
        SearchableFile(file=rendering.render(*pair), words=(), listing=listing.index(pair), rank=rank.index(pair))
        for pair in pairs
    ]


def _environment(world: World, files: Sequence[SearchableFile]) -> LedgerEnvironment:
    environment = LedgerEnvironment(world.question, files)
    environment.tools, environment.limits = world.tools, world.limits
    return environment


def released_looks(ledger: SynLedger, tasks: Iterable[str]) -> dict[str, Look]:
    """How the tasks look as released, by the benchmark's own tools and scorer."""
    tools, released = ledger.environment, ledger.variant("released")
    return {
        task: look(Scene(environment=partial(tools, task, released), score=partial(ledger.score, task)))
        for task in tasks
    }


def run_case(case: Case, subject: LedgerSubject, released: Mapping[str, Look]) -> Row:
    """How parsing, oracle and firewall found the case."""
    row: Row = {"kind": case.kind}
    if case.hostile:
        row |= {"change": case.hostile.name, "condition": case.hostile.condition_name}
    try:
        proposal = parse(case)
    except UserError as error:
        return row | {"refused": _reason_class(str(error))}
    reason = judge(FuzzSuspect(case, subject), released)
    started = time.process_time()
    record = run_checks(proposal, subject)
    return row | {
        "oracle": reason,
        "failed": list(record.failed),
        "cpu_seconds": round(time.process_time() - started, 4),
    }


_CLASSES = {
    "not valid JSON": "not JSON",
    "longer than": "too long",
    "is for benchmark": "another benchmark",
    "unknown operator": "operator outside the allowlist",
    "has version": "another version",
    "operator '": "argument outside the type",
    "no protocol field": "unknown field declared",
    "Extra inputs": "unknown key",
    "Field required": "missing key",
}


def _reason_class(message: str) -> str:
    return next((name for part, name in _CLASSES.items() if part in message), "wrong type or value")


def summary(rows: Iterable[Row]) -> dict[str, Json]:
    """Counts by what parsing, oracle and firewall said, and how long the checks took."""
    rows = list(rows)
    parsed = [row for row in rows if "refused" not in row]
    accepted = [row for row in parsed if not row["failed"]]
    rejected = [row for row in parsed if row["failed"]]
    return {
        "n": len(rows),
        "kinds": _counts(row["kind"] for row in rows),
        "refused in parsing": _counts(row["refused"] for row in rows if "refused" in row),
        "parsed": _counts(row["kind"] for row in parsed),
        "parsed and invalid by the oracle": _counts(row["kind"] for row in parsed if row["oracle"]),
        "agreement": _counts(
            f"oracle {'invalid' if row['oracle'] else 'valid'}, firewall {'rejects' if row['failed'] else 'accepts'}"
            for row in parsed
        ),
        "invalid but accepted": [row["case"] for row in accepted if row["oracle"]],
        "valid but rejected": [row for row in rejected if not row["oracle"]],
        "oracle's reasons": _counts(row["oracle"].partition(":")[0] for row in parsed if row["oracle"]),
        "caught by": _counts(check for row in rejected for check in row["failed"]),
        "caught by it alone": _counts(row["failed"][0] for row in rejected if len(row["failed"]) == 1),
        "hostile changes": _counts(row["change"] for row in rows if "change" in row),
        "hostile conditions": _counts(row["condition"] for row in rows if "change" in row),
        "CPU seconds per check of 64 tasks": {"accepted": _times(accepted), "rejected": _times(rejected)},
    }


def _counts(values: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(values).items(), key=lambda item: (-item[1], item[0])))


def _times(rows: Sequence[Row]) -> dict[str, float]:
    seconds = sorted(row["cpu_seconds"] for row in rows)
    if len(seconds) < 2:
        return {"n": len(seconds)}
    p95 = statistics.quantiles(seconds, n=20)[-1]
    return {"n": len(seconds), "median": round(statistics.median(seconds), 2), "p95": round(p95, 2)}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m studies.fuzz_firewall", description=__doc__)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--cases", type=int, default=CASES)
    parser.add_argument("--benchmark", default=BENCHMARK)
    parser.add_argument("--out", type=Path, default=RESULTS / "fuzz_firewall.json")
    parser.add_argument("--resume", action="store_true", help="keep the cases that an interrupted run finished")
    given = parser.parse_args()
    kept = given.out.with_suffix(".rows.jsonl")
    if not given.resume:
        kept.unlink(missing_ok=True)
    rows = {row["case"]: row for row in map(json.loads, kept.read_text().splitlines())} if kept.exists() else {}
    ledger = open_syn_ledger(given.benchmark)
    subject = ledger.subject
    released = released_looks(ledger, subject.check_tasks)
    with kept.open("a") as file:
        for number in range(given.cases):
            if number not in rows:
                rows[number] = {"case": number, **run_case(make_case(given.seed, number, ledger), subject, released)}
                file.write(json.dumps(rows[number]) + "\n")
                file.flush()
            if number % 20 == 19:
                print(f"\r{number + 1} of {given.cases} cases", end="", file=sys.stderr)  # noqa: T201
    result = {
        "command": f"python -m studies.fuzz_firewall --seed {given.seed} --cases {given.cases}",
        "benchmark": given.benchmark,
        "seed": given.seed,
        **summary(rows.values()),
    }
    given.out.write_text(json.dumps(result, indent=2, ensure_ascii=False) + "\n")
    kept.unlink()
    print(f"\n{json.dumps(result['agreement'])}")  # noqa: T201
    sys.exit(6 if result["invalid but accepted"] else 0)


if __name__ == "__main__":
    main()
