"""A model in this process that does what a script says: `scripted(["42"])`, `scripted([call("list_files"), "42"])`.

It keeps every request it got, so that a test can say what a model was told. It has no state that decides an
answer: the same history gets the same step, in every rollout and after every restart.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.usage import RequestUsage

from chase.core.values import Json
from chase.models.chat import ChatModel
from chase.models.config import ModelConfig
from chase.models.local import LocalModel
from chase.models.meter import Meter

NAME = "sim:scripted"


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call. Arguments that are a text go out as they are, valid or not."""

    tool: str
    arguments: dict[str, Json] | str = field(default_factory=dict)


Step = str | Call | Sequence[Call] | ModelResponse | Exception
"""One turn: an answer, one or several calls, a whole response, or an error that is raised."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """What the model was asked in one turn."""

    turn: int
    """The model's turns before this one. Calls that a harness made for it are not its turns."""
    messages: tuple[ModelMessage, ...]
    tools: tuple[ToolDefinition, ...]
    seed: int | None

    def texts(self) -> list[str]:
        """Everything in it that can be read: contents and arguments of the messages, and the tools."""
        parts = [part for message in self.messages for part in message.parts]
        read = [str(getattr(part, name)) for part in parts for name in ("content", "args") if hasattr(part, name)]
        return [*read, *(f"{tool.name} {tool.description} {tool.parameters_json_schema}" for tool in self.tools)]


Script = Sequence[Step] | Callable[[Request], Step]
"""The steps by turn, or a function of the request."""


def call(tool: str, /, **arguments: Json) -> Call:
    """A tool call as a step."""
    return Call(tool, arguments)


class ScriptedModel(ChatModel):
    """A `ChatModel` that follows a script. `requests` holds what it was asked, oldest first."""

    def __init__(self, script: Script, *, seconds: float = 0.0, version: str = "1", meter: Meter | None = None) -> None:
        self.requests: list[Request] = []
        self._script = script
        self._seconds = seconds
        super().__init__(ModelConfig(name=NAME), LocalModel(self._respond, name=NAME, version=version), meter=meter)

    async def _respond(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        # What a harness put into the history has no model's name.
        turn = sum(isinstance(message, ModelResponse) and message.model_name is not None for message in messages)
        seed = (info.model_settings or {}).get("seed")
        request = Request(turn=turn, messages=tuple(messages), tools=tuple(info.function_tools), seed=seed)
        self.requests.append(request)
        if self._seconds:
            await asyncio.sleep(self._seconds)
        step = self._script(request) if callable(self._script) else self._step(turn)
        if isinstance(step, Exception):
            raise step
        return _response(step, turn)

    def _step(self, turn: int) -> Step:
        assert not callable(self._script)
        if turn >= len(self._script):
            raise AssertionError(f"the script has {len(self._script)} steps, and the model was asked for more")
        return self._script[turn]


def scripted(script: Script, *, seconds: float = 0.0, version: str = "1", meter: Meter | None = None) -> ScriptedModel:
    """A model that follows `script`, each reply after `seconds`. `version` enters its fingerprint."""
    return ScriptedModel(script, seconds=seconds, version=version, meter=meter)


def _response(step: str | Call | Sequence[Call] | ModelResponse, turn: int) -> ModelResponse:
    if isinstance(step, ModelResponse):
        return step
    usage = RequestUsage(input_tokens=10, output_tokens=1)
    if isinstance(step, str):
        return ModelResponse(parts=[TextPart(step)], usage=usage)
    calls = [step] if isinstance(step, Call) else step
    parts = [ToolCallPart(each.tool, each.arguments, f"call-{turn}-{place}") for place, each in enumerate(calls)]
    return ModelResponse(parts=parts, usage=usage)
