"""What takes a finding away: transformations of the allowlist, tried on the scan itself and by the firewall."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

from chase.core.agents import MOST_OPERATORS, Draft, OperatorEffect
from chase.core.interfaces import Progress
from chase.core.values import Json
from chase.protocol.kit import ProtocolKit
from chase.protocol.proposal import Proposal
from chase.protocol.scanning.findings import Scanner
from chase.protocol.scanning.rows import Finding, Row, Scan
from chase.protocol.screening import screen_draft

MOST_SINGLES = 12
MOST_PAIRS = 12
"""Transformations that are tried for one finding."""
MOST_APART = 6
"""Operators that are tried to take one of its observables away and leave others."""
DRAWS = 3
"""Of an operator that draws: one order may leave by chance what another takes away."""
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
    unseen: tuple[str, ...]
    """Observables of the finding that nothing has a value of any more."""

    @property
    def keys(self) -> frozenset[tuple[str, str]]:
        """Of the finding's rows."""
        return frozenset() if self.finding is None else self.finding.keys

    @property
    def operators(self) -> Operators:
        return tuple(self.proposal.to_json()["operators"])


@dataclass(frozen=True, kw_only=True)
class Removed:
    """A finding, and what takes it away; None where nothing does."""

    finding: Finding
    removal: Removal | None
    tried: int
    apart: tuple[Removal, ...] = ()
    """Removals that take some of the observables told together and leave others, cause before symptom."""


class Remover:
    """Looks for transformations that take findings away and plant no others."""

    def __init__(self, scanner: Scanner, kit: ProtocolKit, released: Scan, *, seed: int, tell: Progress) -> None:
        self._scanner = scanner
        self._kit = kit
        self._released = released
        self._seed = seed
        self._tell = tell
        self._scans: dict[str, Scan] = {}

    def remove(self, finding: Finding) -> list[Removed]:
        """What takes a finding away: single operators, those that touch least beside it first; then pairs.

        Where nothing takes all of it away, the single operator that takes most of its observables away tells them from
        the others: they are a finding of their own, and what is left is looked at in the same way.
        """
        tried = 0
        for operators, seed in self._candidates(finding):
            tried += 1
            if (removal := self._try(operators, [finding], seed)) is not None:
                return [Removed(finding=finding, removal=removal, tried=tried)]
        singles = self._fitting(finding)
        for operators, part in self._parts(finding, singles):
            if (removal := self._try(operators, [part], self._seed)) is not None:
                rest = _without(finding, part)
                more = self.remove(rest) if rest.rows else []
                return [Removed(finding=part, removal=removal, tried=len(singles)), *more]
        return [Removed(finding=finding, removal=None, tried=max(tried, len(singles)))]

    def tell_apart(self, one: Removed) -> Removed:
        """The same with transformations of single operators for observables that go together."""
        together = (*one.finding.rows, *one.finding.follows)
        found: list[Removal] = []
        for row in together:
            if not any(row.key in removal.keys for removal in found):
                found += self._alone(row, together)
        written = None if one.removal is None else one.removal.proposal.transformation.hash
        kept = (removal for removal in found if removal.proposal.transformation.hash != written)
        return replace(one, apart=tuple(kept))

    def _alone(self, row: Row, together: Sequence[Row]) -> list[Removal]:
        """The removal of this row alone, not of all that go together with it; one or none."""
        wanted = {each.observable for each in together}
        singles = [e for e in self._fitting(Finding(rows=(row,)))[:MOST_APART] if not wanted <= e.touched.keys()]
        for operators, seed in self._drawn(singles):
            after = self._after(self._proposal(operators, [Finding(rows=(row,))], seed))
            gone = tuple(each for each in together if self._gone(each.key, after))
            if row in gone and len(gone) < len(together):
                part = Finding(rows=(row, *(each for each in gone if each is not row)))
                if (removal := self._try(operators, [part], seed)) is not None:
                    return [removal]
        return []

    def _drawn(self, singles: Sequence[OperatorEffect]) -> Iterator[tuple[Operators, int]]:
        """Each of them by itself; then those that draw with other seeds."""
        yield from (((effect.operator,), self._seed) for effect in singles)
        for seed in range(self._seed + 1, self._seed + DRAWS):
            for effect in singles:
                form = {"benchmark": self._kit.benchmark.base, "operators": [dict(effect.operator)]}
                if any(operator.seeded for operator in self._kit.parse(form).transformation.operators):
                    yield (effect.operator,), seed

    def remove_all(self, removals: Sequence[Removal]) -> Removal | None:
        """One transformation of all of them, where that is valid and takes away what each does."""
        operators = tuple({str(o): o for removal in removals for o in removal.operators}.values())
        findings = [removal.finding for removal in removals if removal.finding is not None]
        if len(operators) > MOST_OPERATORS:
            return None
        seeds = dict.fromkeys([*(removal.proposal.transformation.seed for removal in removals), self._seed])
        return next((found for seed in seeds if (found := self._try(operators, findings, seed)) is not None), None)

    def _fitting(self, finding: Finding) -> list[OperatorEffect]:
        """Operators that touch a finding's observables: those that miss fewest of them first, then those that touch
        least beside them.
        """
        wanted = set(finding.observables)

        def order(effect: OperatorEffect) -> tuple[int, int, str]:
            missed, beside = wanted - effect.touched.keys(), effect.touched.keys() - wanted
            return len(missed), len(beside), str(effect.operator)

        return sorted((effect for effect in self._kit.effects if wanted & effect.touched.keys()), key=order)

    def _candidates(self, finding: Finding) -> Iterator[tuple[Operators, int]]:
        wanted, ranked = set(finding.observables), self._fitting(finding)
        covering = [effect for effect in ranked[:MOST_SINGLES] if wanted <= effect.touched.keys()]
        yield from self._drawn(covering)
        yield from (((effect.operator,), self._seed) for effect in ranked[len(covering) : MOST_SINGLES])
        pairs = [(a, b) for a, b in combinations(ranked[:MOST_SINGLES], 2) if a.touched.keys() != b.touched.keys()]
        pairs.sort(key=lambda pair: len(wanted - pair[0].touched.keys() - pair[1].touched.keys()))
        yield from (((a.operator, b.operator), self._seed) for a, b in pairs[:MOST_PAIRS])

    def _parts(self, finding: Finding, singles: Sequence[OperatorEffect]) -> list[tuple[Operators, Finding]]:
        """What each operator takes away of a finding and plants nothing, the largest part first."""
        found = []
        for effect in singles:
            operators: Operators = (effect.operator,)
            after = self._after(self._proposal(operators, [finding], self._seed))
            gone = [row for row in finding.rows if self._gone(row.key, after)]
            if gone and not after.significant - self._released.significant:
                # Of one origin, what is the same for all now names it best.
                gone.sort(key=lambda row: (row.order[0], after.row(row.key) is not None))
                others = tuple(row.observable for row in finding.rows if row not in gone)
                follows = finding.follows if finding.first in gone else ()
                part = Finding(rows=tuple(gone), follows=follows, beside=(*finding.beside, *others))
                found.append((operators, part))
        return sorted(found, key=lambda one: -len(one[1].rows))  # as they were tried where parts are equal

    def _proposal(self, operators: Operators, findings: Sequence[Finding], seed: int) -> Proposal[Any]:
        names = ", ".join(name for finding in findings for name in finding.observables[:1])
        return self._kit.parse(
            {
                "benchmark": self._kit.benchmark.base,
                "operators": [dict(operator) for operator in operators],
                "seed": seed,
                "description": f"takes away that {names} goes with {findings[0].first.target}",
            }
        )

    def _after(self, proposal: Proposal[Any]) -> Scan:
        """The scan under a transformation, made once."""
        transformation = proposal.transformation
        if transformation.hash not in self._scans:
            self._scans[transformation.hash] = self._scanner.scan(transformation, f"trying {transformation.symbols()}")
        return self._scans[transformation.hash]

    def _try(self, operators: Operators, findings: Sequence[Finding], seed: int) -> Removal | None:
        """The removal, where the findings are gone, nothing new is there, and the firewall finds it valid."""
        proposal = self._proposal(operators, findings, seed)
        after = self._after(proposal)
        keys = [key for finding in findings for key in finding.keys]
        if after.significant - self._released.significant or not all(self._gone(key, after) for key in keys):
            return None
        self._tell(f"firewall: {proposal.transformation.symbols()}")
        if screen_draft(self._kit, Draft(form=proposal.to_json()), archived=()).verdict != "valid":
            return None
        left = tuple(row for key in keys if (row := after.row(key)) is not None)
        only = findings[0] if len(findings) == 1 else None
        unseen = tuple(name for _, name in keys if name in after.unseen and name not in self._released.unseen)
        return Removal(finding=only, proposal=proposal, after=left, unseen=unseen)

    def _gone(self, key: tuple[str, str], after: Scan) -> bool:
        """Whether a row no longer holds up and its effect is a fraction of what it was."""
        was, now = self._released.row(key), after.row(key)
        if now is None or was is None:
            return True  # the same for all documents now
        return now.key not in after.significant and now.distance <= LEFT * was.distance


def _without(finding: Finding, part: Finding) -> Finding:
    """What is left of a finding whose part is a finding of its own."""
    rows = tuple(row for row in finding.rows if row.key not in part.keys)
    follows = () if finding.first.key in part.keys else finding.follows
    return Finding(rows=rows, follows=follows, beside=(*finding.beside, *part.observables))
