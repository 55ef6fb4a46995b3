"""The archive `A_t`: the released benchmark and every confirmed counterfactual, append-only, replayable.

Kept as JSON. Each entry holds the digest of the one before it: a changed, removed or reordered entry is noticed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from chase.core.errors import IntegrityError, UserError
from chase.core.interfaces import Benchmark, FirewallSubject
from chase.core.keyed import digest
from chase.core.outside import parse_json
from chase.core.values import Json
from chase.protocol.firewall import FirewallRecord, run_checks
from chase.protocol.proposal import Proposal, parse_for

State = TypeVar("State")
SCHEMA = "chase.archive/1"


class ArchiveEntry(BaseModel):
    """One confirmed counterfactual `B_b`, with everything that its replay needs."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    """`b1`, `b2`, … in the order of confirmation."""
    round: int = Field(ge=0)
    transformation: dict[str, Any]
    """The proposal as JSON: operators with versions, arguments and seeds, declared fields, description, claims."""
    hash: str
    """Of the canonical form: what the duplicate screen compares."""
    views: str
    """Digest of the transformed views over the check set: decides whether a replay is the same."""
    firewall: list[dict[str, Any]]
    discovery: dict[str, Any]
    confirmation: dict[str, Any]
    """Empty where a run did without (an ablation)."""
    previous: str
    """Digest of the entry before, '' for the first."""

    def digest(self) -> str:
        return digest(self.model_dump(mode="json"))


@dataclass(frozen=True, kw_only=True)
class Archive:
    """`A_t`. The released benchmark is in it from the start and is not an entry."""

    benchmark: str
    content_hash: str
    entries: tuple[ArchiveEntry, ...] = ()

    @property
    def hashes(self) -> frozenset[str]:
        """Canonical hashes for the duplicate screen."""
        return frozenset(entry.hash for entry in self.entries)

    def with_entry(
        self,
        proposal: Proposal[Any],
        *,
        round: int,
        views: str,
        firewall: FirewallRecord,
        discovery: Mapping[str, Json],
        confirmation: Mapping[str, Json],
    ) -> Archive:
        """The archive with one more entry. Only a valid transformation that is not in it yet may enter."""
        if not firewall.valid:
            raise IntegrityError(f"an invalid transformation cannot be archived: failed {', '.join(firewall.failed)}.")
        if proposal.transformation.hash in self.hashes:
            raise IntegrityError("the transformation is archived already.")
        entry = ArchiveEntry(
            name=f"b{len(self.entries) + 1}",
            round=round,
            transformation=proposal.to_json(),
            hash=proposal.transformation.hash,
            views=views,
            firewall=[asdict(verdict) for verdict in firewall.verdicts],
            discovery=dict(discovery),
            confirmation=dict(confirmation),
            previous=self.entries[-1].digest() if self.entries else "",
        )
        return Archive(benchmark=self.benchmark, content_hash=self.content_hash, entries=(*self.entries, entry))

    def entry(self, name: str) -> ArchiveEntry:
        """The entry of a name (`b2`, or `2`), or of a prefix of its hash, six characters at least."""
        found = [e for e in self.entries if name in (e.name, e.name[1:]) or _begins(e.hash, name)]
        if len(found) != 1:
            wrong = "ambiguous" if found else "unknown"
            valid = ", ".join(e.name for e in self.entries) or "none, the archive holds only the released benchmark"
            raise UserError(f"{wrong} archive entry '{name}'. Valid: {valid}.")
        return found[0]

    def to_json(self) -> str:
        payload = {
            "schema": SCHEMA,
            "benchmark": self.benchmark,
            "content_hash": self.content_hash,
            "entries": [entry.model_dump(mode="json") for entry in self.entries],
        }
        return json.dumps({**payload, "digest": digest(payload)}, indent=2) + "\n"


def read_archive(path: Path) -> Archive:
    """The archive in a file; an `IntegrityError` says where it was changed, a `UserError` that it is none."""
    try:
        payload = parse_json(path.read_bytes())
        if not isinstance(payload, dict) or payload.get("schema") != SCHEMA:
            raise UserError(f"{path} is no archive: its schema is not {SCHEMA}.")
        stated = payload.pop("digest", None)
        entries = tuple(ArchiveEntry.model_validate(entry) for entry in payload["entries"])
        archive = Archive(benchmark=payload["benchmark"], content_hash=payload["content_hash"], entries=entries)
    except FileNotFoundError:
        raise UserError(f"there is no archive at {path}.") from None
    except OSError as error:
        raise UserError(f"the archive at {path} cannot be read: {error.strerror}.") from None
    except (ValueError, KeyError, TypeError) as error:
        raise IntegrityError(f"{path} is damaged: {_first_line(error)}. Restore it from a copy.") from None
    previous = ""
    for entry in archive.entries:
        if entry.previous != previous:
            raise IntegrityError(f"{path}: the entry before {entry.name} was changed, removed or added.")
        previous = entry.digest()
    if stated != digest(payload):
        raise IntegrityError(f"{path} was changed after it was written. Restore it from a copy.")
    return archive


def _begins(whole: str, prefix: str) -> bool:
    return len(prefix) >= 6 and whole.startswith(prefix)


def _first_line(error: BaseException) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__


def views_digest(proposal: Proposal[State], subject: FirewallSubject[State]) -> str:
    """Digest of everything shown of every check task, and of what they share, under the transformation."""
    units = (*subject.shared, *subject.check_tasks)
    return digest([subject.present(proposal.transformation.apply(subject.state(unit))).view for unit in units])


@dataclass(frozen=True, kw_only=True)
class Replay:
    """How an archived entry came out when it was made again."""

    name: str
    problems: tuple[str, ...]


def replay(archive: Archive, benchmark: Benchmark[Any]) -> list[Replay]:
    """Render every entry again and run the firewall again: what is not as it was archived is a problem."""
    replays = []
    for entry in archive.entries:
        problems: list[str] = []
        try:
            proposal = parse_for(benchmark, entry.transformation).lifted(benchmark.subject)
        except UserError as error:
            replays.append(Replay(name=entry.name, problems=(str(error),)))
            continue
        if proposal.transformation.hash != entry.hash:
            problems.append("its canonical form is another one now")
        if views_digest(proposal, benchmark.subject) != entry.views:
            problems.append("it shows something else now")
        record = run_checks(proposal, benchmark.subject)
        if not record.valid:
            problems.append(f"it is not valid any more: {', '.join(record.failed)}")
        replays.append(Replay(name=entry.name, problems=tuple(problems)))
    return replays
