"""The contracts of `Proposer` and `Challenger` (`chase.core.interfaces`) as tests, by subclassing.

    class TestMine(ProposerConformance):
        @pytest.fixture
        def agent(self): return MyProposer()

They are asked with what CHASE hands to them in a round on a few tasks of Syn-Ledger. They need the `test` extra.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from chase.core.agents import CANDIDATE_TRACKS, Candidate, Draft, Refusal
from chase.methods.desks import Assignment
from chase.runs.agent_plug_ins import contract_problems
from chase.testing.agent_trial import AgentTrial, agent_trial

REFUSED = (Refusal(place=0, name="r1-structural", reason="the same as a harness of the pool"),)


class AgentConformance:
    """What holds of both."""

    deterministic = True
    """Whether the same context gives the same answers: of an offline agent. One that asks a model sets it to False."""

    @pytest.fixture
    def agent(self) -> Any:
        raise NotImplementedError("give an `agent` fixture")

    @pytest.fixture
    def trial(self) -> AgentTrial:
        return agent_trial()

    def ask(self, agent: Any, trial: AgentTrial, **changed: Any) -> Sequence[Any]:
        """What it answers, asked as a method asks it, with some of the context changed."""
        raise NotImplementedError

    def test_the_same_question_gets_the_same_answer(self, agent: Any, trial: AgentTrial) -> None:
        if self.deterministic:
            first, again = (json.dumps([asdict(answer) for answer in self.ask(agent, trial)]) for _ in range(2))
            assert first == again

    def test_the_history_is_left_as_it_was(self, agent: Any, trial: AgentTrial) -> None:
        before = trial.tree()
        self.ask(agent, trial)
        assert trial.tree() == before, "it wrote to the history tree"

    def test_its_name_does_not_change(self, agent: Any, trial: AgentTrial) -> None:
        before = agent.name
        self.ask(agent, trial)
        assert agent.name == before


class ProposerConformance(AgentConformance):
    """Subclass it and give the fixture `agent`."""

    def ask(self, agent: Any, trial: AgentTrial, **changed: Any) -> Sequence[Any]:
        answers: Sequence[Any] = asyncio.run(agent.propose(replace(trial.proposer_context, **changed)))
        return answers

    def test_it_keeps_the_contract(self, agent: Any) -> None:
        assert list(contract_problems(agent, "proposer")) == []

    def test_it_answers_with_candidates_of_the_tracks_that_are_due(self, agent: Any, trial: AgentTrial) -> None:
        answers = self.ask(agent, trial)
        assert answers
        assert all(isinstance(answer, Candidate) for answer in answers)
        tracks = [answer.track for answer in answers]
        assert set(tracks) <= set(CANDIDATE_TRACKS)
        assert len(set(tracks)) == len(tracks), "two candidates of one track"
        json.dumps([asdict(answer) for answer in answers])

    def test_the_host_can_use_what_it_answers(self, agent: Any, trial: AgentTrial, tmp_path: Path) -> None:
        """Candidates parse, stay on their track and in the edit space, and the benchmark can run them."""
        accepted, refused = trial.examined(agent, Assignment(), tmp_path)
        assert accepted, refused
        assert refused == []

    def test_free_candidates_have_no_track_and_are_no_more_than_are_due(
        self, agent: Any, trial: AgentTrial, tmp_path: Path
    ) -> None:
        answers = self.ask(agent, trial, tracks=(), candidates=2)
        assert 1 <= len(answers) <= 2
        assert all(answer.track is None for answer in answers)
        accepted, refused = trial.examined(agent, Assignment(tracks=(), candidates=2), tmp_path)
        assert accepted, refused

    def test_it_can_be_asked_to_revise(self, agent: Any, trial: AgentTrial) -> None:
        more = asyncio.run(agent.revise(trial.proposer_context, REFUSED))
        assert all(isinstance(answer, Candidate) for answer in more)


class ChallengerConformance(AgentConformance):
    """Subclass it and give the fixture `agent`."""

    def ask(self, agent: Any, trial: AgentTrial, **changed: Any) -> Sequence[Any]:
        drafts: Sequence[Any] = asyncio.run(agent.challenge(replace(trial.challenger_context, **changed)))
        return drafts

    def test_it_keeps_the_contract(self, agent: Any) -> None:
        assert list(contract_problems(agent, "challenger")) == []

    def test_it_answers_with_as_many_plain_drafts_as_are_asked_for_at_most(self, agent: Any, trial: AgentTrial) -> None:
        for proposals in (1, trial.challenger_context.proposals):
            drafts = self.ask(agent, trial, proposals=proposals)
            assert 1 <= len(drafts) <= proposals
            assert all(isinstance(draft, Draft) for draft in drafts)
            json.dumps([asdict(draft) for draft in drafts])

    def test_its_drafts_are_of_the_allowlist_and_the_firewall_finds_one_valid(
        self, agent: Any, trial: AgentTrial
    ) -> None:
        context = trial.challenger_context
        screened = trial.screened(self.ask(agent, trial), context.most_operators)
        assert [found.reason for found in screened if found.verdict == "refused"] == []
        assert any(found.verdict == "valid" for found in screened), [found.reason for found in screened]

    def test_it_keeps_to_the_most_operators_of_a_run(self, agent: Any, trial: AgentTrial) -> None:
        screened = trial.screened(self.ask(agent, trial, most_operators=1), 1)
        assert [found.reason for found in screened if found.verdict == "refused"] == []

    def test_what_it_suspects_and_cites_is_there(self, agent: Any, trial: AgentTrial) -> None:
        context = trial.challenger_context
        for draft in self.ask(agent, trial):
            assert set(draft.suspected) <= {*context.observables, "window"}
            for trace in draft.traces:
                assert not Path(trace).is_absolute()
                assert (context.history / trace).is_file(), f"{trace} is not in the history"

    def test_it_can_be_asked_to_revise(self, agent: Any, trial: AgentTrial) -> None:
        more = asyncio.run(agent.revise(trial.challenger_context, REFUSED))
        assert all(isinstance(draft, Draft) for draft in more)
