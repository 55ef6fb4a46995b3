"""What a competent program scores on Syn-Ledger: a ceiling for readers that know no cue, and for one that knows all.

    python -m studies.competent_reader --benchmark syn-ledger@101 --json

The program works through the four tools alone, within their budgets: it searches once for each amount, reads without
a slip, checks every condition, and does not read on where the record that made a file match was already read. Its
policies differ in how they spend six openings. All but the last treat files that match alike in the order in which the
search gave them or by name, knowing nothing of what is planted; `told the five cues` prefers files that look like
evidence. Without `--benchmark` the committed ceilings over ten seeds are made.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from chase.benchmarks.syn_ledger.benchmark import SynLedger, open_syn_ledger
from chase.benchmarks.syn_ledger.contents import Query, Record, Role, matches, read_question, solve
from chase.benchmarks.syn_ledger.parsing import parse
from chase.benchmarks.syn_ledger.tools import record_words, words_of
from chase.core.interfaces import Environment
from studies.reader_scores import write

SEEDS = tuple(range(901, 911))
VARIANTS = ("released", "neutral")


@dataclass(kw_only=True)
class Seen:
    """A file as the program knows it."""

    id: str
    path: str
    place: int
    """Its best place among the hits."""
    matched: set[str] = field(default_factory=set)
    """Amounts whose query it matches."""
    records: list[Record] = field(default_factory=list)
    windows: int = 0


Order = Callable[[Seen], tuple[Any, ...]]


@dataclass(frozen=True, kw_only=True)
class Policy:
    """How openings are spent."""

    order: Order
    """Which of the files that match comes first."""
    reads_on: Callable[[Seen], bool] = lambda _: True
    """Whether to read on right after the first window, where that may help."""


def _by_rank(seen: Seen) -> tuple[Any, ...]:
    return (seen.place,)


def _by_name(seen: Seen) -> tuple[Any, ...]:
    return seen.path.rsplit("/", 1)[-1], seen.path


def _tidiness(seen: Seen) -> int:
    """How many of the four cues that can be seen from outside a file has."""
    name = seen.path.rsplit("/", 1)[-1]
    shallow, short, markdown = seen.path.count("/") == 1, len(name) < 12, name.endswith(".md")
    return shallow + short + markdown + (seen.place < 2)


POLICIES: dict[str, Policy] = {
    "reads on where needed": Policy(order=_by_rank),
    "opens everything first": Policy(order=_by_rank, reads_on=lambda _: False),
    "reads on where needed, by name": Policy(order=_by_name),
    "opens everything first, by name": Policy(order=_by_name, reads_on=lambda _: False),
    "told the five cues": Policy(
        order=lambda seen: (-_tidiness(seen), seen.place), reads_on=lambda seen: _tidiness(seen) >= 3
    ),
}


class Program:
    """One task, worked through by a policy."""

    def __init__(self, environment: Environment, policy: Policy) -> None:
        self.environment = environment
        self.policy = policy
        self.query: Query = read_question(environment.question)
        self.files: dict[str, Seen] = {}

    def answer(self) -> str:
        """The answer, or nothing where an amount was not found."""
        for role in self.query.family.roles:
            self._search(role)
        while (file := self._next()) is not None:
            self._open(file)
            if file.windows == 1 and self._may_hold(file) and self.policy.reads_on(file):
                self._open(file)
        found = solve(self.query, self._records())
        return "" if found is None else str(found)

    def _search(self, role: Role) -> None:
        result = self.environment.call("search", {"query": self._words(role), "limit": 12})
        for place, item in enumerate(result.items):
            shown = item.shown
            seen = self.files.setdefault(shown.id, Seen(id=shown.id, path=shown.path, place=place))
            seen.place = min(seen.place, place)
            if item.text.endswith("] matches"):
                seen.matched.add(role.symbol)

    def _words(self, role: Role) -> str:
        return f"{self.query.entity} {self.query.periods[role.lag]} {role.category}"

    def _open(self, file: Seen) -> None:
        result = self.environment.call("open_file", {"file": file.id})
        file.records += parse(result.items[0].text) if result.items else ()
        file.windows += 1

    def _next(self) -> Seen | None:
        """An unopened file that matches what is missing, else a continuation that may hold it."""
        if not self.environment.calls_left()["open"]:
            return None
        missing = self._missing()
        fitting = [file for file in self.files.values() if file.matched & missing]
        fresh = [file for file in fitting if not file.windows]
        rest = [file for file in fitting if self._may_hold(file)]
        return min(fresh or rest, key=self.policy.order, default=None)

    def _missing(self) -> set[str]:
        return {symbol for symbol, found in matches(self.query, self._records()).items() if not found}

    def _may_hold(self, file: Seen) -> bool:
        """Whether the continuation holds the record that made a file match what is missing."""
        roles = [r for r in self.query.family.roles if r.symbol in file.matched & self._missing()]
        read = [record_words(record) for record in file.records]
        unexplained = [r for r in roles if not any(words_of(self._words(r)) <= words for words in read)]
        return file.windows == 1 and bool(unexplained) and bool(self.environment.calls_left()["open"])

    def _records(self) -> list[Record]:
        return [record for file in self.files.values() for record in file.records]


def scores(benchmark: SynLedger, policy: str, variant: str, tasks: Sequence[str] | None = None) -> list[float]:
    """One score for each task."""
    transformation = benchmark.variant(variant)
    return [
        benchmark.score(task, Program(benchmark.environment(task, transformation), POLICIES[policy]).answer())
        for task in (benchmark.tasks() if tasks is None else tasks)
    ]


def ceilings(name: str, tasks: Sequence[str] | None = None) -> dict[str, dict[str, float]]:
    """Policy → its scores under both protocols, and over how many tasks."""
    benchmark = open_syn_ledger(name)
    return {policy: _summary({v: scores(benchmark, policy, v, tasks) for v in VARIANTS}) for policy in POLICIES}


def _summary(found: dict[str, list[float]]) -> dict[str, float]:
    n = len(found["released"])
    means = {variant: sum(values) / n for variant, values in found.items()}
    return {variant: round(mean, 4) for variant, mean in means.items()} | {"n": n}


def _over_seeds() -> dict[str, dict[str, float]]:
    """The means over ten benchmarks, with their standard errors over tasks."""
    with ProcessPoolExecutor() as pool:
        every = list(pool.map(ceilings, [f"syn-ledger@{seed}" for seed in SEEDS]))
    found: dict[str, dict[str, float]] = {}
    for policy in POLICIES:
        n = sum(each[policy]["n"] for each in every)
        means = {v: sum(each[policy][v] for each in every) / len(every) for v in VARIANTS}
        errors = {f"{v}_se": round(math.sqrt(mean * (1 - mean) / n), 4) for v, mean in means.items()}
        found[policy] = {**{v: round(mean, 4) for v, mean in means.items()}, **errors, "n": n}
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m studies.competent_reader", description=__doc__)
    parser.add_argument("--benchmark", help="one benchmark, e.g. syn-ledger@101; nothing is written")
    parser.add_argument("--json", action="store_true", help="print JSON")
    given = parser.parse_args(arguments)
    if given.benchmark:
        payload = {"benchmark": given.benchmark, "policies": ceilings(given.benchmark)}
    else:
        payload = {
            "command": "python -m studies.competent_reader",
            "benchmarks": [f"syn-ledger@{seed}" for seed in SEEDS],
            "policies": _over_seeds(),
        }
        write("competent_reader", payload)
    policies: dict[str, dict[str, float]] = payload["policies"]
    if given.json:
        sys.stdout.write(json.dumps(payload, indent=2) + "\n")
        return
    for name, found in policies.items():
        shown = f"{100 * found['released']:5.1f} % released, {100 * found['neutral']:5.1f} % neutral"
        sys.stdout.write(f"{name:32} {shown}, n = {found['n']}\n")


if __name__ == "__main__":
    main()
