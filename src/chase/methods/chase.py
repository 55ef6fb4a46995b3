"""CHASE: Algorithm 1 of "Bad Genius: Counterfactual-Guided Harness Evolution Beyond Task-Specific Shortcuts".

`Chase.evolve` reads line by line like the algorithm. `D_conf,t` is the role `conf{t}`; where there are more rounds than
confirmation sets they are used in turn, which the record says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from chase.core.errors import UserError
from chase.core.values import Json
from chase.methods.arena import Arena, Named, Variant
from chase.methods.counterfactuals import (
    Confirmation,
    Discovery,
    confirm,
    described,
    discover,
    estimated,
    proposed,
)
from chase.methods.desks import ChallengerDesk, ProposerDesk, archive_note
from chase.methods.evolution import Evolved, Round, Tell, choose, conclude, distinct
from chase.protocol.archive import Archive, views_digest
from chase.protocol.kit import ProtocolKit


@dataclass(frozen=True, kw_only=True)
class Settings:
    """`T`, `ε`, `η` and what goes beyond the paper."""

    rounds: int
    epsilon: str
    eta: str
    reduce: bool = True
    """Whether a composition is reduced on `D_disc` before it is frozen. Not in the paper."""


@dataclass(kw_only=True)
class Chase:
    """One run of the method. Holds the roles `evo`, `disc` and `conf1…`, through its arena alone."""

    initial: Named
    arena: Arena
    proposer: ProposerDesk
    challenger: ChallengerDesk
    kit: ProtocolKit
    tasks: Callable[[str], Sequence[str]]
    """The ids of a held role's tasks."""
    confirmation_roles: Sequence[str]
    archive: Archive
    settings: Settings
    tell: Tell
    released: Variant
    variants: list[Variant] = field(default_factory=list)

    async def evolve(self) -> Evolved:
        h0, self.variants = self.initial, [self.released]  # A_0 = {B_rel}
        line: list[Named] = [h0]
        rounds: list[Round] = []
        for t in range(1, self.settings.rounds + 1):
            current, record = line[-1], Round(round=t)
            rounds.append(record)
            self.tell("round", {"round": t, "current": current.name, "archive": [v.name for v in self.variants]})
            await self.arena.means(distinct([h0, current]), self.variants, "evo")
            candidates, refused = await self.proposer.candidates(t, current, h0)
            pool = distinct([h0, current, *candidates])
            means = await self.arena.means(pool, self.variants, "evo")
            h_t, selection = choose(pool, means, self.variants, epsilon=self.settings.epsilon)
            line.append(h_t)
            self._note(record, "selection", {**selection, "refused": refused})
            self.proposer.tree.add_round({"round": t, **selection, "refused": refused})
            await self.arena.means(distinct([h_t, h0]), [self.released], "disc")
            if h_t.harness.hash == h0.harness.hash:
                self._note(record, "challenger", {"skipped": "H_t = H_0"})
                continue
            drafts = await self.challenger.drafts(t, h_t, h0, self.archive.hashes)
            self.tell("drafts", {"round": t, "count": len(drafts)})
            found = await discover(
                self.arena, self.kit, drafts, pair=(h_t, h0), role="disc", tasks=self.tasks("disc"),
                archived=self.archive.hashes, reduce=self.settings.reduce,
            )  # fmt: skip
            self._note(record, "challenger", _discovery_json(found))
            if found.frozen is not None:
                role = self.confirmation_roles[(t - 1) % len(self.confirmation_roles)]
                confirmed = await confirm(
                    self.arena, self.kit, found.frozen, pair=(h_t, h0), role=role, tasks=self.tasks(role),
                    eta=self.settings.eta,
                )  # fmt: skip
                self._note(record, "confirmation", {"role": role, **_confirmation_json(confirmed, self.settings.eta)})
                if confirmed.confirmed:
                    self._archive(t, found, confirmed)
        return await conclude(
            self.arena,
            line,
            self.variants,
            epsilon=self.settings.epsilon,
            archive=self.archive,
            rounds=rounds,
            tell=self.tell,
        )

    def _archive(self, t: int, found: Discovery, confirmed: Confirmation) -> None:
        """`A_t = A_{t-1} ∪ {B_{b_t}}`."""
        if found.frozen is None or found.frozen.firewall is None or found.destruction is None:
            raise UserError("nothing was frozen")
        proposal = proposed(found.frozen)
        self.archive = self.archive.with_entry(
            proposal,
            round=t,
            views=views_digest(self.kit.lift(proposal), self.kit.subject),
            firewall=found.frozen.firewall,
            discovery=estimated(found.destruction),
            confirmation=estimated(confirmed.estimate),
        )
        entry = self.archive.entries[-1]
        self.variants.append(Variant(name=entry.name, transformation=proposal.transformation))
        note = archive_note(entry.model_dump(mode="json"), found.frozen.touched)
        for tree in (self.proposer.tree, self.challenger.tree):
            tree.add_entry(entry.name, note)
        self.tell("archived", {"round": t, "name": entry.name, "what": proposal.transformation.describe()})

    def _note(self, record: dict[str, Json], kind: str, details: Mapping[str, Json]) -> None:
        record[kind] = dict(details)
        self.tell(kind, details)


def _discovery_json(found: Discovery) -> dict[str, Json]:
    return {
        "proposals": [described(screened) for screened in found.screened],
        "evaluated": [{**described(s), "destruction": estimated(e)} for s, e in found.evaluated],
        "frozen": None if found.frozen is None else described(found.frozen),
        "destruction": None if found.destruction is None else estimated(found.destruction),
    }


def _confirmation_json(found: Confirmation, eta: str) -> dict[str, Json]:
    return {
        "destruction": estimated(found.estimate),
        "eta": eta,
        "valid": found.firewall.valid,
        "failed": list(found.firewall.failed),
        "confirmed": found.confirmed,
    }
