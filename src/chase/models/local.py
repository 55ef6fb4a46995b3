"""Models that run in this process, and the register of their names."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import TypeAlias

from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    SystemPromptPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.settings import ModelSettings

from chase.core.errors import choose
from chase.core.values import Json
from chase.models.config import ModelConfig

Respond: TypeAlias = Callable[[list[ModelMessage], AgentInfo], Awaitable[ModelResponse]]
Factory: TypeAlias = Callable[[ModelConfig], Model]

_FACTORIES: dict[str, Factory | str] = {
    "sim:reader": "chase.models.reader:reader_model",
    "lexical": "chase.models.lexical:lexical_model",
    "none": "chase.models.nobody:nobody",
}
"""By model name: a factory, or 'module:function' of one that is imported when it is asked for."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolAnswer:
    """What a tool gave back, with the arguments that it was called with where they are known."""

    tool: str
    arguments: Mapping[str, Json]
    text: str


@dataclass(kw_only=True, slots=True)
class Heard:
    """A history of messages as a program reads it: the first text of the user is the question, all else instructs."""

    question: str = ""
    instructions: list[str] = field(default_factory=list)
    answers: list[ToolAnswer] = field(default_factory=list)

    @property
    def characters(self) -> int:
        """How much there was to read beside the question."""
        return sum(map(len, self.instructions)) + sum(len(answer.text) for answer in self.answers)

    @classmethod
    def of(cls, messages: Sequence[ModelMessage]) -> Heard:
        """What is in the messages, each kind in its order."""
        heard, calls = cls(), dict[str, ToolCallPart]()
        for part in (part for message in messages for part in message.parts):
            if isinstance(part, ToolCallPart):
                calls[part.tool_call_id] = part
            elif isinstance(part, ToolReturnPart):
                arguments = calls[part.tool_call_id].args_as_dict() if part.tool_call_id in calls else {}
                heard.answers.append(ToolAnswer(tool=part.tool_name, arguments=arguments, text=str(part.content)))
            elif isinstance(part, SystemPromptPart):
                heard.instructions.append(part.content)
            elif isinstance(part, UserPromptPart) and isinstance(part.content, str):
                if heard.question:
                    heard.instructions.append(part.content)
                heard.question = heard.question or part.content
        return heard


@dataclass(frozen=True, kw_only=True, slots=True)
class Vocabulary:
    """What a program that stands in for a language model understands of the texts it is given; all else it ignores."""

    phrases: tuple[str, ...]
    """Each thing that it understands, as one would write it."""
    read: Callable[[str], object]
    """What it takes from a text. Two texts that give equal values are the same to it."""


class LocalModel(FunctionModel):
    """A `FunctionModel` that prepares a set of tools once, not once per request, and reports its own usage.

    `respond` is called once per request and sees the messages and the tools, nothing else. It must be
    deterministic in these and `info.model_settings['seed']`. `version` enters the model's fingerprint: raise
    it when an answer changes. A program that understands little says what by its `vocabulary`, so that whoever writes
    for it is told; it decides nothing.
    """

    def __init__(self, respond: Respond, *, name: str, version: str, vocabulary: Vocabulary | None = None) -> None:
        super().__init__(respond, model_name=name)
        self.version = version
        self.vocabulary = vocabulary
        self._respond = respond
        self._prepared: tuple[ModelRequestParameters, ModelRequestParameters] | None = None

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        response = await self._respond(messages, self._info(model_settings, model_request_parameters))
        response.model_name = self.model_name
        if not response.usage.has_values():
            response.usage.unmeasured_requests = 1
        return response

    def _info(self, settings: ModelSettings | None, parameters: ModelRequestParameters) -> AgentInfo:
        if self._prepared is None or self._prepared[0] is not parameters:
            self._prepared = parameters, self.prepare_request(None, parameters)[1]
        prepared = self._prepared[1]
        return AgentInfo(
            function_tools=prepared.declared_function_tools,
            allow_text_output=prepared.allow_text_output,
            output_tools=prepared.output_tools,
            model_settings=settings,
            model_request_parameters=prepared,
            instructions=None,
        )


def register_local(name: str, factory: Factory | str) -> None:
    """Make `name` (such as `sim:mine`) a model that `connect` finds. A string is 'module:function'."""
    _FACTORIES[name] = factory


def local_names() -> list[str]:
    """The names of all in-process models."""
    return sorted(_FACTORIES)


def make_local(config: ModelConfig) -> Model:
    """The in-process model that the config names; `UserError` with the nearest match if there is none."""
    factory = _FACTORIES[choose("in-process model", config.name, local_names())]
    if isinstance(factory, str):
        module, _, function = factory.partition(":")
        made: Model = getattr(import_module(module), function)(config)
        return made
    return factory(config)
