"""Desks: what an assignment and gates make of what a Proposer is asked, and what goes back to either agent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from chase.agents.history import HistoryWriter
from chase.benchmarks.syn_ledger.benchmark import SynLedger
from chase.core.agents import ALL_EDITS, Candidate, CandidateTrack, ChallengerContext, Draft, ProposerContext, Refusal
from chase.core.errors import UserError
from chase.harness.folder import render_files
from chase.methods.arena import Contender
from chase.methods.desks import FURTHER_TRIES, LONGEST_REFUSAL, Assignment, ChallengerDesk, ProposerDesk
from chase.methods.journal import Journal
from chase.methods.selection import Standing, Submitted, Violation
from chase.protocol.kit import ProtocolKit
from chase.store.workspace import Workspace
from chase.testing.ledger import H0

INITIAL = Contender(name="H0", harness=H0)
FREE = Assignment(tracks=(), candidates=2)


def answer(memory: str, track: CandidateTrack | None = None) -> Candidate:
    return Candidate(track=track, files=render_files(replace(H0, memory=memory)))


@dataclass
class Answers:
    """A Proposer that answers what it was given to say, one list after the other."""

    says: list[list[Candidate]]
    contexts: list[ProposerContext] = field(default_factory=list)
    refused: list[list[Refusal]] = field(default_factory=list)
    name: str = "answers"

    async def propose(self, context: ProposerContext) -> Sequence[Candidate]:
        self.contexts.append(context)
        return self.says.pop(0)

    async def revise(self, context: ProposerContext, refused: Sequence[Refusal]) -> Sequence[Candidate]:
        self.refused.append(list(refused))
        return self.says.pop(0) if self.says else []


class NoPaths:
    """A gate with a contract, which it holds candidates to before they are evaluated."""

    name = "no-paths"
    contract = "Name no path."

    def admit(self, submitted: Submitted) -> None:
        if "/" in (submitted.harness.memory or ""):
            raise UserError("names a path")

    def violations(self, standing: Standing) -> tuple[Violation, ...]:
        return ()


def desk_of(proposer: Answers, folder: Path) -> ProposerDesk:
    return ProposerDesk(
        proposer=proposer, tree=HistoryWriter(folder / "tree"), journal=Journal(Workspace(folder), "run-1"),
        check=lambda *_: None, benchmark=SynLedger, edit_space=ALL_EDITS, seed=1,  # type: ignore[arg-type]
    )  # fmt: skip


async def decided(
    proposer: Answers, folder: Path, assignment: Assignment = FREE, gates: Sequence[NoPaths] = ()
) -> tuple[dict[str, str], list[str]]:
    accepted, refused = await desk_of(proposer, folder).candidates(1, INITIAL, INITIAL, assignment, gates)
    return {named.name: named.harness.memory or "" for named in accepted}, refused


async def test_an_assignment_is_the_proposers_context(tmp_path: Path) -> None:
    proposer = Answers([[answer("a")]])
    told = {"failure groups": ["units"]}
    await decided(proposer, tmp_path, replace(FREE, epsilon="0.05", briefs=told), [NoPaths()])
    [context] = proposer.contexts
    assert (context.tracks, context.candidates, context.integrate) == ((), 2, False)
    assert (context.epsilon, context.constrained) == ("0.05", True)
    assert context.briefs == told
    assert context.contracts == {"no-paths": "Name no path."}
    assert (context.history / "no_paths.txt").read_text() == "Name no path."


async def test_the_plain_assignment_is_three_tracks_and_r3(tmp_path: Path) -> None:
    proposer = Answers([[answer("a", "guidance")]])
    assert (await decided(proposer, tmp_path, Assignment()))[0] == {"r1-guidance": "a"}
    [context] = proposer.contexts
    assert (context.tracks, context.candidates) == (("structural", "guidance", "integrated"), 3)
    assert context.integrate
    assert not context.constrained
    assert context.briefs == context.contracts == {}


async def test_free_candidates_are_numbered_and_no_more_than_are_due(tmp_path: Path) -> None:
    found, refused = await decided(Answers([[answer("a"), answer("b"), answer("c")]]), tmp_path)
    assert found == {"r1-1": "a", "r1-2": "b"}
    assert refused == ["r1-3: a round has 2 candidates"]


async def test_a_track_that_is_not_due_is_refused(tmp_path: Path) -> None:
    found, refused = await decided(Answers([[answer("a", "guidance"), answer("b")]]), tmp_path)
    assert found == {"r1-2": "b"}
    assert refused == ["r1-1: track='guidance' is not asked for: candidates are free"]
    some = Assignment(tracks=("structural",))
    _, refused = await decided(Answers([[answer("a", "guidance")]]), tmp_path / "some", some)
    assert refused == ["r1-1: track='guidance' is none of structural"]


async def test_what_a_gate_does_not_admit_goes_back_to_the_proposer(tmp_path: Path) -> None:
    proposer = Answers([[answer("see a/b"), answer("fine")], [answer("general")]])
    found, refused = await decided(proposer, tmp_path, gates=[NoPaths()])
    assert found == {"r1-2": "fine", "r1-3": "general"}
    assert refused == ["r1-1: names a path"]
    assert [[(r.place, r.name, r.reason) for r in told] for told in proposer.refused] == [[(0, "r1-1", "names a path")]]


async def test_free_refusals_are_told_once_and_only_while_candidates_are_missing(tmp_path: Path) -> None:
    proposer = Answers([[answer("a/b")], [answer("c/d")], [answer("e/f"), answer("good")]])
    found, _ = await decided(proposer, tmp_path, gates=[NoPaths()])
    assert found == {"r1-4": "good"}
    assert [[refusal.name for refusal in told] for told in proposer.refused] == [["r1-1"], ["r1-2"]]
    enough = Answers([[answer("a"), answer("b"), answer("c")]])
    await decided(enough, tmp_path / "enough")
    assert enough.refused == []


async def test_a_free_candidate_that_was_evaluated_gives_way_to_a_new_one(tmp_path: Path) -> None:
    proposer = Answers([[answer("a"), answer("b")], [answer("a"), answer("c")], [answer("d")]])
    desk = desk_of(proposer, tmp_path)
    await desk.candidates(1, INITIAL, INITIAL, FREE)
    accepted, refused = await desk.candidates(2, INITIAL, INITIAL, FREE)
    assert {named.name: named.harness.memory for named in accepted} == {"r2-2": "c", "r2-3": "d"}
    assert refused == []
    assert proposer.refused == [
        [Refusal(place=2, name="r2-1", reason="the same as r1-1, which was evaluated: write another")]
    ]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"tracks": ("guidance", "integrated")}, "name all three"),
        ({"tracks": (), "candidates": 0}, "at least one candidate"),
    ],
)
def test_an_assignment_that_cannot_be_carried_out_is_refused(wrong: dict[str, object], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Assignment(**wrong)  # type: ignore[arg-type]


# The Challenger's


@dataclass
class Drafts:
    """A Challenger that answers what it was given to say, one list after the other."""

    says: list[list[Draft]]
    contexts: list[ChallengerContext] = field(default_factory=list)
    refused: list[list[str]] = field(default_factory=list)
    name: str = "drafts"

    async def challenge(self, context: ChallengerContext) -> Sequence[Draft]:
        self.contexts.append(context)
        return self.says.pop(0)

    async def revise(self, context: ChallengerContext, refused: Sequence[Refusal]) -> Sequence[Draft]:
        self.refused.append([str(refusal) for refusal in refused])
        return self.says.pop(0) if self.says else []


def reverse(aspect: str) -> Draft:
    return Draft(form={"benchmark": "syn-ledger", "operators": [{"name": "reverse", "arguments": {"aspect": aspect}}]})


async def drafted(
    challenger: Drafts, kit: ProtocolKit, folder: Path, archived: Sequence[str] = (), proposals: int = 3
) -> list[Draft]:
    desk = ChallengerDesk(
        challenger=challenger, tree=HistoryWriter(folder / "tree"), journal=Journal(Workspace(folder), "run-1"),
        kit=kit, seed=1,
    )  # fmt: skip
    return await desk.drafts(1, INITIAL, INITIAL, proposals=proposals, evaluated=2, archived=archived)


async def test_a_challenger_is_told_of_each_answer_once_and_how_many_are_missing(
    kit: ProtocolKit, tmp_path: Path
) -> None:
    challenger = Drafts([[reverse("depth"), reverse("?")], [reverse("!"), reverse("depth")], [reverse("rank")], []])
    found = await drafted(challenger, kit, tmp_path)
    assert found == [reverse(aspect) for aspect in ("depth", "?", "!", "depth", "rank")]
    first, second = challenger.refused
    assert [told.partition(":")[0] for told in first] == ["proposal 2", "the submission"]
    assert "operator 'reverse': aspect" in first[0]
    assert first[1] == "the submission: 1 of 3 distinct proposals can be used: write the others"
    assert [told.partition(":")[0] for told in second] == ["proposal 3", "proposal 4", "the submission"]
    assert second[1] == "proposal 4: the same as proposal 1: write another"


async def test_a_challenger_with_enough_good_proposals_is_told_nothing(kit: ProtocolKit, tmp_path: Path) -> None:
    enough = Drafts([[reverse("depth"), reverse("depth"), reverse("rank")]])
    assert len(await drafted(enough, kit, tmp_path, proposals=2)) == 2, "no more at a time than were asked for"
    assert [told.partition(":")[0] for told in enough.refused[0]] == ["proposal 2", "the submission"]
    both = Drafts([[reverse("depth"), reverse("rank")]])
    await drafted(both, kit, tmp_path / "both", proposals=2)
    assert both.refused == []


async def test_what_is_archived_is_no_proposal(kit: ProtocolKit, tmp_path: Path) -> None:
    archived = kit.parse(reverse("depth").form).transformation.hash
    challenger = Drafts([[reverse("depth")]])
    await drafted(challenger, kit, tmp_path, archived=[archived], proposals=1)
    assert challenger.refused == [
        [
            "proposal 1: the same as an archived transformation: write another",
            "the submission: 0 of 1 distinct proposals can be used: write the others",
        ]
    ]
    [context] = challenger.contexts
    assert (context.round, context.current, context.initial) == (1, "H0", "H0")
    assert (context.proposals, context.evaluated, context.benchmark) == (1, 2, "syn-ledger")
    assert context.operators == kit.operators()
    assert context.effects == kit.effects


def test_an_agent_gets_two_messages_back_and_a_thousand_characters_of_a_refusal() -> None:
    assert (FURTHER_TRIES, LONGEST_REFUSAL) == (2, 1000)
