"""The audit of a given harness: the battery on fresh tasks, then a search for what the battery cannot show, a verdict.

The battery is fixed, so it needs no search tasks; where it settles the verdict nothing is searched for. Search is on
`evo ∪ disc` and never sees a confirmation rollout; confirmation is on all other unsealed tasks, and on the sealed ones
only where the caller holds an opening.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from chase.agents.history import RELEASED
from chase.core.agents import Draft
from chase.core.errors import UserError
from chase.core.events import (
    AuditAttributionStarted,
    AuditBatteryStarted,
    AuditConfirmationStarted,
    AuditPlanned,
    Tell,
)
from chase.core.values import Json
from chase.methods.arena import Entrant, StoreArena, Variant, as_contender
from chase.methods.attribution import Attribution, EditMeasurement, in_words
from chase.methods.audit_findings import Found, Judged, Pair, judge_pair, search_found
from chase.methods.audit_search import CONFIRM, SEARCH, Search, Searched, SearchSettings, distinct
from chase.methods.counterfactuals import proposal_of, screening_json
from chase.methods.desks import ChallengerDesk
from chase.methods.edits import Check, Edit, further_harnesses
from chase.methods.looks import Look, in_order, looks_at
from chase.methods.reach import Reach
from chase.methods.sensitivity import in_words as sensitivity_in_words
from chase.methods.sensitivity import sensitivity, sensitivity_json
from chase.methods.verdict import Source
from chase.protocol.battery import Battery, Probe, battery_of
from chase.protocol.kit import ProtocolKit
from chase.protocol.proposal import Proposal
from chase.protocol.screening import Screening, screen_draft
from chase.stats.detectable import Detectable
from chase.stats.estimates import INDEPENDENT, Clusters

NO_ROOM = "No gain could be told on these tasks. Take an easier benchmark, a stronger model or another baseline."
NO_SURE_GAIN = "Nothing was tested against the gain, because the released scores leave it open or exclude it."


@dataclass(frozen=True, kw_only=True)
class AuditOutcome(Judged[Found]):
    """An audit's result."""

    tried: Sequence[Mapping[str, Json]]
    """Everything that was searched, with its verdict and, where evaluated, its `Δ̂`."""
    search_tasks: int
    confirm_tasks: int
    fresh_tasks: int
    """Confirmation tasks that there are: fewer are used where they settle the verdict."""
    level: float
    battery: Battery | None
    """The measured part; None where it was left out, or where the audit ended before."""
    attribution: Attribution | None = None
    """The gain by edits; None for the whole harness."""
    stopped: str | None = None
    """Reason for ending before the battery, where it did."""
    sensitivity: Detectable

    def to_json(self) -> dict[str, Json]:
        return {
            **super().to_json(),
            "tried": list(self.tried),
            "search_tasks": self.search_tasks,
            "confirm_tasks": self.confirm_tasks,
            "fresh_tasks": self.fresh_tasks,
            "level": self.level,
            "battery": None if self.battery is None else self.battery.to_json(),
            "attribution": None if self.attribution is None else self.attribution.to_json(),
            "headline": self.headline,
            "stopped": self.stopped,
            "detectable": sensitivity_json(self.sensitivity),
        }

    @property
    def headline(self) -> str | None:
        """The gain by its edits, in a sentence; None for one edit or a whole harness."""
        if self.attribution is None or len(self.attribution.shares) < 2:
            return None
        return in_words(self.gain.value, self.attribution.shares)


@dataclass(kw_only=True)
class Audit:
    """One audit. Its arena pools `search` and `confirm` from the roles that its evaluator holds."""

    initial: Entrant
    harness: Entrant
    arena: StoreArena
    desk: ChallengerDesk
    kit: ProtocolKit
    released: Variant
    settings: SearchSettings
    tell: Tell
    seed: int
    edits: Sequence[Edit] | None = None
    """The edits that the gain is attributed to; None: the harness is judged as a whole."""
    check: Check = field(default=lambda harness: None)
    """Refuses (`UserError`) a mixture of edits that cannot be run."""
    clusters: Clusters = field(default_factory=lambda: INDEPENDENT)
    rollouts: int = 1
    """Of a confirmation task."""
    tried: list[dict[str, Json]] = field(default_factory=list)
    measured: Battery | None = field(default=None, init=False)
    """The part of the battery that is valid on the fresh tasks; None before it is measured."""

    @cached_property
    def reach(self) -> Reach:
        """What of a transformation can touch the pair."""
        pair = (self.harness, self.initial)
        return Reach(benchmark=self.kit.benchmark, arena=self.arena, pair=pair, released=self.released)

    async def run(self, given: Sequence[Draft] = ()) -> AuditOutcome:
        """The battery first; then what was given, or, where the verdict is open, what a search finds; then the word."""
        if self.harness.harness.hash == self.initial.harness.hash:
            raise UserError("the harness and its baseline are the same: there is no gain to audit.")
        accepted = [self._accepted(draft) for draft in given]
        self.tell(AuditPlanned(shows=sensitivity_in_words(self.sensitivity)))
        if not self.settings.anyway and (stopped := await self._stopped()) is not None:
            return stopped
        probes = await self._probes()
        if probes and len(self.looks) > 1 and self.edits is None and not given:
            early = await self._judged(probes, self.looks[0])
            if early.verdict.word == "not supported":
                return early
        attribution = await self._attributed(probes)
        found = await self._given(accepted) if given else await self._search_unless(probes, attribution)
        self.tell(AuditConfirmationStarted(transformations=len(found), tasks=len(self.tasks)))
        return await self._judged(
            [*probes, *found], self.all_tasks, attribution, searched=bool(self.tried) and not given
        )

    @cached_property
    def tasks(self) -> tuple[str, ...]:
        """The fresh tasks, in an order that the seed decides."""
        return in_order(self.arena.tasks(CONFIRM), self.seed)

    @cached_property
    def sensitivity(self) -> Detectable:
        """The gain and the gain destruction that the tasks can show."""
        return sensitivity(self.tasks, self.clusters, level=self.settings.level, rollouts=self.rollouts)

    @cached_property
    def all_tasks(self) -> Look:
        """All of them, with the error that a look at the whole harness, or its only edit, on the first part left."""
        looked = len(self.edits or ()) < 2 and len(self.looks) > 1
        return self.looks[-1] if looked else Look(tasks=self.tasks, level=self.settings.level)

    @cached_property
    def looks(self) -> tuple[Look, ...]:
        return looks_at(self.tasks, self.settings.level)

    @cached_property
    def battery(self) -> Battery | None:
        return battery_of(self.kit, seed=self.seed) if self.settings.battery else None

    async def _stopped(self) -> AuditOutcome | None:
        """The outcome where the released scores leave nothing to test: a floor, a ceiling, or no gain that is sure."""
        first = self.looks[0]
        base = (await self.arena.means([self.initial], [self.released], CONFIRM, first.tasks))[
            self.initial.name, RELEASED
        ]
        if sum(base.values()) in (0, len(base)):
            found = await self._judged([], first)
            if found.room is not None:
                return replace(found, verdict=found.without_room(found.room), tasks_needed=None, stopped=NO_ROOM)
        found = await self._judged([], self.all_tasks)
        return None if found.verdict.word == "untested" else replace(found, stopped=NO_SURE_GAIN)

    async def _probes(self) -> list[Found]:
        """The battery's probes that can touch the pair and are valid on the fresh tasks."""
        if self.battery is None:
            return []
        if self.reach.matters and not await self.reach.tools_are_called(CONFIRM):
            idle = [a.what for a in self.battery.aspects if self._by_tools_alone(a)]
            self.battery = self.battery.without_reach(idle, "neither agent called a tool")
        self.measured = battery = self.battery.checked(lambda draw: self._failed(draw, self.tasks))
        self.tell(AuditBatteryStarted(probes=len(battery.probes), covers=battery.covers, tasks=len(self.tasks)))
        return [self._battery_part(probe) for probe in battery.probes]

    def _failed(self, draw: Proposal[Any], tasks: Sequence[str]) -> tuple[str, ...]:
        """The checks that a draw of a probe or an aspect fails on fresh tasks."""
        return self.kit.run_checks(draw, tasks).failed

    def _by_tools_alone(self, aspect: Probe) -> bool:
        return all(self.reach.by_tools_alone(draw.transformation, CONFIRM) for draw in aspect.draws)

    def _battery_part(self, probe: Probe) -> Found:
        first = probe.draws[0].transformation
        return Found(
            name=probe.name,
            source="battery",
            draws=tuple(f"{probe.name}-{draw}" for draw in range(1, len(probe.draws) + 1)),
            what=probe.what,
            symbols=first.symbols(),
            proposals=probe.draws,
            touched=self.kit.touched(first, self.kit.example),
        )

    async def _search_unless(self, probes: Sequence[Found], attribution: Attribution | None) -> list[Found]:
        """Findings of the search. Where the battery settles it against the gain, nothing is searched for."""
        if not self.settings.rounds:
            return []
        known = await self._judged(probes, self.all_tasks, attribution)
        if known.verdict.word in ("not supported", "no gain"):
            return []
        search = Search(
            initial=self.initial, harness=self.harness, arena=self.arena, desk=self.desk, kit=self.kit,
            released=self.released, settings=self.settings, reach=self.reach, tell=self.tell, tried=self.tried,
        )  # fmt: skip
        return self._valid(await search.run(), "search")

    async def _given(self, given: Sequence[Screening]) -> list[Found]:
        """What was given and can touch the pair; the rest stays in the record with the reason."""
        kept, idle = await self.reach.parted(given, CONFIRM)
        self.tried += [{**screening_json(screened), "destruction": None} for screened in idle]
        return self._valid(distinct([(screened, None) for screened in kept]), "given")

    def _accepted(self, draft: Draft) -> Screening:
        screened = screen_draft(self.kit, draft, archived=())
        if screened.verdict != "valid":
            raise UserError(f"a given transformation is {screened.verdict}: {screened.reason}")
        return screened

    def _valid(self, found: Sequence[Searched], source: Source) -> list[Found]:
        """Keep those for which the seven checks hold on the confirmation tasks too, named in their order."""
        valid = [(s, e) for s, e in found if self._holds(s, self.tasks)]
        return [search_found(f"c{place}", source, s, e) for place, (s, e) in enumerate(valid, 1)]

    async def _judged(
        self, found: Sequence[Found], look: Look, attribution: Attribution | None = None, *, searched: bool = False
    ) -> AuditOutcome:
        """The verdict on some of the tasks, with all that was found so far."""
        variants = [self.released, *(variant for each in found for variant in variants_of(each).values())]
        means = await self.arena.means([self.initial, self.harness], variants, CONFIRM, look.tasks)
        pair = Pair(means=means, harness=self.harness.name, baseline=self.initial.name, clusters=self.clusters)
        edits = None if attribution is None else attribution.edits
        judged = judge_pair(pair, found, seed=self.seed, level=look.level, edits=edits)
        return AuditOutcome(
            **vars(judged),
            tried=self.tried,
            search_tasks=len(self.arena.tasks(SEARCH)) if searched else 0,
            confirm_tasks=len(look.tasks),
            fresh_tasks=len(self.tasks),
            sensitivity=self.sensitivity,
            level=self.settings.level,
            battery=self.measured,
            attribution=attribution,
        )

    async def _attributed(self, probes: Sequence[Found]) -> Attribution | None:
        """The harness by its edits, under the probes."""
        if self.edits is None or not probes or self.measured is None:
            return None
        initial, harness = as_contender(self.initial), as_contender(self.harness)
        aspects = [self._battery_part(aspect) for aspect in self.measured.aspects]
        further = further_harnesses(initial.harness, harness.harness, self.edits)
        self.tell(AuditAttributionStarted(edits=len(self.edits), harnesses=len(further), variants=len(probes)))
        measurement = EditMeasurement(
            arena=self.arena,
            role=CONFIRM,
            initial=initial,
            harness=harness,
            released=self.released,
            probes=probes,
            aspects=aspects,
            is_valid=lambda aspect: not any(self._failed(draw, self.looks[0].tasks) for draw in aspect.proposals),
            variants={name: v for each in (*probes, *aspects) for name, v in variants_of(each).items()},
            looks=self.looks,
            check=self.check,
            clusters=self.clusters,
        )
        return await measurement.attribute(self.edits, self.settings.level)

    def _holds(self, screened: Screening, tasks: Sequence[str]) -> bool:
        """Whether the seven checks hold on the confirmation tasks too; where not, that stays in the record."""
        record = self.kit.run_checks(proposal_of(screened), tasks)
        if not record.valid:
            reason = f"{', '.join(record.failed)}, on the confirmation tasks"
            self.tried.append({**screening_json(screened), "verdict": "invalid", "reason": reason, "destruction": None})
        return record.valid


def variants_of(found: Found) -> dict[str, Variant]:
    """The variants that its draws are measured under, by name."""
    return {
        name: Variant(name=name, transformation=proposal.transformation, told=False)
        for name, proposal in zip(found.draws, found.proposals, strict=True)
    }
