"""The language-model Challenger: reads both harnesses and their traces, and writes typed transformations."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, Self

from pydantic import Field, ValidationError

from chase.agents.conversation import Conversation, episode_bounds
from chase.agents.history_tools import HistoryTools, is_file_of
from chase.agents.prompt_files import PromptFiles
from chase.agents.records import AgentEpisode, RecordedAgent
from chase.agents.submission import Submission, SubmissionForm
from chase.core.agents import ChallengerContext, Draft, EpisodeBounds, OperatorEffect, Refusal
from chase.core.values import Json
from chase.models.chat import ChatModel
from chase.protocol.proposal import OperatorForm
from chase.protocol.screening import RANKING

VERSION = 3
"""Of the prompts and the procedure. Raised with either."""
FURTHER_TURNS = 4
MOST_PROPOSALS = 64
MOST_COMPOSED = 6
"""Operators of a proposal: reducing a larger one would cost many rollouts."""


class ProposalForm(SubmissionForm):
    """A proposal with the fields of the paper's table."""

    operators: list[OperatorForm] = Field(min_length=1, max_length=MOST_COMPOSED)
    seed: int = Field(default=0, ge=0, lt=2**48, description="replays the proposal")
    declared: list[str] | None = Field(
        default=None, description="protocol fields that it changes; null: those of its operators"
    )
    description: str = Field(max_length=4000)
    suspected_shortcut: str = Field(max_length=4000)
    suspected_observables: list[str] = Field(default=[], max_length=50)
    supporting_traces: list[str] = Field(default=[], max_length=50)
    validity: list[str] = Field(default=[], max_length=20, description="why it is valid; kept, not believed")

    def draft(self, context: ChallengerContext, stamp: dict[str, Json]) -> Draft:
        form: dict[str, Json] = {
            "benchmark": context.benchmark,
            "operators": [operator.model_dump(mode="json", exclude_none=True) for operator in self.operators],
            "seed": self.seed,
            "description": self.description,
            "claims": self.validity,
        }
        if self.declared is not None:
            form["declared"] = self.declared
        known = [name for name in self.suspected_observables if name in context.observables]
        return Draft(
            form=form,
            suspected=tuple(dict.fromkeys(known)),
            traces=tuple(path for path in self.supporting_traces if is_file_of(context.history, path)),
            replay={
                "seed": self.seed,
                "round": context.round,
                "suspected_shortcut": self.suspected_shortcut,
                **stamp,
            },
        )


class Proposals(SubmissionForm):
    proposals: list[ProposalForm] = Field(min_length=1, max_length=MOST_PROPOSALS)

    @classmethod
    def salvaged(cls, arguments: Mapping[str, Any]) -> Self | None:
        """The proposals that fit, without the others."""
        given = arguments.get("proposals")
        found: list[ProposalForm] = []
        for proposal in given[:MOST_PROPOSALS] if isinstance(given, list) else ():
            try:
                found.append(ProposalForm.model_validate(proposal))
            except ValidationError:
                continue
        return cls(proposals=found) if found else None


PROPOSALS = Submission(name="submit_proposals", description="Hand in the proposals.", form=Proposals)


class LanguageModelChallenger(RecordedAgent):
    """Asks one model, one episode a round."""

    def __init__(self, model: ChatModel, *, history_tokens: int = 200_000, turns: int = 24) -> None:
        self._model = model
        self._history_tokens = history_tokens
        self._turns = turns
        self._prompts = PromptFiles("chase.challengers", "llm", VERSION)
        self._talk: Conversation | None = None
        self._episode: AgentEpisode | None = None
        self._reading: HistoryTools | None = None

    @property
    def name(self) -> str:
        return (
            f"llm:{self._model.config.name}:{self._model.fingerprint[:8]}:prompts-{self._prompts.stamp}:"
            f"history-{self._history_tokens}:turns-{self._turns}"
        )

    @property
    def bounds(self) -> EpisodeBounds:
        most = episode_bounds(
            self._model, requests=self._turns + 2 * FURTHER_TURNS, history_tokens=self._history_tokens
        )
        return replace(most, operators=MOST_COMPOSED)

    async def challenge(self, context: ChallengerContext) -> Sequence[Draft]:
        reading = HistoryTools(context.history, tokens=self._history_tokens, seed=context.seed)
        names = {"round": context.round, "current": context.current, "initial": context.initial}
        system = self._prompts.fill(
            "system",
            **names,
            mark=reading.mark,
            tokens=self._history_tokens,
            evaluated=context.evaluated,
            ranking=RANKING,
            tools=json.dumps([asdict(tool) for tool in context.tools]),
            operators=json.dumps([dict(operator) for operator in context.operators]),
            effects="; ".join(map(_effect, context.effects)),
            observables="; ".join(f"{name}: {o.description}" for name, o in context.observables.items()),
        )
        self._episode = self.episode("challenge", context.round)
        self._reading = reading
        self._talk = Conversation(
            model=self._model,
            episode=self._episode,
            system=system,
            tools=reading.tools(),
            submissions=(PROPOSALS,),
            seed=context.seed,
        )
        counts = {name: getattr(context, name) for name in ("proposals", "evaluated", "most_operators")}
        asked = self._prompts.fill("challenge", **names, **counts)
        return self._drafts(context, await self._talk.work(asked, PROPOSALS, turns=self._turns))

    async def revise(self, context: ChallengerContext, refused: Sequence[Refusal]) -> Sequence[Draft]:
        if self._talk is None or self._reading is None:
            return ()
        told = "\n".join(f"- {refusal}" for refusal in refused)
        asked = self._prompts.fill("refused", refusals=self._reading.fenced("what cannot be used, and why", told))
        return self._drafts(context, await self._talk.work(asked, PROPOSALS, turns=FURTHER_TURNS))

    def _drafts(self, context: ChallengerContext, given: Proposals | None) -> list[Draft]:
        if self._talk is None or self._episode is None:
            raise RuntimeError("no episode is open")
        stamp: dict[str, Json] = {"agent": self.name, "prompts": self._prompts.stamp}
        self._episode.note("episode.json", {**stamp, "remarks": self._talk.remarks})
        return [] if given is None else [proposal.draft(context, stamp) for proposal in given.proposals]


def _effect(effect: OperatorEffect) -> str:
    arguments = ", ".join(f"{name} {value}" for name, value in dict(effect.operator.get("arguments") or {}).items())
    touched = ", ".join(f"{name} {value:.1f}" for name, value in effect.touched.items())
    return f"{effect.operator['name']} ({arguments}): {touched or 'none'}"
