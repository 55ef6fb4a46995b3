"""A coding agent as Proposer: a command that reads history at a desk and leaves harness folders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from chase.agents.coding_agent import Attempt, CodingAgent, Read
from chase.agents.desk_folder import Redact, read_harness
from chase.agents.history import History
from chase.agents.prompt_files import PromptFiles
from chase.core.agents import Candidate, ProposerContext, Refusal
from chase.core.outside import valid_unicode
from chase.core.values import Json
from chase.engine.hooks import HOOKS, stubs
from chase.harness.spec import Activation, Structure
from chase.proposers.forms import contract_words, failed_round, placeholder_words

VERSION = 4
"""Of the instructions and the layout of the desk. Raised with either."""
KINDS = {
    "structural": "*structural* changes `harness.toml` or `control.py` only: retrieval, tool wrappers, control;",
    "guidance": "*guidance* changes `prompt.md`, `memory.md` or `guidance/` only.",
}
FREE_KIND = "   - each may change any file, and differs from the others in its mechanism."
RECORD_KEYS = ("edits", "targeted_failures", "activation", "stopping", "expected_tool_calls", "regression_risks")
"""The fields of the paper's table that an author fills in."""


class CodingAgentProposer(CodingAgent):
    """Runs the command once a round, and again where candidates were refused."""

    def __init__(self, command: str, **allowed: Any) -> None:
        """`allowed` is what `CodingAgent` takes: network, unconfined, pass_env, readable, timeout_seconds."""
        super().__init__(command, PromptFiles("chase.proposers", "coding_agent", VERSION), **allowed)
        self._given: list[str] = []
        """The folders of this round's answers, in their order."""

    async def propose(self, context: ProposerContext) -> Sequence[Candidate]:
        self._given = []
        attempt = await self.first_attempt("propose", context, self._desk_files(context), _reader(context))
        return self._candidates(context, attempt, _folders(context))

    async def revise(self, context: ProposerContext, refused: Sequence[Refusal]) -> Sequence[Candidate]:
        """New answers in the refused folders. The command is not run for what a later answer has replaced."""
        found = ((self._stands(context, refusal), refusal.reason) for refusal in refused)
        standing = {folder: reason for folder, reason in found if folder is not None}
        before = _left(self.last_attempt)
        attempt = await self.further_attempt(context, standing, _reader(context))
        if attempt is None:
            return ()
        after = _left(attempt)
        due = standing if context.tracks else _folders(context)  # a free one may also fill a folder that was empty
        return self._candidates(context, attempt, [f for f in due if after.get(f) != before.get(f)])

    def _stands(self, context: ProposerContext, refusal: Refusal) -> str | None:
        """The folder whose last answer a refusal is about; None where there is another answer by now."""
        folder: str | None
        if context.tracks:
            folder = next((track for track in context.tracks if refusal.name.endswith(f"-{track}")), None)
        else:  # by the number that the host gave the answer
            number = int(refusal.name.rpartition("-")[2])
            folder = self._given[number - 1] if 0 < number <= len(self._given) else None
        places = [place for place, given in enumerate(self._given) if given == folder]
        return folder if refusal.place in (*places[-1:], len(self._given)) else None

    def _candidates(self, context: ProposerContext, attempt: Attempt, folders: Sequence[str]) -> list[Candidate]:
        left = _left(attempt)
        stamp = {**self.stamp(attempt), "from": context.current}
        tracks = {str(track): track for track in context.tracks}
        answered = [folder for folder in folders if folder in left]
        self._given += answered
        return [
            Candidate(track=tracks.get(folder), files=left[folder]["files"], record={**left[folder]["record"], **stamp})
            for folder in answered
        ]

    def _desk_files(self, context: ProposerContext) -> dict[str, str]:
        names = {"current": context.current, "initial": context.initial}
        return self.desk_files(
            context,
            names,
            _data(context),
            edit_space=context.edit_space.description,
            placeholders=placeholder_words(context.placeholders),
            templates=context.bounds.templates,
            answer=context.answer_form.name,
            constraints=self._constraints(context),
            failures=self._failures(context),
            archive=f"  {self.instructions.fill('archive')}\n" if context.constrained else "",
            contracts=contract_words(self.instructions, context.contracts),
            **self._due(context),
        )

    def _constraints(self, context: ProposerContext) -> str:
        entries = [f"`{name}`" for name in History(context.history).archive()] if context.constrained else []
        if not entries:
            return ""
        told = {"entries": ", ".join(entries), "epsilon": context.epsilon, "initial": context.initial}
        return f"\n{self.instructions.fill('constraints', **told)}\n"

    def _failures(self, context: ProposerContext) -> str:
        """What the last round's candidates violated, where it fell back."""
        failed = failed_round(History(context.history)) if context.constrained else None
        if failed is None:
            return ""
        problems = "\n".join(f"- {problem}" for problem in failed.problems)
        told = self.instructions.fill("failures", problems=valid_unicode(problems), selected=failed.selected)
        return f"\n{told}\n"

    def _due(self, context: ProposerContext) -> dict[str, str]:
        """What the instructions say of the candidates: how many, of which kinds, in which folders."""
        told = ", and what you are told beside the history (`briefs`)" if context.briefs else ""
        if context.integrate:
            return {
                "count": "three new harnesses",
                "candidates": self.instructions.fill("candidates_integrated"),
                "folders": f"Three complete folders: {_listed(_folders(context))}",
                "briefs": told,
            }
        one = context.candidates == 1
        count = "one" if one else str(context.candidates)
        kinds = "\n".join(f"   - {KINDS[track]}" for track in context.tracks if track in KINDS) or FREE_KIND
        named = "One candidate" if one else f"{count} candidates"
        return {
            "count": f"{count} new harness{'' if one else 'es'}",
            "candidates": self.instructions.fill("candidates", count=named, kinds=kinds),
            "folders": f"{count.capitalize()} complete folder{'' if one else 's'}: {_listed(_folders(context))}",
            "briefs": told,
        }


def _folders(context: ProposerContext) -> tuple[str, ...]:
    """The folders in which candidates are due: the tracks', or numbers."""
    return context.tracks or tuple(str(number) for number in range(1, context.candidates + 1))


def _listed(folders: Sequence[str]) -> str:
    *first, last = [f"`answers/{folder}/`" for folder in folders]
    return f"{', '.join(first)} and {last}" if first else last


def _data(context: ProposerContext) -> dict[str, Json]:
    """What the instructions refer to, as data."""
    return {
        "constrained": context.constrained,
        "epsilon": context.epsilon,
        "edit_space": asdict(context.edit_space),
        "tool_interface": asdict(context.interface),
        "calls_allowed": dict(context.limits),
        "bounds": asdict(context.bounds),
        "placeholders": {name: asdict(placeholder) for name, placeholder in context.placeholders.items()},
        "answer_form": asdict(context.answer_form),
        "tracks": list(context.tracks),
        "candidates": context.candidates,
        "briefs": dict(context.briefs),
        "forms": {
            "harness_toml": Structure.model_json_schema(by_alias=True),
            "guidance_when": Activation.model_json_schema(),
            "hooks": [{"signature": hook.signature, "doc": hook.doc} for hook in HOOKS.values()],
            "hook_types": stubs(),
        },
    }


def _reader(context: ProposerContext) -> Read:
    """What reads the candidates that are due. One that cannot be read has no files: the host refuses it like any
    other.
    """

    def read(answers: Path, redact: Redact) -> tuple[Json, list[str]]:
        found: dict[str, Json] = {}
        problems: list[str] = []
        for folder in _folders(context):
            left = read_harness(answers / folder, redact)
            if left is None:
                problems.append(f"{folder}: there is no such folder in answers/, or it is empty")
                continue
            problems += [f"{folder}: {left.problem}"] if left.problem else []
            record = {key: left.record[key] for key in (*RECORD_KEYS, "problem") if key in left.record}
            found[folder] = {"files": left.files, "record": record}
        return found, problems

    return read


def _left(attempt: Attempt | None) -> Mapping[str, Any]:
    return attempt.answers if attempt is not None and isinstance(attempt.answers, dict) else {}
