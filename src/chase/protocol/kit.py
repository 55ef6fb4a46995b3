"""What a benchmark supplies so that its protocol can be challenged, and what operators do to what can be observed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import Any

from chase.core.agents import OperatorEffect
from chase.core.interfaces import FirewallSubject, Observable, Transformation
from chase.core.values import Json, Shown
from chase.protocol.firewall import FirewallRecord, examine
from chase.protocol.operators import OperatorKind
from chase.protocol.proposal import Proposal

WINDOW = "window"
"""The observable that an operator touches when it moves content between a document's windows."""
LEAST = 0.25
"""Below it an observable counts as untouched."""


@dataclass(frozen=True, kw_only=True)
class ProtocolKit:
    """A benchmark's protocol as the host can change, check and look at it. Host-side."""

    base: str
    """The benchmark's name without seed and size."""
    parse: Callable[[str | Mapping[str, Json]], Proposal[Any]]
    """A proposal from data; anything outside the allowlist is a `UserError`."""
    lift: Callable[[Proposal[Any]], Proposal[Any]]
    """The same proposal on the states that the firewall examines."""
    subject: FirewallSubject[Any]
    allowlist: Mapping[str, OperatorKind[Any]]
    shown: Callable[[str, Transformation[Any]], Sequence[Shown]]
    """What can be shown of each document of a task: place in the listing and in broad results, first window."""
    observables: Sequence[Observable]
    _verdicts: dict[tuple[Any, ...], FirewallRecord] = field(default_factory=dict, repr=False)
    _shown: dict[str, Mapping[str, Shown]] = field(default_factory=dict, repr=False)

    def examine(self, proposal: Proposal[Any], tasks: Sequence[str] | None = None) -> FirewallRecord:
        """The seven checks over the check set or given tasks: made once for each canonical form and declared set."""
        key = proposal.transformation.hash, proposal.declared, None if tasks is None else tuple(tasks)
        if key not in self._verdicts:
            self._verdicts[key] = examine(self.lift(proposal), self.subject, tasks)
        return self._verdicts[key]

    @property
    def example(self) -> str:
        """The fixed example: the first of the check set."""
        return self.subject.check_tasks[0]

    def operators(self) -> tuple[Mapping[str, Json], ...]:
        """The allowlist as data."""
        return tuple(
            {"name": k.name, "version": k.version, "summary": k.summary, "arguments": k.arguments.model_json_schema()}
            for k in self.allowlist.values()
        )

    @cached_property
    def effects(self) -> tuple[OperatorEffect, ...]:
        """What each operator does by itself on the fixed example; those that do nothing are left out."""
        found = []
        for name, kind in self.allowlist.items():
            for arguments in _argument_sets(kind.arguments.model_json_schema()):
                form = {"name": name, "arguments": arguments}
                proposal = self.parse({"benchmark": self.base, "operators": [form]})
                if touched := self.touched(proposal.transformation, self.example):
                    found.append(OperatorEffect(operator=form, touched=touched))
        return tuple(found)

    def looks_different(self, transformation: Transformation[Any], task: str) -> bool:
        """Whether anything that can be shown of a task's documents is different."""
        return list(self.shown(task, transformation)) != list(self._released(task).values())

    def _released(self, task: str) -> Mapping[str, Shown]:
        if task not in self._shown:
            shown = self.shown(task, self.identity)
            self._shown[task] = {document.id: document for document in shown}
        return self._shown[task]

    def touched(self, transformation: Transformation[Any], task: str) -> dict[str, float]:
        """Observable → 1 less the rank correlation of before and after, where a task's documents look different."""
        before = self._released(task)
        after = {shown.id: shown for shown in self.shown(task, transformation)}
        changes = {o.name: _change(o, before, after) for o in self.observables}
        changes[WINDOW] = _moved(before, after)
        return {name: change for name, change in changes.items() if change > LEAST}

    @cached_property
    def identity(self) -> Transformation[Any]:
        """The transformation that changes nothing: its counterfactual is the released benchmark."""
        return self.parse({"benchmark": self.base, "operators": []}).transformation


def _change(observable: Observable, before: Mapping[str, Shown], after: Mapping[str, Shown]) -> float:
    pairs = [(observable(before[document]), observable(after[document])) for document in before]
    known = [(x, y) for x, y in pairs if x is not None and y is not None]
    if all(x == y for x, y in known):
        return 0.0
    ranks = [_ranks([pair[side] for pair in known]) for side in (0, 1)]
    return 1.0 - _correlation(*ranks)


def _ranks(values: list[float]) -> list[float]:
    """Mid-ranks."""
    ordered = sorted(values)
    return [ordered.index(value) + (ordered.count(value) - 1) / 2 for value in values]


def _correlation(left: list[float], right: list[float]) -> float:
    """Of two lists of ranks; 0 where one is constant."""
    middle = (len(left) - 1) / 2
    covariance = sum((x - middle) * (y - middle) for x, y in zip(left, right, strict=True))
    spread = sum((x - middle) ** 2 for x in left) * sum((y - middle) ** 2 for y in right)
    return float(covariance / spread**0.5) if spread else 0.0


def _moved(before: Mapping[str, Shown], after: Mapping[str, Shown]) -> float:
    """How much of the numbers in first windows is gone from them, from 0 to 2 on the scale of the others."""
    gone = total = 0
    for document, shown in before.items():
        was, now = (Counter(re.findall(r"\b\d+\b", s.text or "")) for s in (shown, after[document]))
        gone += (was - now).total()
        total += was.total()
    return 2 * gone / total if total else 0.0


def _argument_sets(schema: Mapping[str, Json]) -> Iterator[dict[str, Json]]:
    """Every set of arguments that a schema of choices and small ranges allows."""
    properties = schema.get("properties", {})
    choices = [_choices(properties[name]) for name in properties]
    for values in product(*choices):
        yield dict(zip(properties, values, strict=True))


def _choices(schema: Mapping[str, Json]) -> list[Json]:
    if "anyOf" in schema:
        return [choice for part in schema["anyOf"] for choice in _choices(part)]
    if "const" in schema:
        return [schema["const"]]
    return list(schema["enum"]) if "enum" in schema else list(range(schema["minimum"], schema["maximum"] + 1))
