"""A coding agent as Proposer: a command that reads history at a desk and leaves three harness folders."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from chase.agents.coding_agent import Attempt, CodingAgent
from chase.agents.desk_folder import Redact, read_harness
from chase.agents.history import History
from chase.agents.prompt_files import PromptFiles
from chase.core.agents import CANDIDATE_TRACKS, Candidate, CandidateTrack, ProposerContext, Refusal
from chase.core.values import Json
from chase.engine.hooks import HOOKS, stubs
from chase.harness.folder import render_files
from chase.harness.spec import Activation, Structure
from chase.proposers.forms import placeholder_words

VERSION = 2
"""Of the instructions and the layout of the desk. Raised with either."""
RECORD_KEYS = ("edits", "targeted_failures", "activation", "stopping", "expected_tool_calls", "regression_risks")
"""The fields of the paper's table that an author fills in."""


class CodingAgentProposer(CodingAgent):
    """Runs the command once a round, and again where candidates were refused."""

    def __init__(self, command: str, **allowed: Any) -> None:
        """`allowed` is what `CodingAgent` takes: network, unconfined, pass_env, readable, timeout_seconds."""
        super().__init__(command, PromptFiles("chase.proposers", "coding_agent", VERSION), **allowed)
        self._last: Attempt | None = None
        self._given: list[CandidateTrack] = []
        """The tracks of this round's answers, in their order."""

    async def propose(self, context: ProposerContext) -> Sequence[Candidate]:
        self.begin("propose", context.round)
        self._given = []
        self._last = await self.attempt(self._desk_files(context), context.history, _read)
        return self._candidates(context, self._last, CANDIDATE_TRACKS)

    async def revise(self, context: ProposerContext, refused: Sequence[Refusal]) -> Sequence[Candidate]:
        """New answers on the refused tracks. The command is not run for what a later answer has replaced."""
        standing = {track: refusal.reason for refusal in refused if (track := self._stands(refusal)) is not None}
        if not standing or self._last is None:
            return ()
        before = _left(self._last)
        told = self.told({str(track): reason for track, reason in standing.items()}, self._last.problems)
        self._last = await self.attempt(told, context.history, _read)
        after = _left(self._last)
        return self._candidates(context, self._last, [t for t in standing if after.get(t) != before.get(t)])

    def _stands(self, refusal: Refusal) -> CandidateTrack | None:
        """The track whose last answer a refusal is about; None where there is another answer by now."""
        track = next((t for t in CANDIDATE_TRACKS if refusal.name.endswith(f"-{t}")), None)
        places = [place for place, given in enumerate(self._given) if given == track]
        return track if refusal.place in (*places[-1:], len(self._given)) else None

    def _candidates(
        self, context: ProposerContext, attempt: Attempt, tracks: Sequence[CandidateTrack]
    ) -> list[Candidate]:
        left = _left(attempt)
        stamp = {**self.stamp(attempt), "from": context.current}
        made = [
            Candidate(track=track, files=left[track]["files"], record={**left[track]["record"], **stamp})
            for track in tracks
            if track in left
        ]
        self._given += [candidate.track for candidate in made if candidate.track is not None]
        return made

    def _desk_files(self, context: ProposerContext) -> dict[str, str]:
        history = History(context.history)
        names = {"current": context.current, "initial": context.initial}
        constraints, entries = "", [f"`{name}`" for name in history.archive()] if context.constrained else []
        if entries:
            constraints = self.instructions.fill(
                "constraints",
                entries=", ".join(entries),
                epsilon=context.epsilon,
                initial=context.initial,
            )
        instructions = self.instructions.fill(
            "instructions",
            **names,
            round=context.round,
            benchmark=context.benchmark,
            edit_space=context.edit_space.description,
            placeholders=placeholder_words(context.placeholders),
            templates=context.bounds.templates,
            answer=context.answer_form.name,
            constraints=constraints,
            archive=f"  {self.instructions.fill('archive')}\n" if context.constrained else "",
        )
        harnesses = {
            f"{folder}/{file}": text
            for folder, name in names.items()
            for file, text in render_files(history.harness(name)).items()
        }
        told = json.dumps(_context(context, self.instructions.stamp), indent=2, ensure_ascii=False)
        return {"INSTRUCTIONS.md": instructions, "context.json": f"{told}\n", **harnesses}


def _context(context: ProposerContext, stamp: str) -> dict[str, Json]:
    """What the instructions refer to, as data."""
    return {
        "instructions": stamp,
        "round": context.round,
        "benchmark": context.benchmark,
        "current": context.current,
        "initial": context.initial,
        "constrained": context.constrained,
        "epsilon": context.epsilon,
        "edit_space": asdict(context.edit_space),
        "calls_allowed": dict(context.limits),
        "bounds": asdict(context.bounds),
        "placeholders": {name: asdict(placeholder) for name, placeholder in context.placeholders.items()},
        "answer_form": asdict(context.answer_form),
        "observables": {name: o.description for name, o in context.observables.items()},
        "tracks": list(CANDIDATE_TRACKS),
        "forms": {
            "harness_toml": Structure.model_json_schema(by_alias=True),
            "guidance_when": Activation.model_json_schema(),
            "hooks": [{"signature": hook.signature, "doc": hook.doc} for hook in HOOKS.values()],
            "hook_types": stubs(),
        },
    }


def _read(answers: Path, redact: Redact) -> tuple[Json, list[str]]:
    """The candidates in a folder. One that cannot be read has no files: the host refuses it like any other."""
    found: dict[str, Json] = {}
    problems: list[str] = []
    for track in CANDIDATE_TRACKS:
        left = read_harness(answers / track, redact)
        if left is None:
            problems.append(f"{track}: there is no such folder in answers/, or it is empty")
            continue
        problems += [f"{track}: {left.problem}"] if left.problem else []
        record = {key: left.record[key] for key in (*RECORD_KEYS, "problem") if key in left.record}
        found[track] = {"files": left.files, "record": record}
    return found, problems


def _left(attempt: Attempt) -> Mapping[str, Any]:
    return attempt.answers if isinstance(attempt.answers, dict) else {}
