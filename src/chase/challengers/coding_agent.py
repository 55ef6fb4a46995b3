"""A coding agent as Challenger: a command that compares two harnesses at a desk and leaves typed transformations."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from chase.agents.coding_agent import Attempt, CodingAgent
from chase.agents.desk_folder import Redact, read_json
from chase.agents.history import History
from chase.agents.history_tools import is_file_of
from chase.agents.prompt_files import PromptFiles
from chase.core.agents import ChallengerContext, Draft, Refusal
from chase.core.errors import UserError
from chase.core.keyed import digest
from chase.core.values import Json
from chase.harness.folder import render_files
from chase.protocol.proposal import TransformationForm

VERSION = 1
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
        self._last: Attempt | None = None
        self._given: list[str] = []
        """Digests of this round's answers, in their order."""
        self._new = 0
        """Place of the first answer of the last attempt."""

    async def challenge(self, context: ChallengerContext) -> Sequence[Draft]:
        self.begin("challenge", context.round)
        self._given = []
        self._last = await self.attempt(self._desk_files(context), context.history, _read)
        return self._drafts(context, self._last)

    async def revise(self, context: ChallengerContext, refused: Sequence[Refusal]) -> Sequence[Draft]:
        """The proposals that were not among the answers so far."""
        standing = {refusal.name: refusal.reason for refusal in refused if refusal.place >= self._new}
        if not standing or self._last is None:
            return ()
        told = self.told(standing, self._last.problems)
        self._last = await self.attempt(told, context.history, _read)
        return self._drafts(context, self._last)

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
        history = History(context.history)
        instructions = self.instructions.fill(
            "instructions",
            round=context.round,
            current=context.current,
            initial=context.initial,
            benchmark=context.benchmark,
            proposals=context.proposals,
        )
        harnesses = {
            f"{folder}/{file}": text
            for folder, name in {"harness": context.current, "initial": context.initial}.items()
            for file, text in render_files(history.harness(name)).items()
        }
        told = json.dumps(_context(context, self.instructions.stamp), indent=2, ensure_ascii=False)
        return {"INSTRUCTIONS.md": instructions, "context.json": f"{told}\n", **harnesses}


def _context(context: ChallengerContext, stamp: str) -> dict[str, Json]:
    """What the instructions refer to, as data."""
    return {
        "instructions": stamp,
        "round": context.round,
        "benchmark": context.benchmark,
        "current": context.current,
        "initial": context.initial,
        "proposals": context.proposals,
        "observables": {name: o.description for name, o in context.observables.items()},
        "operators": [dict(operator) for operator in context.operators],
        "effects": [{"operator": dict(e.operator), "touched": dict(e.touched)} for e in context.effects],
        "form": TransformationForm.model_json_schema(by_alias=True),
    }


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
