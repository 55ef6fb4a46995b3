"""The audit of a given harness: the battery on fresh tasks, then a search for what the battery cannot show, a verdict.

The battery is fixed, so it needs no search tasks; where it settles the verdict nothing is searched for. Search is on
`evo ∪ disc` and never sees a confirmation rollout; confirmation is on all other unsealed tasks, and on the sealed ones
only where the caller holds an opening.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any

from chase.agents.history import RELEASED, HistoryWriter
from chase.agents.records import attach_agents
from chase.core.agents import Draft
from chase.core.errors import UserError
from chase.core.events import (
    AuditAttributionStarted,
    AuditBatteryStarted,
    AuditConfirmationStarted,
    AuditSearched,
    AuditSearchStarted,
    Tell,
)
from chase.core.interfaces import Benchmark, Challenger, HasClusters
from chase.core.keyed import canonical_json, sorted_by_key
from chase.core.values import Json
from chase.engine.control import check_control
from chase.engine.evaluator import Evaluator, jobs_of, unseal
from chase.engine.rollout import Contestant
from chase.engine.runner import Pace, Progress, Runner
from chase.engine.sandbox import Sandbox
from chase.harness.limits import check_for_benchmark
from chase.harness.spec import Harness
from chase.methods.arena import Entrant, StoreArena, Variant, as_contender
from chase.methods.attribution import (
    Attribution,
    Check,
    Edit,
    EditMeasurement,
    Look,
    edits_of,
    further_harnesses,
    in_words,
)
from chase.methods.audit_findings import Found, Judged, Pair, judge_pair, search_found
from chase.methods.counterfactuals import discover, estimate_json, proposal_of, screening_json
from chase.methods.desks import ChallengerDesk, archive_note
from chase.methods.journal import Journal
from chase.methods.reach import Reach
from chase.methods.run import Design
from chase.methods.verdict import Source
from chase.models.chat import ChatModel
from chase.protocol.battery import Battery, Probe, battery_of
from chase.protocol.kit import ProtocolKit
from chase.protocol.screening import Screening, screen_draft
from chase.stats.estimates import INDEPENDENT, Clusters, Estimate
from chase.store.records import Use
from chase.store.store import Store

SEARCH, CONFIRM = "search", "confirm"
Searched = tuple[Screening, Estimate | None]
"""A transformation with its `Δ̂` on the search tasks; None where it was given."""
SEARCH_ROLES = ("evo", "disc")


@dataclass(frozen=True, kw_only=True)
class SearchSettings:
    """What an audit measures and how hard it searches."""

    rounds: int = 1
    """0: the battery alone."""
    proposals: int = 8
    evaluated: int = 2
    """Proposals evaluated in a round."""
    reduce: bool = True
    battery: bool = True
    whole: bool = False
    """The harness as a whole: its edits are not measured."""
    anyway: bool = False
    """Go on where the first tasks show a floor or a ceiling."""
    level: float = 0.95


FIRST_LOOK = 4
"""The first look has one in so many of the fresh tasks."""
LEAST_LOOK = 24
"""Tasks of a first look; with fewer than twice as many there is one look."""
EARLY = 0.2
"""The share of the error that may be spent on the first look."""


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
    attribution: Attribution | None = None
    """Which edit carries what; None for the whole harness."""

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
    tried: list[dict[str, Json]] = field(default_factory=list)

    @cached_property
    def reach(self) -> Reach:
        """What of a transformation can touch the pair."""
        pair = (self.harness, self.initial)
        return Reach(benchmark=self.kit.benchmark, arena=self.arena, pair=pair, released=self.released)

    async def run(self, given: Sequence[Draft] = ()) -> AuditOutcome:
        """The battery first; then what was given, or, where the verdict is open, what a search finds; then the word."""
        if self.harness.harness.hash == self.initial.harness.hash:
            raise UserError("the harness and its baseline are the same: there is no gain to audit.")
        if (stopped := await self._without_room()) is not None:
            return stopped
        probes = await self._probes()
        early = await self._judged(probes, self.looks[0]) if probes and len(self.looks) > 1 else None
        if early is not None and early.verdict.word == "not supported" and self.edits is None and not given:
            return early
        attribution = await self._attributed(probes)
        found = await self._given(given) if given else await self._search_unless(probes, attribution)
        self.tell(AuditConfirmationStarted(transformations=len(found), tasks=len(self.tasks)))
        return await self._judged(
            [*probes, *found], self.all_tasks, attribution, searched=bool(self.tried) and not given
        )

    @cached_property
    def tasks(self) -> tuple[str, ...]:
        """The fresh tasks, in an order that the seed decides."""
        return tuple(sorted_by_key(self.arena.tasks(CONFIRM), "looks", self.seed))

    @cached_property
    def all_tasks(self) -> Look:
        return Look(tasks=self.tasks, level=self.settings.level)

    @cached_property
    def looks(self) -> tuple[Look, ...]:
        """A first part of the tasks with a fifth of the error, then all with the rest; few tasks: all at once."""
        first = len(self.tasks) // FIRST_LOOK
        if first < LEAST_LOOK:
            return (self.all_tasks,)
        error = 1 - self.settings.level
        return (
            Look(tasks=self.tasks[:first], level=1 - EARLY * error),
            Look(tasks=self.tasks, level=1 - (1 - EARLY) * error),
        )

    @cached_property
    def battery(self) -> Battery | None:
        return battery_of(self.kit, seed=self.seed) if self.settings.battery else None

    async def _without_room(self) -> AuditOutcome | None:
        """The outcome where the first tasks show that no gain could be told here; None where one could."""
        look = self.looks[0]
        if self.settings.anyway or len(self.looks) == 1:
            return None
        base = await self.arena.means([self.initial], [self.released], CONFIRM, look.tasks)
        scores = base[self.initial.name, RELEASED]
        if 0 < sum(scores.values()) < len(scores):
            return None
        found = await self._judged([], look)
        stopped = replace(found.verdict, word="inconclusive")
        if found.verdict.reason.endswith(("(a ceiling)", "(a floor)")):
            return replace(found, verdict=stopped, tasks_needed=None)
        return None

    async def _probes(self) -> list[Found]:
        """The battery's probes that can touch the pair and are valid on the fresh tasks."""
        if self.battery is None:
            return []
        self.tell(
            AuditBatteryStarted(probes=len(self.battery.probes), covers=self.battery.covers, tasks=len(self.tasks))
        )
        return [
            found
            for found in map(self._battery_part, self.battery.probes)
            if all(self.kit.run_checks(proposal, self.tasks).valid for proposal in found.proposals)
        ]

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
        """What a search finds. Where the battery settles it against the gain, nothing is searched for."""
        if not self.settings.rounds:
            return []
        known = await self._judged(probes, self.all_tasks, attribution)
        if known.verdict.word in ("not supported", "no gain"):
            return []
        return self._valid(self._unpadded(_distinct(await self._search())), "search")

    async def _search(self) -> list[Searched]:
        pair = (self.harness, self.initial)
        tasks = self.arena.tasks(SEARCH)
        await self.arena.means(pair, [self.released], SEARCH)
        found: list[Searched] = []
        seen: set[str] = set()
        for t in range(1, self.settings.rounds + 1):
            self.tell(AuditSearchStarted(round=t))
            drafts = await self.desk.drafts(
                t, self.harness, self.initial, proposals=self.settings.proposals,
                evaluated=self.settings.evaluated, archived=seen,
            )  # fmt: skip
            drafts, idle = await self.reach.parted_drafts(drafts, self.kit, SEARCH)
            discovery = await discover(
                self.arena, self.kit, drafts, pair=pair, role=SEARCH, tasks=tasks, archived=frozenset(seen),
                count=self.settings.evaluated, reduce=self.settings.reduce,
            )  # fmt: skip
            evaluated = {proposal_of(s).transformation.hash: e for s, e in discovery.evaluated}
            tried = [screening_json(screened) for screened in (*discovery.screened, *idle)]
            drafted = {record["hash"] for record in tried}
            reduced = (screening_json(screened) for screened, _ in discovery.evaluated)
            tried += [record for record in reduced if record["hash"] not in drafted]
            for record in tried:
                record["destruction"] = (
                    estimate_json(evaluated[record["hash"]]) if record["hash"] in evaluated else None
                )
            self.tried += tried
            self.tell(AuditSearched(round=t, tried=tried))
            seen |= evaluated.keys()
            if discovery.frozen is not None and discovery.destruction is not None:
                found.append((discovery.frozen, discovery.destruction))
                note = {"name": f"c{t}", "round": t, "transformation": proposal_of(discovery.frozen).to_json()}
                self.desk.tree.add_entry(f"c{t}", archive_note(note, discovery.frozen.touched))
        return found

    def _unpadded(self, found: Sequence[Searched]) -> list[Searched]:
        """What was found without operators that add nothing; what is left out stays in the record with the reason."""
        kept: list[Searched] = []
        for screened, searched in found:
            shorter = next((s for s, e in found if _pads(screened, searched, s, e)), None)
            if shorter is None:
                kept.append((screened, searched))
                continue
            transformation, what = proposal_of(screened).transformation, proposal_of(shorter).transformation.describe()
            for record in self.tried:
                if record["hash"] == transformation.hash and record["destruction"]:
                    record["reason"] = f"not taken to confirmation: it destroys no more than {what} alone"
        return kept

    async def _given(self, given: Sequence[Draft]) -> list[Found]:
        """What was given and can touch the pair; the rest stays in the record with the reason."""
        kept, idle = await self.reach.parted([self._accepted(draft) for draft in given], CONFIRM)
        self.tried += [{**screening_json(screened), "destruction": None} for screened in idle]
        return self._valid(_distinct([(screened, None) for screened in kept]), "given")

    def _accepted(self, draft: Draft) -> Screening:
        screened = screen_draft(self.kit, draft, archived=())
        if screened.verdict != "valid":
            raise UserError(f"a given transformation is {screened.verdict}: {screened.reason}")
        return screened

    def _valid(self, found: Sequence[Searched], source: Source) -> list[Found]:
        """Those for which the seven checks hold on the confirmation tasks too, named in their order."""
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
            level=self.settings.level,
            battery=self.battery,
            attribution=attribution,
        )

    async def _attributed(self, probes: Sequence[Found]) -> Attribution | None:
        """The harness by its edits, under the probes."""
        if self.edits is None or not probes or self.battery is None:
            return None
        initial, harness = as_contender(self.initial), as_contender(self.harness)
        aspects = [self._battery_part(aspect) for aspect in self.battery.aspects]
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


def _distinct(found: Sequence[Searched]) -> list[Searched]:
    """Each transformation once."""
    return list({proposal_of(s).transformation.hash: (s, e) for s, e in reversed(found)}.values())[::-1]


def _pads(longer: Screening, its: Estimate | None, shorter: Screening, other: Estimate | None) -> bool:
    """Whether a transformation has all operators of another and more, and destroyed no more in the search."""
    if its is None or other is None or its.value > other.value:
        return False
    return _operators(shorter) < _operators(longer)


def _operators(screened: Screening) -> Counter[str]:
    """The operators with their arguments; what they draw does not make them others."""
    operators = proposal_of(screened).transformation.operators
    return Counter(canonical_json({"name": o.name, "arguments": dict(o.arguments)}) for o in operators)


@dataclass(frozen=True, kw_only=True)
class AuditPlan(Design):
    """What an audit is: everything that decides its result."""

    baseline: Contestant
    harness: Contestant
    challenger: Challenger
    settings: SearchSettings
    confirm_size: int | None = None
    use_cert: str | None = None
    """Why the sealed tasks are used for confirmation too."""
    given: tuple[Draft, ...] = ()

    @property
    def confirmation_roles(self) -> list[str]:
        """The task sets that findings are confirmed on."""
        return [*fresh_roles(self.benchmark), *(() if self.use_cert is None else self.benchmark.sealed)]

    @property
    def by_edit(self) -> bool:
        """Whether the harness is judged by its edits: both are harnesses, and there is a battery."""
        both = isinstance(self.baseline, Harness) and isinstance(self.harness, Harness)
        return both and self.settings.battery and not self.settings.whole

    def edits(self) -> list[Edit]:
        """The edits that the gain is attributed to."""
        baseline, harness = self.harnesses
        return edits_of(baseline, harness, self.check)

    def check(self, mixture: Harness) -> None:
        """Refuse (`UserError`) a mixture of edits that the benchmark cannot run."""
        check_mixture(mixture, *self.harnesses, self.benchmark)

    @property
    def harnesses(self) -> tuple[Harness, Harness]:
        """Baseline and harness; agents that play by themselves are none."""
        if not isinstance(self.baseline, Harness) or not isinstance(self.harness, Harness):
            raise UserError("an agent of your own has no edits that could be told apart.")
        return self.baseline, self.harness

    def describe(self, fingerprint: str) -> dict[str, Json]:
        """The audit's identity; `fingerprint` is the connected model's."""
        return {
            "command": "audit",
            "benchmark": self.benchmark.name,
            "content_hash": self.benchmark.content_hash,
            "model_fingerprint": fingerprint,
            "baseline": self.baseline.hash,
            "harness": self.harness.hash,
            "challenger": self.challenger.name,
            **asdict(self.settings),
            "rollouts": dict(self.rollouts),
            "tasks": self.sizes,
            "seed": self.seed,
            "confirm_size": self.confirm_size,
            "use_cert": self.use_cert,
            "given": [dict(draft.form) for draft in self.given],
        }


def check_mixture(mixture: Harness, baseline: Harness, harness: Harness, benchmark: Benchmark[Any]) -> None:
    """Refuse (`UserError`) what was made from parts of two harnesses where the benchmark cannot run it."""
    check_for_benchmark(mixture, benchmark)
    if mixture.control_source not in (None, baseline.control_source, harness.control_source):
        check_control(mixture.control_source)


def fresh_roles(benchmark: Benchmark[Any]) -> list[str]:
    """The task sets for confirmation: those that are neither searched on nor sealed."""
    return [role for role in benchmark.roles if role not in (*SEARCH_ROLES, *benchmark.sealed)]


def pooled_arena(
    evaluator: Evaluator, confirm: Sequence[str], confirm_size: int | None, trees: Mapping[str, HistoryWriter]
) -> StoreArena:
    """An arena with two roles: `search`, and `confirm` with all tasks of some sets or so many of them."""
    sizes = {} if confirm_size is None else {CONFIRM: confirm_size}
    return StoreArena(evaluator, trees, {SEARCH: SEARCH_ROLES, CONFIRM: confirm}, sizes)


async def audit_harness(
    plan: AuditPlan, *, run: str, store: Store, model: ChatModel, sandbox: Sandbox, tell: Tell,
    progress: Progress | None = None, pace: Pace | None = None,
) -> AuditOutcome:  # fmt: skip
    """Carry out an audit under a run id that the store knows. Run again, it goes on where it stopped."""
    confirm = plan.confirmation_roles
    use = Use(run=run, method="audit")
    runner = Runner(model=model, store=store, sandbox=sandbox, use=use, pace=pace, progress=progress)
    opening = None
    if plan.use_cert is not None:
        fixed = {"harness": plan.harness.hash, "baseline": plan.baseline.hash}
        pairs = [(harness, plan.released.transformation) for harness in (plan.baseline, plan.harness)]
        tasks = [task for role in confirm for task in plan.benchmark.tasks(role)]
        jobs = jobs_of(plan.benchmark, pairs, tasks, 1, plan.seed)
        opening = unseal(store, run, fixed, plan.use_cert, room=runner.room(jobs))
    evaluator = plan.evaluator(runner, store, (*SEARCH_ROLES, *confirm), opening)
    journal = Journal(store.workspace, run)
    hidden = plan.benchmark.private_paths
    attach_agents((plan.challenger,), store, use, journal.path, tell, model.meter, hidden)
    tree = HistoryWriter(journal.path / "history" / "challenger", records=False)
    audit = Audit(
        initial=Entrant(name="H0", harness=plan.baseline),
        harness=Entrant(name="H", harness=plan.harness),
        arena=pooled_arena(evaluator, confirm, plan.confirm_size, {SEARCH: tree}),
        desk=ChallengerDesk(challenger=plan.challenger, tree=tree, journal=journal, kit=plan.kit, seed=plan.seed),
        kit=plan.kit,
        released=plan.released,
        settings=plan.settings,
        tell=tell,
        seed=plan.seed,
        edits=plan.edits() if plan.by_edit else None,
        check=plan.check if plan.by_edit else lambda mixture: None,
        clusters=plan.benchmark.clusters() if isinstance(plan.benchmark, HasClusters) else INDEPENDENT,
    )
    return await audit.run(plan.given)
