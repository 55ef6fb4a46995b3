"""What a check on a harness's contents is, and what it finds. A refusal tells of it without what is hidden."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from chase.core.gate_facts import BenchmarkCheck
from chase.methods.gate.known import Known
from chase.methods.gate.scan import Scan


@dataclass(frozen=True, slots=True)
class Spot:
    """Something that was found in a harness."""

    place: str
    what: str
    """As exactly as it can be told apart from the same in another harness. The host's alone."""
    shown: str = ""
    """What of it a refusal may quote: nothing that comes from tasks or documents."""


Found = Iterator[Spot]


@dataclass(frozen=True, kw_only=True, slots=True)
class ContentCheck:
    """A named check on what stands in a harness: a pure function of a scan and of what is known."""

    name: str
    find: Callable[[Scan, Known], Found]
    means: str
    """What was found, in words that give nothing away."""
    mend: str
    told_as: str = ""
    """The name in a refusal, where the check's own would tell, say, that a string is of a withheld task."""
    only: BenchmarkCheck | None = None
    """Of the checks that only some benchmarks have: which one it is."""

    def applies(self, known: Known) -> bool:
        return self.only is None or self.only in known.facts.checks

    def says(self, spot: Spot) -> str:
        quoted = f" ('{spot.shown}')" if spot.shown else ""
        return f"{self.told_as or self.name}: {spot.place} {self.means}{quoted}. {self.mend}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """Something that a check objects to."""

    check: str
    spot: Spot
    said: str
    """The refusal's words."""


def examine(scan: Scan, known: Known, checks: tuple[ContentCheck, ...]) -> list[Finding]:
    """What the checks that apply find in a harness."""
    return [
        Finding(check=check.name, spot=spot, said=check.says(spot))
        for check in checks
        if check.applies(known)
        for spot in dict.fromkeys(check.find(scan, known))
    ]
