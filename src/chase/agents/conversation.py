"""A tool-using agent on the model layer: it reads, thinks, and hands in typed submissions.

The host decides when a part of the work is over and what counts as handed in. Whatever the model writes, a
conversation ends: every part has a number of turns, and what does not fit its form is told back or left.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from chase.agents.history_tools import AgentTool
from chase.agents.records import AgentEpisode
from chase.agents.submission import LONGEST_SUBMISSION, Form, Submission
from chase.core.agents import EpisodeBounds
from chase.core.errors import UserError
from chase.core.outside import NotPlain, parse_json, plain
from chase.models.chat import ChatModel, Reply
from chase.models.errors import ContextTooLong

LONGEST_SAID = 20_000
"""Characters of a reply's text that stay in the conversation. The transcript has all of it."""
LONGEST_CUT = 600
"""The same of one that was cut: a model that reads how it repeated itself goes on to do so."""
MOST_CALLS = 16
"""Tool calls of one reply that are carried out."""
DEEPEST = 30
"""Levels of nested arguments."""
LEFT_OUT = "(left out: the conversation became too long)"
PROMPT_TOKENS = 12_000
EXPECTED_REPLY_TOKENS = 4_096
"""Of a model whose settings have no max_tokens."""
CUT = "Your reply was cut because it was too long, and what was cut does not count: write less in one reply."
MOST_ALIKE = 3
"""How often a submission is handed in unchanged before its part ends: who was told twice is told in vain."""
UNKNOWN_TOOL = "unknown_tool"
_TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""What providers take back as the name of a call."""


def episode_bounds(model: ChatModel, *, requests: int, history_tokens: int) -> EpisodeBounds:
    """The most that an episode uses: every request carries the prompts, all that was read and all that was said."""
    said = model.config.settings.get("max_tokens", EXPECTED_REPLY_TOKENS)
    reply = said if isinstance(said, int) else EXPECTED_REPLY_TOKENS
    return EpisodeBounds(
        requests=requests,
        input_tokens=requests * (PROMPT_TOKENS + history_tokens) + reply * requests * (requests - 1) // 2,
        output_tokens=requests * reply,
    )


class Conversation:
    """One agent's episode with a model, part by part.

    All submissions are offered all the time, so that providers can cache the beginning of every request; one that is
    not due is told back.
    """

    def __init__(
        self, *, model: ChatModel, episode: AgentEpisode, system: str, tools: Sequence[AgentTool],
        submissions: Sequence[Submission[Any]], seed: int,
    ) -> None:  # fmt: skip
        self._model = model
        self._episode = episode
        self._tools = {tool.spec.name: tool for tool in tools}
        self._submissions = {submission.name for submission in submissions}
        self._specs = [*(tool.spec for tool in tools), *(submission.spec for submission in submissions)]
        self._seed = seed
        self._messages: list[ModelMessage] = []
        self._waiting: list[Any] = [SystemPromptPart(system)]
        self._handed_in: Counter[str] = Counter()
        """In this part: each submission as it was written, and in how many replies."""
        self.remarks: list[str] = []
        """What went wrong, for the record."""

    async def work(self, instruction: str, submission: Submission[Form], *, turns: int) -> Form | None:
        """Let the agent work until it hands in a submission that fits its form.

        None where its turns are spent, or where it only repeats one that does not fit.
        """
        said = instruction
        self._handed_in.clear()
        for left in reversed(range(turns)):
            if not left and turns > 1:
                said = f"{said}\n\nThis is your last turn for this: call {submission.name} now.".strip()
            if said:
                self._waiting.append(UserPromptPart(said))
            reply = await self._ask()
            if reply is None:
                self.remarks.append(f"{submission.name}: the conversation became too long for the model")
                return None
            response = _named(reply.response)
            self._messages.append(_bounded(response))
            handed_in, said = self._answer(response, submission, last=not left)
            if handed_in is not None:
                return handed_in
            if self._is_stuck:
                self.remarks.append(f"{submission.name}: handed in unchanged {MOST_ALIKE} times, which ended its part")
                return None
        self.remarks.append(f"{submission.name}: nothing that fits its form was handed in within {turns} turns")
        return None

    async def _ask(self) -> Reply | None:
        """The next reply. Where the conversation is too long, what was read first is left out; None: in vain."""
        self._messages.append(ModelRequest(parts=list(self._waiting)))
        self._waiting.clear()
        while True:
            try:
                return await self._episode.request(self._model, self._messages, self._specs, seed=self._seed)
            except ContextTooLong:
                if not self._shorten():
                    failed = self._messages.pop()
                    self._waiting = [part for part in failed.parts if not isinstance(part, UserPromptPart)]
                    return None

    def _shorten(self) -> bool:
        """Leave out the older half of what tools returned; false if nothing is left to leave out."""
        returned = [
            (place, part)
            for place, message in enumerate(self._messages)
            for part in message.parts
            if isinstance(part, ToolReturnPart) and part.content != LEFT_OUT and len(str(part.content)) > len(LEFT_OUT)
        ]
        dropped = {id(part) for _, part in returned[: (len(returned) + 1) // 2]}
        for place in {place for place, part in returned if id(part) in dropped}:
            message: Any = self._messages[place]  # replaced, not changed: it was sent
            parts: list[Any] = list(message.parts)
            parts = [replace(part, content=LEFT_OUT) if id(part) in dropped else part for part in parts]
            self._messages[place] = replace(message, parts=parts)
        return bool(dropped)

    def _answer(self, response: ModelResponse, submission: Submission[Form], *, last: bool) -> tuple[Form | None, str]:
        """Answer every call of a reply; the first good submission ends the part. Else, what is to be said."""
        calls = [part for part in response.parts if isinstance(part, ToolCallPart)]
        due = [call for call in calls[:MOST_CALLS] if call.tool_name == submission.name]
        self._handed_in.update({call.args_as_json_str() for call in due})
        salvage = (last or self._is_stuck) and not any(_fits(call, submission) for call in due)
        handed_in: Form | None = None
        for number, call in enumerate(calls):
            try:
                if number >= MOST_CALLS:
                    raise UserError(f"more than {MOST_CALLS} calls in one reply: this one was not carried out.")
                if call.tool_name == submission.name and handed_in is None:
                    handed_in = submission.parse(_arguments(call), last=salvage)
                    content = "accepted"
                else:
                    content = self._use(call, submission.name)
            except UserError as error:
                content = f"error: {error}"
                self.remarks.append(f"{call.tool_name}: {str(error)[:300]}")
            self._waiting.append(ToolReturnPart(call.tool_name, content, tool_call_id=call.tool_call_id))
        if response.finish_reason == "length":
            return handed_in, CUT
        return handed_in, "" if calls else f"Use a tool, or finish this part by calling {submission.name}."

    @property
    def _is_stuck(self) -> bool:
        return max(self._handed_in.values(), default=0) >= MOST_ALIKE

    def _use(self, call: ToolCallPart, due: str) -> str:
        if call.tool_name in self._tools:
            return self._tools[call.tool_name].run(_arguments(call))
        if call.tool_name == due:
            raise UserError(f"{due} was accepted already: this one is ignored.")
        if call.tool_name in self._submissions:
            raise UserError(f"{call.tool_name} is not due now: hand in {due}.")
        raise UserError(f"there is no such tool. There are: {', '.join([*self._tools, due])}.")


def _fits(call: ToolCallPart, submission: Submission[Any]) -> bool:
    try:
        submission.parse(_arguments(call), last=False)
    except UserError:
        return False
    return True


def _arguments(call: ToolCallPart) -> Mapping[str, Any]:
    given = call.args
    if isinstance(given, str) and len(given) > LONGEST_SUBMISSION:
        raise UserError(f"the arguments are longer than {LONGEST_SUBMISSION} characters.")
    try:
        given = parse_json(given or "{}", deepest=DEEPEST) if isinstance(given, str) else plain(given, deepest=DEEPEST)
    except NotPlain as error:
        raise UserError(f"the arguments are {error}.") from None
    if not isinstance(given, dict | None):
        raise UserError("the arguments must be a JSON object.")
    return given or {}


def _named(response: ModelResponse) -> ModelResponse:
    """A reply whose calls have names that can be sent back."""
    parts: list[Any] = list(response.parts)
    unknown = [isinstance(part, ToolCallPart) and not _TOOL_NAME.fullmatch(part.tool_name) for part in parts]
    named = [replace(p, tool_name=UNKNOWN_TOOL) if bad else p for p, bad in zip(parts, unknown, strict=True)]
    return replace(response, parts=named)


def _bounded(response: ModelResponse) -> ModelResponse:
    """The reply as it stays in the conversation: one that talks without end must not fill it."""
    longest = LONGEST_CUT if response.finish_reason == "length" else LONGEST_SAID
    return replace(response, parts=[_clipped(part, longest) for part in response.parts])


def _clipped(part: Any, longest: int) -> Any:
    """Signed thinking is left alone: a provider that signs it refuses it if it was changed."""
    unsigned = isinstance(part, TextPart) or (isinstance(part, ThinkingPart) and not part.signature)
    if unsigned and len(part.content) > longest:
        return replace(part, content=part.content[:longest] + " …")
    if isinstance(part, ToolCallPart) and len(part.args_as_json_str()) > LONGEST_SUBMISSION:
        return replace(part, args="{}")
    return part
