"""A benchmark's protocol on the host's side: proposals parsed and checked, and what operators do to observables."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import combinations, product
from typing import Any

from chase.core.agents import OperatorEffect
from chase.core.interfaces import Benchmark, Observable, OperatorKind, Transformation
from chase.core.keyed import canonical_json
from chase.core.values import Json, Sighting
from chase.protocol.firewall import FirewallRecord, run_checks
from chase.protocol.proposal import Proposal, parse_for
from chase.stats.association import mid_ranks

WINDOW = "window"
"""The observable that an operator touches when it moves content between a document's windows."""
LEAST = 0.25
"""Below it an observable counts as untouched."""


class ProtocolKit:
    """A benchmark's protocol as the host can change, check and look at it; keeps what it worked out. Host-side."""

    def __init__(self, benchmark: Benchmark[Any]) -> None:
        self.benchmark = benchmark
        self.subject = benchmark.subject
        self._verdicts: dict[tuple[Any, ...], FirewallRecord] = {}
        self._seen: dict[str, Mapping[str, Sighting]] = {}

    def parse(self, data: str | Mapping[str, Json]) -> Proposal[Any]:
        """A proposal from data; anything outside the allowlist is a `UserError`."""
        return parse_for(self.benchmark, data)

    def run_checks(self, proposal: Proposal[Any], tasks: Sequence[str] | None = None) -> FirewallRecord:
        """The seven checks over the check set or given tasks: made once for each canonical form and declared set."""
        key = proposal.transformation.hash, proposal.declared, None if tasks is None else tuple(tasks)
        if key not in self._verdicts:
            self._verdicts[key] = run_checks(self.lift(proposal), self.subject, tasks)
        return self._verdicts[key]

    def lift(self, proposal: Proposal[Any]) -> Proposal[Any]:
        """The same proposal on the states that the firewall examines."""
        return proposal.lifted(self.subject)

    @property
    def example(self) -> str:
        """The fixed example: the first of the check set."""
        return self.subject.check_tasks[0]

    def operators(self) -> tuple[Mapping[str, Json], ...]:
        """The allowlist as data."""
        return tuple(
            {
                "name": k.name,
                "version": k.version,
                "summary": k.summary,
                "arguments": k.schema(),
                "changes": changed_fields(k),
            }
            for k in self.benchmark.allowlist.values()
        )

    @cached_property
    def effects(self) -> tuple[OperatorEffect, ...]:
        """What each operator does by itself on the fixed example; those that do nothing are left out."""
        found = []
        for name, kind in self.benchmark.allowlist.items():
            choices = kind.choices()
            for values in product(*choices.values()):
                form = {"name": name, "arguments": dict(zip(choices, values, strict=True))}
                proposal = self.parse({"benchmark": self.benchmark.base, "operators": [form]})
                if touched := self.touched(proposal.transformation, self.example):
                    found.append(OperatorEffect(operator=form, touched=touched))
        return tuple(found)

    def looks_different(self, transformation: Transformation[Any], task: str) -> bool:
        """Whether anything that can be shown of a task's documents, or of the tools, is different."""
        if list(self.benchmark.sightings(task, transformation)) != list(self._released(task).values()):
            return True
        return tuple(self.benchmark.environment(task, transformation).tools) != tuple(self.benchmark.tools)

    def _released(self, task: str) -> Mapping[str, Sighting]:
        if task not in self._seen:
            shown = self.benchmark.sightings(task, self.identity)
            self._seen[task] = {document.id: document for document in shown}
        return self._seen[task]

    def touched(self, transformation: Transformation[Any], task: str) -> dict[str, float]:
        """Observable → 1 less the rank correlation of before and after, where a task's documents look different."""
        before = self._released(task)
        after = {shown.id: shown for shown in self.benchmark.sightings(task, transformation)}
        changes = {o.name: _change(o, before, after) for o in self.benchmark.observables}
        changes[WINDOW] = self._moved(before, after)
        return {name: change for name, change in changes.items() if change > LEAST}

    @cached_property
    def identity(self) -> Transformation[Any]:
        """The transformation that changes nothing: its counterfactual is the released benchmark."""
        return self.parse({"benchmark": self.benchmark.base, "operators": []}).transformation

    def _moved(self, before: Mapping[str, Sighting], after: Mapping[str, Sighting]) -> float:
        """How much of the content in first windows is gone from them, from 0 to 2 on the scale of the others."""
        gone = total = 0
        for document, shown in before.items():
            was, now = (Counter(self.benchmark.pieces(s)) for s in (shown, after[document]))
            gone += (was - now).total()
            total += was.total()
        return 2 * gone / total if total else 0.0


def changed_fields(kind: OperatorKind[Any]) -> list[dict[str, Json]]:
    """The protocol fields that an operator declares to change, by the fewest arguments that decide it."""
    forms = kind.forms()
    names = list(forms[0].arguments)
    for deciding in (chosen for size in range(len(names) + 1) for chosen in combinations(names, size)):
        found: dict[str, set[frozenset[str]]] = {}
        for form in forms:
            when = canonical_json({name: form.arguments[name] for name in deciding})
            found.setdefault(when, set()).add(form.fields)
        if all(len(fields) == 1 for fields in found.values()):
            return [{"when": json.loads(when), "fields": sorted(*fields)} for when, fields in found.items()]
    raise ValueError(f"operator '{kind.name}': its arguments do not decide which fields it changes")


def _change(observable: Observable, before: Mapping[str, Sighting], after: Mapping[str, Sighting]) -> float:
    pairs = [(observable(before[document]), observable(after[document])) for document in before]
    known = [(x, y) for x, y in pairs if x is not None and y is not None]
    if not known and any(x is not None for x, _ in pairs):
        return 1.0  # it is nowhere to be seen any more: a result's field is called otherwise, say
    if all(x == y for x, y in known):
        return 0.0
    ranks = [mid_ranks([pair[side] for pair in known]) for side in (0, 1)]
    return 1.0 - _correlation(*ranks)


def _correlation(left: list[float], right: list[float]) -> float:
    """Of two lists of ranks; 0 where one is constant."""
    middle = (len(left) - 1) / 2
    covariance = sum((x - middle) * (y - middle) for x, y in zip(left, right, strict=True))
    spread = sum((x - middle) ** 2 for x in left) * sum((y - middle) ** 2 for y in right)
    return float(covariance / spread**0.5) if spread else 0.0
