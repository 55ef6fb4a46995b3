"""What takes a finding away: transformations of the allowlist, tried on the scan itself and by the firewall."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from chase.core.agents import MOST_OPERATORS, Draft, OperatorEffect
from chase.core.interfaces import Progress
from chase.core.values import Json
from chase.protocol.kit import ProtocolKit
from chase.protocol.proposal import Proposal
from chase.protocol.scanning.findings import Finding, Row, Scan, Scanner
from chase.protocol.screening import screen_draft

MOST_SINGLES = 12
MOST_PAIRS = 12
"""Transformations that are tried for one finding."""
LEFT = 1 / 3
"""Of an effect's distance from nothing that may be left of it."""
Operators = tuple[Mapping[str, Json], ...]


@dataclass(frozen=True, kw_only=True)
class Removal:
    """A valid transformation under which a finding is gone, with what is left of its rows."""

    finding: Finding | None
    """None: of all findings that can be taken away."""
    proposal: Proposal[Any]
    after: tuple[Row, ...]
    """The finding's rows under it. An observable that is the same everywhere has none."""
    tried: int

    @property
    def operators(self) -> Operators:
        return tuple(self.proposal.to_json()["operators"])


class Remover:
    """Looks for transformations that take findings away and plant no others."""

    def __init__(self, scanner: Scanner, kit: ProtocolKit, released: Scan, *, seed: int, tell: Progress) -> None:
        self._scanner = scanner
        self._kit = kit
        self._released = released
        self._seed = seed
        self._tell = tell

    def remove(self, finding: Finding) -> tuple[Removal | None, int]:
        """The first that works, and how many were tried: single operators, those that touch least beside the finding
        first; then pairs.
        """
        tried = 0
        for operators in self._candidates(finding):
            tried += 1
            if (removal := self._try(operators, [finding], tried)) is not None:
                return removal, tried
        return None, tried

    def remove_all(self, removals: Sequence[Removal]) -> Removal | None:
        """One transformation of all of them, where that is valid and takes away what each does."""
        operators = tuple({str(o): o for removal in removals for o in removal.operators}.values())
        findings = [removal.finding for removal in removals if removal.finding is not None]
        return self._try(operators, findings, 1) if len(operators) <= MOST_OPERATORS else None

    def _candidates(self, finding: Finding) -> Iterator[Operators]:
        wanted = set(finding.observables)
        fitting = [effect for effect in self._kit.effects if wanted & effect.touched.keys()]

        def order(effect: OperatorEffect) -> tuple[int, int, str]:
            missed, beside = wanted - effect.touched.keys(), effect.touched.keys() - wanted
            return len(missed), len(beside), str(effect.operator)

        ranked = sorted(fitting, key=order)
        yield from ((effect.operator,) for effect in ranked[:MOST_SINGLES])
        pairs = [(a, b) for a, b in combinations(ranked[:MOST_SINGLES], 2) if a.touched.keys() != b.touched.keys()]
        pairs.sort(key=lambda pair: len(wanted - pair[0].touched.keys() - pair[1].touched.keys()))
        yield from ((a.operator, b.operator) for a, b in pairs[:MOST_PAIRS])

    def _try(self, operators: Operators, findings: Sequence[Finding], tried: int) -> Removal | None:
        """The removal, where the findings are gone, nothing new is there, and the firewall finds it valid."""
        names = ", ".join(name for finding in findings for name in finding.observables[:1])
        form = {
            "benchmark": self._kit.benchmark.base,
            "operators": [dict(operator) for operator in operators],
            "seed": self._seed,
            "description": f"takes away that {names} goes with {findings[0].strongest.target}",
        }
        proposal = self._kit.parse(form)
        after = self._scanner.scan(proposal.transformation, f"trying {proposal.transformation.symbols()}")
        keys = [key for finding in findings for key in finding.keys]
        if after.significant - self._released.significant or not all(self._gone(key, after) for key in keys):
            return None
        self._tell(f"firewall: {proposal.transformation.symbols()}")
        if screen_draft(self._kit, Draft(form=form), archived=()).verdict != "valid":
            return None
        left = tuple(row for key in keys if (row := after.row(key)) is not None)
        only = findings[0] if len(findings) == 1 else None
        return Removal(finding=only, proposal=proposal, after=left, tried=tried)

    def _gone(self, key: tuple[str, str], after: Scan) -> bool:
        """Whether a row no longer holds up and its effect is a fraction of what it was."""
        was, now = self._released.row(key), after.row(key)
        if now is None or was is None:
            return True  # the same for all documents now
        return now.key not in after.significant and now.distance <= LEFT * was.distance
