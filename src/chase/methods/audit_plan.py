"""An audit as a run: everything that decides its result, and how it is carried out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from chase.agents.history import HistoryWriter
from chase.agents.records import attach_agents
from chase.core.agents import Draft
from chase.core.errors import UserError
from chase.core.events import Tell
from chase.core.interfaces import Benchmark, Challenger, HasClusters
from chase.core.values import Json
from chase.engine.control import check_control
from chase.engine.evaluator import Evaluator, jobs_of, unseal
from chase.engine.rollout import Contestant
from chase.engine.runner import Pace, Progress, Runner
from chase.engine.sandbox import Sandbox
from chase.harness.limits import check_for_benchmark
from chase.harness.spec import Harness
from chase.methods.arena import Entrant, StoreArena, pooled
from chase.methods.audit import Audit, AuditOutcome
from chase.methods.audit_search import CONFIRM, SEARCH, SEARCH_ROLES, SearchSettings
from chase.methods.desks import ChallengerDesk
from chase.methods.edits import Edit, edits_of
from chase.methods.journal import Journal
from chase.methods.run import Design
from chase.methods.sensitivity import sensitivity
from chase.models.chat import ChatModel
from chase.stats.detectable import Detectable
from chase.stats.estimates import INDEPENDENT, Clusters
from chase.store.records import Use
from chase.store.store import Store


@dataclass(frozen=True, kw_only=True)
class AuditPlan(Design):
    """Everything that decides an audit's result."""

    baseline: Contestant
    harness: Contestant
    challenger: Challenger
    settings: SearchSettings
    confirm_size: int | None = None
    use_cert: str | None = None
    """Reason for using the sealed tasks for confirmation too."""
    given: tuple[Draft, ...] = ()

    @property
    def confirmation_roles(self) -> list[str]:
        """The task sets that findings are confirmed on."""
        return [*fresh_roles(self.benchmark), *(() if self.use_cert is None else self.benchmark.sealed)]

    @property
    def clusters(self) -> Clusters:
        """Of the benchmark's tasks, as far as it knows them."""
        return self.benchmark.clusters() if isinstance(self.benchmark, HasClusters) else INDEPENDENT

    @property
    def confirmation_rollouts(self) -> int:
        """Of a confirmation task: the fewest of any set."""
        return min(self.rollouts[role] for role in self.confirmation_roles)

    def sensitivity(self) -> Detectable:
        """The gain and the gain destruction that the confirmation tasks can show."""
        held = {role: self.benchmark.tasks(role) for role in self.confirmation_roles}
        tasks = [task for some in pooled(held, CONFIRM, self.confirm_size).values() for task in some]
        return sensitivity(tasks, self.clusters, level=self.settings.level, rollouts=self.confirmation_rollouts)

    @property
    def by_edit(self) -> bool:
        """The harness is judged by its edits: both are harnesses, and there is a battery."""
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
        clusters=plan.clusters,
        rollouts=plan.confirmation_rollouts,
    )
    return await audit.run(plan.given)
