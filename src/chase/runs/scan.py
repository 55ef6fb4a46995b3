"""A scan: which observables of a benchmark's protocol give evidence or the answer away, and what takes that away."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

from chase.core.errors import UserError
from chase.core.interfaces import Benchmark, Observable
from chase.core.keyed import digest
from chase.core.values import Json
from chase.protocol.extensions import installed_observables
from chase.protocol.kit import WINDOW
from chase.protocol.scanning.findings import Scanner
from chase.protocol.scanning.removal import Removal, Removed, Remover
from chase.protocol.scanning.rows import Finding, Row, Scan
from chase.protocol.scanning.sights import Subjects
from chase.runs.config import RawSettings
from chase.runs.listening import Listener, RunEnded, Scanning
from chase.runs.opening import Opener, record_look
from chase.runs.own_observables import own_observables
from chase.runs.scan_settings import ScanSettings
from chase.runs.variants import resolve_variant

ALL = "all"
"""The transformation of all removals together."""
KEPT = "scan.json"
LEAST_TASKS = 6
"""Fewer say nothing, whatever they show."""


@dataclass(frozen=True, kw_only=True)
class ScanResult:
    """What gives something away, and the transformations that take it away. `to_json` is what the command prints."""

    payload: Mapping[str, Any]
    transformations: Mapping[str, Mapping[str, Json]]
    """Name → a transformation as JSON, ready for `audit --transformations` and `bench export --variant`."""

    schema: ClassVar[str] = "chase.scan/1"

    @property
    def findings(self) -> Sequence[Mapping[str, Any]]:
        """Findings that the files show first, then the strongest: `name, target, observables, rows, removal, apart`."""
        found: Sequence[Mapping[str, Any]] = self.payload["findings"]
        return found

    def to_json(self) -> dict[str, Json]:
        """One plain JSON object with the schema's name first."""
        return {"schema": self.schema, **self.payload}

    def write(self, folder: str | Path) -> list[Path]:
        """Write the transformations, one file each, and the result beside them; what an earlier scan wrote is replaced.

        A folder that holds anything else is refused.
        """
        place = Path(folder)
        if place.exists() and (not place.is_dir() or (any(place.iterdir()) and not (place / KEPT).is_file())):
            raise UserError(
                f"out={folder} already holds something. Name a new or an empty folder, or an earlier scan's."
            )
        try:
            place.mkdir(parents=True, exist_ok=True)
            for earlier in place.glob("*.json"):
                earlier.unlink()
            written = [place / f"{name}.json" for name in self.transformations]
            for path, form in zip(written, self.transformations.values(), strict=True):
                path.write_text(json.dumps(form, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
            (place / KEPT).write_text(json.dumps(self.to_json(), indent=2) + "\n", encoding="utf-8")
        except OSError as error:
            raise UserError(f"out={folder} cannot be written: {error.strerror}. Name another folder.") from None
        return written

    def __repr__(self) -> str:
        found = ", ".join(finding["name"] for finding in self.findings)
        return f"<ScanResult {self.payload['benchmark']}: {found or 'nothing found'}>"


def scan(said: RawSettings[ScanSettings], listener: Listener) -> ScanResult:
    """Scan what was asked for. Asks no model; writes nothing but, where sealed tasks are scanned, that they were."""
    settings = said.settings()
    own = [*installed_observables(), *own_observables(settings.observable)]
    opener = Opener(listener)
    benchmark = opener.benchmark(settings)
    observables = _observables(benchmark, own)
    variant = resolve_variant(benchmark, settings.variant)
    roles = [role for role in benchmark.roles if settings.use_cert is not None or role not in benchmark.sealed]
    if settings.use_cert is not None:
        record_look(benchmark, "scan", settings.variant, settings.use_cert, settings.workspace)

    def tell(step: str) -> None:
        listener.told(Scanning(benchmark=benchmark.name, step=step))

    try:
        subjects = Subjects(benchmark=benchmark, tasks=tuple(t for role in roles for t in benchmark.tasks(role)))
        scanner = Scanner(subjects, observables, level=settings.level, seed=settings.seed, tell=tell)
        if scanner.tasks_used < LEAST_TASKS:
            raise UserError(_too_few(benchmark, scanner, len(subjects.tasks)))
        found = scanner.scan(variant, settings.variant)
        remover = None
        if not settings.no_removal and not variant.operators:
            remover = Remover(scanner, opener.kit(benchmark), found, seed=settings.seed, tell=tell)
        about: dict[str, Json] = {
            "benchmark": benchmark.name,
            "content_hash": benchmark.content_hash,
            "variant": settings.variant,
            "roles": roles,
            "evidence_from": subjects.source,
            "tasks": len(subjects.tasks),
            "tasks_used": scanner.tasks_used,
            "level": settings.level,
            "seed": settings.seed,
            "draws": scanner.draws,
            "answers": list(scanner.targets),
            "observables": {o.name: o.description for o in observables},
        }
        return _result(about, found, remover)
    finally:
        listener.told(RunEnded(run="scan"))


def _observables(benchmark: Benchmark[Any], own: Sequence[Observable]) -> list[Observable]:
    """The benchmark's, but for which window it is, which is scanned by window; the installed ones, and those that were
    given.
    """
    names = {o.name for o in benchmark.observables}
    for given in own:
        if given.name in names:
            raise UserError(f"observable={given.name}: there is one of this name already. Call yours otherwise.")
        names.add(given.name)
    return [*(o for o in benchmark.observables if o.name != WINDOW), *own]


def _too_few(benchmark: Benchmark[Any], scanner: Scanner, tasks: int) -> str:
    return (
        f"{benchmark.name}: in {scanner.tasks_used} of {tasks} tasks some of the documents in view are evidence and "
        f"some are not; a scan needs {LEAST_TASKS}. Evidence is known from: {scanner.subjects.source}. Name evidence "
        "documents in the benchmark, or add tasks."
    )


def _result(about: Mapping[str, Json], found: Scan, remover: Remover | None) -> ScanResult:
    if remover is None:
        looked = [Removed(finding=finding, removal=None, tried=0) for finding in found.findings]
    else:
        looked = [remover.tell_apart(one) for finding in found.findings for one in remover.remove(finding)]
    named = _named(sorted(looked, key=lambda one: one.finding.order))
    worked = [one.removal for one in named.values() if one.removal is not None]
    together = remover.remove_all(worked) if remover is not None and len(worked) > 1 else None
    forms = {name: one.removal.proposal.to_json() for name, one in named.items() if one.removal is not None}
    apart = [(removal.finding, removal) for one in named.values() for removal in one.apart]
    forms |= {_alone(part): removal.proposal.to_json() for part, removal in apart if part is not None}
    forms |= {ALL: together.proposal.to_json()} if together is not None else {}
    findings = [
        {
            "name": name,
            **one.finding.to_json(),
            "removal": _removal(name, one.removal),
            "apart": [_apart(removal.finding, removal) for removal in one.apart if removal.finding is not None],
            "tried": None if remover is None else one.tried,
        }
        for name, one in named.items()
    ]
    payload = {
        **about,
        "rows": [asdict(row) for row in found.rows],
        "findings": findings,
        "explained": [row.observable for row in found.explained],
        "together": _removal(ALL, together),
    }
    return ScanResult(payload=payload, transformations=forms)


def _removal(name: str, removal: Removal | None) -> dict[str, Json] | None:
    if removal is None:
        return None
    transformation = removal.proposal.transformation
    return {
        "file": f"{name}.json",
        "hash": transformation.hash,
        "description": transformation.describe(),
        "symbols": transformation.symbols(),
        "after": [asdict(row) for row in removal.after],
        "unseen": list(removal.unseen),
    }


def _named(looked: Sequence[Removed]) -> dict[str, Removed]:
    return {_name(one.finding.first): one for one in looked}


def _alone(part: Finding) -> str:
    """The name of a transformation that takes a part of what goes together away."""
    return f"{_name(part.first)}-alone"


def _apart(part: Finding, removal: Removal) -> dict[str, Json]:
    return {"observables": list(part.observables), "removal": _removal(_alone(part), removal)}


def _name(first: Row) -> str:
    """By the observable; one that goes with the answer says so."""
    name = re.sub(r"[^a-z0-9]+", "-", first.observable.lower()).strip("-")
    if first.target.startswith("answer"):
        return f"answer-{name}" if first.target == "answer" else f"answer-{digest(first.target)[:6]}-{name}"
    return name
