"""A tool-using agent on the model layer: it reads, thinks, and hands in typed submissions.

The host decides when a part of the work is over and what counts as handed in. Whatever the model writes, a
conversation ends: every part has a number of turns, and what does not fit its form is told back or left.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ValidationError
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

from chase.core.agents import EpisodeBounds
from chase.core.errors import UserError
from chase.core.values import ToolSpec
from chase.engine.agent_records import AgentEpisode
from chase.engine.history_tools import AgentTool
from chase.models.chat import ChatModel
from chase.models.errors import ContextTooLong

Form = TypeVar("Form", bound=BaseModel)

LONGEST_SAID = 20_000
"""Characters of a reply's text that stay in the conversation. The transcript has all of it."""
LONGEST_SUBMISSION = 1 << 20
PROMPT_TOKENS = 12_000
EXPECTED_REPLY_TOKENS = 4_096
"""Of a model whose settings have no max_tokens."""
MOST_FLAWS = 6


@dataclass(frozen=True, kw_only=True, slots=True)
class Submission(Generic[Form]):
    """The tool by which a part of the work is handed in, and the form of its arguments."""

    name: str
    description: str
    form: type[Form]

    @property
    def spec(self) -> ToolSpec:
        return ToolSpec(name=self.name, description=self.description, parameters=plain_schema(self.form))

    def parse(self, arguments: Mapping[str, Any]) -> Form:
        """The form that arguments fill; a `UserError` names what is wrong with them."""
        try:
            return self.form.model_validate(arguments)
        except ValidationError as error:
            flaws = [f"{'.'.join(map(str, flaw['loc'])) or 'the arguments'}: {flaw['msg']}" for flaw in error.errors()]
            more = f" (and {len(flaws) - MOST_FLAWS} more)" if len(flaws) > MOST_FLAWS else ""
            raise UserError(f"{self.name} was not accepted: {'; '.join(flaws[:MOST_FLAWS])}{more}.") from None


def plain_schema(form: type[BaseModel]) -> Any:
    """A form's JSON schema without titles and references: a schema that is put into another cannot look up its own."""
    schema = form.model_json_schema(by_alias=True)
    definitions = schema.pop("$defs", {})

    def plain(part: Any) -> Any:
        if isinstance(part, list):
            return [plain(item) for item in part]
        if not isinstance(part, dict):
            return part
        if "$ref" in part:
            meant = definitions[part["$ref"].rpartition("/")[2]]
            return plain({**meant, **{key: value for key, value in part.items() if key != "$ref"}})
        return {key: plain(value) for key, value in part.items() if key != "title" or not isinstance(value, str)}

    return plain(schema)


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
    """One agent's episode with a model, part by part."""

    def __init__(
        self, *, model: ChatModel, episode: AgentEpisode, system: str, tools: Sequence[AgentTool], seed: int
    ) -> None:
        self._model = model
        self._episode = episode
        self._tools = {tool.spec.name: tool for tool in tools}
        self._seed = seed
        self._messages: list[ModelMessage] = []
        self._waiting: list[Any] = [SystemPromptPart(system)]
        self.remarks: list[str] = []
        """What went wrong, for the record."""

    async def work(self, instruction: str, submission: Submission[Form], *, turns: int) -> Form | None:
        """Let the agent work until it hands in a submission that fits its form; None where its turns are spent."""
        self._waiting.append(UserPromptPart(instruction))
        specs = [*(tool.spec for tool in self._tools.values()), submission.spec]
        for turn in range(turns):
            if turn == turns - 1 and turn > 0:
                self._waiting.append(UserPromptPart(f"This is your last turn for this: call {submission.name} now."))
            self._messages.append(ModelRequest(parts=list(self._waiting)))
            self._waiting.clear()
            try:
                reply = await self._episode.request(self._model, self._messages, specs, seed=self._seed)
            except ContextTooLong:
                self.remarks.append(f"{submission.name}: the conversation became too long for the model")
                return None
            self._messages.append(_bounded(reply.response))
            handed_in = self._answer(reply.response, submission)
            if handed_in is not None:
                return handed_in
        self.remarks.append(f"{submission.name}: nothing that fits its form was handed in within {turns} turns")
        return None

    def _answer(self, said: ModelResponse, submission: Submission[Form]) -> Form | None:
        """Answer every call of a reply; the first good submission ends the part."""
        calls = [part for part in said.parts if isinstance(part, ToolCallPart)]
        handed_in: Form | None = None
        for call in calls:
            try:
                arguments = _arguments(call)
                if call.tool_name == submission.name:
                    handed_in = handed_in or submission.parse(arguments)
                    content = "accepted"
                elif call.tool_name in self._tools:
                    content = self._tools[call.tool_name].run(arguments)
                else:
                    names = ", ".join([*self._tools, submission.name])
                    raise UserError(f"there is no tool '{call.tool_name[:100]}'. There are: {names}.")
            except UserError as error:
                content = f"error: {error}"
                self.remarks.append(f"{call.tool_name[:100]}: {str(error)[:300]}")
            self._waiting.append(ToolReturnPart(call.tool_name, content, tool_call_id=call.tool_call_id))
        if not calls:
            self._waiting.append(UserPromptPart(f"Use a tool, or finish this part by calling {submission.name}."))
        return handed_in


def _arguments(call: ToolCallPart) -> Mapping[str, Any]:
    given = call.args
    if isinstance(given, str):
        if len(given) > LONGEST_SUBMISSION:
            raise UserError(f"the arguments are longer than {LONGEST_SUBMISSION} characters.")
        try:
            given = json.loads(given or "{}")
        except (ValueError, RecursionError) as error:
            raise UserError(f"the arguments are not valid JSON: {error}.") from None
    if not isinstance(given, dict | None):
        raise UserError("the arguments must be a JSON object.")
    return given or {}


def _bounded(response: ModelResponse) -> ModelResponse:
    """The reply as it stays in the conversation: one that talks without end must not fill it."""
    return replace(response, parts=[_clipped(part) for part in response.parts])


def _clipped(part: Any) -> Any:
    if isinstance(part, TextPart | ThinkingPart) and len(part.content) > LONGEST_SAID:
        return replace(part, content=part.content[:LONGEST_SAID] + " …")
    if isinstance(part, ToolCallPart) and isinstance(part.args, str) and len(part.args) > LONGEST_SUBMISSION:
        return replace(part, args="{}")
    return part
