"""The audit of a given harness: search for counterfactuals in several rounds, confirm on fresh tasks, judge.

All search rounds end before any confirmation rollout. Search is on `evo ∪ disc`, confirmation on all other unsealed
tasks; the sealed ones are added only where the caller holds an opening.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any

from chase.agents.history import HistoryWriter
from chase.agents.records import attach_agents
from chase.core.agents import Draft
from chase.core.errors import UserError
from chase.core.events import (
    AuditAttributionStarted,
    AuditConfirmationStarted,
    AuditSearched,
    AuditSearchStarted,
    Tell,
)
from chase.core.interfaces import Benchmark, Challenger
from chase.core.keyed import canonical_json
from chase.core.values import Json
from chase.engine.control import check_control
from chase.engine.evaluator import Evaluator, jobs_of, unseal
from chase.engine.rollout import Contestant
from chase.engine.runner import Pace, Progress, Runner
from chase.engine.sandbox import Sandbox
from chase.harness.limits import check_for_benchmark
from chase.harness.spec import Harness
from chase.methods.arena import Entrant, StoreArena, Variant, as_contender
from chase.methods.attribution import MOST_VARIANTS, Attribution, Edit, attribute, edits_of, further_harnesses
from chase.methods.audit_findings import Finding, Found, Judged, Pair, judge_pair
from chase.methods.counterfactuals import discover, estimate_json, proposal_of, screening_json
from chase.methods.desks import ChallengerDesk, archive_note
from chase.methods.journal import Journal
from chase.methods.reach import Reach
from chase.methods.run import Design
from chase.models.chat import ChatModel
from chase.protocol.kit import ProtocolKit
from chase.protocol.screening import Screening, screen_draft
from chase.stats.estimates import Estimate
from chase.store.records import Use
from chase.store.store import Store

SEARCH, CONFIRM = "search", "confirm"
SEARCH_ROLES = ("evo", "disc")


@dataclass(frozen=True, kw_only=True)
class SearchSettings:
    """How hard an audit searches."""

    rounds: int = 3
    proposals: int = 8
    evaluated: int = 2
    """Proposals evaluated in a round."""
    reduce: bool = True
    level: float = 0.95


@dataclass(frozen=True, kw_only=True)
class AuditOutcome(Judged[Finding]):
    """An audit's result."""

    tried: Sequence[Mapping[str, Json]]
    """Everything that was searched, with its verdict and, where evaluated, its `Δ̂`."""
    search_tasks: int
    confirm_tasks: int
    level: float
    attribution: Attribution | None = None
    """Which edit carries what, where that was asked for."""

    def to_json(self) -> dict[str, Json]:
        return {
            **super().to_json(),
            "tried": list(self.tried),
            "search_tasks": self.search_tasks,
            "confirm_tasks": self.confirm_tasks,
            "level": self.level,
            "attribution": None if self.attribution is None else self.attribution.to_json(),
        }


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
    """The edits that gain and destruction are attributed to; None: that is left out."""
    tried: list[dict[str, Json]] = field(default_factory=list)

    @cached_property
    def reach(self) -> Reach:
        """What of a transformation can touch the pair."""
        pair = (self.harness, self.initial)
        return Reach(benchmark=self.kit.benchmark, arena=self.arena, pair=pair, released=self.released)

    async def run(self, given: Sequence[Draft] = ()) -> AuditOutcome:
        """Search, or take what was given; then confirm all of it at once, and judge."""
        if self.harness.harness.hash == self.initial.harness.hash:
            raise UserError("the harness and its baseline are the same: there is no gain to audit.")
        found = await self._given(given) if given else await self._search()
        outcome = await self._confirm(self._unpadded(_distinct(found)), searched=not given)
        return outcome if self.edits is None else await self._attributed(outcome, self.edits)

    async def _search(self) -> list[Found]:
        pair = (self.harness, self.initial)
        tasks = self.arena.tasks(SEARCH)
        await self.arena.means(pair, [self.released], SEARCH)
        found: list[Found] = []
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

    def _unpadded(self, found: Sequence[Found]) -> list[Found]:
        """What was found without operators that add nothing; what is left out stays in the record with the reason."""
        kept: list[Found] = []
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
        return [(screened, None) for screened in kept]

    def _accepted(self, draft: Draft) -> Screening:
        screened = screen_draft(self.kit, draft, archived=())
        if screened.verdict != "valid":
            raise UserError(f"a given transformation is {screened.verdict}: {screened.reason}")
        return screened

    async def _confirm(self, found: Sequence[Found], *, searched: bool) -> AuditOutcome:
        tasks = self.arena.tasks(CONFIRM)
        self.tell(AuditConfirmationStarted(transformations=len(found), tasks=len(tasks)))
        valid = [(s, e) for s, e in found if self._holds(s, tasks)]
        names = [f"c{place}" for place in range(1, len(valid) + 1)]
        variants = [
            Variant(name=name, transformation=proposal_of(s).transformation, told=False)
            for name, (s, _) in zip(names, valid, strict=True)
        ]
        means = await self.arena.means([self.initial, self.harness], [self.released, *variants], CONFIRM)
        pair = Pair(means=means, harness=self.harness.name, baseline=self.initial.name)
        judged = judge_pair(pair, dict(zip(names, valid, strict=True)), seed=self.seed, level=self.settings.level)
        return AuditOutcome(
            **vars(judged),
            tried=self.tried,
            search_tasks=len(self.arena.tasks(SEARCH)) if searched else 0,
            confirm_tasks=len(tasks),
            level=self.settings.level,
        )

    async def _attributed(self, outcome: AuditOutcome, edits: Sequence[Edit]) -> AuditOutcome:
        """The outcome with what each edit carries, under the counterfactuals that count and destroy most."""
        counted = [finding for finding in outcome.findings if finding.tested.counts][:MOST_VARIANTS]
        variants = [
            Variant(name=f.name, transformation=proposal_of(f.screened).transformation, told=False) for f in counted
        ]
        initial, harness = as_contender(self.initial), as_contender(self.harness)
        further = further_harnesses(initial.harness, harness.harness, edits)
        self.tell(AuditAttributionStarted(edits=len(edits), harnesses=len(further), variants=len(variants)))
        found = await attribute(
            self.arena, CONFIRM, edits, initial=initial, harness=harness, released=self.released,
            variants=variants, level=self.settings.level, cleared=outcome.verdict.word == "supported",
        )  # fmt: skip
        return replace(outcome, attribution=found)

    def _holds(self, screened: Screening, tasks: Sequence[str]) -> bool:
        """Whether the seven checks hold on the confirmation tasks too; where not, that stays in the record."""
        record = self.kit.run_checks(proposal_of(screened), tasks)
        if not record.valid:
            reason = f"{', '.join(record.failed)}, on the confirmation tasks"
            self.tried.append({**screening_json(screened), "verdict": "invalid", "reason": reason, "destruction": None})
        return record.valid


def _distinct(found: Sequence[Found]) -> list[Found]:
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
    attribute: bool = False
    """Whether gain and destruction are attributed to edits. Decides nothing else, so it is no part of the identity."""

    @property
    def confirmation_roles(self) -> list[str]:
        """The task sets that findings are confirmed on."""
        return [*fresh_roles(self.benchmark), *(() if self.use_cert is None else self.benchmark.sealed)]

    def edits(self) -> list[Edit]:
        """What they are attributed to."""
        baseline, harness = self.harnesses
        return edits_of(baseline, harness, lambda mixture: check_mixture(mixture, baseline, harness, self.benchmark))

    @property
    def harnesses(self) -> tuple[Harness, Harness]:
        """Baseline and harness; agents that play by themselves are none."""
        if not isinstance(self.baseline, Harness) or not isinstance(self.harness, Harness):
            raise UserError("an agent of your own has no edits that could be told apart: leave --attribute out.")
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
        edits=plan.edits() if plan.attribute else None,
    )
    return await audit.run(plan.given)
