"""CHASE: Algorithm 1 of "Bad Genius: Counterfactual-Guided Harness Evolution Beyond Task-Specific Shortcuts".

`Chase.evolve` reads line by line like the algorithm; `propose_and_select` is its lines 3 to 8. `D_conf,t` is the role
`conf{t}`; where there are more rounds than confirmation sets they are used in turn, which the record says.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import asdict
from math import comb
from typing import Literal

from pydantic import Field, ValidationInfo, field_validator

from chase.core.agents import MOST_OPERATORS, Agent
from chase.core.errors import UserError
from chase.core.events import (
    Archived,
    Challenged,
    ChallengeSkipped,
    ConfirmationPlanned,
    ConfirmationSkipped,
    Confirmed,
    DraftsReceived,
    PlacebosTested,
)
from chase.methods.arena import Variant
from chase.methods.bounds import Between, EvolutionBounds, ForecastRequest, Rollouts
from chase.methods.confirmation import Confirmation, Confirmer, placebos_of
from chase.methods.contract import Traits, World, confirmation_roles
from chase.methods.counterfactuals import (
    EVALUATED,
    Discovery,
    discover,
    estimate_json,
    most_parts,
    proposal_of,
    screening_json,
)
from chase.methods.desks import MOST_CANDIDATES, Assignment, archive_note
from chase.methods.evaluation import EvaluationOptions
from chase.methods.evolution import EvolutionOutcome, Round, distinct
from chase.methods.options import ExactDecimal
from chase.methods.outlook import Outlook, outlook
from chase.methods.repair import MOST_CELLS
from chase.methods.rounds import EVO, EvolutionState, conclude, propose_and_select
from chase.methods.selection import ArchiveGate, SelectionRule
from chase.protocol.archive import views_digest
from chase.stats.estimates import Estimate
from chase.stats.sequential import POOR_POWER, round_alpha

DISC = "disc"
"""The role on which counterfactuals are searched."""
UNCHANGED = "H_t = H_0"
"""Why there is nothing to challenge."""


class ChaseOptions(EvaluationOptions):
    """`T`, `ε`, `η`, the Challenger's proposals and what goes beyond the paper."""

    rounds: int = Field(ge=1, le=20, description="Rounds, 1 to 20.")
    epsilon: ExactDecimal = Field(description="Most gain destruction of a selected harness, from 0 to 1.")
    eta: ExactDecimal = Field(description="Least gain destruction that confirms a counterfactual, from 0 to 1.")
    proposals: int = Field(default=8, ge=1, le=64, description="Transformations that the Challenger writes a round.")
    reduce: bool = Field(
        default=True, description="Reduce a composition on disc before it is frozen; not in the paper."
    )
    repair: bool = Field(
        default=False, description="The host takes shortcuts out of promising harnesses; not in the paper."
    )
    confirm: bool = Field(
        default=True, description="Confirm on fresh tasks; without it what reaches eta on disc is archived (ablation)."
    )
    confirmation: Literal["paper", "calibrated"] = Field(
        default="paper",
        description="How: paper (gain destruction reaches eta) or calibrated (and a test rejects; not in the paper).",
    )
    alpha: ExactDecimal = Field(
        default="0.05", description="Error of calibrated confirmation over all rounds, from 0 to 1."
    )
    placebos: int = Field(
        default=0, ge=0, le=20, description="No-effect variants that each confirmation is tried on; not in the paper."
    )
    single_operators: bool = Field(default=False, description="Counterfactuals of one operator only (ablation).")
    tell_constraints: bool = Field(
        default=True, description="The Proposer reads of the archive and its constraints; without: ablation."
    )
    enforce_constraints: bool = Field(
        default=True, description="Selection keeps the archive's constraints; without: ablation."
    )

    @field_validator("repair")
    @classmethod
    def _needs_whole_scores(cls, repair: bool, info: ValidationInfo) -> bool:
        if repair and info.data.get("evaluation") != "full":
            raise ValueError("weighs by how much candidates break constraints: it needs evaluation=full")
        return repair


class Chase:
    """Holds every role but the sealed ones, through its arena alone."""

    name = "chase"
    summary = "selection under an archive of confirmed counterfactuals"
    Options = ChaseOptions
    traits = Traits(shortcut_aware=True, worst_case=True)
    agents: tuple[Agent, ...] = ("proposer", "challenger")

    def roles(self, roles: tuple[str, ...], sealed: Collection[str]) -> tuple[str, ...]:
        held = tuple(role for role in roles if role not in sealed)
        if missing := [role for role in (EVO, DISC, "conf1") if role not in held]:
            raise UserError(f"{self.name} needs the task sets {EVO}, {DISC}, conf1, …: there is no {missing[0]}.")
        return held

    def reader(self, role: str) -> Agent | None:
        readers: dict[str, Agent] = {EVO: "proposer", DISC: "challenger"}
        return readers.get(role)

    def forecast(self, request: ForecastRequest[ChaseOptions]) -> EvolutionBounds:
        rounds = request.options.rounds
        return EvolutionBounds(
            rollouts=tuple(_rollouts(request)),
            episodes={
                "proposer": Between(least=rounds, most=rounds),
                "challenger": Between(least=0, most=rounds),
            },
            archived=rounds,
        )

    async def evolve(self, world: World[ChaseOptions]) -> EvolutionOutcome:
        options, arena, h0 = world.options, world.arena, world.initial
        state = EvolutionState.begin(world, options.rounds, repair=options.repair)  # A_0 = {B_rel}
        rule = SelectionRule(gates=(ArchiveGate(epsilon=options.epsilon),) if options.enforce_constraints else ())
        assignment = Assignment(epsilon=options.epsilon if options.tell_constraints else None)
        most_operators = 1 if options.single_operators else MOST_OPERATORS
        confirmer = _confirmer(world)
        planned = _outlook(world)
        for t in range(1, options.rounds + 1):
            record = state.open_round()
            h_t = await propose_and_select(world, state, rule, assignment)
            await arena.means(distinct([h_t, h0]), [world.released], DISC)
            if h_t.harness.hash == h0.harness.hash:
                record["challenger"] = {"skipped": UNCHANGED}
                world.tell(ChallengeSkipped(round=t, reason=UNCHANGED))
                continue
            archived = state.archive.hashes
            drafts = await world.challenger.drafts(
                t, h_t, h0, proposals=options.proposals, evaluated=EVALUATED, archived=archived,
                most_operators=most_operators,
            )  # fmt: skip
            world.tell(DraftsReceived(round=t, count=len(drafts)))
            found = await discover(
                arena, world.kit, drafts, pair=(h_t, h0), role=DISC, tasks=world.tasks(DISC), archived=archived,
                reduce=options.reduce, most_operators=most_operators,
            )  # fmt: skip
            _note_discovery(world, record, found)
            if found.frozen is not None and not options.confirm:
                self._archive_unconfirmed(world, state, t, found)
            elif reason := confirmer.refuses(found):
                record["unconfirmed"] = reason
                world.tell(ConfirmationSkipped(round=t, reason=reason))
            elif found.frozen is not None:
                role = _confirmation_role(world.confirmation_roles, t)
                confirmed = await confirmer.confirm(
                    found.frozen, pair=(h_t, h0), role=role, tasks=world.tasks(role), round=t
                )
                _note_confirmation(world, record, role, confirmed)
                if confirmed.confirmed:
                    self._archive(world, state, t, found, confirmed.estimate)
        return await conclude(world, state, rule, _warnings(world, planned))

    def _archive_unconfirmed(self, world: World[ChaseOptions], state: EvolutionState, t: int, found: Discovery) -> None:
        """An ablation: `Δ̂` on the tasks that it was searched on decides."""
        if found.destruction is not None and found.destruction.value >= float(world.options.eta):
            self._archive(world, state, t, found, None)

    def _archive(
        self, world: World[ChaseOptions], state: EvolutionState, t: int, found: Discovery, confirmed: Estimate | None
    ) -> None:
        """`A_t = A_{t-1} ∪ {B_{b_t}}`; `confirmed` is None where nothing is confirmed (ablation)."""
        if found.frozen is None or found.frozen.firewall is None or found.destruction is None:
            raise UserError("nothing was frozen")
        proposal = proposal_of(found.frozen)
        state.archive = state.archive.with_entry(
            proposal,
            round=t,
            views=views_digest(world.kit.lift(proposal), world.kit.subject),
            firewall=found.frozen.firewall,
            discovery=estimate_json(found.destruction),
            confirmation={} if confirmed is None else estimate_json(confirmed),
        )
        entry = state.archive.entries[-1]
        told = world.options.tell_constraints
        state.variants.append(Variant(name=entry.name, transformation=proposal.transformation, told=told))
        note = archive_note(entry.model_dump(mode="json"), found.frozen.touched)
        for tree in (world.proposer.tree, world.challenger.tree) if told else (world.challenger.tree,):
            tree.add_entry(entry.name, note)
        world.tell(Archived(round=t, name=entry.name, what=proposal.transformation.describe()))


def _confirmation_role(sets: tuple[str, ...], t: int) -> str:
    return sets[(t - 1) % len(sets)]


def _confirmer(world: World[ChaseOptions]) -> Confirmer:
    options = world.options
    return Confirmer(
        arena=world.arena,
        kit=world.kit,
        rule=options.confirmation,
        eta=options.eta,
        rounds=options.rounds,
        alpha=float(options.alpha),
        rollouts=world.rollouts,
        placebos=placebos_of(world.kit.benchmark, options.placebos, world.seed) if options.placebos else (),
        curtailed_by=None if options.evaluation == "full" else world.seed,
    )


def _outlook(world: World[ChaseOptions]) -> Outlook | None:
    """What a calibrated confirmation can be expected to find, told before anything is run."""
    options = world.options
    if options.confirmation != "calibrated" or not options.confirm:
        return None
    role = world.confirmation_roles[0]
    alpha = round_alpha(float(options.alpha), options.rounds)
    found = outlook(len(world.tasks(role)), world.rollouts[role], alpha)
    world.tell(ConfirmationPlanned(**asdict(found)))
    return found


def _warnings(world: World[ChaseOptions], planned: Outlook | None) -> tuple[str, ...]:
    rounds, sets = world.options.rounds, len(world.confirmation_roles)
    found = []
    if rounds > sets:
        found.append(f"{rounds} rounds use {sets} confirmation sets in turn: some more than once")
    if planned is not None and planned.power < POOR_POWER:
        found.append(
            f"calibrated confirmation on {planned.tasks} tasks finds a gain destruction of {100 * planned.effect:g} "
            f"points {100 * planned.power:.0f} % of the time with independent rollouts; {planned.tasks_needed} tasks "
            "would find it 80 % of the time. At this size the paper's rule is recommended: whole runs gained nothing "
            "by the calibrated one, and it archived less of what is real (docs/results.md)"
        )
    return tuple(found)


def _rollouts(request: ForecastRequest[ChaseOptions]) -> Iterator[Rollouts]:
    """At most: every round archives an entry, every candidate is new, and each composition is reduced part by part. At
    least: no candidate is accepted and `H_t` stays `H_0`. In round t there are at most t variants, of which one is new.
    """
    rounds, sets = request.options.rounds, confirmation_roles(request.roles)
    tried = 2 * (EVALUATED + (most_parts(request.operators) if request.options.reduce else 0))
    for t in range(1, rounds + 1):
        stage, first = f"round {t}", t == 1
        known = 1 if first else 2  # H_0; later H_0 and H_{t-1} under the variant that is new
        yield request.cells(stage, EVO, least=int(first), most=known + MOST_CANDIDATES * t)
        yield request.cells(stage, DISC, least=int(first), most=first + 1 + tried)
        if request.options.repair and not first:  # in the first round no constraint can be broken
            yield request.cells(f"repair in round {t}", EVO, least=0, most=MOST_CELLS)
        again = t > len(sets)  # then the set has H_0 as released
        confirmed = 4 - again + 2 * request.options.placebos
        yield request.cells(stage, _confirmation_role(sets, t), least=0, most=confirmed)
    # Under the last entry every H_t is new; under entry s those of the rounds before s are.
    yield request.cells("final selection", EVO, least=0, most=rounds + 1 + comb(rounds - 1, 2))
    if request.options.repair:
        yield request.cells("repair at the end", EVO, least=0, most=MOST_CELLS)


def _note_discovery(world: World[ChaseOptions], record: Round, found: Discovery) -> None:
    proposals = [screening_json(screened) for screened in found.screened]
    evaluated = [{**screening_json(s), "destruction": estimate_json(e)} for s, e in found.evaluated]
    frozen = None if found.frozen is None else screening_json(found.frozen)
    record["challenger"] = {
        "proposals": proposals,
        "evaluated": evaluated,
        "frozen": frozen,
        "destruction": None if found.destruction is None else estimate_json(found.destruction),
    }
    world.tell(Challenged(round=record["round"], proposals=proposals, evaluated=evaluated, frozen=frozen))


def _note_confirmation(world: World[ChaseOptions], record: Round, role: str, found: Confirmation) -> None:
    eta, failed = world.options.eta, found.firewall.failed
    destruction = None if found.estimate is None else estimate_json(found.estimate)
    details = found.details()
    record["confirmation"] = {
        "role": role,
        "destruction": destruction,
        "eta": eta,
        "by_noise": found.by_noise,
        "valid": found.firewall.valid,
        "failed": list(failed),
        "confirmed": found.confirmed,
        **details,
    }
    world.tell(
        Confirmed(
            round=record["round"],
            role=role,
            destruction=destruction,
            eta=eta,
            by_noise=found.by_noise,
            failed=tuple(failed),
            confirmed=found.confirmed,
            test=details.get("test"),
            stopped=details.get("stopped"),
        )
    )
    if placebos := details.get("placebos"):
        world.tell(PlacebosTested(round=record["round"], role=role, placebos=placebos))
