"""A coding agent as Challenger: a command that compares two harnesses at a desk and leaves typed transformations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from chase.agents.coding_agent import Attempt, CodingAgent
from chase.agents.desk_folder import Redact, read_json
from chase.agents.history_tools import is_file_of
from chase.agents.prompt_files import PromptFiles
from chase.core.agents import ChallengerContext, Draft, Refusal
from chase.core.errors import UserError
from chase.core.keyed import digest
from chase.core.values import Json
from chase.protocol.proposal import TransformationForm
from chase.protocol.screening import RANKING

VERSION = 2
"""Of the instructions and the layout of the desk. Raised with either."""
PROPOSALS = "proposals.json"
MOST_BYTES = 1 << 20
MOST_TRACES = 50
ABOUT = ("suspected_shortcut", "suspected_observables", "supporting_traces", "replay")
"""What an author says beside the form of a transformation."""


class CodingAgentChallenger(CodingAgent):
    """Runs the command once a round, and again where proposals were refused."""

    def __init__(self, command: str, **allowed: Any) -> None:
        """`allowed` is what `CodingAgent` takes: network, unconfined, pass_env, readable, timeout_seconds."""
        super().__init__(command, PromptFiles("chase.challengers", "coding_agent", VERSION), **allowed)
        self._given: list[str] = []
        """Digests of this round's answers, in their order."""
        self._new = 0
        """Place of the first answer of the last attempt."""

    async def challenge(self, context: ChallengerContext) -> Sequence[Draft]:
        self._given = []
        return self._drafts(context, await self.first_attempt("challenge", context, self._desk_files(context), _read))

    async def revise(self, context: ChallengerContext, refused: Sequence[Refusal]) -> Sequence[Draft]:
        """The proposals that were not among the answers so far."""
        standing = {refusal.name: refusal.reason for refusal in refused if refusal.place >= self._new}
        attempt = await self.further_attempt(context, standing, _read)
        return () if attempt is None else self._drafts(context, attempt)

    def _drafts(self, context: ChallengerContext, attempt: Attempt) -> list[Draft]:
        self._new = len(self._given)
        made: list[Draft] = []
        for proposal in attempt.answers if isinstance(attempt.answers, list) else []:
            if len(made) < context.proposals and (known := digest(proposal)) not in self._given:
                self._given.append(known)
                made.append(self._draft(context, attempt, proposal))
        return made

    def _draft(self, context: ChallengerContext, attempt: Attempt, proposal: Mapping[str, Any]) -> Draft:
        form = {"benchmark": context.benchmark, **{k: v for k, v in proposal.items() if k not in ABOUT}}
        suspected = [name for name in _texts(proposal.get("suspected_observables")) if name in context.observables]
        traces = [path for path in _texts(proposal.get("supporting_traces")) if is_file_of(context.history, path)]
        about = {key: proposal[key] for key in ("suspected_shortcut", "replay") if key in proposal}
        return Draft(
            form=form,
            suspected=tuple(dict.fromkeys(suspected)),
            traces=tuple(dict.fromkeys(traces))[:MOST_TRACES],
            replay={**about, "round": context.round, "seed": context.seed, **self.stamp(attempt)},
        )

    def _desk_files(self, context: ChallengerContext) -> dict[str, str]:
        data = {
            "proposals": context.proposals,
            "evaluated": context.evaluated,
            "most_operators": context.most_operators,
            "operators": [dict(operator) for operator in context.operators],
            "effects": [{"operator": dict(e.operator), "touched": dict(e.touched)} for e in context.effects],
            "form": TransformationForm.model_json_schema(by_alias=True),
        }
        harnesses = {"harness": context.current, "initial": context.initial}
        chosen = {
            "proposals": context.proposals,
            "evaluated": context.evaluated,
            "most_operators": context.most_operators,
            "ranking": RANKING,
        }
        return self.desk_files(context, harnesses, data, **chosen)


def _read(answers: Path, redact: Redact) -> tuple[Json, list[str]]:
    """The proposals in a folder; what is no object among them is left out."""
    try:
        found = read_json(answers / PROPOSALS, most=MOST_BYTES, redact=redact)
    except UserError as error:
        return [], [str(error)]
    if isinstance(found, dict):
        found = found.get("proposals")
    if not isinstance(found, list):
        return [], [f"{PROPOSALS} is no list of proposals"]
    proposals = [proposal for proposal in found if isinstance(proposal, dict)]
    others = len(found) - len(proposals)
    return proposals, [f"{others} entries of {PROPOSALS} are no JSON objects"] if others else []


def _texts(value: object) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []
