"""The language-model Proposer: two feedback passes, two candidates, and R³ into a third, as in HarnessCompass; where
a method asks for less, only the candidates that are due.

It is a tool-using agent on the read-only history. It decides nothing: what it hands in is parsed as data by the host,
and one that hands in rubbish ends with no candidates, which leaves `H_{t-1}` and `H_0` in the pool.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from chase.agents.conversation import Conversation, episode_bounds
from chase.agents.history import History
from chase.agents.history_tools import CHARACTERS_PER_TOKEN, HistoryTools
from chase.agents.prompt_files import PromptFiles
from chase.agents.records import AgentEpisode, RecordedAgent
from chase.agents.submission import plain_schema
from chase.core.agents import Candidate, EpisodeBounds, ProposerContext, Refusal
from chase.core.values import Json
from chase.engine.hook_types import type_stubs
from chase.engine.hooks import HOOKS
from chase.harness.folder import render_files
from chase.harness.spec import Activation, Structure
from chase.models.chat import ChatModel
from chase.proposers.forms import contract_words, failed_round, placeholder_words
from chase.proposers.submission import (
    DRAFTS,
    FEEDBACK,
    Drafts,
    Feedback,
    FreeCandidates,
    candidates_of,
    submission_of,
)

VERSION = 6
"""Of the prompts and the procedure. Raised with either."""
SHOWN_FILES = 16_000
"""Characters of the current harness's files that are shown where candidates are written; longer ones are named."""
KINDS = {
    "structural": "structural: changes `harness.toml` or `control.py` only (retrieval, tool wrappers, control)",
    "guidance": "guidance: changes `prompt.md`, `memory.md` or `guidance/` only",
}
FREE_KIND = "free: each may change any file, and differs from the others in its mechanism"


@dataclass(frozen=True, kw_only=True, slots=True)
class Turns:
    """Requests that each part of an episode may take."""

    feedback: int = 12
    """Of each of the two passes."""
    drafts: int = 6
    submission: int = 6
    """Also of each further try."""

    @property
    def most(self) -> int:
        return 2 * self.feedback + self.drafts + 3 * self.submission


class LanguageModelProposer(RecordedAgent):
    """Asks one model, one episode a round."""

    def __init__(self, model: ChatModel, *, history_tokens: int = 200_000, turns: Turns | None = None) -> None:
        self._model = model
        self._history_tokens = history_tokens
        self._turns = turns or Turns()
        self._prompts = PromptFiles("chase.proposers", "llm", VERSION)
        self._talk: Conversation | None = None
        self._episode: AgentEpisode | None = None
        self._reading: HistoryTools | None = None
        self._feedback: list[Feedback] = []

    @property
    def name(self) -> str:
        """What decides its answers: model, prompts, limits."""
        turns = f"{self._turns.feedback}-{self._turns.drafts}-{self._turns.submission}"
        return (
            f"llm:{self._model.config.name}:{self._model.fingerprint[:8]}:prompts-{self._prompts.stamp}:"
            f"history-{self._history_tokens}:turns-{turns}"
        )

    @property
    def bounds(self) -> EpisodeBounds:
        shown = self._history_tokens + SHOWN_FILES // CHARACTERS_PER_TOKEN
        return episode_bounds(self._model, requests=self._turns.most, history_tokens=shown)

    async def propose(self, context: ProposerContext) -> Sequence[Candidate]:
        history = History(context.history)
        reading = HistoryTools(context.history, tokens=self._history_tokens, seed=context.seed)
        self._episode = self.episode("propose", context.round)
        due = submission_of(context.tracks)
        self._talk = talk = Conversation(
            model=self._model,
            episode=self._episode,
            system=self._system(context, reading.mark),
            tools=reading.tools(),
            submissions=(FEEDBACK, DRAFTS, due) if context.integrate else (FEEDBACK, due),
            seed=context.seed,
        )
        self._reading = reading
        constraints = self._constraints(history, context, reading) if context.constrained else ""
        failures = self._failures(history, reading) if context.constrained else ""
        names = {
            "round": context.round,
            "current": context.current,
            "initial": context.initial,
            "files": self._files(history, context, reading),
            "reminder": self._prompts.fill("reminder", epsilon=context.epsilon) if constraints else "",
        }
        told = {"constraints": constraints, "failures": failures, "briefs": self._briefs(context, reading)}
        opening = self._prompts.fill("proactive", **names, **told)
        passes = (opening, self._prompts.fill("hindsight", **names))
        feedback = [await talk.work(text, FEEDBACK, turns=self._turns.feedback) for text in passes]
        self._feedback = [given for given in feedback if given is not None]
        if not context.integrate:
            asked = self._prompts.fill("candidates", **names, **_kinds(context))
            return self._made(context, await talk.work(asked, due, turns=self._turns.submission))
        drafts = await talk.work(self._prompts.fill("drafts", **names), DRAFTS, turns=self._turns.drafts)
        final = await talk.work(self._prompts.fill("integrate", **names), due, turns=self._turns.submission)
        return self._made(context, final or drafts)

    async def revise(self, context: ProposerContext, refused: Sequence[Refusal]) -> Sequence[Candidate]:
        if self._talk is None or self._reading is None:
            return ()
        told = "\n".join(f"- {refusal.name.rpartition('-')[2]}: {refusal.reason}" for refusal in refused)
        refusals = self._reading.fenced("what cannot be used, and why", told)
        if context.tracks:
            asked = self._prompts.fill("refused", refusals=refusals, all=_all(context.candidates))
        else:
            asked = self._prompts.fill("replaced", refusals=refusals, count=len(refused))
        again = await self._talk.work(asked, submission_of(context.tracks), turns=self._turns.submission)
        if not context.tracks:
            return self._made(context, again)[: len(refused)]
        tracks = {refusal.name.rpartition("-")[2] for refusal in refused}
        return [made for made in self._made(context, again) if made.track in tracks]

    def _made(self, context: ProposerContext, forms: Drafts | FreeCandidates | None) -> list[Candidate]:
        """The candidates in what was handed in, and the episode's own record."""
        if self._talk is None or self._episode is None:
            raise RuntimeError("no episode is open")
        stamp: dict[str, Json] = {"agent": self.name, "prompts": self._prompts.stamp, "from": context.current}
        feedback: Json = [given.model_dump(mode="json") for given in self._feedback]
        self._episode.note("episode.json", {**stamp, "feedback": feedback, "remarks": self._talk.remarks})
        if forms is None:
            return []
        base = render_files(History(context.history).harness(context.current))
        return candidates_of(forms, base, {**stamp, "feedback": feedback})[: context.candidates]

    # What the prompts are filled with

    def _system(self, context: ProposerContext, mark: str) -> str:
        form = self._prompts.fill(
            "format",
            benchmark=context.benchmark,
            schema=json.dumps(plain_schema(Structure)),
            when=json.dumps(plain_schema(Activation)),
            hooks="\n".join(f"- `{hook.signature}`: {hook.doc}" for hook in HOOKS.values()),
            types=type_stubs().strip(),
            observables="; ".join(f"{name}: {o.description}" for name, o in context.observables.items()),
            placeholders=placeholder_words(context.placeholders),
            templates=context.bounds.templates,
            bounds=json.dumps(asdict(context.bounds)),
            answer=context.answer_form.name,
            tools=json.dumps([asdict(tool) for tool in context.tools]),
            interface=json.dumps(asdict(context.interface)),
            limits=json.dumps(dict(context.limits)),
            edit_space=context.edit_space.description,
        )
        archive = self._prompts.fill("archive") if context.constrained else ""
        return self._prompts.fill(
            "system",
            mark=mark,
            tokens=self._history_tokens,
            format=form,
            archive=archive,
            contracts=contract_words(self._prompts, context.contracts),
        )

    def _files(self, history: History, context: ProposerContext, reading: HistoryTools) -> str:
        """The current harness's files, from which candidates are written; where they are long, how to get them."""
        files = sorted(render_files(history.harness(context.current)).items())
        if sum(len(text) for _, text in files) > SHOWN_FILES:
            paths = "\n".join(path for path, _ in files)
            return reading.fenced(f"too long to show here: read them in harnesses/{context.current}/", paths)
        return "\n".join(reading.fenced(path, text) for path, text in files)

    def _constraints(self, history: History, context: ProposerContext, reading: HistoryTools) -> str:
        """The archive's constraints, and how the harnesses stand under them."""
        entries = history.archive()
        if not entries:
            return ""
        lines = []
        for harness in history.harnesses():
            for entry in entries:
                delta = history.destruction(harness, context.initial, entry)
                if delta is not None and harness != context.initial:
                    met, every = history.met(harness, entry), history.met(context.initial, entry)
                    some = f" (on {met} of {every} tasks)" if met < every else ""
                    lines.append(f"{harness}: gain destruction under {entry} is {delta:+.4f}{some}")
        text = self._prompts.fill(
            "constraints",
            entries=", ".join(f"`{name}`" for name in entries),
            epsilon=context.epsilon,
            initial=context.initial,
            standings=reading.fenced("gain destruction of the harnesses so far", "\n".join(lines)),
        )
        return f"\n{text}\n"

    def _briefs(self, context: ProposerContext, reading: HistoryTools) -> str:
        """What the method tells beside the history."""
        if not context.briefs:
            return ""
        told = "\n".join(
            reading.fenced(name, brief if isinstance(brief, str) else json.dumps(brief, indent=1, ensure_ascii=False))
            for name, brief in context.briefs.items()
        )
        return "\n" + self._prompts.fill("briefs", briefs=told) + "\n"

    def _failures(self, history: History, reading: HistoryTools) -> str:
        """What the last round's candidates violated, where it fell back."""
        failed = failed_round(history)
        if failed is None:
            return ""
        told = reading.fenced("what failed", "\n".join(failed.problems))
        return "\n" + self._prompts.fill("failures", violations=told, selected=failed.selected) + "\n"


def _kinds(context: ProposerContext) -> dict[str, str]:
    """How many candidates are due, and of which kinds."""
    count = "one candidate" if context.candidates == 1 else f"{context.candidates} candidates"
    kinds = [KINDS[track] for track in context.tracks if track in KINDS] or [FREE_KIND]
    return {"count": count, "kinds": "\n".join(f"- {kind}" for kind in kinds)}


def _all(candidates: int) -> str:
    return "all three" if candidates == 3 else "all that are due"
