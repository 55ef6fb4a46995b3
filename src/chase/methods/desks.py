"""Between a method and its agents: contexts go out, what comes back is parsed as data and held to the rules."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from chase.agents.history import HistoryWriter
from chase.core.agents import (
    CANDIDATE_TRACKS,
    MOST_OPERATORS,
    Candidate,
    CandidateTrack,
    ChallengerContext,
    Draft,
    EditSpace,
    ProposerContext,
    Refusal,
)
from chase.core.errors import UserError
from chase.core.interfaces import Benchmark, Challenger, Proposer
from chase.core.keyed import key_bits
from chase.core.values import Json
from chase.harness.diff import diff_harnesses
from chase.harness.folder import parse_files
from chase.harness.spec import Harness
from chase.methods.arena import Contender, Entrant
from chase.methods.journal import Journal
from chase.methods.selection import Gate, Submitted
from chase.protocol.kit import ProtocolKit
from chase.protocol.screening import parse_draft

MOST_CANDIDATES = len(CANDIDATE_TRACKS)
"""Of a round with a candidate of each track."""
FURTHER_TRIES = 2
"""Messages that an agent gets back in a round about answers that cannot be used."""
LONGEST_REFUSAL = 1000
"""Characters: a refusal quotes what an agent wrote."""

Check = Callable[[Harness, str], None]
"""Refuses (`UserError`) a harness that the benchmark cannot run: limits, answer form, control code."""


@dataclass(frozen=True, kw_only=True)
class Assignment:
    """What a method asks of its Proposer in a round."""

    epsilon: str | None = None
    """The tolerance of the archive's constraints; None: there are none."""
    tracks: tuple[CandidateTrack, ...] = CANDIDATE_TRACKS
    """One candidate of each; empty: so many free ones. With the integrated track the Proposer does R³."""
    candidates: int = MOST_CANDIDATES
    """Free candidates that are due."""
    briefs: Mapping[str, Json] = field(default_factory=dict)
    """What the Proposer is told beside the history, by name."""

    def __post_init__(self) -> None:
        if "integrated" in self.tracks and set(self.tracks) != set(CANDIDATE_TRACKS):
            raise ValueError("an integrated candidate is made of a structural and a guidance one: name all three")
        if not self.tracks and self.candidates < 1:
            raise ValueError("without tracks at least one candidate is due")

    @property
    def due(self) -> int:
        return len(self.tracks) or self.candidates


@dataclass(frozen=True, kw_only=True)
class _Round:
    """One round's asking, as every answer of it is examined."""

    number: int
    current: Contender
    initial: Contender
    assignment: Assignment
    gates: Sequence[Gate]

    def name_of(self, place: int, track: str | None) -> str:
        """A candidate's name: its track's, or its number's."""
        return f"r{self.number}-{track if track in self.assignment.tracks else place + 1}"

    def tie_order(self, candidate: Candidate) -> int:
        """Ties go to the structural, then the guidance, then the integrated candidate; free ones as they came."""
        tracks = self.assignment.tracks
        return CANDIDATE_TRACKS.index(candidate.track) if candidate.track in tracks else len(CANDIDATE_TRACKS)


@dataclass(frozen=True, kw_only=True)
class ProposerDesk:
    """Asks the Proposer once a round."""

    proposer: Proposer
    tree: HistoryWriter
    journal: Journal
    check: Check
    benchmark: Benchmark[Any]
    """Host-side: agents get plain data made from it."""
    edit_space: EditSpace
    seed: int
    evaluated: dict[str, str] = field(default_factory=dict)
    """Hash → name of every candidate so far."""
    earlier: dict[str, Harness] = field(default_factory=dict)
    """Name → harness of the same, as gates compare them."""

    async def candidates(
        self, round: int, current: Contender, initial: Contender, assignment: Assignment, gates: Sequence[Gate] = ()
    ) -> tuple[list[Contender], list[str]]:
        """The candidates that may be evaluated, in the order of ties, and why others may not."""
        asked = _Round(number=round, current=current, initial=initial, assignment=assignment, gates=gates)
        contracts = {gate.name: gate.contract for gate in gates if gate.contract is not None}
        for name, contract in contracts.items():
            self.tree.add_contract(name, contract)
        with self.tree.read_only() as root:
            context = ProposerContext(
                history=root,
                round=round,
                current=current.name,
                initial=initial.name,
                benchmark=self.benchmark.base,
                epsilon=assignment.epsilon,
                edit_space=self.edit_space,
                observables={observable.name: observable for observable in self.benchmark.observables},
                placeholders=self.benchmark.placeholders,
                bounds=self.benchmark.bounds,
                answer_form=self.benchmark.answer_form,
                tools=tuple(self.benchmark.tools),
                interface=self.benchmark.interface,
                limits={**self.benchmark.limits.group_calls, "total": self.benchmark.limits.total_calls},
                seed=key_bits("propose", self.seed) & 0x7FFFFFFF,
                tracks=assignment.tracks,
                candidates=assignment.due,
                briefs=assignment.briefs,
                contracts=contracts,
            )
            answers = await self.journal.candidates(round, lambda: self._ask(context, asked))
        accepted, refused = self._examine(answers, asked)
        for named in accepted:
            self.evaluated.setdefault(named.harness.hash, named.name)
            self.earlier.setdefault(named.name, named.harness)
        told = list(dict.fromkeys(map(str, refused)))
        return accepted, told if answers else ["the whole round: the Proposer handed in no candidate"]

    async def _ask(self, context: ProposerContext, asked: _Round) -> list[Candidate]:
        """What the Proposer answers, refused answers included: each gets a message back, and it may try again."""
        answers, told_up_to = list(await self.proposer.propose(deepcopy(context))), 0
        for _ in range(FURTHER_TRIES):
            if not all(isinstance(answer, Candidate) for answer in answers):
                break  # no plain data: the journal refuses it
            accepted, refused = self._examine(answers, asked)
            if asked.assignment.tracks:
                standing = _standing(refused, accepted)
            else:  # one number is as good as another: what counts is how many are missing
                missing = len(accepted) < asked.assignment.due
                standing = [refusal for refusal in refused if missing and refusal.place >= told_up_to]
            told = standing + self._repeats(accepted, len(answers))
            more = await self.proposer.revise(deepcopy(context), told) if told else ()
            if not more:
                break
            told_up_to = len(answers)
            answers += more
        return answers

    def _examine(self, answers: Sequence[Candidate], asked: _Round) -> tuple[list[Contender], list[Refusal]]:
        accepted: list[Contender] = []
        refused: list[Refusal] = []
        for place, candidate in sorted(enumerate(answers), key=lambda answer: asked.tie_order(answer[1])):
            name = asked.name_of(place, candidate.track)
            try:
                harness = self._parsed(candidate, asked, name)
                self._admit(name, harness, candidate, accepted, asked)
                if harness.hash not in self.evaluated:
                    accepted = self._without_repetition(accepted, name, asked.assignment)
                _check_place(name, harness, accepted, asked)
            except UserError as error:
                refused.append(Refusal(place=place, name=name, reason=str(error)[:LONGEST_REFUSAL]))
                continue
            accepted.append(Contender(name=name, harness=harness, record=candidate.record))
        return accepted, refused

    def _admit(
        self, name: str, harness: Harness, candidate: Candidate, accepted: Sequence[Contender], asked: _Round
    ) -> None:
        submitted = Submitted(
            name=name,
            harness=harness,
            current=asked.current.harness,
            track=candidate.track,
            record=candidate.record,
            accepted={other.name.partition("-")[2]: other.harness for other in accepted},
            evaluated=self.earlier,
        )
        for gate in asked.gates:
            gate.admit(submitted)

    def _without_repetition(self, accepted: list[Contender], name: str, assignment: Assignment) -> list[Contender]:
        """What was accepted, as something new finds it: it takes the place of a repetition, on its track if it has one.

        A free candidate does so where there is no other place.
        """
        repeated = [a for a in accepted if a.harness.hash in self.evaluated]
        if assignment.tracks:
            replaced = [a for a in repeated if a.name == name]
        else:
            replaced = repeated[-1:] if len(accepted) == assignment.due else []
        return [a for a in accepted if a not in replaced]

    def _repeats(self, accepted: Sequence[Contender], place: int) -> list[Refusal]:
        """Candidates that were evaluated in an earlier round. They may stand: what they cost is paid."""
        return [
            Refusal(
                place=place,
                name=named.name,
                reason=f"the same as {self.evaluated[named.harness.hash]}, which was evaluated: write another",
            )
            for named in accepted
            if named.harness.hash in self.evaluated
        ]

    def _parsed(self, candidate: Candidate, asked: _Round, name: str) -> Harness:
        tracks = asked.assignment.tracks
        if candidate.track not in (None, *tracks):
            due = f"is none of {', '.join(tracks)}" if tracks else "is not asked for: candidates are free"
            raise UserError(f"track={candidate.track!r} {due}")
        if not isinstance(candidate.files, Mapping) or any(type(text) is not str for text in candidate.files.values()):
            raise UserError("files are not texts by name")
        harness = parse_files(candidate.files, where=name)
        diff = diff_harnesses(asked.current.harness, harness)
        if candidate.track in ("structural", "guidance") and diff.tracks_changed - {candidate.track}:
            raise UserError(f"a {candidate.track} candidate changes the other track")
        for change in diff.changes:
            if not self.edit_space.allows(change.key):
                raise UserError(f"{change.key} is outside the edit space '{self.edit_space.name}'")
        self.check(harness, name)
        return harness


def _standing(refused: Sequence[Refusal], accepted: Sequence[Contender]) -> list[Refusal]:
    """The last refusal of each candidate that no later answer has replaced."""
    names = {named.name for named in accepted}
    return list({refusal.name: refusal for refusal in refused if refusal.name not in names}.values())


def _check_place(name: str, harness: Harness, accepted: list[Contender], asked: _Round) -> None:
    """A harness is in the pool once, under a name of its own, and a round has as many candidates as are due."""
    if any(harness.hash == other.harness.hash for other in (asked.initial, asked.current, *accepted)):
        raise UserError("the same as a harness of the pool")
    if any(name == other.name for other in accepted):
        raise UserError("a second candidate of this track")
    if len(accepted) == asked.assignment.due:
        raise UserError(f"a round has {asked.assignment.due} candidates")


@dataclass(frozen=True, kw_only=True)
class ChallengerDesk:
    """Asks the Challenger once a round."""

    challenger: Challenger
    tree: HistoryWriter
    journal: Journal
    kit: ProtocolKit
    seed: int

    async def drafts(
        self,
        round: int,
        current: Entrant,
        initial: Entrant,
        *,
        proposals: int,
        evaluated: int,
        archived: Collection[str] = (),
        most_operators: int = MOST_OPERATORS,
    ) -> list[Draft]:
        """Everything that the Challenger answered; at most as many at a time as were asked for."""
        with self.tree.read_only() as root:
            context = ChallengerContext(
                history=root,
                round=round,
                current=current.name,
                initial=initial.name,
                benchmark=self.kit.benchmark.base,
                observables={observable.name: observable for observable in self.kit.benchmark.observables},
                operators=self.kit.operators(),
                effects=self.kit.effects,
                tools=tuple(self.kit.benchmark.tools),
                proposals=proposals,
                evaluated=evaluated,
                most_operators=most_operators,
                seed=key_bits("challenge", self.seed) & 0x7FFFFFFF,
            )
            return await self.journal.drafts(round, lambda: self._ask(context, archived))

    async def _ask(self, context: ChallengerContext, archived: Collection[str]) -> list[Draft]:
        drafts, told_up_to = list(await self.challenger.challenge(deepcopy(context)))[: context.proposals], 0
        for _ in range(FURTHER_TRIES):
            if not all(isinstance(draft, Draft) for draft in drafts):
                break  # no plain data: the journal refuses it
            refused = [refusal for refusal in self._refused(drafts, context, archived) if refusal.place >= told_up_to]
            more = await self.challenger.revise(deepcopy(context), refused) if refused else ()
            if not more:
                break
            told_up_to = len(drafts)
            drafts += list(more)[: context.proposals]
        return drafts

    def _refused(self, drafts: Sequence[Draft], context: ChallengerContext, archived: Collection[str]) -> list[Refusal]:
        """What does not parse or repeats another, and how many are missing. Validity is not told: the firewall's."""
        refused: list[Refusal] = []
        seen: dict[str, str] = dict.fromkeys(archived, "an archived transformation")
        proposals, good = context.proposals, 0
        for place, draft in enumerate(drafts):
            name = f"proposal {place + 1}"
            try:
                found = parse_draft(self.kit, draft, context.most_operators).transformation.hash
                if found in seen:
                    raise UserError(f"the same as {seen[found]}: write another")
            except UserError as error:
                refused.append(Refusal(place=place, name=name, reason=str(error)[:LONGEST_REFUSAL]))
                continue
            seen[found], good = name, good + 1
        if refused and good < proposals:
            reason = f"{good} of {proposals} distinct proposals can be used: write the others"
            refused.append(Refusal(place=len(drafts), name="the submission", reason=reason))
        return refused if good < proposals else []


def archive_note(entry: Mapping[str, Any], touched: Mapping[str, float]) -> dict[str, Json]:
    """An archived counterfactual as agents may know it: what it does. Not what the host found in which task, and not
    what its author wrote about traces that others may not read.
    """
    does = {key: entry["transformation"][key] for key in ("schema", "benchmark", "operators", "declared")}
    return {"name": entry["name"], "round": entry["round"], "transformation": does, "touched": dict(touched)}
